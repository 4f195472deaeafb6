/** Encodes and decodes raw Snappy (format_description.txt of google/snappy). */
import type { Steps } from '../../../src/arrow/steps.js'
import { brokenParquet } from './fault.js'

/** Maximum ratio of output to input: a copy of 64 bytes takes 2 bytes, and overlapping copies are not longer. */
const maxRatio = 64

/** Bytes of output after which the decoder lets its caller pause. */
const stepBytes = 1 << 20

/** Maximum bytes that are copied one by one. */
const shortRun = 24

/** Up to this number of bytes is copied in words of 4 bytes, if there is room for the surplus. */
const wideBytes = 16

/**
 * Decode bytes into `length` bytes. A step decodes about 1 MiB. Throws InvalidInput if the bytes are broken, or if their
 * result has another length. `at`: the byte of the file, for messages.
 */
export function* decodeSnappy(bytes: Uint8Array, length: number, at: number): Steps<Uint8Array> {
  const { announced, start } = readLength(bytes, at)
  if (announced !== length || length > bytes.length * maxRatio) {
    throw brokenParquet(
      `a page of ${bytes.length} bytes decodes to ${announced} bytes, but its header announces ${length}`,
      at,
    )
  }
  const out = new Uint8Array(length)
  const state = { read: start, write: 0 }
  while (state.read < bytes.length) {
    if (!decodeSome(bytes, out, state))
      throw brokenParquet('a page is not valid Snappy data', at + state.read)
    yield
  }
  if (state.write !== length) throw brokenParquet('a page of Snappy data is cut off', at + bytes.length)
  return out
}

function readLength(bytes: Uint8Array, at: number): { announced: number; start: number } {
  let announced = 0
  for (let i = 0; i < 5 && i < bytes.length; i++) {
    announced += (bytes[i]! & 127) * 2 ** (7 * i)
    if (bytes[i]! < 128) return { announced, start: i + 1 }
  }
  throw brokenParquet('a page of Snappy data has no length', at)
}

/** Decode until about `stepBytes` are written. Returns false if the bytes are invalid. */
function decodeSome(bytes: Uint8Array, out: Uint8Array, state: { read: number; write: number }): boolean {
  let { read, write } = state
  const source = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const target = new DataView(out.buffer, out.byteOffset, out.byteLength)
  const pauseAt = write + stepBytes
  const end = bytes.length
  while (read < end && write < pauseAt) {
    state.read = read
    const tag = bytes[read++]!
    let length = (tag >>> 2) + 1
    let distance = 0
    const kind = tag & 3
    if (kind === 0) {
      const extra = length > 60 ? length - 60 : 0
      if (read + extra > end) return false
      if (extra > 0) length = 1 + integerAt(bytes, read, extra)
      read += extra
      if (read + length > end || write + length > out.length) return false
      if (length <= wideBytes && read + wideBytes <= end && write + wideBytes <= out.length) {
        // The next elements overwrite the surplus.
        target.setUint32(write, source.getUint32(read, true), true)
        if (length > 4) target.setUint32(write + 4, source.getUint32(read + 4, true), true)
        if (length > 8) {
          target.setUint32(write + 8, source.getUint32(read + 8, true), true)
          target.setUint32(write + 12, source.getUint32(read + 12, true), true)
        }
      } else if (length > shortRun) out.set(bytes.subarray(read, read + length), write)
      else for (let i = 0; i < length; i++) out[write + i] = bytes[read + i]!
      read += length
      write += length
      continue
    }
    const extra = kind === 3 ? 4 : kind
    if (read + extra > end) return false
    if (kind === 1) {
      length = ((tag >>> 2) & 7) + 4
      distance = ((tag >>> 5) << 8) | bytes[read]!
    } else if (kind === 2) distance = bytes[read]! | (bytes[read + 1]! << 8)
    else distance = integerAt(bytes, read, 4)
    read += extra
    if (distance === 0 || distance > write || write + length > out.length) return false
    if (length <= wideBytes && distance >= wideBytes && write + wideBytes <= out.length) {
      const from = write - distance
      target.setUint32(write, target.getUint32(from, true), true)
      if (length > 4) target.setUint32(write + 4, target.getUint32(from + 4, true), true)
      if (length > 8) {
        target.setUint32(write + 8, target.getUint32(from + 8, true), true)
        target.setUint32(write + 12, target.getUint32(from + 12, true), true)
      }
    } else if (length > shortRun && distance >= length)
      out.copyWithin(write, write - distance, write - distance + length)
    else for (let i = 0; i < length; i++) out[write + i] = out[write - distance + i]!
    write += length
  }
  state.read = read
  state.write = write
  return true
}

/** Return an integer of 1 to 4 bytes. */
function integerAt(bytes: Uint8Array, at: number, length: number): number {
  let value = 0
  for (let i = length - 1; i >= 0; i--) value = value * 256 + bytes[at + i]!
  return value
}

/** Bytes that are encoded together. A match does not reach outside. */
const blockBytes = 1 << 16
const tableBits = 14

/** Encode bytes: a greedy search for repeated sequences of at least 4 bytes, in blocks of 64 KiB. */
export function encodeSnappy(plain: Uint8Array): Uint8Array {
  const out = new Uint8Array(32 + plain.length + Math.ceil(plain.length / 6))
  let write = 0
  let rest = plain.length
  for (; rest >= 128; rest = Math.floor(rest / 128)) out[write++] = (rest % 128) | 128
  out[write++] = rest
  const table = new Uint16Array(1 << tableBits)
  for (let from = 0; from < plain.length; from += blockBytes) {
    const block = plain.subarray(from, from + blockBytes)
    write = encodeBlock(block, table.fill(0), out, write)
  }
  return out.subarray(0, write)
}

function encodeBlock(block: Uint8Array, table: Uint16Array, out: Uint8Array, start: number): number {
  const view = new DataView(block.buffer, block.byteOffset, block.byteLength)
  let write = start
  let copied = 0
  let position = 1
  let misses = 32
  const last = block.length - 4
  while (position <= last) {
    const word = view.getUint32(position, true)
    const slot = Math.imul(word, 0x1e35a7bd) >>> (32 - tableBits)
    const found = table[slot]!
    table[slot] = position
    if (view.getUint32(found, true) !== word) {
      // Steps grow in data without repetitions.
      position += misses++ >>> 5
      continue
    }
    misses = 32
    let length = 4
    while (position + length < block.length && block[found + length] === block[position + length]) length++
    write = writeLiteral(block.subarray(copied, position), out, write)
    write = writeCopy(position - found, length, out, write)
    position += length
    copied = position
  }
  return writeLiteral(block.subarray(copied), out, write)
}

function writeLiteral(bytes: Uint8Array, out: Uint8Array, start: number): number {
  if (bytes.length === 0) return start
  let write = start
  const count = bytes.length - 1
  if (count < 60) out[write++] = count << 2
  else if (count < 256) {
    out[write++] = 60 << 2
    out[write++] = count
  } else {
    out[write++] = 61 << 2
    out[write++] = count & 255
    out[write++] = count >>> 8
  }
  out.set(bytes, write)
  return write + bytes.length
}

function writeCopy(distance: number, length: number, out: Uint8Array, start: number): number {
  let write = start
  for (let rest = length; rest > 0; ) {
    const part = Math.min(64, rest)
    out[write++] = ((part - 1) << 2) | 2
    out[write++] = distance & 255
    out[write++] = distance >>> 8
    rest -= part
  }
  return write
}
