/**
 * Converts values of rows to plain values, which JSON and CSV can represent. A plain value is null, a boolean, number,
 * bigint or string, or an array (also a typed array) or object of plain values. read-value.ts is the inverse, and
 * describes the form for each type.
 *
 * NaN and the infinities become strings, because JSON has no numbers for them.
 */
import { types } from 'node:util'
import { fromDate } from '../../src/arrow/instant.js'
import { typeName } from '../../src/arrow/type-name.js'
import { childFields, type DataType, maxTypeDepth } from '../../src/arrow/types.js'
import { invalidInput, quote } from '../../src/errors.js'
import { writeInstant, writeTime } from '../../src/sql/values/temporal.js'
import { setOwn } from './json-text.js'

const dayMs = 86_400_000

/**
 * Convert a value that comes from `columnValues` with `int64: 'bigint'`. Throws InvalidInput for dates and timestamps
 * beyond the year range of ISO 8601. The message has no position, because the caller adds it.
 */
export function plainValue(value: unknown, type: DataType): unknown {
  if (value === null) return null
  switch (type.kind) {
    case 'float':
      return plainNumber(value as number)
    case 'binary':
    case 'fixed_size_binary':
      return base64(value as Uint8Array)
    case 'date':
    case 'timestamp':
      return plainMoment(value as Date | bigint, type)
    case 'time':
      return writeTime(BigInt(value as number | bigint), type)
    case 'list':
    case 'fixed_size_list':
      if (types.isTypedArray(value) && isAllFinite(value)) return value
      return Array.from(value as ArrayLike<unknown>, each => plainValue(each, type.child.type))
    case 'map': {
      const [key, mapped] = childFields(type.child.type)
      return (value as readonly (readonly [unknown, unknown])[]).map(pair => [
        plainValue(pair[0], key!.type),
        plainValue(pair[1], mapped!.type),
      ])
    }
    case 'struct': {
      const out: Record<string, unknown> = {}
      for (const child of type.children) {
        const field = (value as Readonly<Record<string, unknown>>)[child.name]
        setOwn(out, child.name, plainValue(field, child.type))
      }
      return out
    }
    case 'dictionary':
      return plainValue(value, type.value)
    default:
      return value
  }
}

/** Return whether `plainValue` returns every value of a type unchanged. */
export function isPlain(type: DataType): boolean {
  switch (type.kind) {
    case 'null':
    case 'bool':
    case 'int':
    case 'utf8':
    case 'decimal':
    case 'duration':
    case 'interval':
      return true
    case 'dictionary':
      return isPlain(type.value)
    default:
      return false
  }
}

/** Return whether all elements are finite, because JSON has no NaN and no infinities. */
function isAllFinite(values: ArrayLike<number | bigint>): boolean {
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!
    if (typeof value === 'number' && value - value !== 0) return false
  }
  return true
}

function plainNumber(value: number): number | string {
  return Number.isFinite(value) ? value : String(value)
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
}

function plainMoment(value: Date | bigint, type: DataType & { kind: 'date' | 'timestamp' }): string {
  const text = writeInstant(typeof value === 'bigint' ? value : countOf(value, type), type, null)
  if (text === null) {
    throw invalidInput(`contains a ${typeName(type)} beyond the year range of ISO 8601: ${quote(value)}`)
  }
  return type.kind === 'timestamp' && type.timezone !== null ? `${text}Z` : text
}

function countOf(date: Date, type: DataType & { kind: 'date' | 'timestamp' }): bigint {
  if (type.kind === 'timestamp') return fromDate(date, type.unit)!
  return BigInt(type.unit === 'day' ? date.getTime() / dayMs : date.getTime())
}

/**
 * Convert a value of unknown type to a plain value. Throws InvalidInput for a value that no text file can represent.
 * The caller adds the position to the message.
 */
export function plainOf(value: unknown, depth = 0): unknown {
  if (depth > maxTypeDepth) throw invalidInput(`is nested deeper than ${maxTypeDepth} levels`)
  switch (typeof value) {
    case 'undefined':
      return null
    case 'string':
    case 'boolean':
    case 'bigint':
      return value
    case 'number':
      return plainNumber(value)
    case 'object':
      return value === null ? null : plainObject(value, depth)
    default:
      throw invalidInput(`contains a ${typeof value}, which has no text form`)
  }
}

function plainObject(value: object, depth: number): unknown {
  if (types.isDate(value)) {
    if (Number.isNaN(value.getTime())) throw invalidInput('contains an invalid Date')
    return value.toISOString()
  }
  if (types.isUint8Array(value)) return base64(value)
  if (types.isTypedArray(value) && isAllFinite(value)) return value
  if (Array.isArray(value) || types.isTypedArray(value)) {
    return Array.from(value as ArrayLike<unknown>, each => plainOf(each, depth + 1))
  }
  if (types.isMap(value)) return [...value].map(pair => pair.map(each => plainOf(each, depth + 1)))
  const kind = Object.prototype.toString.call(value)
  if (kind !== '[object Object]')
    throw invalidInput(`contains a ${kind.slice(8, -1)}, which has no text form`)
  const out: Record<string, unknown> = {}
  for (const [name, each] of Object.entries(value)) setOwn(out, name, plainOf(each, depth + 1))
  return out
}
