/**
 * Looking rows up among a few short byte strings, with one branch per row: a string of up to 8 bytes is two
 * words, read at once and masked to the size of what it is compared with.
 */
import { type ByteRows, type RowMask, tailMask } from './vector.js'

const maxSize = 8
const maxKeys = 8

/**
 * A few strings of at most 8 bytes: their sizes, their bytes as two little-endian words padded with zeros, and
 * which bits of those words are theirs.
 */
export interface ShortKeys {
  readonly sizes: Int32Array
  readonly low: Int32Array
  readonly high: Int32Array
  readonly lowMask: Int32Array
  readonly highMask: Int32Array
}

/** The strings as keys, or null when there are more than 8 or one is longer than 8 bytes. */
export function shortKeysOf({ bytes, offsets }: ByteRows, count: number): ShortKeys | null {
  if (count > maxKeys) return null
  const words = () => new Int32Array(count)
  const keys = { sizes: words(), low: words(), high: words(), lowMask: words(), highMask: words() }
  for (let i = 0; i < count; i++) {
    const start = offsets[i]!
    const size = offsets[i + 1]! - start
    if (size > maxSize) return null
    const padded = new DataView(new ArrayBuffer(2 * maxSize))
    for (let k = 0; k < size; k++) {
      padded.setUint8(k, bytes[start + k]!)
      padded.setUint8(maxSize + k, 0xff)
    }
    keys.sizes[i] = size
    keys.low[i] = padded.getInt32(0, true)
    keys.high[i] = padded.getInt32(4, true)
    keys.lowMask[i] = padded.getInt32(8, true)
    keys.highMask[i] = padded.getInt32(12, true)
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
  const { sizes, low, high, lowMask, highMask } = keys
  const count = sizes.length
  for (let w = 0; w < out.length; w++) {
    let pending = rows === null ? (w === out.length - 1 ? tailMask(length) : 0xffffffff) : rows[w]!
    let word = 0
    while (pending !== 0) {
      const lowest = pending & -pending
      pending ^= lowest
      const row = (w << 5) + 31 - Math.clz32(lowest)
      const start = offsets[row]!
      const size = offsets[row + 1]! - start
      const isSafe = start < safe
      const from = isSafe ? view : tailView
      const at = isSafe ? start : start - safe
      const first = from.getInt32(at, true)
      const second = from.getInt32(at + 4, true)
      let hit = 0
      for (let k = 0; k < count; k++) {
        hit |=
          Number((first & lowMask[k]!) === low[k]) &
          Number((second & highMask[k]!) === high[k]) &
          Number(size === sizes[k])
      }
      if (hit !== 0) word |= lowest
    }
    out[w] = word
  }
}
