/**
 * CAST and TRY_CAST.
 *
 * - A cast of a float or decimal to an integer drops the fraction.
 * - A value that does not fit into the new type is an error for CAST and NULL for TRY_CAST. A decimal with more
 *   fractional digits than the new scale does not fit, nor do bytes that are not UTF-8 in a cast to a string.
 * - A number becomes the nearest float. A float becomes the decimal with the shortest digits that identify the float.
 * - Dates, times, timestamps and durations are rounded down to the new unit.
 * - FALSE becomes 0 and TRUE becomes 1. A number other than 0 becomes TRUE.
 * - An integer becomes a date, time, timestamp or duration of this many units of the type.
 * - If a cast adds or removes the zone of a timestamp, the local time stays the same. If a cast changes the zone, the
 *   instant stays the same.
 */
import type { Column } from '../../arrow/column.js'
import { nullColumn } from '../../arrow/fill.js'
import { equalTypes } from '../../arrow/same-type.js'
import { takeColumn } from '../../arrow/take.js'
import type { DataType } from '../../arrow/types.js'
import { invalidInput } from '../../errors.js'
import { asDecimalType } from '../values/decimals.js'
import { checked, intervalNanos } from '../values/interval.js'
import { integerRange } from '../values/literal.js'
import type { Interval, Scalar } from '../values/scalar.js'
import { floorDivide, instantNanos, localNanos, nanosPerCount, nanosPerDay } from '../values/temporal.js'
import { zoneNamed } from '../values/time-zone.js'
import { elementType, int32, int64, valueType, zoneOf } from '../values/types.js'
import {
  bitAt,
  columnOf,
  isWide,
  listOffsetsOf,
  type RowMask,
  scalarAt,
  validWords,
  wordCount,
} from '../values/vector.js'
import { ByteBuilder, textAt } from './byte-builder.js'
import { castBytes } from './cast-bytes.js'
import { castNumbers, changeSign, decimalRow, numbersOf } from './cast-numbers.js'
import { type Cast, castRows, castValues, reject } from './cast-rows.js'
import { readText, writeText } from './cast-text.js'
import { decoded } from './dictionary.js'
import { allRows } from './truth.js'

export { writeFloat } from '../values/floats.js'

/** Families of types. Types of the same family can be cast to each other, except for the family `other`. */
type Family = 'number' | 'text' | 'bytes' | 'instant' | 'time' | 'span' | 'list' | 'other'

const familyOf: Readonly<Record<DataType['kind'], Family>> = {
  bool: 'number',
  int: 'number',
  float: 'number',
  decimal: 'number',
  utf8: 'text',
  binary: 'bytes',
  fixed_size_binary: 'bytes',
  date: 'instant',
  timestamp: 'instant',
  time: 'time',
  duration: 'span',
  interval: 'span',
  list: 'list',
  fixed_size_list: 'list',
  null: 'other',
  struct: 'other',
  map: 'other',
  dictionary: 'other',
}

/**
 * Return whether a CAST between two types exists. A dictionary type counts as the type of its values. Throws
 * `InvalidInput` for an unknown time zone.
 */
export function castable(declaredFrom: DataType, declaredTo: DataType): boolean {
  const [from, to] = [valueType(declaredFrom), valueType(declaredTo)]
  if (from.kind === 'null' || equalTypes(from, to)) return true
  const [a, b] = [familyOf[from.kind], familyOf[to.kind]]
  const zone = zoneOf(to)
  if (zone !== null) zoneNamed(zone)
  if (to.kind === 'interval' && to.unit !== 'month_day_nano') return false
  if (a === 'list' && b === 'list') return castable(elementType(from)!, elementType(to)!)
  if (a === 'list' || b === 'list' || a === 'other' || b === 'other') return false
  if (a === b || a === 'text' || b === 'text') return true
  if (from.kind === 'int') return to.kind !== 'interval' && b !== 'bytes'
  if (to.kind === 'int') return from.kind !== 'interval' && a !== 'bytes'
  return from.kind === 'timestamp' && to.kind === 'time'
}

/**
 * Cast a column to the type `declared`, or to its value type if it is a dictionary type. The column must not be a
 * dictionary, and the types must be `castable`. `fractions`: see `Cast`. Throws `InvalidInput` for a requested value
 * that does not fit, unless `isTry` is set.
 */
export function castColumn(
  column: Column,
  declared: DataType,
  isTry: boolean,
  rows: RowMask,
  describe: () => string,
  fractions: Cast['fractions'] = 'cut',
): Column {
  const from = column.type
  const to = valueType(declared)
  const { length } = column
  if (equalTypes(from, to)) return column
  if (from.kind === 'null') return nullColumn(to, length)
  const valid = validWords(column) ?? allRows(length)
  const wanted = valid.slice()
  if (rows !== null) for (let w = 0; w < wanted.length; w++) wanted[w]! &= rows[w]!
  const cast: Cast = { column, to, wanted, valid, isTry, describe, fractions }
  const [a, b] = [familyOf[from.kind], familyOf[to.kind]]
  if (a === 'list') return castLists(cast)
  if ((a === 'text' || a === 'bytes') && (b === 'text' || b === 'bytes')) return castBytes(cast)
  if (a === 'text') return castRows(cast, row => readText(textAt(column, row), to))
  if (b === 'text') return writeTexts(cast)
  if (from.kind === 'interval' || to.kind === 'interval') return castValues(cast, spanRow(from, to))
  if (a !== 'number' || b !== 'number') return castCounts(cast)
  if (from.kind === 'decimal' || to.kind === 'decimal')
    return castValues(cast, decimalRow(from, to, fractions))
  if (isWide(from) && isWide(to)) return changeSign(cast)
  return castNumbers(cast, numbersOf(column))
}

/**
 * Return a function that converts a duration to an interval, an interval to a duration, or an interval to another unit.
 * The function returns null for a value that does not fit.
 */
function spanRow(from: DataType, to: DataType): (value: Scalar) => Scalar {
  if (from.kind === 'duration') {
    const unit = nanosPerCount(from)!
    return value => checked({ months: 0n, days: 0n, nanos: (value as bigint) * unit })
  }
  if (to.kind === 'interval') return value => value
  return value => {
    const interval = value as Interval
    if (interval.months !== 0) return null
    const count = floorDivide(intervalNanos(interval), nanosPerCount(to)!)
    return BigInt.asIntN(64, count) === count ? count : null
  }
}

/** Cast between dates, times, timestamps, durations and integers. */
function castCounts(cast: Cast): Column {
  const { column, to, valid, isTry, wanted, describe } = cast
  const { length, type: from } = column
  const storage = (type: DataType) => (isWide(type) ? int64 : int32)
  if (to.kind === 'int') return castColumn({ ...column, type: storage(from) }, to, isTry, wanted, describe)
  if (from.kind === 'int') {
    const counts = castColumn(column, storage(to), isTry, wanted, describe)
    return to.kind === 'time' ? timesOf(cast, counts) : { ...counts, type: to }
  }
  const unitFrom = nanosPerCount(from)!
  const unitTo = nanosPerCount(to)!
  const shift = clockShift(from, to)
  if (unitFrom === unitTo && shift === null) return { ...column, type: to }
  const [least, greatest] = integerRange(to)!
  const values = isWide(to) ? new BigInt64Array(length) : new Int32Array(length)
  const source = column.values as BigInt64Array | Int32Array
  for (let i = 0; i < length; i++) {
    if (!bitAt(valid, i)) continue
    const nanos = BigInt(source[i]!) * unitFrom
    const value = floorDivide(shift === null ? nanos : shift(nanos), unitTo)
    if (value < least || value > greatest) reject(cast, i)
    else if (values instanceof Int32Array) values[i] = Number(value)
    else values[i] = value
  }
  return columnOf(to, length, { values }, valid)
}

/**
 * Return a function that changes nanoseconds in a cast that adds a zone, removes a zone, or drops the date. Return null
 * for any other cast.
 */
function clockShift(from: DataType, to: DataType): ((nanos: bigint) => bigint) | null {
  const [zoneFrom, zoneTo] = [zoneOf(from), zoneOf(to)]
  const named = zoneFrom ?? zoneTo
  if (to.kind === 'time' && from.kind === 'timestamp') {
    const zone = zoneFrom === null ? null : zoneNamed(zoneFrom)
    return nanos => {
      const local = localNanos(nanos, zone)
      return local - floorDivide(local, nanosPerDay) * nanosPerDay
    }
  }
  if (named === null || (zoneFrom !== null && zoneTo !== null)) return null
  const zone = zoneNamed(named)
  return nanos => (zoneFrom === null ? instantNanos(nanos, zone) : localNanos(nanos, zone))
}

/** Convert integers to times of day. Integers outside of the range of a day are rejected. */
function timesOf(cast: Cast, counts: Column): Column {
  const { to } = cast
  const [least, greatest] = integerRange(to)!
  const valid = validWords(counts) ?? allRows(counts.length)
  for (let i = 0; i < counts.length; i++) {
    const count = BigInt(counts.values![i]!)
    if (bitAt(valid, i) && (count < least || count > greatest)) reject({ ...cast, valid }, i)
  }
  return columnOf(to, counts.length, { values: counts.values! }, valid)
}

function castLists(cast: Cast): Column {
  const { column, to, wanted, isTry, describe, fractions } = cast
  const { length } = column
  const offsets = listOffsetsOf(column)
  const type = elementType(to)!
  const elements = castElements(cast, offsets)
  const child = castColumn(decoded(column.children[0]!), type, isTry, elements, describe, fractions)
  const valid = cast.valid
  // Both lists have the same fixed size, so only the elements are cast.
  const isSameSize =
    column.type.kind === 'fixed_size_list' && to.kind === 'fixed_size_list' && column.type.size === to.size
  if (isSameSize) return columnOf(to, length, { children: [child] }, valid)
  if (to.kind === 'list') return columnOf(to, length, { offsets, children: [child] }, valid)
  const { size } = to as DataType & { kind: 'fixed_size_list' }
  const rows = new Int32Array(length * size).fill(-1)
  for (let i = 0; i < length; i++) {
    if (!bitAt(valid, i)) continue
    if (offsets[i + 1]! - offsets[i]! !== size) {
      if (!isTry && bitAt(wanted, i)) {
        throw invalidInput(
          `a list of ${offsets[i + 1]! - offsets[i]!} elements cannot be cast to a list of ${size} elements, in ${describe()}`,
        )
      }
      valid[i >>> 5]! &= ~(1 << (i & 31))
    } else for (let k = 0; k < size; k++) rows[i * size + k] = offsets[i]! + k
  }
  return columnOf(to, length, { children: [takeColumn(child, rows)] }, valid)
}

/** Return a bitmap of the elements of the requested lists. Null: all elements are requested. */
function castElements({ column, wanted }: Cast, offsets: Int32Array): RowMask {
  const isAll = allRows(column.length).every((word, w) => word === wanted[w])
  if (isAll && offsets[column.length] === column.children[0]!.length) return null
  const elements = new Uint32Array(wordCount(column.children[0]!.length))
  for (let i = 0; i < column.length; i++) {
    if (!bitAt(wanted, i)) continue
    for (let k = offsets[i]!; k < offsets[i + 1]!; k++) elements[k >>> 5]! |= 1 << (k & 31)
  }
  return elements
}

function writeTexts(cast: Cast): Column {
  const { column, to, valid } = cast
  const builder = new ByteBuilder(column.length, column.length * 8)
  for (let i = 0; i < column.length; i++) {
    const text = bitAt(valid, i) ? writeText(scalarAt(column, i), column.type) : ''
    if (text === null) reject(cast, i)
    else builder.text(text)
    builder.endRow()
  }
  return builder.finish(to, valid)
}

/** Return whether a CAST succeeds for every value of the type `declaredFrom`. */
export function isLossless(declaredFrom: DataType, declaredTo: DataType): boolean {
  const [from, to] = [valueType(declaredFrom), valueType(declaredTo)]
  if (from.kind === 'null' || equalTypes(from, to)) return true
  if (to.kind === 'utf8')
    return familyOf[from.kind] !== 'bytes' && (familyOf[from.kind] !== 'instant' || isNanos(from))
  if (to.kind === 'binary') return true
  if (to.kind === 'bool') return from.kind !== 'utf8'
  if (from.kind === 'bool') return to.kind !== 'decimal' || (to.scale >= 0 && to.precision > to.scale)
  if (from.kind === 'float') return to.kind === 'float' && to.bits >= from.bits
  if (from.kind === 'list' && to.kind === 'list') return isLossless(from.child.type, to.child.type)
  const decimal = asDecimalType(from)
  if (decimal === null) return false
  if (to.kind === 'decimal') {
    return to.scale >= decimal.scale && to.precision - to.scale >= decimal.precision - decimal.scale
  }
  if (to.kind === 'float') return to.bits === 64 || (to.bits === 32 && from.kind === 'int')
  if (from.kind !== 'int') return false
  const [least, greatest] = integerRange(from)!
  const range = integerRange(to)
  return range !== null && least >= range[0] && greatest <= range[1]
}

/**
 * Return whether the type is a timestamp in nanoseconds. All its values are in the supported years, so each has a text.
 */
function isNanos(type: DataType): boolean {
  return type.kind === 'timestamp' && type.unit === 'ns'
}
