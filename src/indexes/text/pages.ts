/** Defines the interface through which a segment reads single pages of postings. */
import type { MaybePromise } from '../../primitives/task.js'

/** A range of a file and its checksum (CRC-32). */
export interface PageRange {
  readonly start: number
  readonly bytes: number
  readonly crc: number
}

/** Reads pages of one file. */
export interface PageReader {
  /**
   * Read and verify a page of the segment's file. Returns the bytes directly if the page is cached. The bytes are
   * aligned to 4 bytes in their buffer. The caller must not change them.
   *
   * `number`: the number of the page in the file, from 0. It identifies the page in the cache, so all calls with the
   * same number must have the same `range`. Throws Internal if the checksum differs, and the reason of `signal` if it
   * aborts.
   */
  page(number: number, range: PageRange, signal: AbortSignal | undefined): MaybePromise<Uint8Array>
}
