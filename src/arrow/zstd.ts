/**
 * Zstandard frames (RFC 8878). Decoded by Node where available (since 22.15), else by fzstd, one block at a time, so
 * that the caller can pause between blocks. Encoded only by Node.
 */
import zlib from 'node:zlib'
import { Decompress, decompress } from 'fzstd'
import { invalidInput, type SheafError, unsupported } from '../errors.js'
import type { Steps } from './steps.js'

interface NodeZstd {
  zstdDecompressSync?(bytes: Uint8Array, options: { maxOutputLength: number }): Uint8Array
  zstdCompress?(bytes: Uint8Array, done: (error: Error | null, packed: Uint8Array) => void): void
}

const native = zlib as NodeZstd

/** Whether this Node can write Zstandard. */
export const writesZstd = native.zstdCompress !== undefined

/** Encode one frame at level 3, on a thread of Node's pool. */
export function encodeZstd(plain: Uint8Array): Promise<Uint8Array> {
  const { zstdCompress } = native
  if (zstdCompress === undefined) {
    throw unsupported('this Node does not write ZSTD', { hint: 'use Node >= 22.15, or ask for LZ4' })
  }
  return new Promise((resolve, reject) => {
    zstdCompress(plain, (error, packed) => (error === null ? resolve(packed) : reject(error)))
  })
}

/** The largest window size for decoding streams (RFC 9659), in bytes. */
const windowBytesMax = 8 << 20

/**
 * Decode one frame of exactly `length` bytes. `at` is the offset of the frame in the input of the caller.
 * @throws InvalidInput naming the byte if the frame is cut off, broken, or of another length.
 */
export function* decodeZstdFrame(frame: Uint8Array, length: number, at: number): Steps<Uint8Array> {
  try {
    if (native.zstdDecompressSync !== undefined) {
      return exact(native.zstdDecompressSync(frame, { maxOutputLength: length }), length)
    }
    const header = readHeader(frame)
    if (header === null) throw new Error('cut off')
    // With block-wise decoding, each block would move the whole window.
    if (header.windowBytes > windowBytesMax) return exact(decompress(frame, new Uint8Array(length)), length)
    const out = new Uint8Array(length)
    let done = 0
    const blocks = new ZstdBlocks()
    for (const piece of blocks.push(frame)) {
      if (done + piece.length > length) throw new Error(`holds more than the ${length} bytes announced`)
      out.set(piece, done)
      done += piece.length
      yield
    }
    blocks.finish()
    return exact(out.subarray(0, done), length)
  } catch (cause) {
    throw brokenZstd(cause, at)
  }
}

function exact(plain: Uint8Array, length: number): Uint8Array {
  if (plain.length !== length) throw new Error(`holds ${plain.length} bytes, ${length} were announced`)
  return plain
}

/** Create the error for a frame that cannot be decoded. `at` is its offset in the input. */
export function brokenZstd(cause: unknown, at: number): SheafError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return invalidInput(`broken zstd frame: ${reason} (byte ${at})`, { cause })
}

interface Header {
  readonly bytes: number
  readonly windowBytes: number
  readonly hasChecksum: boolean
}

const magic = 0xfd2fb528
const firstSkippable = 0x184d2a50
const blockBytesMax = 128 * 1024

/** Parse the header of a frame (3.1.1.1). Returns null if it is incomplete. Throws if it is invalid. */
function readHeader(bytes: Uint8Array): Header | null {
  if (bytes.length < 5) return null
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (view.getUint32(0, true) !== magic) throw new Error('does not begin with 28 b5 2f fd')
  const flags = view.getUint8(4)
  const isSingle = (flags & 32) !== 0
  const dictionaryBytes = [0, 1, 2, 4][flags & 3]!
  const sizeBytes = [isSingle ? 1 : 0, 2, 4, 8][flags >>> 6]!
  const sizeAt = (isSingle ? 5 : 6) + dictionaryBytes
  const headerBytes = sizeAt + sizeBytes
  if (bytes.length < headerBytes) return null
  if (dictionaryBytes > 0) throw new Error('needs a dictionary')
  return {
    bytes: headerBytes,
    windowBytes: isSingle ? singleSize() : window(),
    hasChecksum: (flags & 4) !== 0,
  }

  function window(): number {
    const descriptor = view.getUint8(5)
    const base = 2 ** (10 + (descriptor >>> 3))
    return base + (base / 8) * (descriptor & 7)
  }

  function singleSize(): number {
    if (sizeBytes === 1) return view.getUint8(sizeAt)
    if (sizeBytes === 2) return view.getUint16(sizeAt, true) + 256
    if (sizeBytes === 4) return view.getUint32(sizeAt, true)
    return Number(view.getBigUint64(sizeAt, true))
  }
}

/**
 * Decodes consecutive frames by fzstd, block by block, because a few bytes may stand for any number of blocks. Does not
 * verify checksums.
 */
export class ZstdBlocks {
  #incomplete: Uint8Array = new Uint8Array(0)
  #header: Header | null = null
  #decoder: Decompress | null = null
  /** Bytes to skip: a checksum, or a skippable frame. */
  #skip = 0;

  /**
   * Decode the blocks that end in these bytes, as the consumer asks for them. Throws for bytes that are not such
   * frames.
   */
  *push(chunk: Uint8Array): Generator<Uint8Array> {
    let bytes = this.#incomplete.length === 0 ? chunk : Buffer.concat([this.#incomplete, chunk])
    let at = 0
    const left = () => bytes.length - at
    for (;;) {
      if (this.#skip > 0) {
        const skipped = Math.min(this.#skip, left())
        this.#skip -= skipped
        at += skipped
        if (this.#skip > 0) break
      }
      if (this.#header === null) {
        const step = this.#begin(bytes.subarray(at))
        if (step === 0) break
        at += step
        continue
      }
      const block = blockIn(bytes, at)
      if (block === null) break
      const pieces: Uint8Array[] = []
      this.#decoder!.ondata = piece => void pieces.push(piece)
      this.#decoder!.push(bytes.subarray(at, at + block.bytes))
      at += block.bytes
      yield* pieces
      if (!block.isLast) continue
      // fzstd may still hold output of a frame of few bytes. It returns the output at the end of the frame.
      pieces.length = 0
      this.#decoder!.push(new Uint8Array(this.#header.hasChecksum ? 4 : 0), true)
      yield* pieces.filter(({ length }) => length > 0)
      this.#skip = this.#header.hasChecksum ? 4 : 0
      this.#header = null
    }
    bytes = bytes.subarray(at)
    this.#incomplete = bytes.slice()
  }

  /** Throw if the last frame is incomplete. */
  finish(): void {
    if (this.#incomplete.length > 0 || this.#header !== null || this.#skip > 0) throw new Error('cut off')
  }

  /** Read the start of a frame. Returns its length in bytes, 0 if it is incomplete. */
  #begin(bytes: Uint8Array): number {
    if (bytes.length < 5) return 0
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    const word = view.getUint32(0, true)
    if (word >>> 4 === firstSkippable >>> 4) {
      if (bytes.length < 8) return 0
      this.#skip = view.getUint32(4, true)
      return 8
    }
    const header = readHeader(bytes)
    if (header === null) return 0
    if (header.windowBytes > windowBytesMax)
      throw new Error(`a window of ${header.windowBytes} bytes, at most ${windowBytesMax} are allowed`)
    this.#header = header
    this.#decoder = new Decompress()
    this.#decoder.push(bytes.subarray(0, header.bytes))
    return header.bytes
  }
}

/** Parse the block header at `at` (3.1.1.2). Returns null if the block is incomplete. */
function blockIn(bytes: Uint8Array, at: number): { readonly bytes: number; readonly isLast: boolean } | null {
  if (at + 3 > bytes.length) return null
  const word = bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16)
  const size = word >>> 3
  if (size > blockBytesMax) throw new Error(`a block of ${size} bytes, at most ${blockBytesMax} are allowed`)
  const kind = (word >>> 1) & 3
  if (kind === 3) throw new Error('a block of an unknown kind')
  const length = 3 + (kind === 1 ? 1 : size)
  return at + length > bytes.length ? null : { bytes: length, isLast: (word & 1) === 1 }
}
