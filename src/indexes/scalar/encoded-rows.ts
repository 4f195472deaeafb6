/**
 * Encodes sets of rows as bytes. The first byte of a set (the tag) identifies the encoding. The encoder picks the
 * shortest encoding:
 *
 * - 0, gaps: for each row, a varint with the number of rows between the previous row and this row.
 * - 1, runs: for each run of consecutive rows, a varint with the number of rows between the previous run and this run,
 *   then a varint with the length of the run minus one.
 * - 2, bits: a varint with the number of omitted leading zero bytes, then an Arrow bitmap up to the byte of the last
 *   row.
 *
 * The number of rows is stored separately.
 */
import { corrupted } from '../../errors.js'
import { type Bitset, popcount } from '../../primitives/bitset.js'
import { VarintReader, varintBytes, writeVarint } from '../../primitives/varint.js'

const gapsTag = 0
const runsTag = 1
const bitsTag = 2

/** Encodes sets one after the other. Add the rows of a set in ascending order, then call `write`. */
export class RowsEncoder {
  #rows: Uint32Array
  #count = 0
  /** The last row of the set. -1 while the set is empty. */
  #last = -1
  /** Encoded size of the set as gaps, in bytes. */
  #gapBytes = 0
  /** Encoded size of the set as runs, in bytes, without the length of the last run. */
  #runBytes = 0
  /** The first row of the last run. */
  #runFrom = 0

  /** `length`: exclusive upper bound of the rows. */
  constructor(length: number) {
    this.#rows = new Uint32Array(Math.min(length, 1024))
  }

  /** Number of rows in the current set. */
  get count(): number {
    return this.#count
  }

  /** Add a row. It must not be less than the last row. Adding the last row again has no effect. */
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

  /** Return an upper bound of the encoded size of the current set, in bytes. */
  bound(): number {
    return 1 + this.#gapBytes
  }

  /**
   * Write the current set to `out` from index `at` on, and begin the next set. The set must have at least one row, and
   * `out` must have space for `bound()` bytes. Return the index after the set.
   */
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

/** Bytes that contain encoded sets, and the exclusive upper bound of the rows in the sets (`length`). */
export interface EncodedRows {
  readonly bytes: Uint8Array
  readonly length: number
}

/**
 * Decode the set in the bytes `from` to `to - 1`, and add its rows to `bits`. Throws Internal if the bytes are not a
 * valid set of `count` rows.
 */
export function addRows(rows: EncodedRows, from: number, to: number, count: number, bits: Bitset): void {
  if (rows.bytes[from] === bitsTag) addBits(rows, from, to, count, bits)
  else decode(rows, from, to, count, { bits, out: null, start: 0 })
}

/**
 * Decode a set like `addRows`, but write its rows in ascending order to `out` from index `at` on. `out` must have space
 * for `count` rows. Throws Internal if the bytes are not a valid set of `count` rows.
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
  else decode(rows, from, to, count, { bits: null, out, start: at })
}

/** The destination of decoded rows: the bitmap `bits`, or if `bits` is null the array `out` from index `start` on. */
interface Target {
  readonly bits: Bitset | null
  readonly out: Uint32Array | null
  readonly start: number
}

/** Decode a set that is encoded as gaps or runs. */
function decode(rows: EncodedRows, from: number, to: number, count: number, target: Target): void {
  const tag = rows.bytes[from]
  if (from >= to || (tag !== gapsTag && tag !== runsTag)) throw damaged()
  if (tag === gapsTag) decodeGaps(rows, from + 1, to, count, target)
  else decodeRuns(rows, from + 1, to, count, target)
}

function decodeGaps(
  { bytes, length }: EncodedRows,
  from: number,
  to: number,
  count: number,
  { bits, out, start }: Target,
): void {
  const words = bits?.words ?? null
  let at = from
  let row = -1
  let end = start
  while (at < to) {
    const [first, second] = [bytes[at]!, bytes[at + 1]!]
    let gap: number
    if (at + 1 < to && (first & second) < 128) {
      // Decode one or two bytes without a branch, because the CPU could not predict this branch.
      const isLong = first >>> 7
      gap = (first & 127) | ((second * isLong) << 7)
      at += 1 + isLong
    } else {
      const varints = new VarintReader(bytes, at, to)
      gap = varints.next()
      at = varints.at
    }
    row += gap + 1
    // The comparison is negated so that NaN is rejected too.
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
  { bits, out, start }: Target,
): void {
  const varints = new VarintReader(bytes, from, to)
  let at = start
  let next = 0
  let left = count
  while (varints.at < to) {
    const begin = next + varints.next()
    const end = begin + 1 + varints.next()
    left -= end - begin
    // The comparison is negated so that NaN is rejected too.
    if (!(end <= length && left >= 0)) throw damaged()
    if (bits === null) for (let row = begin; row < end; row++) out![at++] = row
    else bits.addRange(begin, end)
    next = end
  }
  if (left !== 0) throw damaged()
}

/**
 * Return the index of the bitmap's first byte, and the row of its first bit. Throws Internal if it is empty or too
 * long.
 */
function bitmapAt({ bytes, length }: EncodedRows, from: number, to: number): { at: number; row: number } {
  const varints = new VarintReader(bytes, from + 1, to)
  const skipped = varints.next()
  const { at } = varints
  const last = bytes[to - 1]!
  const end = 8 * (skipped + to - at) - Math.clz32(last) + 24
  // The comparison is negated so that NaN is rejected too.
  if (at >= to || last === 0 || !(end <= length)) throw damaged()
  return { at, row: 8 * skipped }
}

/**
 * Add a bitmap to `bits`. Adds four bytes in one step where they form a word of `bits`, and single bytes before and
 * after.
 */
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

/**
 * Add the bytes `from` to `to - 1` to the bitmap `words`, from its byte `target` on. Return the number of their set
 * bits.
 */
function addBytes(bytes: Uint8Array, from: number, to: number, words: Uint32Array, target: number): number {
  let found = 0
  for (let i = from, at = target; i < to; i++, at++) {
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
