/** Arrow types by their SQL names, and properties of types. */

import { isDecimal } from '../../arrow/decimal.js'
import { equalTypes } from '../../arrow/same-type.js'
import type { DataType, TimeUnit } from '../../arrow/types.js'
import { invalidInput, quote, type SourceSpan, unsupported } from '../../errors.js'
import type { TypeName } from '../syntax/syntax.js'
import { asDecimalType, maxDigits, widerDecimal } from './decimals.js'

export const nullType: DataType = { kind: 'null' }
export const boolType: DataType = { kind: 'bool' }
export const int32: DataType = { kind: 'int', bits: 32, signed: true }
export const uint32: DataType = { kind: 'int', bits: 32, signed: false }
export const int64: DataType = { kind: 'int', bits: 64, signed: true }
export const uint64: DataType = { kind: 'int', bits: 64, signed: false }
export const float32: DataType = { kind: 'float', bits: 32 }
export const float64: DataType = { kind: 'float', bits: 64 }
export const utf8: DataType = { kind: 'utf8', large: false }
export const binary: DataType = { kind: 'binary', large: false }
export const dateType: DataType = { kind: 'date', unit: 'day' }

export const intervalType: DataType = { kind: 'interval', unit: 'month_day_nano' }

export function timestampType(unit: TimeUnit, timezone: string | null = null): DataType {
  return { kind: 'timestamp', unit, timezone }
}

export function durationType(unit: TimeUnit): DataType {
  return { kind: 'duration', unit }
}

/** Return the value type of a dictionary, otherwise the type itself. */
export function valueType(type: DataType): DataType {
  return type.kind === 'dictionary' ? type.value : type
}

/** Return the element type of a list or fixed-size list, null for other types. */
export function elementType(type: DataType): DataType | null {
  return type.kind === 'list' || type.kind === 'fixed_size_list' ? type.child.type : null
}

/**
 * Return whether values of the type have a total order. Only such values can be sorted and grouped, and have min/max
 * statistics.
 */
export function isOrdered(type: DataType): boolean {
  return !['interval', 'list', 'fixed_size_list', 'struct', 'map'].includes(valueType(type).kind)
}

export function isNumeric(type: DataType): boolean {
  return type.kind === 'int' || type.kind === 'float' || type.kind === 'decimal'
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
  binary,
  date: dateType,
  interval: intervalType,
}

const synonyms: Readonly<Record<string, string>> = {
  bool: 'boolean',
  int2: 'smallint',
  int4: 'int',
  int8: 'bigint',
  integer: 'int',
  'integer unsigned': 'int unsigned',
  real: 'float',
  float4: 'float',
  float8: 'double',
  'double precision': 'double',
  char: 'string',
  character: 'string',
  varchar: 'string',
  text: 'string',
  varbinary: 'binary',
  bytea: 'binary',
  numeric: 'decimal',
  datetime: 'timestamp',
  timestamptz: 'timestamp with time zone',
}

/** Types that accept a length. The length has no effect, and values are never cut. */
const withLength: readonly string[] = ['char', 'character', 'varchar', 'varbinary']

const unitOfPrecision: Readonly<Record<number, TimeUnit>> = { 0: 's', 3: 'ms', 6: 'us', 9: 'ns' }
const precisionOfUnit = { s: 0, ms: 3, us: 6, ns: 9 } as const

/**
 * Return the Arrow type for a type name in a CAST. `name[]` is a list type. Defaults: microseconds for a timestamp,
 * nanoseconds for a time, and for a decimal 38 digits, 10 of them after the point.
 *
 * Throws `Unsupported` for an unknown name, and `InvalidInput` for invalid arguments.
 */
export function typeOfName({ name: written, args, at }: TypeName): DataType {
  if (written.endsWith('[]')) {
    const child = typeOfName({ name: written.slice(0, -2), args, at })
    return { kind: 'list', large: false, child: { name: 'item', type: child, nullable: true } }
  }
  const name = Object.hasOwn(synonyms, written) ? synonyms[written]! : written
  switch (name) {
    case 'timestamp':
      return timestampType(unitOfArgs(written, args, 'us', at))
    case 'timestamp with time zone':
      return timestampType(unitOfArgs(written, args, 'us', at), 'UTC')
    case 'time':
      return { kind: 'time', unit: unitOfArgs(written, args, 'ns', at) }
    case 'decimal':
      return decimalOfArgs(args, at)
  }
  const type = Object.hasOwn(named, name) ? named[name] : undefined
  if (type === undefined) {
    throw unsupported(`no cast to a type named ${quote(written)}`, {
      hint: `the types are ${Object.keys(named).join(', ')}, decimal, time and timestamp`,
      at,
    })
  }
  if (args.length > (withLength.includes(written) ? 1 : 0)) {
    throw invalidInput(`the type ${written} takes no arguments`, { at })
  }
  return type
}

function unitOfArgs(name: string, args: readonly number[], otherwise: TimeUnit, at: SourceSpan): TimeUnit {
  const unit = args.length === 0 ? otherwise : unitOfPrecision[args[0]!]
  if (unit === undefined || args.length > 1) {
    throw invalidInput(`the precision of ${name} must be 0, 3, 6 or 9`, { at })
  }
  return unit
}

function decimalOfArgs(args: readonly number[], at: SourceSpan): DataType {
  const [precision = 38, scale = args.length === 0 ? 10 : 0] = args
  const bits = precision > maxDigits[128] ? 256 : 128
  if (args.length > 2 || scale < 0 || scale > precision || !isDecimal(bits, precision, scale)) {
    throw invalidInput(`a decimal has 1 to ${maxDigits[256]} digits, of which 0 to all are after the point`, {
      at,
    })
  }
  return { kind: 'decimal', bits, precision, scale }
}

/** Return a SQL name of a type, which `typeOfName` converts back to the type. Return null if there is no such name. */
export function nameOfType(type: DataType): string | null {
  switch (type.kind) {
    case 'timestamp':
      return type.timezone === null ? `timestamp(${precisionOfUnit[type.unit]})` : null
    case 'time':
      return `time(${precisionOfUnit[type.unit]})`
    case 'decimal': {
      const { precision, scale, bits } = type
      const isNamed = scale >= 0 && scale <= precision && precision > maxDigits[128] === (bits === 256)
      return isNamed ? `decimal(${precision}, ${scale})` : null
    }
  }
  const found = Object.entries(named).find(([, other]) => equalTypes(type, other))
  return found === undefined ? null : found[0]
}

/**
 * Return the type to which values of both types can be converted, or null if there is no such type:
 *
 * - two integers: the narrowest integer type that holds both. For uint64 and a signed type: a decimal
 * - a decimal and a decimal or integer: a decimal
 * - two different floats of less than 64 bits: float32. A float and any other number: double
 * - two strings, byte strings, times, or spans of time: the type that holds values of both
 * - two different date types: a date in milliseconds
 * - two timestamps, or a date and a timestamp: a timestamp in the finer unit, with the zone of the first type with a
 *   zone
 * - two lists: a list of the common element type
 */
export function commonType(first: DataType, second: DataType): DataType | null {
  const a = valueType(first)
  const b = valueType(second)
  if (equalTypes(a, b) || b.kind === 'null') return a
  if (a.kind === 'null') return b
  if (isNumeric(a) && isNumeric(b)) return commonNumber(a, b)
  if (a.kind === 'utf8' && b.kind === 'utf8') return { kind: 'utf8', large: true }
  if (isBytes(a) && isBytes(b)) return { kind: 'binary', large: isLarge(a) || isLarge(b) }
  if (a.kind === 'time' && b.kind === 'time') return { kind: 'time', unit: finerUnit(a.unit, b.unit) }
  if (isSpan(a) && isSpan(b)) {
    if (a.kind === 'duration' && b.kind === 'duration') return durationType(finerUnit(a.unit, b.unit))
    return intervalType
  }
  const unitA = instantUnit(a)
  const unitB = instantUnit(b)
  if (unitA !== null && unitB !== null) {
    if (a.kind === 'date' && b.kind === 'date') return { kind: 'date', unit: 'ms' }
    return timestampType(finerUnit(unitA, unitB), zoneOf(a) ?? zoneOf(b))
  }
  const itemA = elementType(a)
  const itemB = elementType(b)
  const item = itemA === null || itemB === null ? null : commonType(itemA, itemB)
  return item === null
    ? null
    : { kind: 'list', large: false, child: { name: 'item', type: item, nullable: true } }
}

function commonNumber(a: DataType, b: DataType): DataType {
  if (a.kind === 'int' && b.kind === 'int') {
    if (a.signed === b.signed) return a.bits > b.bits ? a : b
    const [signed, unsigned] = a.signed ? [a, b] : [b, a]
    if (signed.bits > unsigned.bits) return signed
    if (unsigned.bits < 64) return { kind: 'int', bits: (unsigned.bits * 2) as 16 | 32 | 64, signed: true }
  }
  if (a.kind === 'float' || b.kind === 'float') {
    return a.kind === 'float' && b.kind === 'float' && a.bits < 64 && b.bits < 64
      ? { kind: 'float', bits: 32 }
      : float64
  }
  return widerDecimal(asDecimalType(a)!, asDecimalType(b)!)
}

function isBytes(type: DataType): boolean {
  return type.kind === 'binary' || type.kind === 'fixed_size_binary'
}

function isLarge(type: DataType): boolean {
  return type.kind === 'binary' && type.large
}

function isSpan(type: DataType): boolean {
  return type.kind === 'duration' || type.kind === 'interval'
}

/** Return the finer of two units of time. */
export function finerUnit(a: TimeUnit, b: TimeUnit): TimeUnit {
  return precisionOfUnit[a] > precisionOfUnit[b] ? a : b
}

/** Return the zone of a timestamp, or null if it has none. */
export function zoneOf(type: DataType): string | null {
  return type.kind === 'timestamp' ? type.timezone : null
}

/**
 * Return the coarsest timestamp unit that holds values of a date or timestamp type exactly. Return null for other
 * types.
 */
export function instantUnit(type: DataType): TimeUnit | null {
  if (type.kind === 'timestamp') return type.unit
  return type.kind === 'date' ? (type.unit === 'day' ? 's' : 'ms') : null
}
