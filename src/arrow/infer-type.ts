/** Infers the type of a column from all of its JavaScript values. */
import { types } from 'node:util'
import { invalidInput, quote, type SheafError } from '../errors.js'
import type { Place } from './place.js'
import { equalTypes } from './same-type.js'
import { type DataType, type Field, maxTypeDepth } from './types.js'

/**
 * The kinds of JavaScript values from which a type is inferred. 'array' means an Array, or a typed array other than
 * Uint8Array. `kindOf` does not use `instanceof`, because values may come from another vm context with its own classes.
 */
type ValueKind =
  | 'null'
  | 'number'
  | 'bigint'
  | 'boolean'
  | 'string'
  | 'Date'
  | 'Uint8Array'
  | 'array'
  | 'object'

/**
 * Return the kind of a value. Returns null for a value that no column can contain, for example a function, a symbol or
 * a Map.
 */
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

/** Return whether the content of an object is in its own properties. False for a Map, for example. */
function isPlain(value: object): boolean {
  return !opaque.has(Object.prototype.toString.call(value))
}

/** Tags (of `Object.prototype.toString`) of built-in objects whose content is not in their own properties. */
const opaque = new Set(
  [
    ...['Map', 'Set', 'WeakMap', 'WeakSet', 'ArrayBuffer', 'SharedArrayBuffer', 'DataView'],
    ...['RegExp', 'Promise', 'Error', 'Number', 'String', 'Boolean'],
  ].map(name => `[object ${name}]`),
)

/**
 * Limits the number of list elements and fields that inference and building copy from nested values. Without a limit, a
 * small value could need exponential memory: a list may contain the same inner list twice at every level.
 */
export class SpreadLimit {
  #elements = 2 ** 25
  #fields = 10_000

  elements(count: number, place: Place): void {
    this.#elements -= count
    if (this.#elements < 0) throw tooManyElements(place)
  }

  field(place: Place): void {
    if (--this.#fields < 0)
      throw invalidInput(
        `the rows have more than 10000 columns and nested fields, counted up to ${quote(place.path)}`,
      )
  }
}

function tooManyElements(place: Place): SheafError {
  return invalidInput(`column ${quote(place.path)} has more than ${2 ** 25} list elements`, {
    hint: 'send fewer rows at a time',
  })
}

/** Return whether the name of a column indicates vectors, for example `vector`, `embedding` or `title_vector`. */
export function namesVectors(column: string): boolean {
  return /(?:^|_)(?:vector|embedding)$/i.test(column)
}

/**
 * Infer a type that stores all values of a column without change. All fields are nullable.
 *
 *   boolean, string, Date, Uint8Array    bool, utf8, timestamp(ms), binary
 *   number                               float64
 *   bigint                               int64, or uint64 if int64 is too small
 *   numbers and bigints                  int64 or uint64 if the numbers are whole, else float64 if it is exact
 *   Float32Array, Float64Array,          fixed_size_list of their elements
 *   Int8Array
 *   other arrays, objects                list, struct
 *   only null and undefined              null
 *
 * `areVectors`: whether arrays of numbers are vectors, with the type fixed_size_list<float32>. Default: false.
 * @throws InvalidInput if the values have different kinds, a value has no kind, no type stores all values, or vectors
 * have different lengths. The message names the column and the row.
 */
export function inferType(
  values: readonly unknown[],
  place: Place,
  limit: SpreadLimit,
  areVectors = false,
  depth = 1,
): DataType {
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
      return inferIntegers(values, place)
    case 'boolean':
      return { kind: 'bool' }
    case 'string':
      return { kind: 'utf8', large: false }
    case 'Date':
      return { kind: 'timestamp', unit: 'ms', timezone: null }
    case 'Uint8Array':
      return { kind: 'binary', large: false }
    case 'array':
      return inferList(
        values as readonly (ArrayLike<unknown> | null | undefined)[],
        place,
        limit,
        areVectors,
        depth,
      )
    case 'object':
      return inferStruct(values as readonly (Readonly<Record<string, unknown>> | null)[], place, limit, depth)
  }
}

/** Return the common kind of all values that are not null. For a mix of numbers and bigints it is `bigint`. */
function commonKind(values: readonly unknown[], place: Place): ValueKind {
  let common: ValueKind = 'null'
  for (let i = 0; i < values.length; i++) {
    const value = values[i]
    if (value === null || value === undefined) continue
    const kind = kindOf(value)
    if (kind === common) continue
    if (kind === null) {
      const what = typeof value === 'object' ? Object.prototype.toString.call(value) : typeof value
      throw invalidInput(
        `row ${place.row(i)}: column ${quote(place.path)} holds a ${what}, which no column can contain`,
      )
    }
    if (common === 'bigint' && kind === 'number') continue
    if (common !== 'null' && !(common === 'number' && kind === 'bigint')) {
      throw invalidInput(
        `row ${place.row(i)}: column ${quote(place.path)} holds a ${kind}, but earlier rows hold a ${common}`,
        { hint: 'use one type for all values of a column, or pass a schema' },
      )
    }
    common = kind
  }
  return common
}

/** Infer the type of bigints, possibly mixed with numbers. */
function inferIntegers(values: readonly unknown[], place: Place): DataType {
  let [least, greatest] = [0n, 0n]
  let areWhole = true
  for (let i = 0; i < values.length; i++) {
    const value = values[i]
    if (typeof value === 'bigint') {
      if (value < least) least = value
      if (value > greatest) greatest = value
    } else if (typeof value === 'number') areWhole &&= Number.isSafeInteger(value) && !Object.is(value, -0)
  }
  if (!areWhole) return floatsAround(values, place)
  const isNegative = least < 0n || values.some(value => typeof value === 'number' && value < 0)
  if (greatest < 2n ** 63n && least >= -(2n ** 63n)) return { kind: 'int', bits: 64, signed: true }
  if (greatest < 2n ** 64n && !isNegative) return { kind: 'int', bits: 64, signed: false }
  const tooLarge = values.findIndex(value => {
    if (typeof value !== 'bigint') return false
    return (isNegative ? BigInt.asIntN(64, value) : BigInt.asUintN(64, value)) !== value
  })
  const isMixed = isNegative && greatest === values[tooLarge] && greatest < 2n ** 64n
  throw invalidInput(
    `row ${place.row(tooLarge)}: column ${quote(place.path)} holds ${quote(values[tooLarge])}, which does not fit a 64-bit integer type${isMixed ? ' that also has negative values' : ''}`,
    { hint: 'pass a schema with a decimal or utf8 type for the column' },
  )
}

/** Return float64 for a mix of bigints and fractional numbers. Throws InvalidInput if float64 would round a bigint. */
function floatsAround(values: readonly unknown[], place: Place): DataType {
  const tooLarge = values.findIndex(value => typeof value === 'bigint' && BigInt(Number(value)) !== value)
  if (tooLarge === -1) return float64
  throw invalidInput(
    `row ${place.row(tooLarge)}: column ${quote(place.path)} holds ${quote(values[tooLarge])} and fractional numbers, but float64 cannot store this bigint exactly`,
    { hint: 'pass a schema with a decimal or utf8 type for the column' },
  )
}

function inferList(
  values: readonly (ArrayLike<unknown> | null | undefined)[],
  place: Place,
  limit: SpreadLimit,
  areVectors: boolean,
  depth: number,
): DataType {
  const vectors = inferVectors(values, place, areVectors)
  if (vectors !== null) return vectors
  const { elements, offsets } = spreadLists(values, place, limit)
  const child = inferType(elements, place.elements(offsets), limit, areVectors, depth + 1)
  return { kind: 'list', large: false, child: item(child) }
}

/**
 * Return the default type of vectors, fixed_size_list<float32>. A schema or the class of a typed array may give another
 * type.
 */
export function vectorType(size: number): DataType {
  return { kind: 'fixed_size_list', size, child: item({ kind: 'float', bits: 32 }) }
}

/** By class name: the element type of typed arrays that are always vectors. */
const elementTypes: Readonly<Record<string, DataType>> = {
  Float32Array: { kind: 'float', bits: 32 },
  Float64Array: { kind: 'float', bits: 64 },
  Int8Array: { kind: 'int', bits: 8, signed: true },
}

/**
 * Infer the type of vectors from the class of their arrays. If `areVectors` is false, plain arrays of numbers and a mix
 * of array classes are not vectors. Returns null if the values are not vectors, or if the first vector is empty.
 * @throws InvalidInput if vectors have different lengths or null elements.
 */
function inferVectors(
  values: readonly (ArrayLike<unknown> | null | undefined)[],
  place: Place,
  areVectors: boolean,
): DataType | null {
  let first = -1
  let className: string | null = null
  let mismatch = -1
  for (let i = 0; i < values.length; i++) {
    const value = values[i]
    if (value === null || value === undefined) continue
    const name = Array.isArray(value) ? 'Array' : (value as unknown as Float32Array)[Symbol.toStringTag]
    if (first === -1) first = i
    className = className === null || name === className ? name : 'Array'
    if (!areVectors && elementTypes[className] === undefined) return null
    const nulls = nullsAmongNumbers(value)
    if (nulls === null) return null
    if (mismatch === -1 && (nulls > 0 || value.length !== values[first]!.length)) mismatch = i
  }
  if (className === null) return null
  if (mismatch !== -1)
    throw unequalVector(values as readonly ArrayLike<unknown>[], mismatch, first, className, place)
  const size = values[first]!.length
  if (size === 0) return null
  const type = elementTypes[className]
  return type === undefined ? vectorType(size) : { kind: 'fixed_size_list', size, child: item(type) }
}

function unequalVector(
  values: readonly ArrayLike<unknown>[],
  mismatch: number,
  first: number,
  className: string,
  place: Place,
): SheafError {
  const [size, usual] = [values[mismatch]!.length, values[first]!.length]
  const what =
    size === usual
      ? 'a vector with a null element'
      : `a vector of ${size} numbers, but row ${place.row(first)} holds a vector of ${usual}`
  return invalidInput(`row ${place.row(mismatch)}: column ${quote(place.path)} holds ${what}`, {
    hint: `fix these rows, ${className === 'Int8Array' ? '' : "set badVectors to 'null' or 'skip', "}or pass a schema in which the column holds lists`,
  })
}

/** Count the null elements. Returns null if an element is neither null nor a number. */
export function nullsAmongNumbers(values: ArrayLike<unknown>): number | null {
  if (!Array.isArray(values)) return typeof values[0] === 'bigint' ? null : 0
  let nulls = 0
  for (let k = 0; k < values.length; k++) {
    const element: unknown = values[k]
    if (typeof element === 'number') continue
    if (element !== null && element !== undefined) return null
    nulls++
  }
  return nulls
}

/**
 * Merge two types that `inferType` returned for two parts of a column. Returns the type that `inferType` would return
 * for both parts together. Returns null if this type depends on the values, or if `inferType` would throw.
 */
export function mergeTypes(a: DataType, b: DataType): DataType | null {
  if (a.kind === 'null') return b
  if (b.kind === 'null') return a
  // Null for vectors of different lengths, and for vectors mixed with other lists. The caller then infers the type from
  // all values, which throws if `areVectors` is true.
  if (a.kind === 'fixed_size_list' || b.kind === 'fixed_size_list') return equalTypes(a, b) ? a : null
  if (a.kind === 'list' && b.kind === 'list') {
    const child = mergeTypes(a.child.type, b.child.type)
    return child === null ? null : { ...a, child: item(child) }
  }
  if (a.kind === 'struct' && b.kind === 'struct') return mergeStructs(a.children, b.children)
  return equalTypes(a, b) ? a : null
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

/** Concatenate the elements of all lists. Returns them with the offsets of the lists. A null list has no elements. */
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
    const type = inferType(readColumn(values, name), place.field(name), limit, false, depth + 1)
    return { name, type, nullable: true }
  })
  return { kind: 'struct', children }
}

/** Return the own keys of all objects without duplicates, in the order of their first appearance. */
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

/**
 * Return the value of each object under the key `name`. The value is undefined if the object is null or does not have
 * the key.
 */
export function readColumn(
  rows: readonly (Readonly<Record<string, unknown>> | null | undefined)[],
  name: string,
): unknown[] {
  const out: unknown[] = new Array(rows.length)
  // Every object inherits names such as `constructor`. So read these names only from objects that have them as own
  // keys.
  const inherited = name in Object.prototype
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i]
    out[i] =
      row === null || row === undefined || (inherited && !Object.hasOwn(row, name)) ? undefined : row[name]
  }
  return out
}
