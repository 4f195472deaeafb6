/** The least and the greatest value of a column: one pass over its buffers, a loop for each way of ordering them. */
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

/** The values at both ends, or where they are long, bounds of them; `greatest` null: there is none. */
export type Ends = readonly [least: Scalar, greatest: Scalar]

/** Least and greatest value of the rows `rows`, all of which hold one; null where there are none. */
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

/** The first of some rows, -1 for none. */
function firstOf(rows: RowMask, length: number): number {
  for (let w = 0; w < wordCount(length); w++) {
    const word = rowsOfWord(rows, w, length)
    if (word !== 0) return (w << 5) + 31 - Math.clz32(word & -word)
  }
  return -1
}

/** `values`, of which `perRow` are a row, with the row `first` in the place of those that are not in `rows`. */
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
  let notNumbers = 0
  for (let i = 0; i < length; i++) {
    const value = values[i]!
    if (value < least) least = value
    if (value > greatest) greatest = value
    notNumbers += Number(Number.isNaN(value))
  }
  return orderedEnds(least, greatest, notNumbers, length)
}

/** Floats of 16 bits, by their bits: those without the sign grow with the number, infinity is 0x7c00. */
function endsOfHalves(values: Uint16Array, length: number): readonly [number, number] {
  let least = 0x7c00
  let greatest = -0x7c00
  let notNumbers = 0
  for (let i = 0; i < length; i++) {
    const size = values[i]! & 0x7fff
    const rank = values[i] === size ? size : -size
    if (size > 0x7c00) notNumbers++
    else if (rank < least) least = rank
    if (size <= 0x7c00 && rank > greatest) greatest = rank
  }
  const [low, high] = [least, greatest].map(rank => fromFloat16(rank < 0 ? -rank | 0x8000 : rank))
  return orderedEnds(low!, high!, notNumbers, length)
}

/** Ends of floats among which `notNumbers` of `length` are NaN. */
function orderedEnds(
  least: number,
  greatest: number,
  notNumbers: number,
  length: number,
): readonly [number, number] {
  // Adding 0 makes 0 of -0.
  return [notNumbers === length ? Number.NaN : least + 0, notNumbers > 0 ? Number.NaN : greatest + 0]
}

/** Rows of the least and the greatest pair; `flip` makes the order of unsigned upper words that of signed ones. */
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

/** Rows of the least and the greatest of signed integers of `perRow` words, lowest word first. */
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

/** Rows of the least and the greatest byte string, as far as a bound tells them apart. */
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
      // Most rows lie in between, as their first bytes tell.
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

/** The first six bytes as a number; 0 for those that are missing, which changes no order but between equals. */
function headOf(view: DataView, start: number, end: number): number {
  if (end - start >= 6) return view.getUint32(start) * 0x10000 + view.getUint16(start + 4)
  let head = 0
  for (let k = 0; k < 6; k++) head = head * 0x100 + (start + k < end ? view.getUint8(start + k) : 0)
  return head
}

/** As `orderOfBytes`, four bytes at a time, for byte strings cut where they are longer than any bound. */
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
