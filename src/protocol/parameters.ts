/**
 * Values for the parameters of SQL in filters and updates, as JSON. Null, booleans, texts, and numbers that JSON
 * represents exactly are written unchanged. Arrays contain values in any of these forms. Other values are an object
 * with one field:
 *
 *   {"$int": "9007199254740993"}     an integer of any size; a JSON number beyond 2^53 is refused
 *   {"$float": "1e+300"}             a double beyond 2^53 without fraction; also "NaN", "Infinity", "-Infinity", "-0"
 *   {"$timestamp": 1700000000000}    milliseconds since 1970
 *   {"$binary": "<base64>"}          bytes
 */
import { cut, invalidInput, quote, type SheafError } from '../errors.js'
import { isRounded } from './json.js'
import { isObject } from './parse.js'

/** One value. A number that is a safe integer becomes an SQL integer, a Date becomes a timestamp in milliseconds. */
export type ParameterScalar = null | boolean | number | string | bigint | Date | Uint8Array

/**
 * One value, or a list of values. Arrays and typed arrays are lists, except for Uint8Array, which is one binary value.
 */
export type ParameterValue =
  | ParameterScalar
  | readonly ParameterScalar[]
  | Float64Array
  | Float32Array
  | BigInt64Array
  | BigUint64Array
  | Int32Array
  | Uint32Array
  | Int16Array
  | Uint16Array
  | Int8Array

/** Values of parameters: an array for `?` and `$1`, or an object for `:name`. */
export type Parameters = readonly ParameterValue[] | Readonly<Record<string, ParameterValue>>

/** Limit of the absolute value of integers: they may have at most 400 digits, like texts of floats (`numeral`). */
const intLimit = 10n ** 400n

const floats: readonly string[] = ['NaN', 'Infinity', '-Infinity', '-0']
const numeral = /^-?\d{1,400}(\.\d{1,400})?(e[+-]?\d{1,3})?$/i

type Container = readonly unknown[] | Readonly<Record<string, unknown>>

/** Convert parameter values to JSON. Throws InvalidInput for values of other types. */
export function writeParameters(parameters: Parameters): Container {
  return mapped(parameters, writeValue)
}

/** Convert JSON to parameter values; the inverse of `writeParameters`. Throws InvalidInput for JSON in another form. */
export function readParameters(json: Container): Parameters {
  return mapped(json, readValue) as Parameters
}

function mapped(container: Container, convert: (value: unknown, place: string) => unknown): Container {
  if (Array.isArray(container)) return container.map((value, i) => convert(value, `parameter ${i + 1}`))
  if (!isObject(container)) {
    throw invalidInput(`parameters must be an array or an object, got ${quote(container)}`, {
      hint: 'write [value]',
    })
  }
  return Object.fromEntries(
    Object.entries(container).map(([name, value]) => [name, convert(value, `:${cut(name)}`)]),
  )
}

function writeValue(value: unknown, place: string): unknown {
  const items = itemsOf(value)
  if (items === null) return writeScalar(value, place)
  const written: unknown[] = []
  for (let i = 0; i < items.length; i++) {
    const item = items[i]
    // Handle numbers and texts here without further checks, because they are most elements of long lists.
    const isPlain = typeof item === 'string' || (typeof item === 'number' && isPlainNumber(item))
    written.push(isPlain ? item : writeScalar(item, `element ${i} of ${place}`))
  }
  return written
}

/** Return the elements if a value is a list, otherwise null. A Uint8Array is not a list, but one binary value. */
function itemsOf(value: unknown): ArrayLike<unknown> | null {
  if (Array.isArray(value)) return value
  const isNumbers =
    ArrayBuffer.isView(value) && !(value instanceof Uint8Array) && !(value instanceof DataView)
  return isNumbers ? (value as Float64Array) : null
}

function writeScalar(value: unknown, place: string): unknown {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return value
  if (typeof value === 'number') {
    return isPlainNumber(value) ? value : { $float: Object.is(value, -0) ? '-0' : String(value) }
  }
  if (typeof value === 'bigint' && value > -intLimit && value < intLimit) return { $int: String(value) }
  if (value instanceof Date && Number.isFinite(value.getTime())) return { $timestamp: value.getTime() }
  if (value instanceof Uint8Array) return { $binary: Buffer.from(value).toString('base64') }
  throw invalidParameter(value, place)
}

/**
 * Return whether JSON represents a number exactly. This is false for NaN and the infinities, which JSON writes as null,
 * for -0, which becomes 0, and for integers beyond 2^53, several of which have the same text.
 */
function isPlainNumber(value: number): boolean {
  return Number.isFinite(value) && !Object.is(value, -0) && !isRounded(value)
}

function readValue(value: unknown, place: string): unknown {
  if (!Array.isArray(value)) return readScalar(value, place)
  const read: unknown[] = []
  for (let i = 0; i < value.length; i++) {
    const item = value[i]
    const isPlain = typeof item === 'string' || typeof item === 'number'
    read.push(isPlain ? item : readScalar(item, `element ${i} of ${place}`))
  }
  return read
}

function readScalar(value: unknown, place: string): unknown {
  if (Array.isArray(value)) throw invalidParameter(value, place)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value)
  const [form, content] = entries.length === 1 ? entries[0]! : []
  if (form === '$int' && typeof content === 'string' && /^-?\d{1,400}$/.test(content)) return BigInt(content)
  if (form === '$float' && typeof content === 'string') {
    if (floats.includes(content) || (numeral.test(content) && isRounded(Number(content))))
      return Number(content)
  }
  if (form === '$timestamp' && Number.isSafeInteger(content)) {
    const date = new Date(content)
    if (Number.isFinite(date.getTime())) return date
  }
  if (form === '$binary' && typeof content === 'string') return new Uint8Array(Buffer.from(content, 'base64'))
  throw invalidParameter(value, place)
}

function invalidParameter(value: unknown, place: string): SheafError {
  const isDate = value instanceof Date
  const what = isDate ? 'an invalid Date' : typeof value === 'function' ? 'a function' : quote(value)
  return invalidInput(`${place} is ${what}, which is not a valid parameter`, {
    hint: Array.isArray(value)
      ? 'pass a list of single values'
      : 'pass a number, bigint, string, boolean, null, Date, Uint8Array or a list of them',
  })
}
