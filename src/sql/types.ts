/** Arrow types under their SQL names, and what this room asks about a type. */

import { equalTypes } from '../arrow/same-type.js'
import type { DataType, TimeUnit } from '../arrow/types.js'
import { invalidInput, quote, unsupported } from '../errors.js'
import type { TypeName } from './syntax.js'

export const nullType: DataType = { kind: 'null' }
export const boolType: DataType = { kind: 'bool' }
export const int32: DataType = { kind: 'int', bits: 32, signed: true }
export const int64: DataType = { kind: 'int', bits: 64, signed: true }
export const uint64: DataType = { kind: 'int', bits: 64, signed: false }
export const float64: DataType = { kind: 'float', bits: 64 }
export const utf8: DataType = { kind: 'utf8', large: false }
export const binary: DataType = { kind: 'binary', large: false }
export const dateType: DataType = { kind: 'date', unit: 'day' }

export function timestampType(unit: TimeUnit): DataType {
  return { kind: 'timestamp', unit, timezone: null }
}

/** The type of the values: that of a dictionary's entries, otherwise the type itself. */
export function valueType(type: DataType): DataType {
  return type.kind === 'dictionary' ? type.value : type
}

/** The element type of a list of any kind, else null. */
export function elementType(type: DataType): DataType | null {
  return type.kind === 'list' || type.kind === 'fixed_size_list' ? type.child.type : null
}

export function isNumeric(type: DataType): boolean {
  return type.kind === 'int' || type.kind === 'float'
}

const named: Readonly<Record<string, DataType>> = {
  boolean: boolType,
  tinyint: { kind: 'int', bits: 8, signed: true },
  smallint: { kind: 'int', bits: 16, signed: true },
  int: int32,
  bigint: int64,
  'tinyint unsigned': { kind: 'int', bits: 8, signed: false },
  'smallint unsigned': { kind: 'int', bits: 16, signed: false },
  'int unsigned': { kind: 'int', bits: 32, signed: false },
  'bigint unsigned': uint64,
  float: { kind: 'float', bits: 32 },
  double: float64,
  string: utf8,
  date: dateType,
}

const synonyms: Readonly<Record<string, string>> = {
  bool: 'boolean',
  integer: 'int',
  'integer unsigned': 'int unsigned',
  real: 'float',
  'double precision': 'double',
  varchar: 'string',
  text: 'string',
}

const unitOfPrecision: Readonly<Record<number, TimeUnit>> = { 0: 's', 3: 'ms', 6: 'us', 9: 'ns' }
const precisionOfUnit = { s: 0, ms: 3, us: 6, ns: 9 } as const

/** The Arrow type a CAST names. A timestamp without precision counts microseconds. */
export function typeOfName({ name, args, at }: TypeName): DataType {
  if (name === 'timestamp' || name === 'datetime') {
    const unit = args.length === 0 ? 'us' : unitOfPrecision[args[0]!]
    if (unit === undefined || args.length > 1) {
      throw invalidInput(`${name} has a precision of 0, 3, 6 or 9`, { at })
    }
    return timestampType(unit)
  }
  const type = named[synonyms[name] ?? name]
  if (type === undefined) {
    throw unsupported(`no cast to a type named ${quote(name)}`, {
      hint: `the types are ${Object.keys(named).join(', ')} and timestamp`,
      at,
    })
  }
  if (args.length > 0) throw invalidInput(`the type ${name} takes no arguments`, { at })
  return type
}

/** The SQL name of a type that `typeOfName` reads back, or null where there is none. */
export function nameOfType(type: DataType): string | null {
  if (type.kind === 'timestamp') {
    return type.timezone === null ? `timestamp(${precisionOfUnit[type.unit]})` : null
  }
  const found = Object.entries(named).find(([, other]) => equalTypes(type, other))
  return found === undefined ? null : found[0]
}

/**
 * The type two values can both be read as, or null when there is none: the wider of two integers (a signed
 * and an unsigned one of 64 bits meet as int64, checked), double for an integer and a float, the finer of two
 * time units.
 */
export function commonType(first: DataType, second: DataType): DataType | null {
  const a = valueType(first)
  const b = valueType(second)
  if (equalTypes(a, b) || b.kind === 'null') return a
  if (a.kind === 'null') return b
  if (a.kind === 'int' && b.kind === 'int') {
    if (a.signed === b.signed) return a.bits > b.bits ? a : b
    return int64
  }
  if (a.kind === 'float' && b.kind === 'float') return a.bits > b.bits ? a : b
  if (isNumeric(a) && isNumeric(b)) return float64
  if (a.kind === 'utf8' && b.kind === 'utf8') return utf8
  if (a.kind === 'binary' && b.kind === 'binary') return binary
  const unitA = instantUnit(a)
  const unitB = instantUnit(b)
  if (unitA !== null && unitB !== null) {
    return timestampType(precisionOfUnit[unitA] > precisionOfUnit[unitB] ? unitA : unitB)
  }
  return null
}

/** The unit in which a date or timestamp can be written as a timestamp without loss. */
function instantUnit(type: DataType): TimeUnit | null {
  if (type.kind === 'timestamp') return type.unit
  return type.kind === 'date' ? (type.unit === 'day' ? 's' : 'ms') : null
}
