/** Converts points in time and times of day to and from a whole number of time units, without rounding. */
import type { TimeUnit } from './types.js'

/** By time unit: the number of units per second. */
export const perSecond: Readonly<Record<TimeUnit, bigint>> = {
  s: 1n,
  ms: 1000n,
  us: 1_000_000n,
  ns: 1_000_000_000n,
}

/** Maximum distance of a Date from 1970, in milliseconds. */
const maxDateMs = 8_640_000_000_000_000n

/** Return the Date that is `count` units after 1970. Returns null if a Date cannot represent this instant exactly. */
export function toDate(count: bigint, unit: TimeUnit): Date | null {
  const scale = perSecond[unit]
  if (scale > 1000n && count % (scale / 1000n) !== 0n) return null
  const ms = scale > 1000n ? count / (scale / 1000n) : count * (1000n / scale)
  return ms > maxDateMs || ms < -maxDateMs ? null : new Date(Number(ms))
}

/** Return the number of units from 1970 to a Date. Returns null if it is not a whole number. */
export function fromDate(date: Date, unit: TimeUnit): bigint | null {
  return convert(BigInt(date.getTime()), 1000n, unit)
}

function convert(count: bigint, from: bigint, unit: TimeUnit): bigint | null {
  const scaled = count * perSecond[unit]
  return scaled % from === 0n ? scaled / from : null
}

const instant =
  /^(\d{4}|[+-]\d{6})-(\d\d)-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(?:([Zz])|([+-])(\d\d):?(\d\d))?)?$/

/**
 * Parse an ISO 8601 text, for example `2024-02-29` or `2024-02-29T12:00:00.123456789+02:00`, as a number of units since
 * 1970. A time without an offset is in UTC. Returns null if the text is invalid, or if the number is not whole.
 */
export function parseInstant(text: string, unit: TimeUnit): bigint | null {
  const match = instant.exec(text)
  if (match === null) return null
  const [, year, month, day, hour = '0', minute = '0', second = '0', fraction = ''] = match
  const midnight = new Date(0)
  midnight.setUTCFullYear(Number(year), Number(month) - 1, Number(day))
  // A Date converts a nonexistent day such as 30 February to a day of another month.
  if (midnight.getUTCMonth() !== Number(month) - 1 || midnight.getUTCDate() !== Number(day)) return null
  const seconds = clockSeconds(hour, minute, second)
  const offset = clockSeconds(match[10] ?? '0', match[11] ?? '0', '0')
  if (seconds === null || offset === null) return null
  const total = BigInt(midnight.getTime() / 1000 + seconds + (match[9] === '-' ? offset : -offset))
  return convert(total * 1_000_000_000n + nanoseconds(fraction), 1_000_000_000n, unit)
}

/**
 * Parse a time such as `12:34`, `12:34:56` or `12:34:56.789` as a number of units since midnight. Returns null if the
 * text is invalid, or if the number is not whole.
 */
export function parseTimeOfDay(text: string, unit: TimeUnit): bigint | null {
  const match = /^(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?$/.exec(text)
  if (match === null) return null
  const seconds = clockSeconds(match[1]!, match[2]!, match[3] ?? '0')
  if (seconds === null) return null
  return convert(BigInt(seconds) * 1_000_000_000n + nanoseconds(match[4] ?? ''), 1_000_000_000n, unit)
}

function clockSeconds(hour: string, minute: string, second: string): number | null {
  const [h, m, s] = [Number(hour), Number(minute), Number(second)]
  return h > 23 || m > 59 || s > 59 ? null : h * 3600 + m * 60 + s
}

function nanoseconds(fraction: string): bigint {
  return BigInt(fraction.padEnd(9, '0'))
}
