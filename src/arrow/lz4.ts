/**
 * Decodes LZ4 frames (LZ4 Frame Format 1.6.x, LZ4 Block Format). LanceDB's clients compress uploads in this format.
 *
 * - The caller specifies the length of the result. The decoder allocates exactly these bytes.
 * - The decoder verifies the checksums that the frame has.
 */
import { invalidInput, type SheafError, unsupported } from '../errors.js'
import type { Steps } from './steps.js'
import { xxh32 } from './xxh32.js'

const magic = 0x184d2204
const blockBytes: Readonly<Record<number, number>> = { 4: 1 << 16, 5: 1 << 18, 6: 1 << 20, 7: 1 << 22 }
/** Maximum ratio of output to input: the format encodes at most 255 bytes of output per byte of input. */
const maxRatio = 255

const Flag = {
  dictionary: 1,
  contentChecksum: 4,
  contentSize: 8,
  blockChecksum: 16,
  independent: 32,
} as const

/**
 * Decode one frame. A step decodes one block. `length`: length of the result in bytes. `at`: offset of the frame in the
 * input of the caller, for messages.
 * @throws InvalidInput if the frame is cut off or broken, or if its result has another length. The message names the
 * byte.
 */
export function* decodeLz4Frame(frame: Uint8Array, length: number, at: number): Steps<Uint8Array> {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength)
  const fault = (what: string, position: number): SheafError =>
    invalidInput(`broken lz4 frame: ${what} (byte ${at + position})`)
  const need = (position: number, bytes: number): void => {
    if (position + bytes > frame.length) throw fault('it is cut off', frame.length)
  }

  need(0, 7)
  if (view.getUint32(0, true) !== magic) throw fault('it does not begin with 04 22 4d 18', 0)
  const flags = view.getUint8(4)
  if (flags >>> 6 !== 1) throw fault(`it has version ${flags >>> 6}, expected 1`, 4)
  if (flags & Flag.dictionary) throw unsupported('Sheaf does not support lz4 frames with a preset dictionary')
  const maxBlock = blockBytes[(view.getUint8(5) >>> 4) & 7]
  if (maxBlock === undefined) throw fault('it has an unknown block size', 5)
  let position = 6
  if (flags & Flag.contentSize) {
    need(position, 9)
    const size = view.getBigUint64(position, true)
    if (size !== BigInt(length))
      throw fault(`its header says ${size} bytes, but ${length} were announced`, position)
    position += 8
  }
  if (((xxh32(frame.subarray(4, position)) >>> 8) & 0xff) !== view.getUint8(position)) {
    throw fault('the checksum of its header is wrong', position)
  }
  position++
  if (length > (frame.length - position) * maxRatio) {
    throw fault(`its ${frame.length} bytes cannot decode to the ${length} bytes that were announced`, 0)
  }

  const out = new Uint8Array(length)
  let done = 0
  for (;;) {
    need(position, 4)
    const word = view.getUint32(position, true)
    position += 4
    if (word === 0) break
    const size = word & 0x7fffffff
    const trailer = flags & Flag.blockChecksum ? 4 : 0
    if (size > maxBlock)
      throw fault(`it has a block of ${size} bytes, but at most ${maxBlock} are allowed`, position - 4)
    need(position, size + trailer)
    const block = frame.subarray(position, position + size)
    if (trailer !== 0 && xxh32(block) !== view.getUint32(position + size, true)) {
      throw fault('the checksum of a block is wrong', position + size)
    }
    if (word >>> 31 === 1) {
      if (done + size > length)
        throw fault(`it decodes to more than the ${length} bytes that were announced`, position)
      out.set(block, done)
      done += size
    } else {
      const window = flags & Flag.independent ? done : 0
      const end = decodeBlock(block, out, done, window)
      if (end < 0) throw fault('a sequence reaches outside its block', position + ~end)
      done = end
    }
    position += size + trailer
    yield
  }
  if (done !== length) throw fault(`it decodes to ${done} bytes, but ${length} were announced`, position)
  if (flags & Flag.contentChecksum) {
    need(position, 4)
    if (xxh32(out) !== view.getUint32(position, true))
      throw fault('the checksum of its content is wrong', position)
    position += 4
  }
  if (position !== frame.length) throw fault(`${frame.length - position} bytes follow its end`, position)
  return out
}

/**
 * Decode one block without a frame. `length`: length of the result in bytes. `at`: offset of the block in the input of the
 * caller, for messages.
 * @throws InvalidInput if the block is broken, or if its result has another length.
 */
export function decodeLz4Block(block: Uint8Array, length: number, at = 0): Uint8Array {
  if (length > block.length * maxRatio) {
    throw invalidInput(
      `broken lz4 block: its ${block.length} bytes cannot decode to ${length} bytes (byte ${at})`,
    )
  }
  const out = new Uint8Array(length)
  const end = decodeBlock(block, out, 0, 0)
  if (end === length) return out
  const what =
    end < 0 ? 'a sequence reaches outside' : `it decodes to ${end} bytes, but ${length} were announced`
  throw invalidInput(`broken lz4 block: ${what} (byte ${at})`)
}

/** Maximum bytes that are copied word by word. For more bytes, calls of `set`, `copyWithin` and `fill` are faster. */
const shortRun = 64

/**
 * Decode one block into `out` at `start`. `window`: minimum position in `out` from which a match may copy. Returns the
 * end of the output. If the block is invalid, returns the complement (~) of the wrong position in the block.
 *
 * While at least 4 bytes follow in `out`, copies use words of 4 bytes. They may write up to 3 bytes after the end of a
 * copy. The next literals or matches overwrite these bytes.
 */
function decodeBlock(block: Uint8Array, out: Uint8Array, start: number, window: number): number {
  const end = block.length
  const outEnd = out.length
  const source = new DataView(block.buffer, block.byteOffset, end)
  const target = new DataView(out.buffer, out.byteOffset, outEnd)
  let read = 0
  let write = start
  while (read < end) {
    const token = block[read++]!
    let literals = token >>> 4
    if (literals === 15) {
      let more = 255
      while (more === 255) {
        if (read >= end) return ~read
        more = block[read++]!
        literals += more
      }
    }
    const literalsEnd = write + literals
    if (read + literals > end || literalsEnd > outEnd) return ~read
    if (literals > shortRun) {
      out.set(block.subarray(read, read + literals), write)
    } else if (read + literals + 4 <= end && literalsEnd + 4 <= outEnd) {
      for (let from = read, to = write; to < literalsEnd; from += 4, to += 4) {
        target.setUint32(to, source.getUint32(from, true), true)
      }
    } else {
      for (let from = read, to = write; to < literalsEnd; ) out[to++] = block[from++]!
    }
    read += literals
    write = literalsEnd
    if (read === end) return write

    if (read + 2 > end) return ~read
    const distance = block[read]! | (block[read + 1]! << 8)
    read += 2
    let match = (token & 15) + 4
    if (match === 19) {
      let more = 255
      while (more === 255) {
        if (read >= end) return ~read
        more = block[read++]!
        match += more
      }
    }
    const matchEnd = write + match
    let from = write - distance
    if (distance === 0 || from < window || matchEnd > outEnd) return ~read
    if (match > shortRun && distance >= match) {
      out.copyWithin(write, from, from + match)
    } else if (match > shortRun && distance === 1) {
      out.fill(out[from]!, write, matchEnd)
    } else if (distance >= 4 && matchEnd + 4 <= outEnd) {
      for (let to = write; to < matchEnd; from += 4, to += 4) {
        target.setUint32(to, target.getUint32(from, true), true)
      }
    } else {
      for (let to = write; to < matchEnd; ) out[to++] = out[from++]!
    }
    write = matchEnd
  }
  return write
}
