/** Parts of files that a process has read before it needs them, because they came together in one request. */
import { ErrorCode, SheafError } from '../errors.js'
import type { BlobStore, ByteRange } from './blob-store.js'
import { withMethods } from './with-methods.js'

/** Some bytes of a file. */
export interface FilePiece {
  readonly key: string
  readonly offset: number
  /** Whether `bytes` are the whole file. */
  readonly isWhole: boolean
  readonly bytes: Uint8Array
}

/** Return `store` with reads that are answered from `pieces` where they have the bytes. `store` must have `replace`. */
export function withPieces(store: BlobStore, pieces: readonly FilePiece[]): BlobStore {
  const known = new Map<string, FilePiece[]>()
  for (const piece of pieces) known.set(piece.key, [...(known.get(piece.key) ?? []), piece])
  const find = (key: string, offset: number, length: number): Uint8Array | null => {
    for (const piece of known.get(key) ?? []) {
      const from = offset - piece.offset
      if (from >= 0 && from + length <= piece.bytes.length) return piece.bytes.subarray(from, from + length)
    }
    return null
  }
  return withMethods(store, {
    async get(key, signal) {
      signal?.throwIfAborted()
      const whole = known.get(key)?.find(({ isWhole }) => isWhole)
      return whole === undefined ? store.get(key, signal) : whole.bytes.slice()
    },
    async getRange(key, offset, length, signal) {
      signal?.throwIfAborted()
      return find(key, offset, length)?.slice() ?? store.getRange(key, offset, length, signal)
    },
    async readInto(key, offset, target, signal) {
      signal?.throwIfAborted()
      const found = find(key, offset, target.length)
      if (found === null) return store.readInto(key, offset, target, signal)
      target.set(found)
    },
    readRanges(key, ranges, signal) {
      signal?.throwIfAborted()
      if (!known.has(key)) return store.readRanges(key, ranges, signal)
      const left: ByteRange[] = []
      for (const range of ranges) {
        const found = find(key, range.offset, range.target.length)
        if (found === null) left.push(range)
        else range.target.set(found)
      }
      if (left.length > 0) return store.readRanges(key, left, signal)
    },
  })
}

/** The error of a read that a recorder refuses. */
class TooLong extends SheafError {
  constructor(key: string) {
    super(ErrorCode.Internal, `the read of ${key} is too long to be recorded`)
  }
}

/** Records the ranges that are read through `store`, at most `bytesMax` bytes together. */
export class Recorder {
  readonly pieces: FilePiece[] = []
  readonly store: BlobStore
  #left: number

  constructor(store: BlobStore, bytesMax: number) {
    this.#left = bytesMax
    this.store = {
      ...withPieces(store, []),
      get: async (key, signal) => {
        const size = (await store.stat(key, signal))?.size ?? 0
        this.#claim(key, size)
        const bytes = await store.get(key, signal)
        if (bytes !== null) this.pieces.push({ key, offset: 0, isWhole: true, bytes })
        return bytes
      },
      getRange: async (key, offset, length, signal) => {
        this.#claim(key, length)
        const bytes = await store.getRange(key, offset, length, signal)
        this.pieces.push({ key, offset, isWhole: false, bytes })
        return bytes
      },
      readInto: (key, offset, target, signal) => this.#read(store, key, [{ offset, target }], signal),
      readRanges: (key, ranges, signal) => this.#read(store, key, ranges, signal),
    }
  }

  /** Number of recorded bytes. */
  get bytes(): number {
    return this.pieces.reduce((sum, { bytes }) => sum + bytes.length, 0)
  }

  /** Record the reads of `work`. A read that is too long ends the work. The reads before it, such as a footer, are kept. */
  async record(work: () => unknown): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (!(error instanceof TooLong)) throw error
    }
  }

  async #read(
    store: BlobStore,
    key: string,
    ranges: readonly ByteRange[],
    signal: AbortSignal | undefined,
  ): Promise<void> {
    for (const { target } of ranges) this.#claim(key, target.length)
    await store.readRanges(key, ranges, signal)
    for (const { offset, target } of ranges)
      this.pieces.push({ key, offset, isWhole: false, bytes: target.slice() })
  }

  #claim(key: string, bytes: number): void {
    if (bytes > this.#left) throw new TooLong(key)
    this.#left -= bytes
  }
}
