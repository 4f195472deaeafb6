/**
 * Encodes and decodes Zstandard frames (RFC 8878). Node encodes and decodes since version 22.15. In older versions the
 * package fzstd decodes one block at a time, so that the caller can pause between blocks, and encoding is not
 * available.
 */
import { createRequire } from 'node:module'
import zlib from 'node:zlib'
import type { Decompress } from 'fzstd'
import { invalidInput, SheafError, unsupported } from '../errors.js'
import { requirePackage } from '../require-package.js'
import type { Steps } from './steps.js'

interface NodeZstd {
  zstdDecompressSync?(bytes: Uint8Array, options: { maxOutputLength: number }): Uint8Array
  zstdCompress?(bytes: Uint8Array, done: (error: Error | null, packed: Uint8Array) => void): void
}

const native = zlib as NodeZstd

type Package = typeof import('fzstd')
let loaded: Package | null = null

/** Return the package fzstd. It is loaded at its first use. */
function fzstd(): Package {
  loaded ??= requirePackage<Package>('fzstd', 'decodes ZSTD with Node < 22.15', import.meta.url, () =>
    createRequire(import.meta.url)('fzstd'),
  )
  return loaded
}

/** Whether this version of Node can encode Zstandard. */
export const writesZstd = native.zstdCompress !== undefined

/**
 * Encode one frame with compression level 3, on a thread of Node's pool. Throws `Unsupported` if Node cannot encode.
 */
export function encodeZstd(plain: Uint8Array): Promise<Uint8Array> {
  const { zstdCompress } = native
  if (zstdCompress === undefined) {
    throw unsupported('this version of Node cannot encode ZSTD', {
      hint: 'use Node >= 22.15, or request LZ4',
    })
  }
  return new Promise((resolve, reject) => {
    zstdCompress(plain, (error, packed) => (error === null ? resolve(packed) : reject(error)))
  })
}

/** Maximum window size of a frame in bytes that a decoder of streams must support (RFC 9659). */
const windowBytesMax = 8 << 20

/**
 * Decode one frame. `length`: length of the result in bytes. `at`: offset of the frame in the input of the caller, for
 * messages.
 * @throws InvalidInput if the frame is cut off or broken, or if its result has another length. The message names the
 * byte.
 */
export function* decodeZstdFrame(frame: Uint8Array, length: number, at: number): Steps<Uint8Array> {
  try {
    if (native.zstdDecompressSync !== undefined) {
      return exact(native.zstdDecompressSync(frame, { maxOutputLength: length }), length)
    }
    const header = readHeader(frame)
    if (header === null) throw new Error('it is cut off')
    // Decode a frame with a large window in one step, because decoding by blocks would copy the whole window for each
    // block.
    if (header.windowBytes > windowBytesMax)
      return exact(fzstd().decompress(frame, new Uint8Array(length)), length)
    const out = new Uint8Array(length)
    let done = 0
    const blocks = new ZstdBlocks()
    for (const piece of blocks.push(frame)) {
      if (done + piece.length > length)
        throw new Error(`it decodes to more than the ${length} bytes that were announced`)
      out.set(piece, done)
      done += piece.length
      yield
    }
    blocks.finish()
    return exact(out.subarray(0, done), length)
  } catch (cause) {
    throw cause instanceof SheafError ? cause : brokenZstd(cause, at)
  }
}

function exact(plain: Uint8Array, length: number): Uint8Array {
  if (plain.length !== length)
    throw new Error(`it decodes to ${plain.length} bytes, but ${length} were announced`)
  return plain
}

/** Create the error for a frame that cannot be decoded. `at`: offset of the frame in the input. */
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

/** Parse the header of a frame (RFC 8878, 3.1.1.1). Returns null if it is incomplete. Throws if it is invalid. */
function readHeader(bytes: Uint8Array): Header | null {
  if (bytes.length < 5) return null
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (view.getUint32(0, true) !== magic) throw new Error('it does not begin with 28 b5 2f fd')
  const flags = view.getUint8(4)
  const isSingle = (flags & 32) !== 0
  const dictionaryBytes = [0, 1, 2, 4][flags & 3]!
  const sizeBytes = [isSingle ? 1 : 0, 2, 4, 8][flags >>> 6]!
  const sizeAt = (isSingle ? 5 : 6) + dictionaryBytes
  const headerBytes = sizeAt + sizeBytes
  if (bytes.length < headerBytes) return null
  if (dictionaryBytes > 0) throw new Error('it needs a dictionary')
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
 * Decodes consecutive frames with fzstd, block by block. The caller can stop after each block, because a few bytes of
 * input may decode to very much output. Does not verify checksums.
 */
export class ZstdBlocks {
  #incomplete: Uint8Array = new Uint8Array(0)
  #header: Header | null = null
  #decoder: Decompress | null = null
  /** Number of bytes to skip before the next frame: a checksum, or the rest of a skippable frame. */
  #skip = 0;

  /**
   * Add bytes of the input, and yield the output of each block that is now complete. A block is decoded when the
   * consumer asks for its output. Throws if the bytes are not Zstandard frames.
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
      // fzstd may still have output of a short frame. It returns this output when the end of the frame is signalled.
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
    if (this.#incomplete.length > 0 || this.#header !== null || this.#skip > 0)
      throw new Error('it is cut off')
  }

  /** Read the start of a frame. Returns the length of its header in bytes, or 0 if the header is incomplete. */
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
      throw new Error(
        `it has a window of ${header.windowBytes} bytes, but at most ${windowBytesMax} are allowed`,
      )
    this.#header = header
    this.#decoder = new (fzstd().Decompress)()
    this.#decoder.push(bytes.subarray(0, header.bytes))
    return header.bytes
  }
}

/** Parse the block header at position `at` (RFC 8878, 3.1.1.2). Returns null if the block is incomplete. */
function blockIn(bytes: Uint8Array, at: number): { readonly bytes: number; readonly isLast: boolean } | null {
  if (at + 3 > bytes.length) return null
  const word = bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16)
  const size = word >>> 3
  if (size > blockBytesMax)
    throw new Error(`it has a block of ${size} bytes, but at most ${blockBytesMax} are allowed`)
  const kind = (word >>> 1) & 3
  if (kind === 3) throw new Error('it has a block of an unknown kind')
  const length = 3 + (kind === 1 ? 1 : size)
  return at + length > bytes.length ? null : { bytes: length, isLast: (word & 1) === 1 }
}
