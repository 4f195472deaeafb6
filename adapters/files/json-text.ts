/** JSON text without loss: integers no number holds come and go as bigint. */
import { types } from 'node:util'
import { invalidInput, quote } from '../../src/errors.js'
import { JsonKind, JsonReader } from '../../src/sql/functions/json.js'

/** Levels of nesting; more than any type has. */
const deepest = 128

/** More digits than any type holds. */
const longestInteger = 400

/** What only a number with a long integer part or exponent holds: those are looked at one by one. */
const mayBeLong = /(?:^|[^.\d])\d{16}|\d[eE]\+?\d{3}/

/**
 * The value of a JSON text. Integers beyond 2^53 are bigints; a number past the range of a float is refused.
 * Throws code 13 without saying where: the caller knows.
 */
export function parseJson(text: string): unknown {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw invalidInput(`is not valid JSON: ${quote(reason)}`, { cause })
  }
  if (!mayBeLong.test(text)) return value
  const reader = new JsonReader()
  reader.read(text)
  return exactValue(reader, 0, 0)
}

function exactValue(reader: JsonReader, token: number, depth: number): unknown {
  if (depth > deepest) throw invalidInput(`is nested deeper than ${deepest} levels`)
  switch (reader.kindOf(token)) {
    case JsonKind.Null:
      return null
    case JsonKind.False:
      return false
    case JsonKind.True:
      return true
    case JsonKind.Number:
      return numberOf(reader.sourceOf(token))
    case JsonKind.String:
      return reader.stringOf(token)
    case JsonKind.Array:
      return reader.children(token).map(child => exactValue(reader, child, depth + 1))
    case JsonKind.Object: {
      const object: Record<string, unknown> = {}
      for (const child of reader.children(token)) {
        setOwn(object, reader.stringOf(child - 1), exactValue(reader, child, depth + 1))
      }
      return object
    }
  }
}

function numberOf(source: string): number | bigint {
  const number = Number(source)
  if (!Number.isFinite(number)) throw invalidInput(`holds ${quote(source)}, past the range of a float`)
  if (Number.isSafeInteger(number) || !/^-?\d+$/.test(source)) return number
  if (source.length > longestInteger) throw invalidInput(`holds an integer of ${source.length} digits`)
  return BigInt(source)
}

/** `__proto__` is a name like any other, but assignment takes it for the prototype. */
export function setOwn(target: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== '__proto__') target[name] = value
  else Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true })
}

/** The JSON text of a plain value (see write-value.ts). */
export function jsonText(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value)
    case 'number':
      return numberText(value)
    case 'object': {
      if (value === null) return 'null'
      if (Array.isArray(value) || types.isTypedArray(value)) return arrayText(value as ArrayLike<unknown>)
      const members = Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}:${jsonText(each)}`)
      return `{${members.join(',')}}`
    }
    default:
      return String(value)
  }
}

function arrayText(values: ArrayLike<unknown>): string {
  const texts: string[] = new Array(values.length)
  for (let i = 0; i < values.length; i++) {
    const value = values[i]
    texts[i] = typeof value === 'number' ? numberText(value) : jsonText(value)
  }
  return `[${texts.join(',')}]`
}

/**
 * The shortest text that gives the number back, with the sign of -0. A float beyond 2^53 has an exponent: its digits alone
 * would be those of another integer.
 */
function numberText(value: number): string {
  if (Object.is(value, -0)) return '-0'
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? value.toExponential() : String(value)
}
