/**
 * Encodes LZ4 frames (LZ4 Frame Format 1.6.x, LZ4 Block Format): independent blocks of 256 KiB, without content
 * checksums. To find matches, a hash table maps four bytes to their last position. After many positions without a
 * match, the encoder skips more and more positions.
 */
import type { Steps } from './steps.js'
import { xxh32 } from './xxh32.js'

const magic = 0x184d2204
/** FLG byte of the frame header: version 1, independent blocks, no checksums. */
const flags = 0x60
/** BD byte of the frame header: blocks of at most 256 KiB. Encoding one block takes a few milliseconds. */
const blockSizeCode = 5 << 4
const blockBytes = 1 << 18
const headBytes = 7

const tableBits = 15
const table = new Int32Array(1 << tableBits)
/** Memory for one encoded block. An encoded block is largest if the block has no matches. */
const scratch = new Uint8Array(blockBytes + Math.ceil(blockBytes / 255) + 16)
const scratchView = new DataView(scratch.buffer)

const minMatch = 4
/**
 * Rules of the format for the end of a block. The last 5 bytes must be literals. The last match must start at least 12
 * bytes before the end.
 */
const lastLiterals = 5
const lastMatch = 12
const maxDistance = 65_535
/** The step between two tested positions grows by 1 after every 2^patience tested positions without a match. */
const patience = 5

/** Encode one frame. A step encodes one block. Returns null if the frame would not be shorter than `mostBytes`. */
export function* encodeLz4Frame(plain: Uint8Array, mostBytes: number): Steps<Uint8Array | null> {
  const view = new DataView(plain.buffer, plain.byteOffset, plain.byteLength)
  const parts: Uint8Array[] = []
  let bytes = headBytes + 4
  for (let at = 0; at < plain.length; at += blockBytes) {
    const end = Math.min(plain.length, at + blockBytes)
    const packed = encodeBlock(plain, view, at, end)
    const isStored = packed >= end - at
    const block = isStored ? plain.subarray(at, end) : scratch.slice(0, packed)
    const head = new Uint8Array(4)
    new DataView(head.buffer).setUint32(0, isStored ? (block.length | 0x80000000) >>> 0 : block.length, true)
    parts.push(head, block)
    bytes += head.length + block.length
    if (bytes >= mostBytes) return null
    yield
  }
  const out = new Uint8Array(bytes)
  const outView = new DataView(out.buffer)
  outView.setUint32(0, magic, true)
  out[4] = flags
  out[5] = blockSizeCode
  out[6] = (xxh32(out.subarray(4, 6)) >>> 8) & 0xff
  let written = headBytes
  for (const part of parts) {
    out.set(part, written)
    written += part.length
  }
  return out
}

/** Encode the bytes from `start` to before `end` into `scratch`. Returns the length of the result. */
function encodeBlock(plain: Uint8Array, view: DataView, start: number, end: number): number {
  table.fill(-1)
  let write = 0
  let anchor = start
  let at = start
  let misses = 0
  const last = end - lastMatch
  const matchEnd = end - lastLiterals
  while (at <= last) {
    const word = view.getInt32(at, true)
    const slot = Math.imul(word, 0x9e3779b1) >>> (32 - tableBits)
    let from = table[slot]!
    table[slot] = at
    if (from < 0 || at - from > maxDistance || view.getInt32(from, true) !== word) {
      at += 1 + (misses++ >>> patience)
      continue
    }
    misses = 0
    while (at > anchor && from > start && plain[at - 1] === plain[from - 1]) {
      at--
      from--
    }
    const length = matchLength(plain, view, from, at, matchEnd)
    write = putSequence(plain, anchor, at, at - from, length, write)
    at += length
    anchor = at
    if (at > last) break
    table[Math.imul(view.getInt32(at - 2, true), 0x9e3779b1) >>> (32 - tableBits)] = at - 2
  }
  return putSequence(plain, anchor, end, 0, 0, write)
}

/** Count the equal bytes from positions `from` and `at` on. The caller knows that the first four are equal. */
function matchLength(plain: Uint8Array, view: DataView, from: number, at: number, end: number): number {
  let length = minMatch
  while (at + length + 4 <= end) {
    const difference = view.getInt32(from + length, true) ^ view.getInt32(at + length, true)
    if (difference !== 0) return length + ((31 - Math.clz32(difference & -difference)) >>> 3)
    length += 4
  }
  while (at + length < end && plain[from + length] === plain[at + length]) length++
  return length
}

/**
 * Write a sequence into `scratch` at `start`: the bytes from `from` to before `to` as literals, and a match of `length`
 * bytes. If `length` is 0, there is no match. Returns the end of the output.
 */
function putSequence(
  plain: Uint8Array,
  from: number,
  to: number,
  distance: number,
  length: number,
  start: number,
): number {
  let write = start
  const literals = to - from
  const match = length === 0 ? 0 : length - minMatch
  scratch[write++] = (Math.min(15, literals) << 4) | Math.min(15, match)
  if (literals >= 15) write = putRest(literals - 15, write)
  if (literals > 32) scratch.set(plain.subarray(from, to), write)
  else for (let i = 0; i < literals; i++) scratch[write + i] = plain[from + i]!
  write += literals
  if (length === 0) return write
  scratchView.setUint16(write, distance, true)
  write += 2
  return match >= 15 ? putRest(match - 15, write) : write
}

function putRest(length: number, start: number): number {
  let write = start
  let rest = length
  for (; rest >= 255; rest -= 255) scratch[write++] = 255
  scratch[write++] = rest
  return write
}
