/**
 * Dates, times and timestamps as text and as counts of units (proleptic Gregorian calendar, no leap seconds).
 *
 * A timestamp with a zone is an instant. The zone determines how the timestamp is parsed and printed. A date or a
 * timestamp without a zone is a local time, which is stored as if it were in UTC. In a comparison with a timestamp that
 * has a zone, it is a local time of that zone.
 */
import { perSecond } from '../../arrow/instant.js'
import type { DataType, TimeUnit } from '../../arrow/types.js'
import { instantOfLocal, offsetAt, type Zone } from './time-zone.js'

const nanosPerSecond = perSecond.ns
export const nanosPerDay = 86_400n * nanosPerSecond

/** First and last supported year. They are the limits of a JavaScript Date. */
const firstYear = -271_821
const lastYear = 275_760

/** Return the nanoseconds per unit of a date or timestamp type, null for other types. */
export function nanosPerUnit(type: DataType): bigint | null {
  if (type.kind === 'timestamp') return nanosPerSecond / perSecond[type.unit]
  if (type.kind === 'date') return type.unit === 'day' ? nanosPerDay : nanosPerSecond / perSecond.ms
  return null
}

/** Return the nanoseconds per unit of a date, timestamp, time or duration type, null for other types. */
export function nanosPerCount(type: DataType): bigint | null {
  if (type.kind === 'time' || type.kind === 'duration') return nanosPerSecond / perSecond[type.unit]
  return nanosPerUnit(type)
}

/** Return the number of fractional digits of seconds in a unit, for example 3 for milliseconds. */
export function digitsOfUnit(unit: TimeUnit): number {
  return perSecond[unit].toString().length - 1
}

/** Divide two integers, and round the quotient toward negative infinity. */
export function floorDivide(value: bigint, divisor: bigint): bigint {
  const quotient = value / divisor
  return value < 0n && quotient * divisor !== value ? quotient - 1n : quotient
}

/** A date of the proleptic Gregorian calendar. */
export interface Civil {
  readonly year: number
  /** The month of the year, from 1 for January. */
  readonly month: number
  readonly day: number
}

/**
 * Convert a number of days since 1970 to a date. In this computation years begin in March, so that a leap day is the
 * last day of a year. An era is 400 years, which have 146,097 days.
 */
export function civilOfDays(days: number): Civil {
  const shifted = days + 719_468
  const era = Math.floor(shifted / 146_097)
  const dayOfEra = shifted - era * 146_097
  const yearOfEra = Math.floor(
    (dayOfEra -
      Math.floor(dayOfEra / 1460) +
      Math.floor(dayOfEra / 36_524) -
      Math.floor(dayOfEra / 146_096)) /
      365,
  )
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100))
  const monthFromMarch = Math.floor((5 * dayOfYear + 2) / 153)
  const month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
  return {
    year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0),
    month,
    day: dayOfYear - Math.floor((153 * monthFromMarch + 2) / 5) + 1,
  }
}

/** Convert a date to a number of days since 1970. */
export function daysOfCivil({ year, month, day }: Civil): number {
  const fromMarch = month <= 2 ? year - 1 : year
  const era = Math.floor(fromMarch / 400)
  const yearOfEra = fromMarch - era * 400
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear
  return era * 146_097 + dayOfEra - 719_468
}

export function daysInMonth(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
}

/**
 * Add months to a date, which is given and returned in days since 1970. If the new month has no such day, return its
 * last day.
 */
export function addMonths(days: number, months: number): number {
  if (months === 0) return days
  const { year, month, day } = civilOfDays(days)
  const total = year * 12 + month - 1 + months
  const target = { year: Math.floor(total / 12), month: total - Math.floor(total / 12) * 12 + 1 }
  return daysOfCivil({ ...target, day: Math.min(day, daysInMonth(target.year, target.month)) })
}

/** Convert an instant to the local time of a zone, both in nanoseconds since 1970. Null: UTC. */
export function localNanos(nanos: bigint, zone: Zone | null): bigint {
  if (zone === null) return nanos
  return nanos + BigInt(offsetAt(zone, Number(floorDivide(nanos, nanosPerSecond)))) * nanosPerSecond
}

/** Convert a local time of a zone to the instant, both in nanoseconds since 1970. Null: UTC. */
export function instantNanos(local: bigint, zone: Zone | null): bigint {
  if (zone === null) return local
  const seconds = floorDivide(local, nanosPerSecond)
  const shift = Number(seconds) - instantOfLocal(zone, Number(seconds))
  return local - BigInt(shift) * nanosPerSecond
}

/** A point in time split into parts that are safe integers. */
interface Parts {
  readonly days: number
  readonly secondOfDay: number
  readonly nanos: number
}

function partsOf(nanos: bigint): Parts {
  const whole = floorDivide(nanos, nanosPerSecond)
  const seconds = Number(whole)
  const days = Math.floor(seconds / 86_400)
  return { days, secondOfDay: seconds - days * 86_400, nanos: Number(nanos - whole * nanosPerSecond) }
}

/**
 * Write a date or timestamp in ISO 8601. A date in days has no time. Other values have a time with the fractional
 * digits of the unit, and no zone. Return null outside of the supported years.
 */
export function formatInstant(value: bigint, type: DataType): string | null {
  const parts = partsOf(value * (nanosPerUnit(type) ?? 1n))
  const day = formatDate(parts)
  if (day === null || (type.kind === 'date' && type.unit === 'day')) return day
  return `${day}T${formatClock(parts, digitsOfUnit(type.kind === 'timestamp' ? type.unit : 'ms'))}`
}

/**
 * Write a date or timestamp in ISO 8601, as a CAST to text does. A time has 0, 3, 6 or 9 fractional digits, the fewest
 * that are exact. With a zone, the text has the local time and the offset. Return null outside of the supported years.
 */
export function writeInstant(value: bigint, type: DataType, zone: Zone | null): string | null {
  const nanos = value * (nanosPerUnit(type) ?? 1n)
  const local = localNanos(nanos, zone)
  const parts = partsOf(local)
  const day = formatDate(parts)
  if (day === null || (type.kind === 'date' && type.unit === 'day')) return day
  const offset = zone === null ? '' : formatOffset(Number((local - nanos) / nanosPerSecond))
  return `${day}T${formatClock(parts, digitsNeeded(parts))}${offset}`
}

/** Write a time as `12:34:56.789`, with 0, 3, 6 or 9 fractional digits, the fewest that are exact. */
export function writeTime(value: bigint, type: DataType): string {
  const parts = partsOf(value * (nanosPerCount(type) ?? 1n))
  return formatClock(parts, digitsNeeded(parts))
}

/**
 * Write a date as `2021-01-31`. Years after 9999 and before 0 have a sign. Return null outside of the supported years.
 */
function formatDate({ days }: Parts): string | null {
  const { year, month, day } = civilOfDays(days)
  if (year < firstYear || year > lastYear) return null
  const digits = Math.abs(year).toString().padStart(4, '0')
  const sign = year < 0 ? '-' : year > 9999 ? '+' : ''
  return `${sign}${digits}-${twoDigits(month)}-${twoDigits(day)}`
}

function formatClock({ secondOfDay, nanos }: Parts, digits: number): string {
  const hour = Math.floor(secondOfDay / 3600)
  const minute = Math.floor(secondOfDay / 60) % 60
  const text = `${twoDigits(hour)}:${twoDigits(minute)}:${twoDigits(secondOfDay % 60)}`
  return digits === 0 ? text : `${text}.${nanos.toString().padStart(9, '0').slice(0, digits)}`
}

function digitsNeeded({ nanos }: Parts): number {
  if (nanos === 0) return 0
  return nanos % 1_000_000 === 0 ? 3 : nanos % 1000 === 0 ? 6 : 9
}

function formatOffset(seconds: number): string {
  if (seconds === 0) return 'Z'
  const magnitude = Math.abs(seconds)
  const parts = [Math.floor(magnitude / 3600), Math.floor(magnitude / 60) % 60, magnitude % 60]
  if (parts[2] === 0) parts.pop()
  return `${seconds < 0 ? '-' : '+'}${parts.map(twoDigits).join(':')}`
}

function twoDigits(value: number): string {
  return value < 10 ? `0${value}` : String(value)
}

const date = /([+-]?\d{4,6})-(\d{1,2})-(\d{1,2})/
const clock = /(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?/
const offset = /\s?(?:([+-])(\d\d)(?::?(\d\d)(?::?(\d\d))?)?|(z|utc))/
const instant = new RegExp(`^${date.source}(?:[T ]${clock.source}(?:${offset.source})?)?$`, 'i')

const timeOfDay = new RegExp(`^${clock.source}$`)

/**
 * Parse an ISO 8601 text (`2024-02-29`, `2024-2-9 12:00`, `2024-02-29T12:00:00.123456789+02:00`) to nanoseconds since
 * 1970. Without an offset, the text is a local time in `zone` (null: UTC). Return null if the text is not a valid date
 * or time.
 */
export function readInstant(text: string, zone: Zone | null): bigint | null {
  const match = instant.exec(compactDate(text))
  if (match === null) return null
  const [, year, month, day, hour = '0', minute = '0', second = '0', fraction = ''] = match
  const days = daysOfDate(year!, month!, day!)
  const time = nanosOfClock(hour, minute, second, fraction)
  if (days === null || time === null) return null
  const local = BigInt(days) * nanosPerDay + time
  const [sign, hours, minutes = '0', seconds = '0', utc] = match.slice(8)
  if (utc !== undefined) return local
  if (sign === undefined) return instantNanos(local, zone)
  const east = nanosOfClock(hours!, minutes, seconds, '')
  return east === null ? null : sign === '-' ? local + east : local - east
}

/** Insert hyphens into a date of eight digits. Return any other text unchanged. */
function compactDate(text: string): string {
  return /^\d{8}$/.test(text) ? `${text.slice(0, 4)}-${text.slice(4, 6)}-${text.slice(6)}` : text
}

/**
 * Parse `12:34`, `12:34:56` or `12:34:56.789` to nanoseconds since midnight. Return null if the text is not a valid
 * time.
 */
export function readTime(text: string): bigint | null {
  const match = timeOfDay.exec(text)
  if (match === null) return null
  const [, hour, minute, second = '0', fraction = ''] = match
  return nanosOfClock(hour!, minute!, second, fraction)
}

function daysOfDate(year: string, month: string, day: string): number | null {
  const civil = { year: Number(year), month: Number(month), day: Number(day) }
  if (civil.year < firstYear || civil.year > lastYear || civil.month < 1 || civil.month > 12 || civil.day < 1)
    return null
  return civil.day > daysInMonth(civil.year, civil.month) ? null : daysOfCivil(civil)
}

function nanosOfClock(hour: string, minute: string, second: string, fraction: string): bigint | null {
  const [h, m, s] = [Number(hour), Number(minute), Number(second)]
  if (h > 23 || m > 59 || s > 59) return null
  return BigInt(h * 3600 + m * 60 + s) * nanosPerSecond + BigInt(fraction.padEnd(9, '0'))
}
