/**
 * Compute parts of dates, times, timestamps, durations and intervals, such as the year. For a timestamp with a zone,
 * the parts are those of its local time.
 *
 * A part of a duration is the whole duration in that unit. For example, 90 minutes have the `minute` 90 and the `hour`
 * 1.
 */
import type { Column } from '../../arrow/column.js'
import type { DataType } from '../../arrow/types.js'
import { quote, type SheafError, unsupported } from '../../errors.js'
import { castColumn } from '../kernels/cast.js'
import { spread } from '../kernels/gather.js'
import { checkCalendar, type SplitInstants, splitInstants } from '../values/instants.js'
import type { Interval } from '../values/scalar.js'
import { civilOfDays, daysOfCivil } from '../values/temporal.js'
import { offsetAt, type Zone, zoneNamed } from '../values/time-zone.js'
import { float64, int32, int64, timestampType } from '../values/types.js'
import { bitAt, columnOf, narrowArray, type Operand, scalarAt } from '../values/vector.js'
import type { Call } from './call.js'
import { strictRows, textOf } from './operands.js'

const parts = [
  ...(['year', 'isoyear', 'quarter', 'month', 'week', 'day', 'doy', 'dow', 'isodow'] as const),
  ...(['hour', 'minute', 'second', 'millisecond', 'microsecond', 'nanosecond', 'epoch'] as const),
]
type DatePart = (typeof parts)[number]

const ofTime: readonly DatePart[] = parts.slice(parts.indexOf('hour'))
const ofDuration: readonly DatePart[] = ['week', 'day', ...ofTime]
const ofInterval: readonly DatePart[] = ['year', 'month', 'week', 'day', ...ofTime]

const synonyms: Readonly<Record<string, DatePart>> = {
  ...{ y: 'year', yr: 'year', qtr: 'quarter', mon: 'month', w: 'week', d: 'day', h: 'hour', hr: 'hour' },
  ...{ m: 'minute', min: 'minute', s: 'second', sec: 'second', ms: 'millisecond', us: 'microsecond' },
  ...{ msec: 'millisecond', usec: 'microsecond', nsec: 'nanosecond', ns: 'nanosecond' },
  ...{ dayofweek: 'dow', dayofyear: 'doy', weekday: 'dow' },
}

/** Return the part with this name, ignoring case, singular or plural. Throws `Unsupported` for an unknown name. */
export function partNamed(name: string): DatePart {
  const plain = name.trim().toLowerCase()
  const singular = plain.length > 2 ? plain.replace(/s$/, '') : plain
  const known = parts.find(part => part === plain || part === singular)
  const synonym = Object.hasOwn(synonyms, singular) ? synonyms[singular] : undefined
  if (known !== undefined || synonym !== undefined) return (known ?? synonym)!
  throw unsupported(`a date has no part named ${quote(name)}`, { hint: `the parts are ${parts.join(', ')}` })
}

/** Return whether values of the type have the part. */
export function hasPart(type: DataType, part: DatePart): boolean {
  switch (type.kind) {
    case 'date':
    case 'timestamp':
      return true
    case 'time':
      return ofTime.includes(part)
    case 'duration':
      return ofDuration.includes(part)
    default:
      return type.kind === 'interval' && ofInterval.includes(part)
  }
}

/**
 * Return the result type: double for `epoch` (in seconds), int64 for nanoseconds and for parts of durations and
 * intervals, otherwise int32.
 */
export function typeOfPart(type: DataType, part: DatePart): DataType {
  if (part === 'epoch') return float64
  return part === 'nanosecond' || type.kind === 'duration' || type.kind === 'interval' ? int64 : int32
}

/** Create the error for a part that values of a type do not have. */
export function noSuchPart(part: DatePart, type: DataType): SheafError {
  return unsupported(`a value of type ${type.kind} has no part named ${part}`, {
    hint: 'cast it to a timestamp',
  })
}

/** Compute `date_part('part', x)`. */
export function datePart(call: Call): Column {
  const { args } = call
  const [name, operand] = args as [Operand, Operand]
  const part = partNamed(textOf(name, 0))
  const column = instantColumn(operand, call)
  return column.type.kind === 'interval'
    ? intervalParts(call, column, part)
    : instantParts(call, column, part)
}

/** Return an operand as a column with one value per row of the call. Strings are parsed as timestamps. */
export function instantColumn(operand: Operand, { length, rows, describe }: Call): Column {
  const column = spread(operand, length)
  return column.type.kind === 'utf8' ? castColumn(column, timestampType('ns'), false, rows, describe) : column
}

function instantParts(call: Call, column: Column, part: DatePart): Column {
  const { length, type, describe } = call
  const { valid, needed } = strictRows(call)
  const split = splitInstants(column, length)
  const zone =
    column.type.kind === 'timestamp' && column.type.timezone !== null ? zoneNamed(column.type.timezone) : null
  const isInstant = column.type.kind === 'date' || column.type.kind === 'timestamp'
  const numbers = new Float64Array(length)
  for (let i = 0; i < length; i++) {
    if (!bitAt(needed, i)) continue
    if (part === 'epoch') numbers[i] = split.seconds[i]! + split.rest[i]! / split.perSecond
    else if (!isInstant && column.type.kind !== 'time') numbers[i] = totalOf(split, i, part)
    else {
      if (isInstant) checkCalendar(split.seconds[i]!, describe)
      numbers[i] = partOf(split, i, part, zone)
    }
  }
  return result(numbers, type, valid)
}

function result(numbers: Float64Array, type: DataType, valid: Uint32Array | null): Column {
  const values =
    type.kind === 'int' && type.bits === 64
      ? BigInt64Array.from(numbers, number => BigInt(number))
      : narrowArray(type, numbers)
  return columnOf(type, numbers.length, { values }, valid)
}

function partOf(
  { seconds, rest, perSecond }: SplitInstants,
  row: number,
  part: DatePart,
  zone: Zone | null,
): number {
  const instant = seconds[row]!
  const local = zone === null ? instant : instant + offsetAt(zone, instant)
  const days = Math.floor(local / 86_400)
  const ofDay = local - days * 86_400
  switch (part) {
    case 'hour':
      return Math.floor(ofDay / 3600)
    case 'minute':
      return Math.floor(ofDay / 60) % 60
    case 'second':
      return ofDay % 60
    case 'millisecond':
    case 'microsecond':
    case 'nanosecond':
      return scaled(ofDay % 60, rest[row]!, perSecond, part)
    case 'dow':
      return modulo(days + 4, 7)
    case 'isodow':
      return modulo(days + 3, 7) + 1
    default:
      return partOfDate(days, part)
  }
}

function partOfDate(days: number, part: DatePart): number {
  const { year, month, day } = civilOfDays(days)
  switch (part) {
    case 'year':
      return year
    case 'quarter':
      return Math.ceil(month / 3)
    case 'month':
      return month
    case 'day':
      return day
    case 'doy':
      return days - daysOfCivil({ year, month: 1, day: 1 }) + 1
    default: {
      // A week belongs to the year of its Thursday (ISO 8601).
      const thursday = days - modulo(days + 3, 7) + 3
      const ofWeek = civilOfDays(thursday).year
      if (part === 'isoyear') return ofWeek
      return Math.floor((thursday - daysOfCivil({ year: ofWeek, month: 1, day: 1 })) / 7) + 1
    }
  }
}

const fractions = { millisecond: 1e3, microsecond: 1e6, nanosecond: 1e9 } as const

/** Convert `seconds`, plus `rest` fractions of which a second has `perSecond`, to a finer unit. */
function scaled(seconds: number, rest: number, perSecond: number, unit: keyof typeof fractions): number {
  const factor = fractions[unit]
  const fraction = factor >= perSecond ? rest * (factor / perSecond) : Math.floor(rest / (perSecond / factor))
  return seconds * factor + fraction
}

const lengths: Readonly<Partial<Record<DatePart, number>>> = {
  week: 604_800,
  day: 86_400,
  hour: 3600,
  minute: 60,
  second: 1,
}

/** Return a whole duration in units of the part, without a fraction. */
function totalOf({ seconds, rest, perSecond }: SplitInstants, row: number, part: DatePart): number {
  const size = lengths[part]
  if (size === undefined) return scaled(seconds[row]!, rest[row]!, perSecond, part as keyof typeof fractions)
  return Math.trunc((seconds[row]! + rest[row]! / perSecond) / size)
}

function intervalParts(call: Call, column: Column, part: DatePart): Column {
  const { length, type } = call
  const { valid, needed } = strictRows(call)
  const numbers = new Float64Array(length)
  for (let i = 0; i < length; i++) {
    if (bitAt(needed, i)) numbers[i] = partOfInterval(scalarAt(column, i) as Interval, part)
  }
  return result(numbers, type, valid)
}

/** Return a part of an interval. For `epoch`, a month counts as 30 days. */
function partOfInterval({ months, days, nanos }: Interval, part: DatePart): number {
  const ofMinute = Number(nanos % 60_000_000_000n)
  switch (part) {
    case 'year':
      return Math.trunc(months / 12)
    case 'month':
      return months % 12
    case 'week':
      return Math.trunc(days / 7)
    case 'day':
      return days
    case 'hour':
      return Number(nanos / 3_600_000_000_000n)
    case 'minute':
      return Number((nanos / 60_000_000_000n) % 60n)
    case 'second':
      return Math.trunc(ofMinute / 1e9)
    case 'millisecond':
      return Math.trunc(ofMinute / 1e6)
    case 'microsecond':
      return Math.trunc(ofMinute / 1e3)
    case 'nanosecond':
      return ofMinute
    default:
      return (months * 30 + days) * 86_400 + Number(nanos) / 1e9
  }
}

/** Return the remainder of a division that rounds down. It is never negative for a positive `size`. */
export function modulo(value: number, size: number): number {
  return ((value % size) + size) % size
}
