/**
 * Unpacks integers in the FastLanes layout (https://www.vldb.org/pvldb/vol16/p2132-afroozeh.pdf): blocks of 1,024 values.
 * A word of `bits` bits holds values of one lane. The words of all lanes alternate, so that loops over lanes read and
 * write consecutive words.
 */
import { invalidInput } from '../errors.js'

/** Number of values in a block. */
export const blockValues = 1024

/** The order of the groups of eight rows of a lane. */
const order = [0, 4, 2, 6, 1, 5, 3, 7]

/** Return the bytes of a packed block. */
export function packedBlockBytes(packedBits: number): number {
  return (blockValues * packedBits) / 8
}

/**
 * Unpack one block of 1,024 values of `bits` bits (8, 16, 32 or 64) that were packed in `packedBits` bits. `packed` has
 * `packedBlockBytes(packedBits)` bytes. `out` has the little-endian bytes of the values, from an offset that is a
 * multiple of 8.
 */
export function unpackBlock(bits: number, packedBits: number, packed: Uint8Array, out: Uint8Array): void {
  if (packedBits > bits) throw invalidInput(`values of ${bits} bits are packed in ${packedBits} bits`)
  if (packed.length < packedBlockBytes(packedBits)) {
    throw invalidInput(
      `${blockValues} values of ${packedBits} bits need ${packedBlockBytes(packedBits)} bytes, but there are ${packed.length}`,
    )
  }
  const words = copyWords(packed, packedBlockBytes(packedBits))
  const count = blockValues
  if (bits === 64) unpack64(packedBits, words, new Uint32Array(out.buffer, out.byteOffset, 2 * count))
  else if (bits === 32) unpack32(packedBits, words, new Uint32Array(out.buffer, out.byteOffset, count))
  else if (bits === 16) unpack16(packedBits, words, new Uint16Array(out.buffer, out.byteOffset, count))
  else unpack8(packedBits, new Uint8Array(words.buffer), out)
}

const scratch = new Uint32Array((blockValues * 64) / 32)

/** Copy bytes of any alignment to words. */
function copyWords(packed: Uint8Array, bytes: number): Uint32Array {
  if (packed.byteOffset % 4 === 0) return new Uint32Array(packed.buffer, packed.byteOffset, bytes >>> 2)
  new Uint8Array(scratch.buffer).set(packed.subarray(0, bytes))
  return scratch
}

function unpack8(width: number, source: Uint8Array, out: Uint8Array): void {
  const lanes = 128
  const mask = 0xff >>> (8 - width)
  for (let row = 0; row < 8; row++) {
    const bit = row * width
    const from = (bit >>> 3) * lanes
    const shift = bit & 7
    const isSplit = shift + width > 8
    const base = row * 128
    if (width === 0) out.fill(0, base, base + lanes)
    else if (isSplit) {
      for (let lane = 0; lane < lanes; lane++) {
        out[base + lane] =
          ((source[from + lane]! >>> shift) | (source[from + lanes + lane]! << (8 - shift))) & mask
      }
    } else for (let lane = 0; lane < lanes; lane++) out[base + lane] = (source[from + lane]! >>> shift) & mask
  }
}

function unpack16(width: number, words: Uint32Array, out: Uint16Array): void {
  const source = new Uint16Array(words.buffer, words.byteOffset, words.length * 2)
  const lanes = 64
  const mask = 0xffff >>> (16 - width)
  for (let row = 0; row < 16; row++) {
    const bit = row * width
    const from = (bit >>> 4) * lanes
    const shift = bit & 15
    const base = order[row >>> 3]! * 16 + (row & 7) * 128
    if (width === 0) out.fill(0, base, base + lanes)
    else if (shift + width > 16) {
      for (let lane = 0; lane < lanes; lane++) {
        out[base + lane] =
          ((source[from + lane]! >>> shift) | (source[from + lanes + lane]! << (16 - shift))) & mask
      }
    } else for (let lane = 0; lane < lanes; lane++) out[base + lane] = (source[from + lane]! >>> shift) & mask
  }
}

function unpack32(width: number, source: Uint32Array, out: Uint32Array): void {
  const lanes = 32
  const mask = width === 32 ? 0xffffffff : (1 << width) - 1
  for (let row = 0; row < 32; row++) {
    const bit = row * width
    const from = (bit >>> 5) * lanes
    const shift = bit & 31
    const base = order[row >>> 3]! * 16 + (row & 7) * 128
    if (width === 0) out.fill(0, base, base + lanes)
    else if (shift + width > 32) {
      for (let lane = 0; lane < lanes; lane++) {
        out[base + lane] =
          ((source[from + lane]! >>> shift) | (source[from + lanes + lane]! << (32 - shift))) & mask
      }
    } else for (let lane = 0; lane < lanes; lane++) out[base + lane] = (source[from + lane]! >>> shift) & mask
  }
}

/** Unpack 64-bit values as pairs of 32-bit words, the low word first. */
function unpack64(width: number, source: Uint32Array, out: Uint32Array): void {
  const lowMask = width >= 32 ? 0xffffffff : (1 << width) - 1
  const highMask = width <= 32 ? 0 : width === 64 ? 0xffffffff : (1 << (width - 32)) - 1
  for (let row = 0; row < 64; row++) {
    const bit = row * width
    const shift = bit & 31
    const half = bit >>> 5
    const base = (order[row >>> 3]! * 16 + (row & 7) * 128) * 2
    if (width === 0) {
      out.fill(0, base, base + 32)
      continue
    }
    // The positions of the 32-bit words that contain the value, in the first lane. Words past the end are not used.
    const first = halfAt(half)
    const second = shift + width > 32 ? halfAt(half + 1) : first
    const third = shift + width > 64 ? halfAt(half + 2) : second
    for (let lane = 0; lane < 32; lane += 2) {
      const a = source[first + lane]!
      const b = source[second + lane]!
      if (shift === 0) {
        out[base + lane] = a & lowMask
        out[base + lane + 1] = b & highMask
      } else {
        const c = source[third + lane]!
        out[base + lane] = ((a >>> shift) | (b << (32 - shift))) & lowMask
        out[base + lane + 1] = ((b >>> shift) | (c << (32 - shift))) & highMask
      }
    }
  }
}

/** Return the position of 32-bit word `half` of the first of 16 lanes of 64-bit words. */
function halfAt(half: number): number {
  return (half >>> 1) * 32 + (half & 1)
}
