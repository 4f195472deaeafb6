/** Constants and the columns they meet: where a value stands among the values of another type, exactly. */
import type { DataType } from '../../arrow/types.js'
import type { LiteralNode } from '../bound.js'
import type { CompareOp } from '../syntax/syntax.js'
import {
  type Digits,
  decimalRange,
  decimalToDouble,
  decimalType,
  digitsAt,
  digitsOfFloat,
  maxDigits,
  parseDigits,
  rescaled,
} from './decimals.js'
import { floatBelow, roundFloat } from './floats.js'
import { checked, intervalNanos, parseInterval } from './interval.js'
import type { Interval, Scalar } from './scalar.js'
import {
  floorDivide,
  instantNanos,
  localNanos,
  nanosPerCount,
  nanosPerDay,
  readInstant,
  readTime,
} from './temporal.js'
import { zoneNamed } from './time-zone.js'
import { binary, boolType, float64, int64, nullType, uint64, utf8, valueType, zoneOf } from './types.js'

/** The largest value of a type not above the constant, and whether it equals it. */
export interface Place {
  readonly value: Scalar
  readonly exact: boolean
}

/** Where a constant lies relative to a type: at or right above a value, or outside of all values. */
export type Placement = Place | 'below' | 'above'

const int64Min = -(1n << 63n)
const int64Max = (1n << 63n) - 1n
const uint64Max = (1n << 64n) - 1n

/** A whole number as a literal: int64, else uint64, else a double. */
export function integerLiteral(value: bigint): LiteralNode {
  if (value >= int64Min && value <= int64Max) return { kind: 'literal', type: int64, value }
  if (value > 0n && value <= uint64Max) return { kind: 'literal', type: uint64, value }
  return { kind: 'literal', type: float64, value: Number(value) }
}

/** A constant in the type it has where nothing else decides. */
export function literalOf(value: null | boolean | bigint | number | string | Uint8Array): LiteralNode {
  switch (typeof value) {
    case 'bigint':
      return integerLiteral(value)
    case 'boolean':
      return { kind: 'literal', type: boolType, value }
    case 'number':
      return { kind: 'literal', type: float64, value }
    case 'string':
      return { kind: 'literal', type: utf8, value }
    default:
      return value === null
        ? { kind: 'literal', type: nullType, value }
        : { kind: 'literal', type: binary, value }
  }
}

type Range = readonly [least: bigint, greatest: bigint]

const signedRange: Readonly<Record<number, Range>> = {
  8: [-0x80n, 0x7fn],
  16: [-0x8000n, 0x7fffn],
  32: [-0x80000000n, 0x7fffffffn],
  64: [int64Min, int64Max],
}
const unsignedRange: Readonly<Record<number, Range>> = {
  8: [0n, 0xffn],
  16: [0n, 0xffffn],
  32: [0n, 0xffffffffn],
  64: [0n, uint64Max],
}

/** Smallest and largest value, as `Scalar`s, of integers, decimals, and all that counts time; null for other types. */
export function integerRange(type: DataType): Range | null {
  switch (type.kind) {
    case 'decimal':
      return decimalRange(type)
    case 'time':
      return [0n, nanosPerDay / nanosPerCount(type)! - 1n]
    case 'int':
      return (type.signed ? signedRange : unsignedRange)[type.bits]!
    case 'date':
      return signedRange[type.unit === 'day' ? 32 : 64]!
    case 'timestamp':
    case 'duration':
      return signedRange[64]!
    default:
      return null
  }
}

/**
 * Where `literal` (not null) stands among the values of `type`, or null when the two cannot be compared.
 *
 * - A decimal number takes the precision of the float column it meets, and meets decimals with all its digits (a
 *   double that was not written, with the shortest that say it); everything else is placed exactly.
 * - A text meeting a date, time, timestamp, duration or interval is read as one; what is none is not comparable. A text
 *   without an offset, a date and a timestamp without a zone are times in the zone of what they meet.
 */
export function place(columnType: DataType, literal: LiteralNode): Placement | null {
  const type = valueType(columnType)
  const { value } = literal
  switch (type.kind) {
    case 'int':
    case 'decimal':
      return placeNumber(type, literal)
    case 'float':
      if (literal.type.kind === 'decimal') {
        return placeDecimal(type.bits, decimalToDouble(value as bigint, literal.type.scale))
      }
      if (typeof value === 'bigint' && literal.type.kind === 'int') return placeFloat(type.bits, value)
      return typeof value === 'number' ? placeDecimal(type.bits, value) : null
    case 'date':
    case 'time':
    case 'timestamp':
    case 'duration': {
      const nanos = nanosMeeting(type, literal)
      if (nanos === null) return null
      const unit = nanosPerCount(type)!
      const floor = floorDivide(nanos, unit)
      return placeInteger(type, floor, floor * unit === nanos)
    }
    case 'interval': {
      const interval = intervalOfLiteral(literal)
      return interval === null ? null : { value: interval, exact: true }
    }
    case 'bool':
      return typeof value === 'boolean' ? { value, exact: true } : null
    case 'utf8':
      return typeof value === 'string' ? { value, exact: true } : null
    case 'binary':
    case 'fixed_size_binary':
      return value instanceof Uint8Array ? { value, exact: true } : null
    default:
      return null
  }
}

/** A number among integers or decimals. */
function placeNumber(type: DataType, literal: LiteralNode): Placement | null {
  const { type: from, value } = literal
  const scale = type.kind === 'decimal' ? type.scale : 0
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) return value < 0 ? 'below' : 'above'
    if (type.kind === 'int') return placeInteger(type, BigInt(Math.floor(value)), Number.isInteger(value))
    const { floor, exact } = digitsAt(digitsOf(literal)!, scale)
    return placeInteger(type, floor, exact)
  }
  if (typeof value !== 'bigint' || (from.kind !== 'int' && from.kind !== 'decimal')) return null
  const { floor, exact } = rescaled(value, from.kind === 'decimal' ? from.scale : 0, scale)
  return placeInteger(type, floor, exact)
}

/**
 * A comparison of a column with `literal` as one with a value of the column's own type, equivalent for every
 * value of that type (`int > 1.5` is `int > 1`); null when the two cannot be compared. A comparison that no
 * value, or every value, satisfies becomes `< least` or `>= least`.
 */
export function fitComparison(
  columnType: DataType,
  op: CompareOp,
  literal: LiteralNode,
): { readonly op: CompareOp; readonly value: Scalar } | null {
  const placement = place(columnType, literal)
  if (placement === null) return null
  if (typeof placement === 'object' && placement.exact) return { op, value: placement.value }
  const value = typeof placement === 'object' ? placement.value : leastValue(valueType(columnType))
  const always = { op: '>=', value: leastValue(valueType(columnType)) } as const
  const never = { op: '<', value: leastValue(valueType(columnType)) } as const
  if (op === '=') return never
  if (op === '<>') return always
  const upward = op === '>' || op === '>='
  if (placement === 'below') return upward ? always : never
  if (placement === 'above') return upward ? never : always
  return { op: upward ? '>' : '<=', value }
}

/** The literal as a value of `type` if one equals it; `undefined` if none does, null if they cannot be compared. */
export function equalValue(type: DataType, literal: LiteralNode): Scalar | undefined {
  const placement = place(type, literal)
  if (placement === null) return null
  return typeof placement === 'object' && placement.exact ? placement.value : undefined
}

function leastValue(type: DataType): Scalar {
  return type.kind === 'float' ? Number.NEGATIVE_INFINITY : integerRange(type)![0]
}

function placeInteger(type: DataType, floor: bigint, exact: boolean): Placement {
  const [least, greatest] = integerRange(type)!
  if (floor < least) return 'below'
  if (floor > greatest) return 'above'
  return { value: floor, exact }
}

/** A decimal number at the precision of the floats it meets, as long as it is in their range. */
function placeDecimal(bits: 16 | 32 | 64, value: number): Placement {
  const rounded = roundFloat(bits, value)
  return Number.isFinite(rounded) || !Number.isFinite(value)
    ? { value: rounded, exact: true }
    : { value: value > 0 ? greatestFloat[bits] : rounded, exact: false }
}

const greatestFloat = { 16: 65_504, 32: (2 - 2 ** -23) * 2 ** 127, 64: Number.MAX_VALUE } as const

/** Where a whole number lies among the floats of that width. */
function placeFloat(bits: 16 | 32 | 64, value: bigint): Placement {
  const rounded = roundFloat(bits, Number(value))
  if (rounded === Number.POSITIVE_INFINITY) return { value: greatestFloat[bits], exact: false }
  if (rounded === Number.NEGATIVE_INFINITY) return { value: rounded, exact: false }
  const back = BigInt(rounded)
  if (back <= value) return { value: rounded, exact: back === value }
  return { value: floatBelow(bits, rounded), exact: false }
}

/** Nanoseconds since 1970, since midnight, or in all, of a constant that a date, time, timestamp or duration meets. */
function nanosMeeting(type: DataType, literal: LiteralNode): bigint | null {
  const { value, type: from } = literal
  if (type.kind === 'time') {
    if (typeof value === 'string') return readTime(value)
    return from.kind === 'time' ? (value as bigint) * nanosPerCount(from)! : null
  }
  if (type.kind === 'duration') {
    const interval = intervalOfLiteral(literal)
    return interval === null ? null : intervalNanos(interval)
  }
  const zone = zoneOf(type) === null ? null : zoneNamed(zoneOf(type)!)
  if (typeof value === 'string') return readInstant(value, zone)
  if (from.kind !== 'date' && from.kind !== 'timestamp') return null
  const nanos = (value as bigint) * nanosPerCount(from)!
  const other = zoneOf(from)
  if ((other === null) === (zone === null)) return nanos
  return other === null ? instantNanos(nanos, zone) : localNanos(nanos, zoneNamed(other))
}

/** The interval a constant that meets a duration or an interval is. */
function intervalOfLiteral({ type, value }: LiteralNode): Interval | null {
  if (typeof value === 'string') return parseInterval(value, '')
  if (type.kind === 'interval') return value as Interval
  if (type.kind !== 'duration') return null
  return checked({ months: 0n, days: 0n, nanos: (value as bigint) * nanosPerCount(type)! })
}

/** A number written with a point or an exponent, as a decimal with all its digits; null where no decimal has so many. */
export function decimalLiteral(literal: LiteralNode): LiteralNode | null {
  const written = digitsOf(literal)
  if (written === null || written.cut) return null
  const scale = Math.max(0, written.scale)
  const digits = written.scale < 0 ? digitsAt(written, 0).floor : written.digits
  const precision = Math.max(scale, String(digits < 0n ? -digits : digits).length)
  if (precision > maxDigits[256]) return null
  const type = decimalType(precision > maxDigits[128] ? 256 : 128, precision, scale)
  return { kind: 'literal', type, value: digits }
}

/** The digits of a floating-point constant: as it was written, else as `digitsOfFloat`. */
function digitsOf({ type, value, text }: LiteralNode): Digits | null {
  if (typeof value !== 'number') return null
  return text === undefined ? digitsOfFloat(value, type.kind === 'float' ? type.bits : 64) : parseDigits(text)
}
