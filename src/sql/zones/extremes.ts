/**
 * Compute the minimum and maximum of a column in one pass over its buffers. Each way of ordering values has its own
 * loop.
 */
import type { Column } from '../../arrow/column.js'
import { readDecimal } from '../../arrow/decimal.js'
import { fromFloat16 } from '../../arrow/float16.js'
import { aligned } from '../../arrow/layout.js'
import type { Scalar } from '../values/scalar.js'
import {
  type ByteRows,
  byteRowsOf,
  doublesOf,
  fitsInt32,
  int32sOf,
  isWide,
  pairsOf,
  type RowMask,
  rowsOfWord,
  wordCount,
  wordsOf,
} from '../values/vector.js'
import { boundAbove, boundBelow, longestBound } from './text-bounds.js'

/**
 * The minimum and maximum of values. For long strings and byte strings, they are bounds of the values instead.
 * `greatest` is null if there is no upper bound.
 */
export type Ends = readonly [least: Scalar, greatest: Scalar]

/** Return the minimum and maximum of the rows in `rows`, which must not be NULL. Return null if there are no rows. */
export function endsOf(column: Column, rows: RowMask): Ends | null {
  const { type, length } = column
  const first = firstOf(rows, length)
  if (first === -1) return null
  if (type.kind === 'bool') return endsOfBools(wordsOf(column.values as Uint8Array, length), rows, length)
  if (type.kind === 'float' && type.bits === 16) {
    return endsOfHalves(withoutGaps(column.values as Uint16Array, 1, rows, first, length), length)
  }
  if (type.kind === 'float') {
    return endsOfFloats(withoutGaps(column.values as Float32Array, 1, rows, first, length), length)
  }
  if (fitsInt32(type)) return endsOfInt32s(withoutGaps(int32sOf(column), 1, rows, first, length), length)
  if (type.kind === 'int' && !isWide(type)) {
    const [least, greatest] = endsOfFloats(withoutGaps(doublesOf(column), 1, rows, first, length), length)
    return [BigInt(least), BigInt(greatest)]
  }
  if (isWide(type)) {
    const flip = type.kind === 'int' && !type.signed ? 0x80000000 : 0
    const [least, greatest] = endsOfPairs(
      withoutGaps(pairsOf(column), 2, rows, first, length),
      flip,
      first,
      length,
    )
    const values = column.values as BigInt64Array | BigUint64Array
    return [values[least]!, values[greatest]!]
  }
  if (type.kind === 'decimal') {
    const bytes = column.values as Uint8Array
    const perRow = type.bits >>> 5
    const { buffer, byteOffset } = aligned(bytes, 4, length * 4 * perRow)
    const words = new Int32Array(buffer, byteOffset, length * perRow)
    const ends = endsOfWords(withoutGaps(words, perRow, rows, first, length), perRow, first, length)
    return [readDecimal(bytes, ends[0], type.bits), readDecimal(bytes, ends[1], type.bits)]
  }
  const texts = byteRowsOf(column)
  const [least, greatest] = endsOfBytes(texts, rows, first, length)
  const isText = type.kind === 'utf8'
  return [boundBelow(rowOf(texts, least), isText), boundAbove(rowOf(texts, greatest), isText)]
}

/** Return the first row in a row mask, or -1 if it has no rows. */
function firstOf(rows: RowMask, length: number): number {
  for (let w = 0; w < wordCount(length); w++) {
    const word = rowsOfWord(rows, w, length)
    if (word !== 0) return (w << 5) + 31 - Math.clz32(word & -word)
  }
  return -1
}

/**
 * Return a copy of `values` in which row `first` replaces every row that is not in the mask. So a loop over all rows
 * gives the extremes of the rows in the mask. `perRow`: array elements per row.
 */
function withoutGaps<T extends Uint16Array | Int32Array | Float32Array | Float64Array>(
  values: T,
  perRow: number,
  rows: RowMask,
  first: number,
  length: number,
): T {
  if (rows === null) return values
  const filled = values.slice(0, length * perRow) as T
  for (let w = 0; w < wordCount(length); w++) {
    let gaps = ~rows[w]! & rowsOfWord(null, w, length)
    while (gaps !== 0) {
      const lowest = gaps & -gaps
      gaps ^= lowest
      const row = (w << 5) + 31 - Math.clz32(lowest)
      for (let k = 0; k < perRow; k++) filled[row * perRow + k] = values[first * perRow + k]!
    }
  }
  return filled
}

function endsOfBools(bits: Uint32Array, rows: RowMask, length: number): Ends {
  let hasFalse = false
  let hasTrue = false
  for (let w = 0; w < bits.length; w++) {
    const word = rowsOfWord(rows, w, length)
    hasTrue ||= (bits[w]! & word) !== 0
    hasFalse ||= (~bits[w]! & word) !== 0
  }
  return [!hasFalse, hasTrue]
}

function endsOfInt32s(values: Int32Array, length: number): Ends {
  let least = values[0]!
  let greatest = least
  for (let i = 1; i < length; i++) {
    const value = values[i]!
    if (value < least) least = value
    if (value > greatest) greatest = value
  }
  return [BigInt(least), BigInt(greatest)]
}

function endsOfFloats(values: Float32Array | Float64Array, length: number): readonly [number, number] {
  let least = Number.POSITIVE_INFINITY
  let greatest = Number.NEGATIVE_INFINITY
  let nanCount = 0
  for (let i = 0; i < length; i++) {
    const value = values[i]!
    if (value < least) least = value
    if (value > greatest) greatest = value
    nanCount += Number(Number.isNaN(value))
  }
  return orderedEnds(least, greatest, nanCount, length)
}

/**
 * Return the minimum and maximum of 16-bit floats. They are compared by their bits: without the sign bit, a greater
 * number has greater bits. Infinity has the bits 0x7c00, and NaN has greater bits.
 */
function endsOfHalves(values: Uint16Array, length: number): readonly [number, number] {
  let least = 0x7c00
  let greatest = -0x7c00
  let nanCount = 0
  for (let i = 0; i < length; i++) {
    const size = values[i]! & 0x7fff
    const rank = values[i] === size ? size : -size
    if (size > 0x7c00) nanCount++
    else if (rank < least) least = rank
    if (size <= 0x7c00 && rank > greatest) greatest = rank
  }
  const [low, high] = [least, greatest].map(rank => fromFloat16(rank < 0 ? -rank | 0x8000 : rank))
  return orderedEnds(low!, high!, nanCount, length)
}

/**
 * Return the minimum and maximum of `length` floats, of which `nanCount` are NaN. `least` and `greatest`: the extremes
 * of the other floats. NaN counts as the greatest float.
 */
function orderedEnds(
  least: number,
  greatest: number,
  nanCount: number,
  length: number,
): readonly [number, number] {
  // Adding 0 turns -0 into 0.
  return [nanCount === length ? Number.NaN : least + 0, nanCount > 0 ? Number.NaN : greatest + 0]
}

/**
 * Return the rows of the minimum and maximum of 64-bit integers. `flip`: the sign bit for unsigned integers, otherwise
 * 0. With the sign bit flipped, unsigned upper words have the order of signed words.
 */
function endsOfPairs(
  pairs: Int32Array,
  flip: number,
  first: number,
  length: number,
): readonly [number, number] {
  let least = first
  let greatest = first
  let leastLow = pairs[2 * first]! >>> 0
  let leastHigh = pairs[2 * first + 1]! ^ flip
  let greatestLow = leastLow
  let greatestHigh = leastHigh
  for (let i = first + 1; i < length; i++) {
    const low = pairs[2 * i]! >>> 0
    const high = pairs[2 * i + 1]! ^ flip
    if (high < leastHigh || (high === leastHigh && low < leastLow)) {
      least = i
      leastLow = low
      leastHigh = high
    } else if (high > greatestHigh || (high === greatestHigh && low > greatestLow)) {
      greatest = i
      greatestLow = low
      greatestHigh = high
    }
  }
  return [least, greatest]
}

/** Return the rows of the minimum and maximum of signed integers that have `perRow` words each, low word first. */
function endsOfWords(
  words: Int32Array,
  perRow: number,
  first: number,
  length: number,
): readonly [number, number] {
  let least = first
  let greatest = first
  for (let i = first + 1; i < length; i++) {
    if (isLess(words, i * perRow, least * perRow, perRow)) least = i
    else if (isLess(words, greatest * perRow, i * perRow, perRow)) greatest = i
  }
  return [least, greatest]
}

function isLess(words: Int32Array, a: number, b: number, perRow: number): boolean {
  let k = perRow - 1
  if (words[a + k]! !== words[b + k]!) return words[a + k]! < words[b + k]!
  while (k > 0 && words[a + k]! === words[b + k]!) k--
  return words[a + k]! >>> 0 < words[b + k]! >>> 0
}

/**
 * Return the rows of the minimum and maximum of byte strings. Only the first `longestBound` + 1 bytes are compared,
 * because bounds do not contain more bytes.
 */
function endsOfBytes(
  { bytes, offsets }: ByteRows,
  rows: RowMask,
  first: number,
  length: number,
): readonly [number, number] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let least = first
  let greatest = first
  let low = headOf(view, offsets[first]!, offsets[first + 1]!)
  let high = low
  for (let w = 0; w < wordCount(length); w++) {
    let pending = rowsOfWord(rows, w, length)
    while (pending !== 0) {
      const lowest = pending & -pending
      pending ^= lowest
      const row = (w << 5) + 31 - Math.clz32(lowest)
      const start = offsets[row]!
      const end = offsets[row + 1]!
      // For most rows, the first six bytes show that the row is between the minimum and maximum so far.
      const head = headOf(view, start, end)
      if (head > low && head < high) continue
      if (orderOfHeads(view, start, end, offsets[least]!, offsets[least + 1]!) < 0) {
        least = row
        low = head
      } else if (orderOfHeads(view, start, end, offsets[greatest]!, offsets[greatest + 1]!) > 0) {
        greatest = row
        high = head
      }
    }
  }
  return [least, greatest]
}

/**
 * Return the first six bytes as a number. Shorter strings are padded with 0. If two heads differ, the strings have the
 * order of the heads.
 */
function headOf(view: DataView, start: number, end: number): number {
  if (end - start >= 6) return view.getUint32(start) * 0x10000 + view.getUint16(start + 4)
  let head = 0
  for (let k = 0; k < 6; k++) head = head * 0x100 + (start + k < end ? view.getUint8(start + k) : 0)
  return head
}

/** Compare two byte strings as `orderOfBytes` does, but only their first `longestBound` + 1 bytes, four at a time. */
function orderOfHeads(view: DataView, aStart: number, aEnd: number, bStart: number, bEnd: number): number {
  const a = Math.min(aEnd - aStart, longestBound + 1)
  const b = Math.min(bEnd - bStart, longestBound + 1)
  const size = Math.min(a, b)
  let k = 0
  for (; k + 4 <= size; k += 4) {
    const difference = view.getUint32(aStart + k) - view.getUint32(bStart + k)
    if (difference !== 0) return difference
  }
  for (; k < size; k++) {
    const difference = view.getUint8(aStart + k) - view.getUint8(bStart + k)
    if (difference !== 0) return difference
  }
  return a - b
}

function rowOf({ bytes, offsets }: ByteRows, row: number): Uint8Array {
  return bytes.subarray(offsets[row]!, offsets[row + 1]!)
}
