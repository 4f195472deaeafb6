/** The type of a column of JavaScript values, from all of them. */
import { types } from 'node:util'
import { invalidInput, quote, type SheafError } from '../errors.js'
import type { Place } from './place.js'
import { type DataType, type Field, maxTypeDepth } from './types.js'

/**
 * What kinds of values there are. Checks hold across realms (workers, vm contexts): no `instanceof`.
 * 'array' is an Array or a typed array other than Uint8Array.
 */
export type ValueKind =
  | 'null'
  | 'number'
  | 'bigint'
  | 'boolean'
  | 'string'
  | 'Date'
  | 'Uint8Array'
  | 'array'
  | 'object'

/** The kind of a value; null for what no column can hold (functions, symbols, Map, Set, ArrayBuffer ...). */
export function kindOf(value: unknown): ValueKind | null {
  switch (typeof value) {
    case 'number':
    case 'bigint':
    case 'boolean':
    case 'string':
      return typeof value as ValueKind
    case 'undefined':
      return 'null'
    case 'object':
      if (value === null) return 'null'
      if (Array.isArray(value)) return 'array'
      if (types.isUint8Array(value)) return 'Uint8Array'
      if (types.isTypedArray(value)) return 'array'
      if (types.isDate(value)) return 'Date'
      return isPlain(value) ? 'object' : null
    default:
      return null
  }
}

/** Whether an object holds its content in its own keys. */
function isPlain(value: object): boolean {
  return !opaque.has(Object.prototype.toString.call(value))
}

/** Built-in objects whose content is not in their keys. */
const opaque = new Set(
  [
    ...['Map', 'Set', 'WeakMap', 'WeakSet', 'ArrayBuffer', 'SharedArrayBuffer', 'DataView'],
    ...['RegExp', 'Promise', 'Error', 'Number', 'String', 'Boolean'],
  ].map(name => `[object ${name}]`),
)

/**
 * What inference and building may spread out of nested values: a list that holds itself twice would else
 * double at every level.
 */
export class SpreadLimit {
  #elements = 2 ** 25
  #fields = 10_000

  elements(count: number, place: Place): void {
    this.#elements -= count
    if (this.#elements < 0) throw tooMany(place)
  }

  field(place: Place): void {
    if (--this.#fields < 0) throw invalidInput(`column ${quote(place.path)} is one of more than 10000 fields`)
  }
}

function tooMany(place: Place): SheafError {
  return invalidInput(`column ${quote(place.path)} holds more than ${2 ** 25} list elements`, {
    hint: 'send fewer rows at a time',
  })
}

/**
 * Number -> float64, bigint -> int64, boolean, string -> utf8, Date -> timestamp(ms), Uint8Array -> binary;
 * arrays of numbers of one length >= 2 -> fixed_size_list<float32>, other arrays -> list; objects -> struct;
 * nothing but null and undefined -> null. All fields are nullable.
 * @throws invalidInput naming column and row where kinds are mixed, or a value is of no kind.
 */
export function inferType(values: readonly unknown[], place: Place, limit: SpreadLimit, depth = 1): DataType {
  if (depth > maxTypeDepth) {
    throw invalidInput(`column ${quote(place.path)} is nested deeper than ${maxTypeDepth} types`)
  }
  limit.field(place)
  switch (commonKind(values, place)) {
    case 'null':
      return { kind: 'null' }
    case 'number':
      return float64
    case 'bigint':
      return { kind: 'int', bits: 64, signed: true }
    case 'boolean':
      return { kind: 'bool' }
    case 'string':
      return { kind: 'utf8', large: false }
    case 'Date':
      return { kind: 'timestamp', unit: 'ms', timezone: null }
    case 'Uint8Array':
      return { kind: 'binary', large: false }
    case 'array':
      return inferList(values as readonly (ArrayLike<unknown> | null | undefined)[], place, limit, depth)
    case 'object':
      return inferStruct(values as readonly (Readonly<Record<string, unknown>> | null)[], place, limit, depth)
  }
}

function commonKind(values: readonly unknown[], place: Place): ValueKind {
  let common: ValueKind = 'null'
  for (let i = 0; i < values.length; i++) {
    const value = values[i]
    if (value === null || value === undefined) continue
    const kind = kindOf(value)
    if (kind === common) continue
    if (kind === null) {
      const what = typeof value === 'object' ? Object.prototype.toString.call(value) : typeof value
      throw invalidInput(`row ${place.row(i)}: column ${quote(place.path)} holds a ${what}`)
    }
    if (common !== 'null') {
      throw invalidInput(
        `row ${place.row(i)}: column ${quote(place.path)} holds a ${kind}, rows before it a ${common}`,
        { hint: 'make all values of a column one type, or pass a schema' },
      )
    }
    common = kind
  }
  return common
}

function inferList(
  values: readonly (ArrayLike<unknown> | null | undefined)[],
  place: Place,
  limit: SpreadLimit,
  depth: number,
): DataType {
  const size = vectorLength(values)
  if (size >= 2) return vectorType(size)
  const { elements, offsets } = spreadLists(values, place, limit)
  const child = inferType(elements, place.elements(offsets), limit, depth + 1)
  return { kind: 'list', large: false, child: item(child) }
}

/** What vectors of numbers are stored as where no schema says otherwise. */
export function vectorType(size: number): DataType {
  return { kind: 'fixed_size_list', size, child: item({ kind: 'float', bits: 32 }) }
}

/**
 * The type of all values when some have the type `a` and the rest the type `b`: what `inferType` would say of
 * them all. Null where it would refuse them.
 */
export function mergeTypes(a: DataType, b: DataType): DataType | null {
  if (a.kind === 'null') return b
  if (b.kind === 'null') return a
  if (a.kind === 'fixed_size_list' && b.kind === 'fixed_size_list' && a.size === b.size) return a
  const [listA, listB] = [asList(a), asList(b)]
  if (listA !== null && listB !== null) {
    const child = mergeTypes(listA.child.type, listB.child.type)
    return child === null ? null : { ...listA, child: item(child) }
  }
  if (a.kind === 'struct' && b.kind === 'struct') return mergeStructs(a.children, b.children)
  return a.kind === b.kind ? a : null
}

/** Vectors that do not share one length are lists of numbers. */
function asList(type: DataType): (DataType & { readonly kind: 'list' }) | null {
  if (type.kind === 'list') return type
  return type.kind === 'fixed_size_list' ? { kind: 'list', large: false, child: item(float64) } : null
}

function mergeStructs(a: readonly Field[], b: readonly Field[]): DataType | null {
  const merged = new Map(a.map(field => [field.name, field.type]))
  for (const { name, type } of b) {
    const known = merged.get(name)
    const both = known === undefined ? type : mergeTypes(known, type)
    if (both === null) return null
    merged.set(name, both)
  }
  const children = [...merged].map(([name, type]): Field => ({ name, type, nullable: true }))
  return { kind: 'struct', children }
}

const float64: DataType = { kind: 'float', bits: 64 }

function item(type: DataType): Field {
  return { name: 'item', type, nullable: true }
}

/** The length that all arrays share when every element of every one is a number; else 0. */
function vectorLength(values: readonly (ArrayLike<unknown> | null | undefined)[]): number {
  let length = 0
  for (let i = 0; i < values.length; i++) {
    const value = values[i]
    if (value === null || value === undefined) continue
    if (length === 0) length = value.length
    if (value.length !== length || length === 0) return 0
    if (Array.isArray(value)) {
      for (let k = 0; k < length; k++) if (typeof value[k] !== 'number') return 0
    } else if (typeof value[0] !== 'number') {
      return 0
    }
  }
  return length
}

/** The elements of all lists one after the other, and the offsets that cut them. */
export function spreadLists(
  values: readonly (ArrayLike<unknown> | null | undefined)[],
  place: Place,
  limit: SpreadLimit,
): { elements: unknown[]; offsets: Int32Array } {
  const offsets = new Int32Array(values.length + 1)
  let total = 0
  for (let i = 0; i < values.length; i++) {
    const length = values[i]?.length ?? 0
    limit.elements(length, place)
    total += length
    offsets[i + 1] = total
  }
  const elements: unknown[] = new Array(total)
  let at = 0
  for (let i = 0; i < values.length; i++) {
    const value = values[i]
    if (value === null || value === undefined) continue
    for (let k = 0; k < value.length; k++) elements[at++] = value[k]
  }
  return { elements, offsets }
}

function inferStruct(
  values: readonly (Readonly<Record<string, unknown>> | null | undefined)[],
  place: Place,
  limit: SpreadLimit,
  depth: number,
): DataType {
  const children = columnNames(values).map((name): Field => {
    const type = inferType(readColumn(values, name), place.field(name), limit, depth + 1)
    return { name, type, nullable: true }
  })
  return { kind: 'struct', children }
}

/** The own keys of all objects, in order of first appearance. */
export function columnNames(
  rows: readonly (Readonly<Record<string, unknown>> | null | undefined)[],
): string[] {
  const names = new Set<string>()
  let previous: string[] = []
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i]
    if (row === null || row === undefined) continue
    const keys = Object.keys(row)
    if (sameKeys(keys, previous)) continue
    for (const key of keys) names.add(key)
    previous = keys
  }
  return [...names]
}

function sameKeys(a: readonly string[], b: readonly string[]): boolean {
  if (a.length !== b.length) return false
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false
  return true
}

/** What every object holds under a key; undefined where it is not its own. */
export function readColumn(
  rows: readonly (Readonly<Record<string, unknown>> | null | undefined)[],
  name: string,
): unknown[] {
  const out: unknown[] = new Array(rows.length)
  // Names that every object inherits (`constructor`, `__proto__`) count only as own keys.
  const inherited = name in Object.prototype
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i]
    out[i] =
      row === null || row === undefined || (inherited && !Object.hasOwn(row, name)) ? undefined : row[name]
  }
  return out
}
