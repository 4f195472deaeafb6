/**
 * Looking rows up among a few short byte strings, without a branch per row: a string of up to 8 bytes is two
 * words, read at once and masked to its size.
 */
import { type ByteRows, type RowMask, tailMask } from './vector.js'

const maxSize = 8
const maxKeys = 8

/** A few strings of at most 8 bytes: their size, and their bytes as two little-endian words padded with zeros. */
export interface ShortKeys {
  readonly sizes: Int32Array
  readonly low: Int32Array
  readonly high: Int32Array
}

// By size, 0 to 8 and longer: the bits of each word that belong to the string.
const lowMask = Int32Array.of(0, 0xff, 0xffff, 0xffffff, -1, -1, -1, -1, -1, 0)
const highMask = Int32Array.of(0, 0, 0, 0, 0, 0xff, 0xffff, 0xffffff, -1, 0)

/** The strings as keys, or null when there are more than 8 or one is longer than 8 bytes. */
export function shortKeysOf({ bytes, offsets }: ByteRows, count: number): ShortKeys | null {
  if (count > maxKeys) return null
  const keys = { sizes: new Int32Array(count), low: new Int32Array(count), high: new Int32Array(count) }
  for (let i = 0; i < count; i++) {
    const size = offsets[i + 1]! - offsets[i]!
    if (size > maxSize) return null
    const padded = new DataView(new ArrayBuffer(maxSize))
    for (let k = 0; k < size; k++) padded.setUint8(k, bytes[offsets[i]! + k]!)
    keys.sizes[i] = size
    keys.low[i] = padded.getInt32(0, true)
    keys.high[i] = padded.getInt32(4, true)
  }
  return keys
}

/** Sets the bit of every row that is one of the keys. */
export function matchShort(
  keys: ShortKeys,
  { bytes, offsets }: ByteRows,
  out: Uint32Array,
  length: number,
  rows: RowMask,
): void {
  // Reading 8 bytes must not pass the end: the last rows are read from a padded copy.
  const safe = Math.max(0, bytes.length - maxSize)
  const tail = new Uint8Array(2 * maxSize)
  tail.set(bytes.subarray(safe))
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const tailView = new DataView(tail.buffer)
  const { sizes, low, high } = keys
  const count = sizes.length
  for (let w = 0; w < out.length; w++) {
    let pending = rows === null ? (w === out.length - 1 ? tailMask(length) : 0xffffffff) : rows[w]!
    let word = 0
    while (pending !== 0) {
      const lowest = pending & -pending
      pending ^= lowest
      const bit = 31 - Math.clz32(lowest)
      const start = offsets[(w << 5) + bit]!
      const size = offsets[(w << 5) + bit + 1]! - start
      const masked = Math.min(size, maxSize + 1)
      const isSafe = start < safe
      const from = isSafe ? view : tailView
      const at = isSafe ? start : start - safe
      const first = from.getInt32(at, true) & lowMask[masked]!
      const second = from.getInt32(at + 4, true) & highMask[masked]!
      let hit = 0
      for (let k = 0; k < count; k++) {
        hit |= Number(first === low[k]) & Number(second === high[k]) & Number(size === sizes[k])
      }
      word |= hit << bit
    }
    out[w] = word
  }
}
