/** Create constants, and find the exact position of a constant among the values of another type. */
import type { DataType } from '../../arrow/types.js'
import { cut, invalidInput, type SheafError, type SourceSpan } from '../../errors.js'
import type { CompareOp } from '../syntax/syntax.js'
import {
  decimalRange,
  decimalToDouble,
  decimalType,
  digitsAt,
  exactDigits,
  maxDigits,
  orderWithDecimal,
  parseDigits,
  rescaled,
} from './decimals.js'
import { floatBelow, roundFloat, writeFloat } from './floats.js'
import { checked, intervalNanos, parseInterval } from './interval.js'
import { LiteralNode, type NumberLimit } from './literal-node.js'
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

/** The greatest value of a type that is not above a constant. `exact`: whether the value equals the constant. */
interface FloorValue {
  readonly value: Scalar
  readonly exact: boolean
}

/**
 * The position of a constant among the values of a type: the greatest value that is not above the constant, or `below`
 * or `above` if the constant is outside of the range of the type.
 */
type Position = FloorValue | 'below' | 'above'

const int64Min = -(1n << 63n)
const int64Max = (1n << 63n) - 1n
const uint64Max = (1n << 64n) - 1n

/**
 * Create the literal of an integer: int64 if it fits, otherwise uint64, otherwise a decimal. An integer with more than
 * 76 digits becomes a double with the limit `long`, which can only be compared.
 */
export function integerLiteral(value: bigint, at: SourceSpan): LiteralNode {
  if (value >= int64Min && value <= int64Max) return new LiteralNode(int64, value)
  if (value > 0n && value <= uint64Max) return new LiteralNode(uint64, value)
  const text = String(value)
  const precision = text.length - (value < 0n ? 1 : 0)
  if (precision > maxDigits[256]) return longNumber(text, at)
  return new LiteralNode(decimalType(precision > maxDigits[128] ? 256 : 128, precision, 0), value)
}

/** Create the literal of a number with a point or an exponent: the nearest double, with its text. */
export function numberLiteral(text: string, at: SourceSpan): LiteralNode {
  const value = Number(text)
  return Number.isFinite(value) ? new LiteralNode(float64, value, { text }) : longNumber(text, at)
}

/** Create the literal of a number that fits no type. It can only be compared, by its text. */
export function longNumber(text: string, at: SourceSpan): LiteralNode {
  const limit = { kind: 'long', name: `the number ${cut(text, 40)}`, at } as const
  return new LiteralNode(float64, Number(text), { text, limit })
}

/**
 * Create the literal of a JavaScript number. `name`: the name of the number in error messages.
 *
 * - A safe integer becomes int64.
 * - A larger integer becomes a double with the limit `rounded`.
 * - Any other number becomes a double. Next to decimals, it has the fewest digits that identify the double.
 */
export function numberOfScript(value: number, name: string, at: SourceSpan): LiteralNode {
  if (Number.isSafeInteger(value) && !Object.is(value, -0)) {
    return new LiteralNode(int64, BigInt(value))
  }
  if (Number.isInteger(value) && !Object.is(value, -0)) {
    return new LiteralNode(float64, value, { limit: { kind: 'rounded', name: `${name}, ${value},`, at } })
  }
  return new LiteralNode(float64, value, { text: Number.isFinite(value) ? writeFloat(value, 64) : undefined })
}

/** Create the error for a number with a limit, when an operation does not accept this number. */
export function limitError({ kind, name, at }: NumberLimit): SheafError {
  return kind === 'rounded'
    ? invalidInput(`${name} is a number beyond 2^53, which may have lost digits`, {
        hint: 'pass a bigint; a number is accepted next to a float column and in CAST(.. AS double)',
        at,
      })
    : invalidInput(`${name} fits no type: it can only be compared with number columns`, {
        hint: `a decimal has at most ${maxDigits[256]} digits, and the greatest double is 1.8e308`,
        at,
      })
}

/**
 * Remove the limit of a number literal that is used next to floats. Return other literals unchanged. Throws
 * `InvalidInput` if the number is outside the range of doubles.
 */
export function asDouble(literal: LiteralNode): LiteralNode {
  const { limit, value } = literal
  if (limit?.kind === 'long' && !Number.isFinite(value)) throw limitError(limit)
  return limit === undefined ? literal : new LiteralNode(literal.type, value)
}

/** Create a constant in its default type. */
export function literalOf(value: null | boolean | number | string | Uint8Array): LiteralNode {
  switch (typeof value) {
    case 'boolean':
      return new LiteralNode(boolType, value)
    case 'number':
      return new LiteralNode(float64, value)
    case 'string':
      return new LiteralNode(utf8, value)
    default:
      return value === null ? new LiteralNode(nullType, value) : new LiteralNode(binary, value)
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

/**
 * Return the minimum and maximum of an integer, decimal or temporal type, in the form of `Scalar`. Return null for
 * other types.
 */
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
 * Return the position of `literal` among the values of `columnType`. The literal must not be NULL. Return null if it is
 * not comparable with this type.
 *
 * - Among floats, a number with a point or an exponent is rounded to their precision. Among integers and decimals, all
 *   its digits count. The position of any other number is exact.
 * - Among decimals, dates, times, timestamps, durations and intervals, a string is parsed as a value of this type. A
 *   string that cannot be parsed is not comparable.
 * - Among timestamps with a zone, a string without an offset, a date, and a timestamp without a zone are local times of
 *   that zone.
 */
function positionAmong(columnType: DataType, literal: LiteralNode): Position | null {
  const type = valueType(columnType)
  const { value } = literal
  switch (type.kind) {
    case 'int':
    case 'decimal':
      return positionOfNumber(type, literal)
    case 'float':
      return positionAmongFloats(type.bits, literal)
    case 'date':
    case 'time':
    case 'timestamp':
    case 'duration': {
      const nanos = nanosComparedWith(type, literal)
      if (nanos === null) return null
      const unit = nanosPerCount(type)!
      const floor = floorDivide(nanos, unit)
      return positionOfInteger(type, floor, floor * unit === nanos)
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

/** Find the position of a number among integers or decimals. */
function positionOfNumber(type: DataType, literal: LiteralNode): Position | null {
  const { type: from, value, text, limit } = literal
  const scale = type.kind === 'decimal' ? type.scale : 0
  if (limit?.kind === 'rounded') throw limitError(limit)
  if (typeof value === 'string') {
    const digits = type.kind === 'decimal' ? parseDigits(value) : null
    if (digits === null) return null
    const { floor, exact } = digitsAt(digits, scale)
    return positionOfInteger(type, floor, exact)
  }
  if (typeof value === 'number') {
    if (text === undefined && !Number.isFinite(value)) return value < 0 ? 'below' : 'above'
    const { floor, exact } = digitsAt(text === undefined ? exactDigits(value) : parseDigits(text)!, scale)
    return positionOfInteger(type, floor, exact)
  }
  if (typeof value !== 'bigint' || (from.kind !== 'int' && from.kind !== 'decimal')) return null
  const { floor, exact } = rescaled(value, from.kind === 'decimal' ? from.scale : 0, scale)
  return positionOfInteger(type, floor, exact)
}

/**
 * Convert a comparison with a constant to an equivalent comparison with a value of the column's type. For example,
 * `int > 1.5` becomes `int > 1`. A comparison that is false for every value becomes `< minimum`, and one that is true
 * for every value becomes `>= minimum`. Return null if the column and the constant are not comparable.
 */
export function fitComparison(
  columnType: DataType,
  op: CompareOp,
  literal: LiteralNode,
): { readonly op: CompareOp; readonly value: Scalar } | null {
  const position = positionAmong(columnType, literal)
  if (position === null) return null
  if (typeof position === 'object' && position.exact) return { op, value: position.value }
  const value = typeof position === 'object' ? position.value : leastValue(valueType(columnType))
  const always = { op: '>=', value: leastValue(valueType(columnType)) } as const
  const never = { op: '<', value: leastValue(valueType(columnType)) } as const
  if (op === '=') return never
  if (op === '<>') return always
  const upward = op === '>' || op === '>='
  if (position === 'below') return upward ? always : never
  if (position === 'above') return upward ? never : always
  return { op: upward ? '>' : '<=', value }
}

/**
 * Return the value of `type` that equals the literal. Return `undefined` if there is no such value, and null if the
 * literal is not comparable with the type.
 */
export function equalValue(type: DataType, literal: LiteralNode): Scalar | undefined {
  const position = positionAmong(type, literal)
  if (position === null) return null
  return typeof position === 'object' && position.exact ? position.value : undefined
}

function leastValue(type: DataType): Scalar {
  return type.kind === 'float' ? Number.NEGATIVE_INFINITY : integerRange(type)![0]
}

function positionOfInteger(type: DataType, floor: bigint, exact: boolean): Position {
  const [least, greatest] = integerRange(type)!
  if (floor < least) return 'below'
  if (floor > greatest) return 'above'
  return { value: floor, exact }
}

/** Find the position of a number among the floats of `bits` bits. Return null if the literal is not a number. */
function positionAmongFloats(bits: 16 | 32 | 64, { type, value, text }: LiteralNode): Position | null {
  if (typeof value === 'bigint') {
    if (type.kind !== 'int' && type.kind !== 'decimal') return null
    return positionOfDecimal(bits, value, type.kind === 'decimal' ? type.scale : 0)
  }
  if (typeof value !== 'number') return null
  if (text !== undefined && /^-?\d+$/.test(text)) {
    const { digits, scale } = parseDigits(text)!
    return positionOfDecimal(bits, digits, scale)
  }
  return positionOfWritten(bits, value, text !== undefined)
}

/**
 * Find the position of a double among the floats of `bits` bits. The double is rounded to the precision of the floats.
 * It has an exact position, unless it is out of their range. `hasDigits`: whether the number was written in digits, so
 * that an infinite `value` means "out of range", not infinity.
 */
function positionOfWritten(bits: 16 | 32 | 64, value: number, hasDigits: boolean): Position {
  const rounded = roundFloat(bits, value)
  return Number.isFinite(rounded) || !(hasDigits || Number.isFinite(value))
    ? { value: rounded, exact: true }
    : { value: value > 0 ? greatestFloat[bits] : rounded, exact: false }
}

const greatestFloat = { 16: 65_504, 32: (2 - 2 ** -23) * 2 ** 127, 64: Number.MAX_VALUE } as const

/** Find the position of `value / 10 ** scale` among the floats of `bits` bits. */
function positionOfDecimal(bits: 16 | 32 | 64, value: bigint, scale: number): Position {
  const rounded = roundFloat(bits, decimalToDouble(value, scale))
  if (rounded === Number.POSITIVE_INFINITY) return { value: greatestFloat[bits], exact: false }
  if (rounded === Number.NEGATIVE_INFINITY) return { value: rounded, exact: false }
  const order = orderWithDecimal(rounded, value, scale)
  return order <= 0
    ? { value: rounded, exact: order === 0 }
    : { value: floatBelow(bits, rounded), exact: false }
}

/**
 * Convert a constant to nanoseconds, to compare it with values of `type`. The nanoseconds are counted from 1970 for
 * dates and timestamps, from midnight for times, and from 0 for durations. Return null if the constant cannot be
 * converted.
 */
function nanosComparedWith(type: DataType, literal: LiteralNode): bigint | null {
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

/**
 * Convert a constant to an interval, to compare it with durations or intervals. Return null if this is not possible.
 */
function intervalOfLiteral({ type, value }: LiteralNode): Interval | null {
  if (typeof value === 'string') return parseInterval(value, '')
  if (type.kind === 'interval') return value as Interval
  if (type.kind !== 'duration') return null
  return checked({ months: 0n, days: 0n, nanos: (value as bigint) * nanosPerCount(type)! })
}

/**
 * Convert a number literal that has a text to a decimal with all its digits. Return null if the literal has no text, or
 * more digits than any decimal type.
 */
export function decimalLiteral({ text }: LiteralNode): LiteralNode | null {
  const written = text === undefined ? null : parseDigits(text)
  if (written === null || written.cut) return null
  const scale = Math.max(0, written.scale)
  const digits = written.scale < 0 ? digitsAt(written, 0).floor : written.digits
  const precision = Math.max(scale, String(digits < 0n ? -digits : digits).length)
  if (precision > maxDigits[256]) return null
  const type = decimalType(precision > maxDigits[128] ? 256 : 128, precision, scale)
  return new LiteralNode(type, digits)
}
