/** Convert values to text and back. */
import { formatDecimal } from '../../arrow/decimal.js'
import type { DataType } from '../../arrow/types.js'
import { decimalRange, digitsAt, parseDigits } from '../values/decimals.js'
import { roundFloat, writeFloat } from '../values/floats.js'
import { formatDuration, formatInterval, intervalNanos, parseInterval } from '../values/interval.js'
import { integerRange } from '../values/literal.js'
import type { Interval, Scalar } from '../values/scalar.js'
import {
  digitsOfUnit,
  floorDivide,
  nanosPerCount,
  readInstant,
  readTime,
  writeInstant,
  writeTime,
} from '../values/temporal.js'
import { zoneNamed } from '../values/time-zone.js'
import { zoneOf } from '../values/types.js'

const booleans: Readonly<Record<string, boolean>> = {
  ...{ true: true, t: true, yes: true, y: true, on: true, '1': true },
  ...{ false: false, f: false, no: false, n: false, off: false, '0': false },
}
const infinities: Readonly<Record<string, number>> = { inf: Infinity, infinity: Infinity, nan: Number.NaN }

/**
 * Parse a text as a value of `type`, which must be a boolean, a number, a point in time or a span of time. Return null
 * if the text is not a value of the type.
 *
 * A point or span of time is rounded down to the unit of the type. A decimal with more fractional digits than the type
 * is not a value of it.
 */
export function readText(text: string, type: DataType): Scalar {
  switch (type.kind) {
    case 'bool': {
      const plain = text.toLowerCase()
      return Object.hasOwn(booleans, plain) ? booleans[plain]! : null
    }
    case 'int': {
      if (!/^[+-]?\d{1,40}$/.test(text)) return null
      return within(BigInt(text.replace('+', '')), integerRange(type)!)
    }
    case 'float':
      return readFloat(text.toLowerCase(), type.bits)
    case 'decimal': {
      const digits = parseDigits(text)
      if (digits === null) return null
      const { floor, exact } = digitsAt(digits, type.scale)
      return exact ? within(floor, decimalRange(type)) : null
    }
    case 'interval':
      return parseInterval(text, '')
    default:
      return readCount(text, type)
  }
}

function readFloat(text: string, bits: 16 | 32 | 64): number | null {
  const unsigned = text.replace(/^[+-]/, '')
  const isDecimal = /^(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/.test(unsigned)
  if (!isDecimal && !Object.hasOwn(infinities, unsigned)) return null
  const magnitude = isDecimal ? Number(unsigned) : infinities[unsigned]!
  const value = roundFloat(bits, text.startsWith('-') ? -magnitude : magnitude)
  return isDecimal && !Number.isFinite(value) ? null : value
}

/** Parse a text as a date, time, timestamp or duration, in units of the type. */
function readCount(text: string, type: DataType): bigint | null {
  const nanos = readNanos(text, type)
  return nanos === null ? null : within(floorDivide(nanos, nanosPerCount(type)!), integerRange(type)!)
}

/**
 * Parse a text as nanoseconds: since 1970 for dates and timestamps, since midnight for times, or the whole duration.
 */
function readNanos(text: string, type: DataType): bigint | null {
  if (type.kind === 'time') return readTime(text)
  if (type.kind === 'duration') {
    const interval = parseInterval(text, '')
    return interval === null || interval.months !== 0 ? null : intervalNanos(interval)
  }
  const zone = zoneOf(type)
  return readInstant(text, zone === null ? null : zoneNamed(zone))
}

function within(value: bigint, [least, greatest]: readonly [bigint, bigint]): bigint | null {
  return value >= least && value <= greatest ? value : null
}

/**
 * Write a value as text, as CAST does. The type must not be a list, struct or map. Return null for a date or timestamp
 * outside of the supported years.
 */
export function writeText(value: Scalar, type: DataType): string | null {
  switch (type.kind) {
    case 'float':
      return writeFloat(value as number, type.bits)
    case 'decimal':
      return formatDecimal(value as bigint, type.scale)
    case 'date':
      return writeInstant(value as bigint, type, null)
    case 'timestamp':
      return writeInstant(value as bigint, type, type.timezone === null ? null : zoneNamed(type.timezone))
    case 'time':
      return writeTime(value as bigint, type)
    case 'duration':
      return formatDuration(value as bigint, digitsOfUnit(type.unit))
    case 'interval':
      return formatInterval(value as Interval)
    case 'binary':
    case 'fixed_size_binary':
      return `X'${Buffer.from(value as Uint8Array).toString('hex')}'`
    default:
      return String(value)
  }
}
