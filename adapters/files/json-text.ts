/** Parses and formats JSON without loss: an integer beyond 2^53 is a bigint. */
import { types } from 'node:util'
import { invalidInput, quote } from '../../src/errors.js'
import { JsonKind, JsonReader } from '../../src/sql/functions/json.js'

/** Maximum nesting of JSON values. No data type is nested deeper. */
const deepest = 128

/** Maximum digits of an integer. No data type has more. */
const longestInteger = 400

/**
 * Matches each text that may contain a number that `JSON.parse` would round. Only such a text is parsed number by
 * number.
 */
const mayBeLong = /(?:^|[^.\d])\d{16}|\d[eE]\+?\d{3}/

/**
 * Parse a JSON text. Integers beyond 2^53 become bigints. Throws InvalidInput for invalid JSON and for a number beyond
 * the range of float64. The message has no position, because the caller adds it.
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
  if (!Number.isFinite(number))
    throw invalidInput(`contains the number ${quote(source)}, which is beyond the range of float64`)
  if (Number.isSafeInteger(number) || !/^-?\d+$/.test(source)) return number
  if (source.length > longestInteger)
    throw invalidInput(
      `contains an integer of ${source.length} digits; at most ${longestInteger} are allowed`,
    )
  return BigInt(source)
}

/** Set a property of an object, also if its name is `__proto__`: a plain assignment would set the prototype. */
export function setOwn(target: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== '__proto__') target[name] = value
  else Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true })
}

/** Format a plain value as JSON. */
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
 * Return the shortest text that parses to the same number, also for -0. An integral float beyond 2^53 gets an exponent,
 * because `parseJson` would read its digits alone as a bigint.
 */
function numberText(value: number): string {
  if (Object.is(value, -0)) return '-0'
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? value.toExponential() : String(value)
}
