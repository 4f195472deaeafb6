/**
 * Values for the parameters of a filter as JSON. What JSON cannot say is an object with one field:
 * `{"$int":"9007199254740993"}`, `{"$timestamp":1700000000000}` (milliseconds since 1970), `{"$binary":"<base64>"}`.
 */
import { invalidInput, quote } from '../errors.js'

export type ParameterValue =
  | null
  | boolean
  | number
  | string
  | bigint
  | Date
  | Uint8Array
  | readonly ParameterValue[]

/** Values of `?` and `$1` in their order, or of `:name` by name. */
export type Parameters = readonly ParameterValue[] | Readonly<Record<string, ParameterValue>>

type Container = readonly unknown[] | Readonly<Record<string, unknown>>

/** The parameters as JSON values. Throws code 13 for a value no filter can hold. */
export function writeParameters(parameters: Parameters): Container {
  return mapped(parameters, writeValue)
}

/** The inverse of `writeParameters`. Throws code 13 for objects that are none of its forms. */
export function readParameters(json: Container): Parameters {
  return mapped(json, readValue) as Parameters
}

function mapped(container: Container, convert: (value: unknown, place: string) => unknown): Container {
  if (Array.isArray(container)) return container.map((value, i) => convert(value, `parameter ${i + 1}`))
  if (typeof container !== 'object' || container === null) {
    throw invalidInput(`parameters must be an array or an object, got ${quote(container)}`)
  }
  return Object.fromEntries(
    Object.entries(container).map(([name, value]) => [name, convert(value, `:${name}`)]),
  )
}

function writeValue(value: unknown, place: string): unknown {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return value
  if (typeof value === 'number' && Number.isFinite(value)) return value
  if (typeof value === 'bigint') return { $int: String(value) }
  if (value instanceof Date && Number.isFinite(value.getTime())) return { $timestamp: value.getTime() }
  if (value instanceof Uint8Array) return { $binary: Buffer.from(value).toString('base64') }
  if (Array.isArray(value)) return value.map(item => writeValue(item, place))
  throw invalidInput(`${place} is ${quote(value)}, which no filter can hold`)
}

function readValue(value: unknown, place: string): unknown {
  if (Array.isArray(value)) return value.map(item => readValue(item, place))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value)
  const [form, content] = entries.length === 1 ? entries[0]! : []
  if (form === '$int' && typeof content === 'string' && /^-?\d{1,40}$/.test(content)) return BigInt(content)
  if (form === '$timestamp' && Number.isSafeInteger(content)) return new Date(content)
  if (form === '$binary' && typeof content === 'string') return new Uint8Array(Buffer.from(content, 'base64'))
  throw invalidInput(`${place} is ${quote(value)}, which no filter can hold`)
}
