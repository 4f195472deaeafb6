/** Constants and the columns they meet: where a value stands among the values of another type, exactly. */
import { fromFloat16, toFloat16 } from '../arrow/float16.js'
import { parseInstant } from '../arrow/instant.js'
import type { DataType } from '../arrow/types.js'
import type { LiteralNode, Scalar } from './bound.js'
import type { CompareOp } from './syntax.js'
import { floorDivide, nanosPerUnit } from './temporal.js'
import { binary, boolType, float64, int64, nullType, uint64, utf8, valueType } from './types.js'

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

/** Smallest and largest value of integers, dates and timestamps; null for other types. */
export function integerRange(type: DataType): Range | null {
  switch (type.kind) {
    case 'int':
      return (type.signed ? signedRange : unsignedRange)[type.bits]!
    case 'date':
      return signedRange[type.unit === 'day' ? 32 : 64]!
    case 'timestamp':
      return signedRange[64]!
    default:
      return null
  }
}

/**
 * Where `literal` (not null) stands among the values of `type`, or null when the two cannot be compared.
 * A decimal number takes the precision of the float column it meets; everything else is placed exactly.
 * A text meeting a date or timestamp is read as ISO 8601; one that is not is not comparable.
 */
export function place(columnType: DataType, literal: LiteralNode): Placement | null {
  const type = valueType(columnType)
  const { value } = literal
  switch (type.kind) {
    case 'int':
      if (typeof value === 'bigint' && literal.type.kind === 'int') return placeInteger(type, value, true)
      return typeof value === 'number' ? placeInteger(type, ...floorOf(value)) : null
    case 'float':
      if (typeof value === 'bigint' && literal.type.kind === 'int') return placeFloat(type.bits, value)
      return typeof value === 'number' ? placeDecimal(type.bits, value) : null
    case 'date':
    case 'timestamp': {
      const nanos = nanosOfLiteral(literal)
      if (nanos === null) return null
      const unit = nanosPerUnit(type)!
      const floor = floorDivide(nanos, unit)
      return placeInteger(type, floor, floor * unit === nanos)
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

function placeInteger(type: DataType, floor: bigint | 'below' | 'above', exact: boolean): Placement {
  if (typeof floor === 'string') return floor
  const [least, greatest] = integerRange(type)!
  if (floor < least) return 'below'
  if (floor > greatest) return 'above'
  return { value: floor, exact }
}

/** The floor of a double as an integer. NaN is above everything, as in the order of floats. */
function floorOf(value: number): [bigint | 'below' | 'above', boolean] {
  if (Number.isFinite(value)) return [BigInt(Math.floor(value)), Number.isInteger(value)]
  return [value < 0 ? 'below' : 'above', false]
}

/** A decimal number at the precision of the floats it meets, as long as it is in their range. */
function placeDecimal(bits: 16 | 32 | 64, value: number): Placement {
  const rounded = roundFloat(bits, value)
  return Number.isFinite(rounded) || !Number.isFinite(value)
    ? { value: rounded, exact: true }
    : { value: value > 0 ? greatestFloat[bits] : rounded, exact: false }
}

/** The nearest float of that width; infinite beyond its finite ones. */
export function roundFloat(bits: 16 | 32 | 64, value: number): number {
  return bits === 64 ? value : bits === 32 ? Math.fround(value) : fromFloat16(toFloat16(value))
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

const double = new Float64Array(1)
const doubleBits = new BigInt64Array(double.buffer)
const single = new Float32Array(1)
const singleBits = new Int32Array(single.buffer)

/** The next smaller float of that width; `value` is whole, finite, not 0. */
function floatBelow(bits: 16 | 32 | 64, value: number): number {
  if (bits === 64) return stepDouble(value, -1)
  if (bits === 32) {
    single[0] = value
    singleBits[0]! += value > 0 ? -1 : 1
    return single[0]
  }
  const exponent = Math.floor(Math.log2(Math.abs(value)))
  const step = 2 ** (exponent - 10)
  return value > 0 && value === 2 ** exponent ? value - step / 2 : value - step
}

/** The next double up (1) or down (-1); there is none past the infinities. */
export function stepDouble(value: number, direction: 1 | -1): number {
  if (!Number.isFinite(value)) return value * direction < 0 ? Math.sign(value) * Number.MAX_VALUE : value
  if (value === 0) return direction * Number.MIN_VALUE
  double[0] = value
  doubleBits[0]! += BigInt(value > 0 === direction > 0 ? 1 : -1)
  return double[0]
}

function nanosOfLiteral({ type, value }: LiteralNode): bigint | null {
  if (typeof value === 'string') return parseInstant(value, 'ns')
  const unit = nanosPerUnit(type)
  return unit === null || typeof value !== 'bigint' ? null : value * unit
}
