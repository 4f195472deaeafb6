/** Rows equal to one byte string. */
import { type ByteRows, type RowMask, rowsOfWord } from './vector.js'

/** Strings up to this size are compared as two words, read at once and masked: one branch per row. */
const shortSize = 8

/** Adds to `out` the bit of every row that equals `wanted`. */
export function equalBytes(
  rows: ByteRows,
  wanted: Uint8Array,
  out: Uint32Array,
  length: number,
  mask: RowMask,
): void {
  const from = wanted.length <= shortSize ? equalShort(rows, wanted, out, length, mask) : 0
  const { bytes, offsets } = rows
  const size = wanted.length
  for (let w = from; w < out.length; w++) {
    let pending = rowsOfWord(mask, w, length)
    let word = 0
    while (pending !== 0) {
      const lowest = pending & -pending
      pending ^= lowest
      const row = (w << 5) + 31 - Math.clz32(lowest)
      const start = offsets[row]!
      if (offsets[row + 1]! - start === size && startsWith(bytes, start, wanted)) word |= lowest
    }
    out[w]! |= word
  }
}

/** Whether `bytes` reads `wanted` from `start` on; there are enough bytes. */
export function startsWith(bytes: Uint8Array, start: number, wanted: Uint8Array): boolean {
  for (let k = 0; k < wanted.length; k++) if (bytes[start + k] !== wanted[k]) return false
  return true
}

/** As `equalBytes` for the words of `out` whose rows all have 8 bytes to read from their start; returns the first other. */
function equalShort(
  { bytes, offsets }: ByteRows,
  wanted: Uint8Array,
  out: Uint32Array,
  length: number,
  mask: RowMask,
): number {
  const size = wanted.length
  const padded = new DataView(new ArrayBuffer(2 * shortSize))
  for (let k = 0; k < size; k++) {
    padded.setUint8(k, wanted[k]!)
    padded.setUint8(shortSize + k, 0xff)
  }
  const low = padded.getInt32(0, true)
  const high = padded.getInt32(4, true)
  const lowMask = padded.getInt32(8, true)
  const highMask = padded.getInt32(12, true)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const lastStart = bytes.length - shortSize
  let w = 0
  for (; (w + 1) << 5 <= length && offsets[(w + 1) << 5]! <= lastStart; w++) {
    let pending = rowsOfWord(mask, w, length)
    let word = 0
    while (pending !== 0) {
      const lowest = pending & -pending
      pending ^= lowest
      const row = (w << 5) + 31 - Math.clz32(lowest)
      const start = offsets[row]!
      const isEqual =
        Number((view.getInt32(start, true) & lowMask) === low) &
        Number((view.getInt32(start + 4, true) & highMask) === high) &
        Number(offsets[row + 1]! - start === size)
      if (isEqual) word |= lowest
    }
    out[w]! |= word
  }
  return w
}
