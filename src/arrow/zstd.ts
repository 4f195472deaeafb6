/**
 * Zstandard frames (RFC 8878): decoded by Node where it can (from 22.15 on), else by fzstd, one block at a time, so that what calls it may pause
 * between blocks. Encoded by Node alone.
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

/** Whether this Node writes Zstandard. */
export const writesZstd = native.zstdCompress !== undefined

/** One frame, made on a thread of Node's pool, at level 3. */
export function encodeZstd(plain: Uint8Array): Promise<Uint8Array> {
  const { zstdCompress } = native
  if (zstdCompress === undefined) {
    throw unsupported('this Node does not write ZSTD', { hint: 'use Node >= 22.15, or ask for LZ4' })
  }
  return new Promise((resolve, reject) => {
    zstdCompress(plain, (error, packed) => (error === null ? resolve(packed) : reject(error)))
  })
}

/** The largest window that streams are decoded with (RFC 9659), bytes. */
export const windowBytesMax = 8 << 20

/**
 * Decodes one frame of exactly `length` bytes. `at` is where the frame begins in what the caller reads.
 * @throws invalidInput naming the byte when the frame is cut, broken, or not of that length.
 */
export function* decodeZstdFrame(frame: Uint8Array, length: number, at: number): Steps<Uint8Array> {
  try {
    if (native.zstdDecompressSync !== undefined) {
      return exact(native.zstdDecompressSync(frame, { maxOutputLength: length }), length)
    }
    const header = readHeader(frame)
    if (header === null) throw new Error('cut off')
    // Each block moves the whole window along.
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

/** The header of a frame (3.1.1.1); null where not all of it is there. Throws where it is none. */
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

/** Frames that follow each other, decoded by fzstd block by block: a few bytes may stand for as many blocks as they like. Checksums are not looked at. */
export class ZstdBlocks {
  #held: Uint8Array = new Uint8Array(0)
  #header: Header | null = null
  #decoder: Decompress | null = null
  /** Bytes to be passed over: a checksum, or a frame of something else. */
  #skip = 0;

  /** The blocks that end in these bytes, decoded as they are asked for. Throws for bytes that are no such frames. */
  *push(chunk: Uint8Array): Generator<Uint8Array> {
    let bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk])
    let at = 0
    const left = () => bytes.length - at
    for (;;) {
      if (this.#skip > 0) {
        const passed = Math.min(this.#skip, left())
        this.#skip -= passed
        at += passed
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
      // What fzstd still holds of a frame whose bytes are few comes with its end.
      pieces.length = 0
      this.#decoder!.push(new Uint8Array(this.#header.hasChecksum ? 4 : 0), true)
      yield* pieces.filter(({ length }) => length > 0)
      this.#skip = this.#header.hasChecksum ? 4 : 0
      this.#header = null
    }
    bytes = bytes.subarray(at)
    this.#held = bytes.slice()
  }

  /** Throws where the last frame has no end. */
  finish(): void {
    if (this.#held.length > 0 || this.#header !== null || this.#skip > 0) throw new Error('cut off')
  }

  /** Begins a frame; how many bytes that took. */
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

/** The block at `at` (3.1.1.2); null where not all of it is there. */
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
