/** The order of single values. It equals the order of columns (compare.ts). */
import type { DataType } from '../../arrow/types.js'
import { unreachable } from '../../errors.js'
import { orderOfBytes } from '../../primitives/order-of-bytes.js'
import type { Scalar } from './scalar.js'
import { nanosPerCount } from './temporal.js'
import { valueType } from './types.js'

/** Compares two values. Returns a negative number, 0 or a positive number. */
export type Order = (a: Scalar, b: Scalar) => number

/**
 * Return a negative number, 0 or a positive number as `a` sorts before, with or after `b`. Neither may be null. Both
 * must have one type, or one must be an integer and the other a float.
 */
export function orderOfScalars(a: Scalar, b: Scalar): number {
  if (typeof a === 'string') return orderOfTexts(a, b as string)
  if (a instanceof Uint8Array) {
    const other = b as Uint8Array
    return orderOfBytes(a, 0, a.length, other, 0, other.length)
  }
  if (typeof a === 'bigint' || typeof a === 'number' || typeof a === 'boolean') {
    const other = b as bigint | number | boolean
    if (a < other) return -1
    if (a > other) return 1
    return Number(Number.isNaN(a)) - Number(Number.isNaN(other))
  }
  return unreachable(a as never)
}

/** Compare by code points, which is also the order of the UTF-8 bytes. Both strings must be well-formed. */
export function orderOfTexts(a: string, b: string): number {
  const size = Math.min(a.length, b.length)
  for (let i = 0; i < size; i++) {
    const x = a.charCodeAt(i)
    const y = b.charCodeAt(i)
    if (x !== y) return rankOfUnit(x) - rankOfUnit(y)
  }
  return a.length - b.length
}

/**
 * Map a UTF-16 unit to its rank in code point order: surrogates encode characters past U+FFFF, so they come after all
 * other units.
 */
function rankOfUnit(unit: number): number {
  if (unit < 0xd800) return unit
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800
}

/** The greatest scale of any decimal. */
const finestScale = 127

/** Return the order between values of two types, or null if it is not known here. */
export function orderBetween(first: DataType, second: DataType): Order | null {
  const a = valueType(first)
  const b = valueType(second)
  const family = familyOf(a, b)
  if (family === null || family !== familyOf(b, a)) return null
  const unitA = unitOf(a, family)
  const unitB = unitOf(b, family)
  if (unitA === unitB) return orderOfScalars
  return (x, y) => orderOfScalars((x as bigint) * unitA, (y as bigint) * unitB)
}

/**
 * Return the family of `type` when compared with `other`: types of one family compare as numbers, strings and so on.
 */
function familyOf(type: DataType, other: DataType): string | null {
  switch (type.kind) {
    case 'int':
      return other.kind === 'decimal' ? 'decimal' : 'number'
    case 'float':
      return 'number'
    case 'binary':
    case 'fixed_size_binary':
      return 'bytes'
    case 'bool':
    case 'utf8':
    case 'decimal':
    case 'time':
    case 'duration':
      return type.kind
    case 'date':
      return 'instant'
    case 'timestamp':
      return type.timezone === null ? 'instant' : `instant in ${type.timezone}`
    default:
      return null
  }
}

/** Return how many units of the finest type of the family one unit of `type` is. */
function unitOf(type: DataType, family: string): bigint {
  if (family === 'decimal') return 10n ** BigInt(finestScale - (type.kind === 'decimal' ? type.scale : 0))
  return nanosPerCount(type) ?? 1n
}

const surrogate = /[\ud800-\udfff]/

/**
 * Return the values in ascending order. For 100,000 values, the built-in sorts take a third of the time of a sort with
 * a comparison function.
 */
export function sortedScalars(values: readonly Scalar[], type: DataType, order: Order): ArrayLike<Scalar> {
  if (values.length < 2) return values.slice()
  const [first] = values
  if (typeof first === 'number') return Float64Array.from(values as readonly number[]).sort()
  if (typeof first === 'bigint' && type.kind !== 'decimal') {
    const isUnsigned = type.kind === 'int' && !type.signed
    const Values = isUnsigned ? BigUint64Array : BigInt64Array
    return Values.from(values as readonly bigint[]).sort()
  }
  // Without surrogates, the order of UTF-16 units is the order of code points.
  const isPlain = values.every(text => typeof text === 'string' && !surrogate.test(text))
  return isPlain ? values.toSorted() : values.toSorted(order)
}
