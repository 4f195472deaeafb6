/**
 * Comparison kernels. They compute a bitmap word for 32 rows, without branches in the inner loops. compare-values.ts
 * compares decimals, intervals and values with different units.
 *
 * - All six operators are computed as "equal" or "less", if necessary with swapped sides or an inverted result.
 * - Integers and floats compare by their mathematical value. An integer is converted to a double only if the double is
 *   exact.
 * - Decimals compare exactly with integers, floats and other decimals. A float counts as its exact binary value.
 * - Floats have a total order. NaN equals NaN and is greater than every number. -0 equals 0.
 * - Lists compare element by element (compare-lists.ts).
 * - Strings compare by their UTF-8 bytes, which is code point order.
 * - The functions for single types ignore NULLs. `compareOperands` makes the result NULL where an operand is NULL.
 */

import type { Column } from '../../arrow/column.js'
import { equalTypes } from '../../arrow/same-type.js'
import type { DataType } from '../../arrow/types.js'
import { orderOfBytes } from '../../primitives/order-of-bytes.js'
import type { CompareOp } from '../syntax/syntax.js'
import { stepDouble } from '../values/floats.js'
import { commonType, elementType, valueType } from '../values/types.js'
import {
  type ByteRows,
  byteRowsOf,
  Constant,
  doublesOf,
  fitsInt32,
  int32sOf,
  isWide,
  type Operand,
  pairsOf,
  type RowMask,
  rowsOfWord,
  tailMask,
  widePairsOf,
  wordCount,
  wordsOf,
} from '../values/vector.js'
import { compareLists } from './compare-lists.js'
import { compareDecimals, compareDecimalsWithFloats, compareValues } from './compare-values.js'
import { equalBytes } from './equal-bytes.js'
import { spread } from './gather.js'
import { allRows, constantTruth, invert, strictTruth, type Truth } from './truth.js'

/** By operator: the operator that gives the same result with both sides exchanged. */
export const mirrored: Readonly<Record<CompareOp, CompareOp>> = {
  '=': '=',
  '<>': '<>',
  '<': '>',
  '<=': '>=',
  '>': '<',
  '>=': '<=',
}

/** By operator: the operator of the negated comparison. */
export const complement: Readonly<Record<CompareOp, CompareOp>> = {
  '=': '<>',
  '<>': '=',
  '<': '>=',
  '<=': '>',
  '>': '<=',
  '>=': '<',
}

/**
 * Return whether values of two types can be compared with each other. This holds within each of these groups: numbers,
 * strings, byte strings, booleans, points in time, spans of time, and lists whose elements are comparable.
 */
export function areComparable(first: DataType, second: DataType): boolean {
  const [a, b] = [valueType(first), valueType(second)]
  const [itemA, itemB] = [elementType(a), elementType(b)]
  if (itemA !== null && itemB !== null) return areComparable(itemA, itemB)
  const isStruct = (type: DataType) => type.kind === 'struct' || type.kind === 'map'
  return !isStruct(a) && !isStruct(b) && commonType(a, b) !== null
}

/**
 * Compute `left op right` for `length` rows. The two types must be comparable, and neither may be a dictionary.
 */
export function compareOperands(
  op: CompareOp,
  left: Operand,
  right: Operand,
  length: number,
  rows: RowMask,
): Truth {
  if (left.column.type.kind === 'null' || right.column.type.kind === 'null')
    return constantTruth(null, length)
  if (left.constant) {
    if (!right.constant) return compareOperands(mirrored[op], right, left, length, rows)
    const { isTrue, isNull } = compareOperands(op, { column: left.column, constant: false }, right, 1, null)
    return constantTruth(isNull?.[0] === 1 ? null : isTrue[0] === 1, length)
  }
  if (elementType(left.column.type) !== null) {
    return strictTruth(
      compareLists(op, left.column, right, length, rows, compareElements),
      [left, right],
      length,
    )
  }
  const bits =
    right.constant &&
    (equalTypes(left.column.type, right.column.type) || isFixedSize(left.column, right.column))
      ? compareWithConstant(op, left.column, right.column, length, rows)
      : compareColumns(op, left.column, spread(right, length), length, rows)
  return strictTruth(bits, [left, right], length)
}

function compareElements(op: CompareOp, a: Column, b: Column): Uint32Array {
  const [left, right] = [a, b].map(column => ({ column, constant: false })) as [Operand, Operand]
  return compareOperands(op, left, right, a.length, null).isTrue
}

/**
 * Return whether a fixed-size binary column is compared with a binary constant. `columnOfScalars` creates such a
 * constant if its size differs from that of the column.
 */
function isFixedSize(column: Column, constant: Column): boolean {
  return column.type.kind === 'fixed_size_binary' && constant.type.kind === 'binary'
}

function compareWithConstant(
  op: CompareOp,
  column: Column,
  constant: Column,
  length: number,
  rows: RowMask,
): Uint32Array {
  const { type } = column
  const out = new Uint32Array(wordCount(length))
  const isEquality = op === '=' || op === '<>'
  // `x <= c` and `x > c` are computed from `x < c + 1`, so that one loop computes all four operators.
  const orEqual = op === '<=' || op === '>'
  const inverted = op === '<>' || op === '>' || op === '>='
  if (fitsInt32(type)) {
    const limit = int32sOf(constant)[0]!
    if (isEquality) equalNumber(int32sOf(column), limit, out, length, rows)
    else lessInt32(int32sOf(column), orEqual ? limit + 1 : limit, out, length, rows)
  } else if (isWide(type)) {
    const isSigned = !(type.kind === 'int' && !type.signed)
    if (isEquality) equalWide(column, constant, out, length, rows)
    else lessPair(pairsOf(column), pairsOf(constant), isSigned, orEqual, out, length, rows)
  } else if (type.kind === 'float' || type.kind === 'int') {
    compareNumber(column, doublesOf(constant)[0]!, isEquality, orEqual, out, length, rows)
  } else if (type.kind === 'bool') {
    const truth = ((constant.values as Uint8Array)[0]! & 1) === 1
    return compareBits(
      op,
      wordsOf(column.values as Uint8Array, length),
      truth ? allRows(length) : out,
      length,
    )
  } else if (type.kind === 'decimal') {
    compareDecimals(isEquality, orEqual, column, constant, 0, out, length)
  } else if (type.kind === 'interval') {
    return compareColumns(op, column, spread(new Constant(constant), length), length, rows)
  } else {
    const { bytes, offsets } = byteRowsOf(constant)
    const wanted = bytes.subarray(offsets[0]!, offsets[1]!)
    if (isEquality) equalBytes(byteRowsOf(column), wanted, out, length, rows)
    else lessBytes(byteRowsOf(column), wanted, orEqual, out, length, rows)
  }
  return inverted ? invert(out, length) : out
}

/** Compare a column of floats or uint32 with a constant. `limit`: the constant. */
function compareNumber(
  column: Column,
  limit: number,
  isEquality: boolean,
  orEqual: boolean,
  out: Uint32Array,
  length: number,
  rows: RowMask,
): void {
  const { values } = column
  if (Number.isNaN(limit) || (orEqual && limit === Number.POSITIVE_INFINITY)) {
    const everything = !isEquality && orEqual && Number.isNaN(limit)
    if (everything) out.set(allRows(length))
    else notANumber(doublesOf(column), out, length)
    if (!isEquality && !everything) invert(out, length)
  } else if (isEquality) {
    equalNumber(values instanceof Float32Array ? values : doublesOf(column), limit, out, length, rows)
  } else {
    const below = orEqual ? stepDouble(limit, 1) : limit
    if (values instanceof Float32Array) lessSingle(values, below, out, length, rows)
    else lessDouble(doublesOf(column), below, out, length, rows)
  }
}

function compareColumns(op: CompareOp, a: Column, b: Column, length: number, rows: RowMask): Uint32Array {
  const [left, right] = op === '>' || op === '<=' ? [b, a] : [a, b]
  const isEquality = op === '=' || op === '<>'
  const out = new Uint32Array(wordCount(length))
  const kind = left.type.kind
  if (kind === 'bool') {
    return compareBits(
      op,
      wordsOf(a.values as Uint8Array, length),
      wordsOf(b.values as Uint8Array, length),
      length,
    )
  }
  if (kind === 'utf8' || kind === 'binary' || kind === 'fixed_size_binary') {
    compareByteRows(isEquality, byteRowsOf(left), byteRowsOf(right), out, length, rows)
  } else if (left.type.kind === 'float' || right.type.kind === 'float') {
    if (left.type.kind === 'decimal' || right.type.kind === 'decimal') {
      compareDecimalsWithFloats(isEquality, left, right, out, length)
    } else if (isWide(left.type) || isWide(right.type)) {
      compareWideWithFloats(isEquality, left, right, out, length)
    } else {
      compareDoubles(isEquality, doublesOf(left), doublesOf(right), out, length)
    }
  } else if (kind === 'decimal' && equalTypes(left.type, right.type)) {
    compareDecimals(isEquality, false, left, right, 1, out, length)
  } else if (
    isCount(left.type) &&
    (kind === 'int' ? isCount(right.type) : equalTypes(left.type, right.type))
  ) {
    comparePairs(isEquality, left, right, out, length)
  } else {
    compareValues(isEquality, left, right, out, length)
  }
  return op === '<>' || op === '>=' || op === '<=' ? invert(out, length) : out
}

/** Return whether values of the type are stored as integers: integers, dates, times, timestamps or durations. */
function isCount(type: DataType): boolean {
  return type.kind === 'int' || fitsInt32(type) || isWide(type)
}

type Numbers = Int32Array | Float64Array | Float32Array

/** The method of typed arrays that `equalRows` uses to search. */
interface Searched<V> {
  indexOf(value: V, from: number): number
}

/**
 * Set the bits in `out` of the rows that equal `wanted`. `wordAt`: returns a word with the bits of `count` rows from
 * `base` on.
 *
 * If all rows are requested and few rows match, `indexOf` skips the rows between matches. This takes a third of the
 * time.
 */
function equalRows<V>(
  values: Searched<V>,
  wanted: V,
  wordAt: (base: number, count: number) => number,
  out: Uint32Array,
  length: number,
  rows: RowMask,
): void {
  let searches = 0
  for (let base = 0; base < length; base += 32) {
    if (rows === null && searches * minRowsPerSearch <= base) {
      const found = values.indexOf(wanted, base)
      if (found === -1 || found >= length) return
      searches++
      base = found & ~31
    }
    const w = base >>> 5
    if (rows === null || rows[w] !== 0) out[w] = wordAt(base, Math.min(32, length - base))
  }
}

/** Minimum average number of rows that a search by `indexOf` must skip to be faster than comparing the rows. */
const minRowsPerSearch = 256

/** Set the bits in `out` of the rows that equal `wanted`, which must not be NaN. */
function equalNumber(values: Numbers, wanted: number, out: Uint32Array, length: number, rows: RowMask): void {
  const wordAt = (base: number, count: number) => equalWord(values, wanted, base, count)
  equalRows(values, wanted, wordAt, out, length, rows)
}

function equalWord(values: Numbers, wanted: number, base: number, count: number): number {
  let word = 0
  let bit = 0
  for (; bit + 4 <= count; bit += 4) {
    const at = base + bit
    word |=
      (Number(values[at] === wanted) |
        (Number(values[at + 1] === wanted) << 1) |
        (Number(values[at + 2] === wanted) << 2) |
        (Number(values[at + 3] === wanted) << 3)) <<
      bit
  }
  for (; bit < count; bit++) word |= Number(values[base + bit] === wanted) << bit
  return word
}

function lessInt32(values: Int32Array, limit: number, out: Uint32Array, length: number, rows: RowMask): void {
  for (let w = 0, base = 0; base < length; w++, base += 32) {
    if (rows !== null && rows[w] === 0) continue
    const count = Math.min(32, length - base)
    let word = 0
    for (let bit = 0; bit < count; bit++) word |= Number(values[base + bit]! < limit) << bit
    out[w] = word
  }
}

function lessDouble(
  values: Float64Array,
  limit: number,
  out: Uint32Array,
  length: number,
  rows: RowMask,
): void {
  for (let w = 0, base = 0; base < length; w++, base += 32) {
    if (rows !== null && rows[w] === 0) continue
    const count = Math.min(32, length - base)
    let word = 0
    let bit = 0
    // A loop over four rows per step, with constant shifts, takes little more than half the time.
    for (; bit + 4 <= count; bit += 4) {
      const at = base + bit
      word |=
        (Number(values[at]! < limit) |
          (Number(values[at + 1]! < limit) << 1) |
          (Number(values[at + 2]! < limit) << 2) |
          (Number(values[at + 3]! < limit) << 3)) <<
        bit
    }
    for (; bit < count; bit++) word |= Number(values[base + bit]! < limit) << bit
    out[w] = word
  }
}

function lessSingle(
  values: Float32Array,
  limit: number,
  out: Uint32Array,
  length: number,
  rows: RowMask,
): void {
  for (let w = 0, base = 0; base < length; w++, base += 32) {
    if (rows !== null && rows[w] === 0) continue
    const count = Math.min(32, length - base)
    let word = 0
    for (let bit = 0; bit < count; bit++) word |= Number(values[base + bit]! < limit) << bit
    out[w] = word
  }
}

function notANumber(values: Float64Array, out: Uint32Array, length: number): void {
  for (let i = 0; i < length; i++) if (Number.isNaN(values[i]!)) out[i >>> 5]! |= 1 << (i & 31)
}

/** Set the bits in `out` of the 64-bit integers that equal a constant. */
function equalWide(column: Column, constant: Column, out: Uint32Array, length: number, rows: RowMask): void {
  const pairs = pairsOf(column)
  const [low, high] = pairsOf(constant) as unknown as [number, number]
  // Signed and unsigned integers are equal exactly if their bits are, so both are searched as signed integers.
  const values = new BigInt64Array(pairs.buffer, pairs.byteOffset, length)
  const wanted = (BigInt(high) << 32n) | BigInt(low >>> 0)
  const wordAt = (base: number, count: number) => equalPairs(pairs, low, high, base, count)
  equalRows(values, wanted, wordAt, out, length, rows)
}

function equalPairs(pairs: Int32Array, low: number, high: number, base: number, count: number): number {
  let word = 0
  let bit = 0
  for (; bit + 4 <= count; bit += 4) {
    const at = (base + bit) * 2
    word |=
      (isPair(pairs, at, low, high) |
        (isPair(pairs, at + 2, low, high) << 1) |
        (isPair(pairs, at + 4, low, high) << 2) |
        (isPair(pairs, at + 6, low, high) << 3)) <<
      bit
  }
  for (; bit < count; bit++) word |= isPair(pairs, (base + bit) * 2, low, high) << bit
  return word
}

function isPair(pairs: Int32Array, at: number, low: number, high: number): number {
  return Number(((pairs[at]! ^ low) | (pairs[at + 1]! ^ high)) === 0)
}

/** Set the bits in `out` of the 64-bit integers that are less than `bound`. With `orEqual`, "less" includes equal. */
function lessPair(
  pairs: Int32Array,
  bound: Int32Array,
  isSigned: boolean,
  orEqual: boolean,
  out: Uint32Array,
  length: number,
  rows: RowMask,
): void {
  // With the sign bit flipped, the signed order of two words is the unsigned order of the original words.
  const flip = isSigned ? 0 : 0x80000000
  const top = bound[1]! ^ flip
  const limit = (bound[0]! ^ 0x80000000) + (orEqual ? 1 : 0)
  for (let w = 0, base = 0; base < length; w++, base += 32) {
    if (rows !== null && rows[w] === 0) continue
    const count = Math.min(32, length - base)
    let word = 0
    let bit = 0
    for (; bit + 4 <= count; bit += 4) {
      const at = (base + bit) * 2
      word |=
        (pairBelow(pairs, at, flip, top, limit) |
          (pairBelow(pairs, at + 2, flip, top, limit) << 1) |
          (pairBelow(pairs, at + 4, flip, top, limit) << 2) |
          (pairBelow(pairs, at + 6, flip, top, limit) << 3)) <<
        bit
    }
    for (; bit < count; bit++) word |= pairBelow(pairs, (base + bit) * 2, flip, top, limit) << bit
    out[w] = word
  }
}

/**
 * Return 1 if the pair at `at` is below the limit, otherwise 0. `top`: upper word of the limit. `limit`: lower word of
 * the limit. If the lower word is below its limit, an equal upper word counts as below, so the upper limit is raised by
 * 1.
 */
function pairBelow(pairs: Int32Array, at: number, flip: number, top: number, limit: number): number {
  return Number((pairs[at + 1]! ^ flip) < top + Number((pairs[at]! ^ 0x80000000) < limit))
}

function lessBytes(
  { bytes, offsets }: ByteRows,
  limit: Uint8Array,
  orEqual: boolean,
  out: Uint32Array,
  length: number,
  rows: RowMask,
): void {
  const bound = orEqual ? 1 : 0
  for (let w = 0; w < out.length; w++) {
    let pending = rowsOfWord(rows, w, length)
    let word = 0
    while (pending !== 0) {
      const low = pending & -pending
      pending ^= low
      const row = (w << 5) + 31 - Math.clz32(low)
      if (orderOfBytes(bytes, offsets[row]!, offsets[row + 1]!, limit, 0, limit.length) < bound) word |= low
    }
    out[w] = word
  }
}

function compareByteRows(
  isEquality: boolean,
  a: ByteRows,
  b: ByteRows,
  out: Uint32Array,
  length: number,
  rows: RowMask,
): void {
  for (let i = 0; i < length; i++) {
    if (rows !== null && ((rows[i >>> 5]! >>> (i & 31)) & 1) === 0) continue
    const order = orderOfBytes(
      a.bytes,
      a.offsets[i]!,
      a.offsets[i + 1]!,
      b.bytes,
      b.offsets[i]!,
      b.offsets[i + 1]!,
    )
    if (isEquality ? order === 0 : order < 0) out[i >>> 5]! |= 1 << (i & 31)
  }
}

function compareDoubles(
  isEquality: boolean,
  a: Float64Array,
  b: Float64Array,
  out: Uint32Array,
  length: number,
): void {
  for (let w = 0, base = 0; base < length; w++, base += 32) {
    const count = Math.min(32, length - base)
    let word = 0
    for (let bit = 0; bit < count; bit++) {
      const x = a[base + bit]!
      const y = b[base + bit]!
      const isNumber = 1 ^ Number(Number.isNaN(x))
      const isMatch = isEquality
        ? Number(x === y) | ((isNumber ^ 1) & Number(Number.isNaN(y)))
        : Number(x < y) | (isNumber & Number(Number.isNaN(y)))
      word |= isMatch << bit
    }
    out[w] = word
  }
}

/**
 * Compare integers of any width. To compare signed with unsigned integers, the upper word of a uint64 is converted to a
 * non-negative number.
 */
function comparePairs(
  isEquality: boolean,
  left: Column,
  right: Column,
  out: Uint32Array,
  length: number,
): void {
  const a = widePairsOf(left)
  const b = widePairsOf(right)
  const liftA = isUnsigned64(left) ? 2 ** 32 : 0
  const liftB = isUnsigned64(right) ? 2 ** 32 : 0
  for (let i = 0; i < length; i++) {
    const lowA = a[2 * i]! >>> 0
    const lowB = b[2 * i]! >>> 0
    const highA = a[2 * i + 1]! < 0 ? a[2 * i + 1]! + liftA : a[2 * i + 1]!
    const highB = b[2 * i + 1]! < 0 ? b[2 * i + 1]! + liftB : b[2 * i + 1]!
    const isMatch = isEquality
      ? highA === highB && lowA === lowB
      : highA < highB || (highA === highB && lowA < lowB)
    if (isMatch) out[i >>> 5]! |= 1 << (i & 31)
  }
}

function isUnsigned64({ type }: Column): boolean {
  return type.kind === 'int' && type.bits === 64 && !type.signed
}

/** Compare 64-bit integers on one side with floats on the other side. */
function compareWideWithFloats(
  isEquality: boolean,
  left: Column,
  right: Column,
  out: Uint32Array,
  length: number,
): void {
  const isLeftWide = isWide(left.type)
  const wide = (isLeftWide ? left : right).values as BigInt64Array
  const pairs = pairsOf(isLeftWide ? left : right)
  const unsigned = isUnsigned64(isLeftWide ? left : right)
  const floats = doublesOf(isLeftWide ? right : left)
  for (let i = 0; i < length; i++) {
    const float = floats[i]!
    const high = pairs[2 * i + 1]!
    let order: number
    if (high >= -0x200000 && high < 0x200000 && !(unsigned && high < 0)) {
      const value = high * 2 ** 32 + (pairs[2 * i]! >>> 0)
      order = value < float || Number.isNaN(float) ? -1 : value === float ? 0 : 1
    } else {
      order = orderOfWide(wide[i]!, float)
    }
    const isMatch = isEquality ? order === 0 : isLeftWide ? order < 0 : order > 0
    if (isMatch) out[i >>> 5]! |= 1 << (i & 31)
  }
}

/**
 * Compare an integer with a float. JavaScript does this exactly, but NaN must be handled: it is greater than all
 * numbers.
 */
function orderOfWide(value: bigint, float: number): number {
  if (Number.isNaN(float) || value < float) return -1
  return value > float ? 1 : 0
}

function compareBits(op: CompareOp, a: Uint32Array, b: Uint32Array, length: number): Uint32Array {
  const out = new Uint32Array(a.length)
  for (let w = 0; w < out.length; w++) {
    const x = a[w]!
    const y = b[w]!
    out[w] = op === '=' || op === '<>' ? ~(x ^ y) : op === '<' || op === '>=' ? ~x & y : x & ~y
  }
  if (out.length > 0) out[out.length - 1]! &= tailMask(length)
  return op === '<>' || op === '>=' || op === '<=' ? invert(out, length) : out
}
