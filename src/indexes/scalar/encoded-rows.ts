/**
 * Sets of rows as bytes. A tag, then, of whatever is shortest:
 *
 * - 0, gaps: for each row a varint of how many rows lie between it and the one before
 * - 1, runs: two varints for each run of consecutive rows, of the rows between it and the run before, and of its rows less one
 * - 2, bits: a varint of the bytes left out in front, then a bitmap as Arrow's up to the byte of the last row
 *
 * How many rows there are is kept beside them.
 */
import { corrupted } from '../../errors.js'
import { type Bitset, popcount } from '../../primitives/bitset.js'
import { VarintReader, varintBytes, writeVarint } from '../../primitives/varint.js'

const gapsTag = 0
const runsTag = 1
const bitsTag = 2

/** Collects sets one after the other; rows may be added to the last one in any number of steps, ascending. */
export class RowsEncoder {
  #rows: Uint32Array
  #count = 0
  /** The last row, -1 before there is one. */
  #last = -1
  #gapBytes = 0
  #runBytes = 0
  /** The first row of the last run. */
  #runFrom = 0

  /** `length`: rows are less. */
  constructor(length: number) {
    this.#rows = new Uint32Array(Math.min(length, 1024))
  }

  /** Rows of the set so far. */
  get count(): number {
    return this.#count
  }

  /** A row that is not before the last one; again, it is passed over. */
  add(row: number): void {
    const last = this.#last
    if (row === last) return
    if (this.#count === this.#rows.length) this.#grow()
    this.#rows[this.#count++] = row
    const gap = row - last - 1
    this.#gapBytes += gap < 128 ? 1 : varintBytes(gap)
    if (gap > 0 || last === -1) {
      if (last !== -1) this.#runBytes += varintBytes(last - this.#runFrom)
      this.#runBytes += varintBytes(gap)
      this.#runFrom = row
    }
    this.#last = row
  }

  /** Bytes that the set takes at most. */
  bound(): number {
    return 1 + this.#gapBytes
  }

  /** Writes the set, of at least one row, from `at` on, where there is room for `bound()`, and begins the next. Gives the place after it. */
  write(out: Uint8Array, at: number): number {
    const rows = this.#rows.subarray(0, this.#count)
    const runBytes = this.#runBytes + varintBytes(this.#last - this.#runFrom)
    const skipped = rows[0]! >>> 3
    const bitBytes = varintBytes(skipped) + (this.#last >>> 3) - skipped + 1
    let end: number
    if (this.#gapBytes <= runBytes && this.#gapBytes <= bitBytes) end = writeGaps(rows, out, at)
    else if (runBytes <= bitBytes) end = writeRuns(rows, out, at)
    else end = writeBits(rows, skipped, out, at)
    this.#count = 0
    this.#last = -1
    this.#gapBytes = 0
    this.#runBytes = 0
    return end
  }

  #grow(): void {
    const larger = new Uint32Array(4 * this.#rows.length)
    larger.set(this.#rows)
    this.#rows = larger
  }
}

function writeGaps(rows: Uint32Array, out: Uint8Array, from: number): number {
  out[from] = gapsTag
  let at = from + 1
  let next = 0
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i]!
    at = writeVarint(out, at, row - next)
    next = row + 1
  }
  return at
}

function writeRuns(rows: Uint32Array, out: Uint8Array, from: number): number {
  out[from] = runsTag
  let at = from + 1
  let next = 0
  for (let i = 0; i < rows.length; ) {
    const begin = i
    for (i++; i < rows.length && rows[i]! === rows[i - 1]! + 1; i++) {}
    at = writeVarint(out, at, rows[begin]! - next)
    at = writeVarint(out, at, i - 1 - begin)
    next = rows[i - 1]! + 1
  }
  return at
}

function writeBits(rows: Uint32Array, skipped: number, out: Uint8Array, from: number): number {
  out[from] = bitsTag
  const at = writeVarint(out, from + 1, skipped)
  const end = at + (rows.at(-1)! >>> 3) - skipped + 1
  out.fill(0, at, end)
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i]!
    out[at + (row >>> 3) - skipped]! |= 1 << (row & 7)
  }
  return end
}

/** Where encoded sets lie, and what their rows are less than. */
export interface EncodedRows {
  readonly bytes: Uint8Array
  readonly length: number
}

/**
 * Adds the set in the bytes `from` to `to - 1`, of `count` rows.
 * @throws corrupted where they are no such set.
 */
export function addRows(rows: EncodedRows, from: number, to: number, count: number, bits: Bitset): void {
  if (rows.bytes[from] === bitsTag) addBits(rows, from, to, count, bits)
  else decode(rows, from, to, count, bits, null, 0)
}

/**
 * As `addRows`, but ascending numbers from `at` of `out` on, where there must be room for `count`.
 * @throws corrupted as well.
 */
export function writeRows(
  rows: EncodedRows,
  from: number,
  to: number,
  count: number,
  out: Uint32Array,
  at: number,
): void {
  if (rows.bytes[from] === bitsTag) numberBits(rows, from, to, count, out, at)
  else decode(rows, from, to, count, null, out, at)
}

/** Gaps and runs: into a bitmap or as numbers. */
function decode(
  rows: EncodedRows,
  from: number,
  to: number,
  count: number,
  bits: Bitset | null,
  out: Uint32Array | null,
  start: number,
): void {
  const tag = rows.bytes[from]
  if (from >= to || (tag !== gapsTag && tag !== runsTag)) throw damaged()
  if (tag === gapsTag) decodeGaps(rows, from + 1, to, count, bits, out, start)
  else decodeRuns(rows, from + 1, to, count, bits, out, start)
}

function decodeGaps(
  { bytes, length }: EncodedRows,
  from: number,
  to: number,
  count: number,
  bits: Bitset | null,
  out: Uint32Array | null,
  start: number,
): void {
  const words = bits?.words ?? null
  let at = from
  let row = -1
  let end = start
  while (at < to) {
    const [first, second] = [bytes[at]!, bytes[at + 1]!]
    let gap: number
    if (at + 1 < to && (first & second) < 128) {
      // One byte or two: which of the two is not branched on, as nobody can foretell it.
      const isLong = first >>> 7
      gap = (first & 127) | ((second * isLong) << 7)
      at += 1 + isLong
    } else {
      const varints = new VarintReader(bytes, at, to)
      gap = varints.next()
      at = varints.at
    }
    row += gap + 1
    // So said that it is true of NaN, too.
    if (!(row < length) || end - start === count) throw damaged()
    if (words === null) out![end] = row
    else words[row >>> 5]! |= 1 << (row & 31)
    end++
  }
  if (end - start !== count) throw damaged()
}

function decodeRuns(
  { bytes, length }: EncodedRows,
  from: number,
  to: number,
  count: number,
  bits: Bitset | null,
  out: Uint32Array | null,
  start: number,
): void {
  const varints = new VarintReader(bytes, from, to)
  let next = 0
  let left = count
  while (varints.at < to) {
    const begin = next + varints.next()
    const end = begin + 1 + varints.next()
    left -= end - begin
    // So said that it is true of NaN, too.
    if (!(end <= length && left >= 0)) throw damaged()
    if (bits === null) for (let row = begin; row < end; row++) out![start++] = row
    else bits.addRange(begin, end)
    next = end
  }
  if (left !== 0) throw damaged()
}

/** Where the bitmap begins, and the row of its first bit. */
function bitmapAt({ bytes, length }: EncodedRows, from: number, to: number): { at: number; row: number } {
  const varints = new VarintReader(bytes, from + 1, to)
  const skipped = varints.next()
  const { at } = varints
  const last = bytes[to - 1]!
  const end = 8 * (skipped + to - at) - Math.clz32(last) + 24
  // So said that it is true of NaN, too.
  if (at >= to || last === 0 || !(end <= length)) throw damaged()
  return { at, row: 8 * skipped }
}

/** In one pass: by words, but for the bytes before the first whole one of the bitmap and those left at the end. */
function addBits(rows: EncodedRows, from: number, to: number, count: number, { words }: Bitset): void {
  const { at, row } = bitmapAt(rows, from, to)
  const { bytes } = rows
  const skipped = row >>> 3
  const first = Math.min(to, at + (-skipped & 3))
  const last = first + ((to - first) & ~3)
  const view = new DataView(bytes.buffer, bytes.byteOffset, to)
  let found = addBytes(bytes, at, first, words, skipped)
  let w = (skipped + first - at) >>> 2
  for (let i = first; i < last; i += 4) {
    const word = view.getInt32(i, true)
    found += popcount(word)
    words[w++]! |= word
  }
  found += addBytes(bytes, last, to, words, skipped + last - at)
  if (found !== count) throw damaged()
}

/** Adds single bytes from byte `place` of a bitmap on; gives how many bits are set in them. */
function addBytes(bytes: Uint8Array, from: number, to: number, words: Uint32Array, place: number): number {
  let found = 0
  for (let i = from, at = place; i < to; i++, at++) {
    const byte = bytes[i]!
    found += popcount(byte)
    words[at >>> 2]! |= byte << (8 * (at & 3))
  }
  return found
}

function numberBits(
  rows: EncodedRows,
  from: number,
  to: number,
  count: number,
  out: Uint32Array,
  start: number,
): void {
  const { at, row } = bitmapAt(rows, from, to)
  const { bytes } = rows
  let found = 0
  for (let i = at; i < to; i++) {
    const base = row + 8 * (i - at)
    for (let byte = bytes[i]!; byte !== 0; byte &= byte - 1) {
      if (found === count) throw damaged()
      out[start + found++] = base + 31 - Math.clz32(byte & -byte)
    }
  }
  if (found !== count) throw damaged()
}

function damaged() {
  return corrupted('a set of rows in an index segment is damaged')
}
