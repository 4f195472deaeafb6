/**
 * Dates and timestamps as text and as counts of units since 1970-01-01T00:00Z (proleptic Gregorian calendar, no
 * leap seconds). A timestamp without an offset is read as UTC, whatever the zone of the column it meets.
 */
import { perSecond, toDate } from '../arrow/instant.js'
import type { DataType } from '../arrow/types.js'

const nanosPerSecond = perSecond.ns
const nanosPerDay = 86_400n * nanosPerSecond

/** Nanoseconds per unit of a date or timestamp type; null for other types. */
export function nanosPerUnit(type: DataType): bigint | null {
  if (type.kind === 'timestamp') return nanosPerSecond / perSecond[type.unit]
  if (type.kind === 'date') return type.unit === 'day' ? nanosPerDay : nanosPerSecond / perSecond.ms
  return null
}

/**
 * ISO 8601: a date for a date in days, else date and time with as many digits as the unit has. Null for what a
 * Date cannot hold (years past about 270,000).
 */
export function formatInstant(value: bigint, type: DataType): string | null {
  const nanos = value * (nanosPerUnit(type) ?? 1n)
  const seconds = floorDivide(nanos, nanosPerSecond)
  const date = toDate(seconds, 's')
  if (date === null) return null
  const [day, clock] = date.toISOString().slice(0, -'.000Z'.length).split('T')
  if (type.kind === 'date' && type.unit === 'day') return day!
  const unit = type.kind === 'timestamp' ? type.unit : 'ms'
  const digits = unit === 's' ? 0 : perSecond[unit].toString().length - 1
  const fraction = (nanos - seconds * nanosPerSecond).toString().padStart(9, '0').slice(0, digits)
  return `${day}T${clock}${digits === 0 ? '' : `.${fraction}`}`
}

/** Rounds toward negative infinity. */
export function floorDivide(value: bigint, divisor: bigint): bigint {
  const quotient = value / divisor
  return value < 0n && quotient * divisor !== value ? quotient - 1n : quotient
}
