/** Converts values of SQLite to values of the type of their column. */
import { typeName } from '../../src/arrow/type-name.js'
import type { DataType, Field } from '../../src/arrow/types.js'
import { cut, quote, type SheafError, schemaMismatch } from '../../src/errors.js'
import { readText } from './read-value.js'
import type { SqliteValue } from './sqlite-driver.js'

const int64: DataType = { kind: 'int', bits: 64, signed: true }
const float64: DataType = { kind: 'float', bits: 64 }
const text: DataType = { kind: 'utf8', large: false }
const binary: DataType = { kind: 'binary', large: false }

/**
 * Return the type of a declared column, by the rules of SQLite for the affinity of columns (datatype3.html, 3.1). Returns
 * null if the declaration does not determine the type: the values then do.
 */
export function declaredType(declared: string | null): DataType | null {
  const name = (declared ?? '').toUpperCase()
  if (name.includes('INT')) return int64
  if (/CHAR|CLOB|TEXT/.test(name)) return text
  if (name.includes('BLOB')) return binary
  if (/REAL|FLOA|DOUB/.test(name)) return float64
  if (name.startsWith('BOOL')) return { kind: 'bool' }
  return /^(?:DECIMAL|NUMERIC)\b/.test(name) ? float64 : null
}

/**
 * Return the type that fits all values: that of their storage class. Integers and floats together are float64. Text is
 * returned if there is no value. Returns null if no type fits.
 */
export function typeOfValues(values: Iterable<SqliteValue>): DataType | null {
  const kinds = new Set<string>()
  for (const value of values) if (value !== null) kinds.add(typeof value)
  if (kinds.size === 0) return text
  if (kinds.size === 2 && kinds.has('bigint') && kinds.has('number')) return float64
  if (kinds.size > 1) return null
  const [kind] = kinds
  return kind === 'bigint' ? int64 : kind === 'number' ? float64 : kind === 'string' ? text : binary
}

/** Convert a value. Throws SchemaValidation if the value does not fit the type. `place`: the row and the column. */
export function convertValue(value: SqliteValue, { type, nullable }: Field, place: string): unknown {
  if (value === null) {
    if (nullable) return null
    throw schemaMismatch(`${place} must not be null, because its type is not nullable`)
  }
  const converted = converterOf(type)(value)
  if (converted === undefined) throw misfit(value, type, place)
  return converted
}

function converterOf(type: DataType): (value: SqliteValue) => unknown {
  switch (type.kind) {
    case 'bool':
      return value => (value === 0n || value === 1n ? value === 1n : undefined)
    case 'float':
      return value => floatOf(value)
    case 'utf8':
      return value => (typeof value === 'string' ? value : undefined)
    case 'binary':
      return value => (value instanceof Uint8Array ? new Uint8Array(value) : undefined)
    case 'fixed_size_list':
      return value => vectorFrom(value, type.size)
    case 'int':
      return value => (typeof value === 'bigint' ? readText(String(value), type) : undefined)
    default:
      return value => {
        if (typeof value === 'string') return readText(value, type)
        if (typeof value === 'bigint') return readText(String(value), type) ?? value
        return type.kind === 'decimal' && typeof value === 'number'
          ? readText(String(value), type)
          : undefined
      }
  }
}

function floatOf(value: SqliteValue): number | undefined {
  if (typeof value === 'number') return value
  if (typeof value !== 'bigint') return undefined
  const number = Number(value)
  return BigInt(number) === value ? number : undefined
}

/** Return the numbers of a blob: float32, little-endian, as sqlite-vec stores them. */
function vectorFrom(value: SqliteValue, dim: number): Float32Array | undefined {
  if (!(value instanceof Uint8Array) || value.length !== 4 * dim) return undefined
  const view = new DataView(value.buffer, value.byteOffset, value.length)
  return Float32Array.from({ length: dim }, (_, i) => view.getFloat32(4 * i, true))
}

function misfit(value: SqliteValue, type: DataType, place: string): SheafError {
  const got =
    value instanceof Uint8Array
      ? `a blob of ${value.length} bytes`
      : typeof value === 'string'
        ? `the text ${quote(cut(value))}`
        : `the ${typeof value === 'bigint' ? 'integer' : 'real number'} ${value}`
  const wanted = type.kind === 'fixed_size_list' ? `a blob of ${4 * type.size} bytes` : typeName(type)
  return schemaMismatch(`${place} must be ${wanted}, got ${got}`, {
    hint: 'pass types: { column: type }, or convert the value in the query, for example CAST(column AS TEXT)',
  })
}
