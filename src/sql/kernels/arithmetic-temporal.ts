/**
 * The operators `+ - * /` on dates, times, timestamps, durations and intervals.
 *
 * - A date plus an interval is a date, and a timestamp plus an interval keeps its unit. A part of the interval that is
 *   finer than this unit is rounded down.
 * - An interval is added in this order: months, then days, both in the local time of the zone, then nanoseconds. If the
 *   new month has no such day, the result is its last day.
 * - The difference of two points in time is a duration.
 * - A result out of range is an error. A time of day below 00:00 or from 24:00 on is out of range.
 */
import type { Column } from '../../arrow/column.js'
import type { DataType } from '../../arrow/types.js'
import type { ArithmeticOp } from '../syntax/syntax.js'
import { checked } from '../values/interval.js'
import { integerRange } from '../values/literal.js'
import type { Interval } from '../values/scalar.js'
import {
  addMonths,
  floorDivide,
  instantNanos,
  localNanos,
  nanosPerCount,
  nanosPerDay,
} from '../values/temporal.js'
import { type Zone, zoneNamed } from '../values/time-zone.js'
import {
  commonType,
  durationType,
  finerUnit,
  instantUnit,
  int64,
  intervalType,
  timestampType,
  zoneOf,
} from '../values/types.js'
import { scalarAt } from '../values/vector.js'
import type { ArithmeticSignature, RowOperation } from './operation.js'

/**
 * Return the signature for two types of which at least one is not a number. Return null if the operator does not take
 * these types.
 */
export function temporalSignature(
  op: ArithmeticOp,
  left: DataType,
  right: DataType,
): ArithmeticSignature | null {
  if (op === '%') return null
  if (op === '*' || op === '/') {
    if (isSpan(left) && right.kind === 'int')
      return { left: spanType(left), right: int64, result: spanType(left) }
    const isFactor = op === '*' && left.kind === 'int' && isSpan(right)
    return isFactor ? { left: int64, right: spanType(right), result: spanType(right) } : null
  }
  if (isSpan(left) && isSpan(right)) {
    const type = commonType(left, right)!
    return { left: type, right: type, result: type }
  }
  if (isPoint(left) && isSpan(right)) {
    return { left, right: spanType(right), result: movedType(left, right) }
  }
  if (op === '+') {
    if (!isSpan(left) || !isPoint(right)) return null
    return { left: spanType(left), right, result: movedType(right, left) }
  }
  const type = isPoint(left) && isPoint(right) ? commonType(left, right) : null
  return type === null ? null : { left: type, right: type, result: durationType(unitOf(type)) }
}

function isSpan({ kind }: DataType): boolean {
  return kind === 'interval' || kind === 'duration'
}

function isPoint({ kind }: DataType): boolean {
  return kind === 'date' || kind === 'timestamp' || kind === 'time'
}

function spanType(type: DataType): DataType {
  return type.kind === 'interval' ? intervalType : type
}

function unitOf(type: DataType) {
  return type.kind === 'time' ? type.unit : instantUnit(type)!
}

/** Return the type of a point in time plus or minus a span of time. */
function movedType(point: DataType, span: DataType): DataType {
  if (span.kind !== 'duration') return point
  const unit = finerUnit(unitOf(point), span.unit)
  return point.kind === 'time' ? { kind: 'time', unit } : timestampType(unit, zoneOf(point))
}

/** Return a function that computes one row. The types must be those of a `temporalSignature`. */
export function temporalOperation(
  op: ArithmeticOp,
  left: DataType,
  right: DataType,
  type: DataType,
): RowOperation {
  if (isPoint(right) && isSpan(left)) {
    const swapped = temporalOperation(op, right, left, type)
    return (a, i, b, k) => swapped(b, k, a, i)
  }
  if (left.kind === 'int') {
    const swapped = temporalOperation(op, right, left, type)
    return (a, i, b, k) => swapped(b, k, a, i)
  }
  if (op === '*' || op === '/') return scaled(op, type)
  const sign = op === '-' ? -1n : 1n
  if (type.kind === 'interval') {
    return (a, i, b, k) => addIntervals(intervalAt(a, i), intervalAt(b, k), sign)
  }
  const range = integerRange(type)!
  const unit = nanosPerCount(type)!
  if (right.kind !== 'interval') {
    // Both sides are integers in their units. Each unit is a multiple of the unit of the result, so the factors are
    // exact.
    const [unitA, unitB] = [nanosPerCount(left)! / unit, (nanosPerCount(right)! / unit) * sign]
    return (a, i, b, k) => within(countAt(a, i) * unitA + countAt(b, k) * unitB, range)
  }
  const move = left.kind === 'time' ? moveTime : moveOnCalendar
  const zone = zoneOf(left) === null ? null : zoneNamed(zoneOf(left)!)
  const stepAt = stepReader(sign, unit)
  return (a, i, b, k) => within(move(countAt(a, i), stepAt(b, k), unit, zone), range)
}

/** A signed interval to add to a date or time. `counts`: its nanoseconds, in the unit of this date or time. */
interface Step {
  readonly months: number
  readonly days: number
  readonly counts: bigint
}

/**
 * Return a function that reads a row of an interval column as a step. It caches the last row, because a constant
 * interval is read for every row. `unit`: nanoseconds per unit of the date or time.
 */
function stepReader(sign: bigint, unit: bigint): (column: Column, row: number) => Step {
  let lastRow = -1
  let step: Step = { months: 0, days: 0, counts: 0n }
  return (column, row) => {
    if (row === lastRow) return step
    const { months, days, nanos } = intervalAt(column, row)
    lastRow = row
    step = {
      months: Number(sign) * months,
      days: Number(sign) * days,
      counts: floorDivide(sign * nanos, unit),
    }
    return step
  }
}

/** Add a step to a time of day. The caller rejects a result that is not within the day. */
function moveTime(count: bigint, { months, days, counts }: Step, unit: bigint): bigint {
  return count + BigInt(months * 30 + days) * (nanosPerDay / unit) + counts
}

function moveOnCalendar(count: bigint, step: Step, unit: bigint, zone: Zone | null): bigint {
  const { months, days, counts } = step
  if (months === 0 && days === 0) return count + counts
  const perDay = nanosPerDay / unit
  const local = zone === null ? count : localNanos(count * unit, zone) / unit
  const day = floorDivide(local, perDay)
  const moved = local + (BigInt(addMonths(Number(day), months) + days) - day) * perDay
  return (zone === null ? moved : instantNanos(moved * unit, zone) / unit) + counts
}

function scaled(op: ArithmeticOp, type: DataType): RowOperation {
  const change = (part: bigint, by: bigint) => (op === '*' ? part * by : part / by)
  if (type.kind !== 'interval') {
    const range = integerRange(type)!
    return (a, i, b, k) => {
      const by = countAt(b, k)
      return op === '/' && by === 0n ? null : within(change(countAt(a, i), by), range)
    }
  }
  return (a, i, b, k) => {
    const by = countAt(b, k)
    return op === '/' && by === 0n ? null : scaleInterval(intervalAt(a, i), by, op)
  }
}

/**
 * Multiply or divide each part of an interval by an integer. A quotient's fraction of a month becomes days (30 per
 * month), and its fraction of a day becomes nanoseconds. Return null if a part is out of range.
 */
function scaleInterval({ months, days, nanos }: Interval, by: bigint, op: ArithmeticOp): Interval | null {
  const [m, d] = [BigInt(months), BigInt(days)]
  if (op === '*') return checked({ months: m * by, days: d * by, nanos: nanos * by })
  const allDays = d + (m % by) * 30n
  return checked({ months: m / by, days: allDays / by, nanos: (nanos + (allDays % by) * nanosPerDay) / by })
}

function addIntervals(a: Interval, b: Interval, sign: bigint): Interval | null {
  return checked({
    months: BigInt(a.months) + sign * BigInt(b.months),
    days: BigInt(a.days) + sign * BigInt(b.days),
    nanos: a.nanos + sign * b.nanos,
  })
}

function within(value: bigint, [least, greatest]: readonly [bigint, bigint]): bigint | null {
  return value >= least && value <= greatest ? value : null
}

function countAt(column: Column, row: number): bigint {
  return BigInt(column.values![row]!)
}

function intervalAt(column: Column, row: number): Interval {
  return scalarAt(column, row) as Interval
}
