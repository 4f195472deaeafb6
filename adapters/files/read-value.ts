/**
 * Parses texts and JSON values as values of a data type, in the form that rows have (src/arrow/rows.ts). write-value.ts
 * is the inverse. The table shows the accepted texts for each type:
 *
 *   bool                           true, false, 1, 0, in upper or lower case
 *   int                            decimal digits; 64-bit integers become bigints
 *   float                          a JSON number; also NaN, Infinity, inf, with or without a sign
 *   decimal                        decimal digits that need no rounding
 *   date, timestamp                ISO 8601, in UTC if it has no offset; becomes a Date if the Date is exact,
 *                                  otherwise a bigint that counts units of the type
 *   time                           for example 12:34:56.789
 *   duration                       an integer that counts units of the type
 *   binary, fixed_size_binary      base64
 *   list, vector, struct, map, interval    JSON; the same rules apply to the elements
 *
 * Every function returns `undefined` if the text or JSON value is not a value of the type.
 */
import { formatDecimal, parseDecimal } from '../../src/arrow/decimal.js'
import { perSecond, toDate } from '../../src/arrow/instant.js'
import { childFields, type DataType, type Field, type IntType } from '../../src/arrow/types.js'
import { SheafError } from '../../src/errors.js'
import { readInstant, readTime } from '../../src/sql/values/temporal.js'
import { parseJson, setOwn } from './json-text.js'

const nanosPerSecond = 1_000_000_000n
const dayMs = 86_400_000
const nanosPerDay = 86_400n * nanosPerSecond

const integer = /^[+-]?\d{1,20}$/
const number = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/
const commonMoment = /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d):(\d\d)(?:\.(\d{3}))?Z?)?$/
const special = /^([+-]?)(?:(nan)|inf(?:inity)?)$/i

export function readText(text: string, type: DataType): unknown {
  switch (type.kind) {
    case 'utf8':
      return text
    case 'bool':
      return readBool(text)
    case 'int':
      return integer.test(text)
        ? readInt(BigInt(text.startsWith('+') ? text.slice(1) : text), type)
        : undefined
    case 'float':
      return readFloat(text)
    case 'decimal': {
      const scaled = parseDecimal(text, type.scale)
      if (scaled === null) return undefined
      const limit = 10n ** BigInt(type.precision)
      return scaled < limit && scaled > -limit ? formatDecimal(scaled, type.scale) : undefined
    }
    case 'date':
    case 'timestamp':
      return readMoment(text, type)
    case 'time': {
      const nanos = readTime(text)
      if (nanos === null) return undefined
      const count = (nanos * perSecond[type.unit]) / nanosPerSecond
      if (count * nanosPerSecond !== nanos * perSecond[type.unit]) return undefined
      return type.unit === 's' || type.unit === 'ms' ? Number(count) : count
    }
    case 'duration':
      return integer.test(text)
        ? readInt(BigInt(text.replace('+', '')), { kind: 'int', bits: 64, signed: true })
        : undefined
    case 'binary':
    case 'fixed_size_binary': {
      const bytes = Buffer.from(text, 'base64')
      if (bytes.toString('base64') !== text) return undefined
      return type.kind === 'binary' || bytes.length === type.width ? new Uint8Array(bytes) : undefined
    }
    case 'dictionary':
      return readText(text, type.value)
    case 'null':
      return undefined
    default:
      return readNested(text, type)
  }
}

function readBool(text: string): boolean | undefined {
  switch (text.toLowerCase()) {
    case 'true':
    case '1':
      return true
    case 'false':
    case '0':
      return false
    default:
      return undefined
  }
}

function readInt(value: bigint, { bits, signed }: IntType): number | bigint | undefined {
  const kept = signed ? BigInt.asIntN(bits, value) : BigInt.asUintN(bits, value)
  if (kept !== value) return undefined
  return bits === 64 ? value : Number(value)
}

function readFloat(text: string): number | undefined {
  if (number.test(text)) {
    const value = Number(text)
    return Number.isFinite(value) ? value : undefined
  }
  const match = special.exec(text)
  if (match === null) return undefined
  if (match[2] !== undefined) return Number.NaN
  return match[1] === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
}

function readMoment(
  text: string,
  type: DataType & { kind: 'date' | 'timestamp' },
): Date | bigint | undefined {
  const date = readDate(text)
  if (date !== null && (type.kind === 'timestamp' ? type.unit !== 's' : date.getTime() % dayMs === 0))
    return date
  const nanos = readInstant(text, null)
  if (nanos === null) return undefined
  if (type.kind === 'date') {
    if (nanos % nanosPerDay !== 0n) return undefined
    return toDate(nanos / 1_000_000n, 'ms') ?? nanos / (type.unit === 'day' ? nanosPerDay : 1_000_000n)
  }
  const perUnit = nanosPerSecond / perSecond[type.unit]
  if (nanos % perUnit !== 0n) return undefined
  const count = nanos / perUnit
  if (BigInt.asIntN(64, count) !== count) return undefined
  return toDate(count, type.unit) ?? count
}

/**
 * Parse the common form of a time without bigints: a year of four digits, UTC, at most milliseconds. Returns null for
 * other texts.
 */
function readDate(text: string): Date | null {
  const match = commonMoment.exec(text)
  if (match === null) return null
  const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])]
  const [hour, minute, second] = [Number(match[4] ?? 0), Number(match[5] ?? 0), Number(match[6] ?? 0)]
  const date = new Date(Date.UTC(year, month - 1, day, hour, minute, second, Number(match[7] ?? 0)))
  // Reject dates for which `Date.UTC` returns another date: it changes February 30 to March 1 or 2, and the years 0 to
  // 99 to 1900 to 1999.
  const isReal = date.getUTCDate() === day && date.getUTCHours() === hour && date.getUTCMinutes() === minute
  return isReal && date.getUTCSeconds() === second && date.getUTCFullYear() === year ? date : null
}

function readNested(text: string, type: DataType): unknown {
  try {
    return readJsonValue(parseJson(text), type)
  } catch (error) {
    if (error instanceof SheafError) return undefined
    throw error
  }
}

/**
 * Convert a JSON value to a value of a type. A boolean, number, array or object must have the form for the type. A
 * string is parsed by `readText`. Returns undefined if the value does not fit.
 */
export function readJsonValue(value: unknown, type: DataType): unknown {
  if (value === null) return null
  if (type.kind === 'dictionary') return readJsonValue(value, type.value)
  if (typeof value === 'string') return isNested(type) ? undefined : readText(value, type)
  switch (type.kind) {
    case 'bool':
      return typeof value === 'boolean' ? value : undefined
    case 'int':
    case 'duration':
    case 'decimal':
      return typeof value === 'bigint' || typeof value === 'number'
        ? readText(String(value), type)
        : undefined
    case 'float':
      return typeof value === 'number' || typeof value === 'bigint' ? Number(value) : undefined
    case 'interval':
      return typeof value === 'object' ? value : typeof value === 'number' ? value : undefined
    case 'list':
    case 'fixed_size_list':
      return Array.isArray(value) ? readElements(value, type) : undefined
    case 'map':
      return typeof value === 'object' ? readEntries(value, type.child) : undefined
    case 'struct':
      return typeof value === 'object' && !Array.isArray(value) ? readFields(value, type.children) : undefined
    default:
      return undefined
  }
}

function isNested(type: DataType): boolean {
  return childFields(type).length > 0 || type.kind === 'struct' || type.kind === 'interval'
}

function readElements(
  elements: readonly unknown[],
  type: DataType & { kind: 'list' | 'fixed_size_list' },
): unknown[] | undefined {
  if (type.kind === 'fixed_size_list' && elements.length !== type.size) return undefined
  const out: unknown[] = new Array(elements.length)
  for (let i = 0; i < elements.length; i++) {
    out[i] = readJsonValue(elements[i], type.child.type)
    if (out[i] === undefined) return undefined
  }
  return out
}

function readEntries(value: object, entries: Field): [unknown, unknown][] | undefined {
  const [keyField, valueField] = childFields(entries.type)
  const out: [unknown, unknown][] = []
  for (const pair of Array.isArray(value) ? value : Object.entries(value)) {
    if (!Array.isArray(pair) || pair.length !== 2) return undefined
    const key = readJsonValue(pair[0], keyField!.type)
    const mapped = readJsonValue(pair[1], valueField!.type)
    if (key === undefined || mapped === undefined) return undefined
    out.push([key, mapped])
  }
  return out
}

function readFields(value: object, fields: readonly Field[]): Record<string, unknown> | undefined {
  const out: Record<string, unknown> = {}
  let known = 0
  for (const { name, type } of fields) {
    if (!Object.hasOwn(value, name)) continue
    known++
    const field = readJsonValue((value as Readonly<Record<string, unknown>>)[name], type)
    if (field === undefined) return undefined
    setOwn(out, name, field)
  }
  return known === Object.keys(value).length ? out : undefined
}
