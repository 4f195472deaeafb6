/** The interface through which a segment reads pages of postings on demand. */
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
   * Read and verify a page of the segment's file. Synchronous if the page is cached. The caller must not change the bytes, which are
   * aligned to 4 bytes in their buffer. `number`: number of the page in the file, from 0, and its cache key; each number always has
   * the same range.
   * @throws Internal if the checksum differs; the reason of `signal` if it aborts.
   */
  page(number: number, range: PageRange, signal: AbortSignal | undefined): MaybePromise<Uint8Array>
}
