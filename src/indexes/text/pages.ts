/** Pages of postings, which a segment reads when a term is asked for. */
import type { MaybePromise } from '../../primitives/task.js'

/** Bytes of a file that were written together, and their checksum. */
export interface PageRange {
  readonly start: number
  readonly bytes: number
  readonly crc: number
}

/** Reads pages of one file. */
export interface PageReader {
  /**
   * The bytes of a page of the segment's file, checked; by `number` they are kept in memory. They must not be changed, and begin at a
   * multiple of 4 of their buffer, as those of a new Uint8Array do. `number` is the page's own among all of the file, from 0;
   * its range is the same every time. At once where it is in memory.
   * @throws corrupted (code 18) when other bytes come than were written; `signal.reason` to who gave up.
   */
  page(number: number, range: PageRange, signal: AbortSignal | undefined): MaybePromise<Uint8Array>
}
