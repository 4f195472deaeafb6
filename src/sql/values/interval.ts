/**
 * Parse, print and measure intervals.
 *
 * Comparisons count a month as 30 days and a day as 24 hours, and so do fractions of months and days in a text. All
 * other functions keep months, days and nanoseconds separate.
 */
import type { Interval } from './scalar.js'

const nanosPerSecond = 1_000_000_000n
const nanosPerDay = 86_400n * nanosPerSecond
const daysPerMonth = 30n

/** A unit in the text of an interval: `size` months, days or nanoseconds. */
interface Unit {
  readonly part: 'months' | 'days' | 'nanos'
  readonly size: bigint
}

const months = (size: bigint): Unit => ({ part: 'months', size })
const days = (size: bigint): Unit => ({ part: 'days', size })
const nanos = (size: bigint): Unit => ({ part: 'nanos', size })

const units: Readonly<Record<string, Unit>> = {
  ...named(['millennium', 'millennia', 'millenniums', 'mil', 'mils'], months(12_000n)),
  ...named(['century', 'centuries', 'cent', 'c'], months(1200n)),
  ...named(['decade', 'decades', 'dec', 'decs'], months(120n)),
  ...named(['year', 'years', 'yr', 'yrs', 'y'], months(12n)),
  ...named(['quarter', 'quarters', 'qtr', 'qtrs'], months(3n)),
  ...named(['month', 'months', 'mon', 'mons'], months(1n)),
  ...named(['week', 'weeks', 'w'], days(7n)),
  ...named(['day', 'days', 'd'], days(1n)),
  ...named(['hour', 'hours', 'hr', 'hrs', 'h'], nanos(3600n * nanosPerSecond)),
  ...named(['minute', 'minutes', 'min', 'mins', 'm'], nanos(60n * nanosPerSecond)),
  ...named(['second', 'seconds', 'sec', 'secs', 's'], nanos(nanosPerSecond)),
  ...named(['millisecond', 'milliseconds', 'millis', 'msec', 'msecs', 'ms'], nanos(1_000_000n)),
  ...named(['microsecond', 'microseconds', 'micros', 'usec', 'usecs', 'us'], nanos(1000n)),
  ...named(['nanosecond', 'nanoseconds', 'nanos', 'nsec', 'nsecs', 'ns'], nanos(1n)),
}

function named(names: readonly string[], unit: Unit): Record<string, Unit> {
  return Object.fromEntries(names.map(name => [name, unit]))
}

/** Maximum characters of the text of an interval. */
const maxText = 1000

const item =
  /\s*(?:([+-]?)(\d{1,3}):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?|([+-]?)(\d{0,20})(?:\.(\d{0,15}))?\s*([a-z]*))/y

/**
 * Parse an interval such as `1 year 2 days`, `1.5 hours`, `-3` or `1 day 02:03:04`. Return null if the text is not an
 * interval, or if the interval is out of range.
 *
 * - `unit`: the unit of a last number without unit. '' means seconds. If `unit` is not '', the last number must have no
 *   unit in the text.
 * - A fraction of a quarter, a year or a larger unit is cut to whole months.
 * - A fraction of a month becomes days and nanoseconds. A fraction of a week or day becomes days and nanoseconds too.
 */
export function parseInterval(text: string, unit: string): Interval | null {
  const fallback = unit === '' ? 'second' : unit.toLowerCase()
  if (text.length > maxText || !Object.hasOwn(units, fallback)) return null
  const plain = text.toLowerCase().trimEnd()
  const sum = { months: 0n, days: 0n, nanos: 0n }
  let isBare = false
  item.lastIndex = 0
  while (item.lastIndex < plain.length || item.lastIndex === 0) {
    const match = item.exec(plain)
    if (match === null || isBare) return null
    const [, clockSign, hour, minute, second = '0', clockFraction = '', sign, whole, fraction = '', word] =
      match
    if (hour !== undefined) {
      const clock = clockNanos(hour, minute!, second, clockFraction)
      if (clock === null) return null
      sum.nanos += clockSign === '-' ? -clock : clock
      continue
    }
    if (whole === '' && fraction === '') return null
    isBare = word === ''
    const name = isBare ? fallback : word!
    if (!Object.hasOwn(units, name)) return null
    const amount = BigInt(`${whole}${fraction.padEnd(15, '0')}`)
    add(sum, units[name]!, sign === '-' ? -amount : amount)
  }
  return unit !== '' && !isBare ? null : checked(sum)
}

/** The number 1 in the fixed-point numbers of `add`, which have 15 fractional digits. */
const one = 10n ** 15n

function add(
  sum: { months: bigint; days: bigint; nanos: bigint },
  { part, size }: Unit,
  amount: bigint,
): void {
  const total = amount * size
  let rest = total % one
  sum[part] += total / one
  if (part === 'months' && size === 1n) {
    sum.days += (rest * daysPerMonth) / one
    rest = (rest * daysPerMonth) % one
  }
  if (part === 'days' || (part === 'months' && size === 1n)) sum.nanos += (rest * nanosPerDay) / one
}

function clockNanos(hour: string, minute: string, second: string, fraction: string): bigint | null {
  if (Number(minute) > 59 || Number(second) > 59) return null
  const seconds = Number(hour) * 3600 + Number(minute) * 60 + Number(second)
  return BigInt(seconds) * nanosPerSecond + BigInt(fraction.padEnd(9, '0'))
}

/**
 * Create an interval. Return null if a part is too large: months and days must fit into 32 bits, and nanoseconds into
 * 64 bits.
 */
export function checked(parts: { months: bigint; days: bigint; nanos: bigint }): Interval | null {
  const fits = (value: bigint, bits: number) => BigInt.asIntN(bits, value) === value
  if (!fits(parts.months, 32) || !fits(parts.days, 32) || !fits(parts.nanos, 64)) return null
  return { months: Number(parts.months), days: Number(parts.days), nanos: parts.nanos }
}

/**
 * Write an interval as `1 mons 2 days 3 hours 4 mins 5.000000006 secs`. Parts that are 0 are omitted. `parseInterval`
 * parses this format.
 */
export function formatInterval({ months: m, days: d, nanos: n }: Interval): string {
  const seconds = n / nanosPerSecond
  const parts = [
    [BigInt(m), 'mons'],
    [BigInt(d), 'days'],
    [seconds / 3600n, 'hours'],
    [(seconds / 60n) % 60n, 'mins'],
  ] as const
  const words = parts.filter(([count]) => count !== 0n).map(([count, word]) => `${count} ${word}`)
  const rest = n % (60n * nanosPerSecond)
  if (rest !== 0n) words.push(`${secondsText(rest, 9)} secs`)
  return words.length === 0 ? '0 secs' : words.join(' ')
}

/**
 * Write a duration as `7 days 0 hours 0 mins 0.000 secs`. `value`: the duration in units of `10 ** -digits` seconds.
 */
export function formatDuration(value: bigint, digits: number): string {
  const second = 10n ** BigInt(digits)
  const seconds = value / second
  const clock = `${seconds / 86_400n} days ${(seconds / 3600n) % 24n} hours ${(seconds / 60n) % 60n} mins`
  return `${clock} ${secondsText(value % (60n * second), digits)} secs`
}

function secondsText(value: bigint, digits: number): string {
  const magnitude = (value < 0n ? -value : value).toString().padStart(digits + 1, '0')
  const point = magnitude.length - digits
  const fraction = digits === 0 ? '' : `.${magnitude.slice(point)}`
  return `${value < 0n ? '-' : ''}${magnitude.slice(0, point)}${fraction}`
}

/** Return the length by which intervals are compared, in nanoseconds. A month has 30 days. */
export function intervalNanos({ months: m, days: d, nanos: n }: Interval): bigint {
  return (BigInt(m) * daysPerMonth + BigInt(d)) * nanosPerDay + n
}
