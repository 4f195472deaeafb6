/**
 * Zone maps: the minimum, maximum and null count of a column in a set of rows. In the code, a zone map is called zone.
 * Queries skip rows if the filter excludes all values within the bounds of their zone.
 *
 * - Bounds are inclusive. A bound may differ from all values, because long strings are cut, and rows may be deleted.
 * - The order of values is that of comparisons (compare.ts). NaN is the greatest float, -0 equals 0, and strings and
 *   byte strings are ordered by their bytes.
 * - Types without an order have no zones. The zone of a dictionary column covers only the entries that its rows use.
 */
import type { Column } from '../../arrow/column.js'
import type { DataType } from '../../arrow/types.js'
import { corrupted, quote } from '../../errors.js'
import { decoded, dictionaryRows } from '../kernels/dictionary.js'
import type { Scalar } from '../values/scalar.js'
import { orderOfScalars } from '../values/scalar-order.js'
import { isOrdered, valueType } from '../values/types.js'
import { bitAt, validWords, wordCount } from '../values/vector.js'
import { type Ends, endsOf } from './extremes.js'

/** The statistics of a column in a set of rows. */
export interface Zone {
  /** A lower bound of all values. Null if all rows are NULL. */
  readonly least: Scalar
  /** An upper bound of all values. Null if all rows are NULL, or if there is no upper bound. */
  readonly greatest: Scalar
  /** Number of NULL rows. */
  readonly nulls: number
}

/** A bound as JSON. Integers beyond 2^53 and floats that are not finite are strings. Bytes are hexadecimal strings. */
type RecordedBound = null | boolean | number | string

/** A zone as it is stored in a slot (docs/format.md). */
export type ZoneRecord = readonly [least: RecordedBound, greatest: RecordedBound, nulls: number]

/** Return whether columns of this type have zones. */
export function hasZones(type: DataType): boolean {
  return isOrdered(type) && valueType(type).kind !== 'null'
}

/** Compute the zone of a column. Return null if columns of this type have no zones. */
export function zoneOf(column: Column): Zone | null {
  if (!hasZones(column.type)) return null
  if (column.dictionary !== null) return zoneOfDictionary(column)
  return zoneWith(endsOf(column, validWords(column)), column.nullCount)
}

/** Return the zone of the rows of both zones together. */
export function joinZones(a: Zone, b: Zone): Zone {
  const nulls = a.nulls + b.nulls
  if (a.least === null) return { ...b, nulls }
  if (b.least === null) return { ...a, nulls }
  const isUnbounded = a.greatest === null || b.greatest === null
  return {
    least: orderOfScalars(a.least, b.least) <= 0 ? a.least : b.least,
    greatest: isUnbounded ? null : orderOfScalars(a.greatest, b.greatest) >= 0 ? a.greatest : b.greatest,
    nulls,
  }
}

function zoneWith(ends: Ends | null, nulls: number): Zone {
  return ends === null ? { least: null, greatest: null, nulls } : { least: ends[0], greatest: ends[1], nulls }
}

function zoneOfDictionary(column: Column): Zone {
  const entries = decoded(column.dictionary!)
  const valid = validWords(entries)
  const entryOf = dictionaryRows(column)
  const used = new Uint32Array(wordCount(entries.length))
  let nulls = 0
  for (let i = 0; i < entryOf.length; i++) {
    const entry = entryOf[i]!
    if (entry === -1 || (valid !== null && !bitAt(valid, entry))) nulls++
    else used[entry >>> 5]! |= 1 << (entry & 31)
  }
  return zoneWith(endsOf(entries, used), nulls)
}

/** Convert a zone to the form in which it is stored. */
export function writeZone({ least, greatest, nulls }: Zone): ZoneRecord {
  return [writeBound(least), writeBound(greatest), nulls]
}

function writeBound(value: Scalar): RecordedBound {
  if (typeof value === 'bigint') {
    const number = Number(value)
    return Number.isSafeInteger(number) ? number : value.toString()
  }
  if (typeof value === 'number' && !Number.isFinite(value)) {
    return Number.isNaN(value) ? 'NaN' : value > 0 ? 'inf' : '-inf'
  }
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : (value as RecordedBound)
}

/**
 * Parse the record of a zone of a column of type `type`, which must have zones. Throws `Internal` for an invalid
 * record.
 */
export function readZone(record: unknown, type: DataType): Zone {
  const parts: readonly unknown[] = Array.isArray(record) ? record : []
  const [least, greatest] = parts.slice(0, 2).map(bound => readBound(bound, valueType(type)))
  const nulls = parts[2]
  const isCount = Number.isSafeInteger(nulls) && (nulls as number) >= 0
  const isEmpty = least === null && greatest !== null
  if (parts.length !== 3 || least === undefined || greatest === undefined || !isCount || isEmpty) {
    throw corrupted(`${quote(record)} is not a valid zone of a column of type ${valueType(type).kind}`)
  }
  return { least, greatest, nulls: nulls as number }
}

const floats: ReadonlyMap<unknown, number> = new Map([
  ['NaN', Number.NaN],
  ['inf', Infinity],
  ['-inf', -Infinity],
])

/** Parse a bound. Return undefined if the bound is not a value of the type. */
function readBound(bound: unknown, { kind }: DataType): Scalar | undefined {
  if (bound === null) return null
  switch (kind) {
    case 'bool':
      return typeof bound === 'boolean' ? bound : undefined
    case 'utf8':
      return typeof bound === 'string' ? bound : undefined
    case 'binary':
    case 'fixed_size_binary':
      return typeof bound === 'string' && /^([0-9a-f]{2})*$/.test(bound)
        ? new Uint8Array(Buffer.from(bound, 'hex'))
        : undefined
    case 'float':
      return typeof bound === 'number' ? bound : floats.get(bound)
    default:
      if (typeof bound === 'string') return /^-?\d{1,80}$/.test(bound) ? BigInt(bound) : undefined
      return Number.isSafeInteger(bound) ? BigInt(bound as number) : undefined
  }
}
