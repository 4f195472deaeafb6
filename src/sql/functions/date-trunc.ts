/** Round dates and times down to the start of a unit (`date_trunc`) or of a span of any length (`date_bin`). */
import type { Column } from '../../arrow/column.js'
import { invalidInput, quote, unsupported } from '../../errors.js'
import { checkCalendar, joinInstant, splitInstants } from '../values/instants.js'
import type { Interval } from '../values/scalar.js'
import {
  addMonths,
  civilOfDays,
  daysOfCivil,
  floorDivide,
  nanosPerCount,
  nanosPerDay,
  nanosPerUnit,
} from '../values/temporal.js'
import { instantOfLocal, offsetAt, type Zone, zoneNamed } from '../values/time-zone.js'
import { bitAt, columnOf, fitsInt32, type Operand, scalarAt } from '../values/vector.js'
import type { Call } from './call.js'
import { instantColumn, modulo } from './date-part.js'
import { strictRows, textOf } from './operands.js'

/** Units shorter than a second, with the number of units per second. */
const fine: Readonly<Record<string, number>> = { microsecond: 1e6, millisecond: 1e3 }
/** Units of a fixed number of seconds. */
const plain: Readonly<Record<string, number>> = { second: 1, minute: 60, hour: 3600, day: 86_400 }
/** Units whose start is found with the calendar. */
const coarse = ['week', 'month', 'quarter', 'year']
const units = [...Object.keys(fine), ...Object.keys(plain), ...coarse]

/** Return the unit with this name, ignoring case. Throws `Unsupported` for an unknown name. */
export function truncUnitNamed(name: string): string {
  const unit = name.trim().toLowerCase()
  if (units.includes(unit)) return unit
  throw unsupported(`date_trunc has no unit named ${quote(name)}`, {
    hint: `the units are ${units.join(', ')}`,
  })
}

/** Compute `date_trunc('unit', x)`. A timestamp with a zone is truncated in local time. */
export function dateTrunc(call: Call): Column {
  const { args, length, type, describe } = call
  const { valid, needed } = strictRows(call)
  const unit = truncUnitNamed(textOf(args[0]!, 0))
  const column = instantColumn(args[1]!, call)
  const zone = type.kind === 'timestamp' && type.timezone !== null ? zoneNamed(type.timezone) : null
  const { seconds, rest, perSecond } = splitInstants(column, length)
  const values = column.values!.slice(0, length) as BigInt64Array | Int32Array
  const pairs = fitsInt32(type) ? null : new Int32Array(values.buffer)
  for (let i = 0; i < length; i++) {
    if (!bitAt(needed, i)) continue
    const isFine = Object.hasOwn(fine, unit)
    const step = isFine ? Math.max(1, perSecond / fine[unit]!) : perSecond
    const truncatedRest = rest[i]! - (rest[i]! % step)
    const start = isFine ? seconds[i]! : startOf(unit, seconds[i]!, zone, describe)
    if (pairs === null) values[i] = start * perSecond + truncatedRest
    else if (!joinInstant(pairs, i, start, truncatedRest, perSecond)) {
      throw invalidInput(`the ${unit} starts before the first timestamp, in ${describe()}`, {
        hint: 'timestamps with a coarser unit have a larger range: CAST(x AS timestamp(6))',
      })
    }
  }
  return columnOf(type, length, { values }, valid)
}

function startOf(unit: string, seconds: number, zone: Zone | null, describe: () => string): number {
  if (unit === 'second') return seconds
  checkCalendar(seconds, describe)
  if (zone === null) return startOfLocal(unit, seconds)
  const offset = offsetAt(zone, seconds)
  const local = startOfLocal(unit, seconds + offset)
  // An hour in which clocks are set back occurs twice. Keep the offset of the given time if possible, so that the
  // result is in the same of the two hours.
  return offsetAt(zone, local - offset) === offset ? local - offset : instantOfLocal(zone, local)
}

function startOfLocal(unit: string, local: number): number {
  const size = plain[unit]
  if (size !== undefined) return Math.floor(local / size) * size
  const days = Math.floor(local / 86_400)
  if (unit === 'week') return (days - modulo(days + 3, 7)) * 86_400
  const { year, month } = civilOfDays(days)
  const first = unit === 'month' ? month : unit === 'quarter' ? month - ((month - 1) % 3) : 1
  return daysOfCivil({ year, month: first, day: 1 }) * 86_400
}

/**
 * Compute `date_bin(span, x)` or `date_bin(span, x, origin)`. Time is divided into consecutive spans that begin at the
 * origin, by default 1970-01-01. The result is the start of the span that contains x.
 */
export function dateBin(call: Call): Column {
  const { args, length, type, describe } = call
  const stride = args[0]!
  const [times, origins] = args.slice(1).map(arg => instantColumn(arg, call).values as BigInt64Array)
  const { valid, needed } = strictRows(call)
  const values = new BigInt64Array(length)
  const unit = nanosPerUnit(type)!
  for (let i = 0; i < length; i++) {
    if (!bitAt(needed, i)) continue
    const span = spanAt(stride, i, describe)
    const start = origins === undefined ? 0n : origins[i]! * unit
    const nanos = times![i]! * unit
    const binned =
      span.months > 0
        ? monthBin(nanos, start, span.months)
        : start + floorDivide(nanos - start, span.nanos) * span.nanos
    const value = floorDivide(binned, unit)
    if (BigInt.asIntN(64, value) !== value) {
      throw invalidInput(`the span starts before the first timestamp, in ${describe()}`, {
        hint: 'timestamps with a coarser unit have a larger range: CAST(x AS timestamp(6))',
      })
    }
    values[i] = value
  }
  return columnOf(type, length, { values }, valid)
}

/**
 * Return a span as months, or as nanoseconds with days of 24 hours. Throws `InvalidInput` if the span is not positive,
 * or if it has months and also days or smaller units.
 */
function spanAt({ column, constant }: Operand, row: number, describe: () => string): Omit<Interval, 'days'> {
  const value = scalarAt(column, constant ? 0 : row)
  const span =
    typeof value === 'bigint'
      ? { months: 0, days: 0, nanos: value * nanosPerCount(column.type)! }
      : (value as Interval)
  const nanos = BigInt(span.days) * nanosPerDay + span.nanos
  const isMixed = span.months !== 0 && nanos !== 0n
  if (isMixed || span.months < 0 || (span.months === 0 && nanos <= 0n)) {
    throw invalidInput(
      `a span must be positive, and either months only or days and smaller units only, in ${describe()}`,
      {
        hint: "write INTERVAL '1' MONTH or INTERVAL '15 minutes'",
      },
    )
  }
  return { months: span.months, nanos }
}

function monthBin(nanos: bigint, origin: bigint, months: number): bigint {
  const startDay = Number(floorDivide(origin, nanosPerDay))
  const ofDay = origin - BigInt(startDay) * nanosPerDay
  const from = civilOfDays(startDay)
  const to = civilOfDays(Number(floorDivide(nanos, nanosPerDay)))
  const between = (to.year - from.year) * 12 + to.month - from.month
  const startOfBin = (count: number) => BigInt(addMonths(startDay, count)) * nanosPerDay + ofDay
  const count = Math.floor(between / months) * months
  // `count` is computed from months only. If the span that it gives begins after `nanos`, the previous span contains
  // `nanos`.
  return startOfBin(count) <= nanos ? startOfBin(count) : startOfBin(count - months)
}
