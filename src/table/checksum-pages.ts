/**
 * Caches the checksum pages of whole columns, so that reading blocks of these columns needs no page reads. When reading
 * single pages of a column has cost more than reading all its pages, the cache loads all its pages together.
 */
import {
  checkPage,
  countBlocks,
  pageBytes,
  pagesFor,
  type SumsPlace,
  sumAt,
  sumsPerPage,
} from '../arrow/block-sums.js'
import type { ColumnRange } from '../arrow/file-layout.js'
import type { Memory, Partition } from '../primitives/memory.js'
import type { MaybePromise } from '../primitives/task.js'
import type { BlobStore } from '../storage/blob-store.js'
import { readCost } from './read-cost.js'

/** The checksum pages of a column, which are consecutive in the file. */
interface Span {
  /** Number of the first page among all checksum pages of the file. */
  readonly first: number
  readonly bytes: number
  readonly key: string
  /** Cost of the single pages that were read since the whole span was last loaded. */
  spent: number
  /** Number of times that the whole span was loaded. */
  loads: number
}

const spans = new WeakMap<ColumnRange, Span>()

export class ChecksumPages {
  readonly #store: BlobStore
  readonly #memory: Memory
  readonly #partition: Partition<Uint8Array>

  constructor(store: BlobStore, memory: Memory) {
    this.#store = store
    this.#memory = memory
    this.#partition = memory.partition('checksums', 'data', pages => pages.length)
  }

  /** Return the checksums of a column that is cut into blocks. Return null if they are not in the cache. */
  of(path: string, range: ColumnRange): ColumnChecksums | null {
    const span = spanOf(path, range)
    const pages = this.#partition.peek(span.key)
    return pages === undefined ? null : new ColumnChecksums(pages, span.first * sumsPerPage)
  }

  /** Count the read of a single page. When such reads have cost more than a load of all pages, start this load. */
  spend(path: string, { sums }: SumsPlace, range: ColumnRange): void {
    const span = spanOf(path, range)
    span.spent += pageBytes + readCost
    // Each load doubles the limit for the next load, so that evicted pages are not loaded too often.
    if (span.spent <= (span.bytes + readCost) * 2 ** span.loads) return
    if (!this.#memory.canHold(16 * span.bytes)) return
    span.spent = 0
    span.loads++
    const loading = this.#loaded(path, sums.start, span)
    // Ignore errors here: if a page is damaged, the reader that needs the page reports it.
    if (loading instanceof Promise) loading.catch(() => {})
  }

  /** Load all checksums of a column that is cut into blocks, if they have at most `most` bytes. */
  async load(path: string, { sums }: SumsPlace, range: ColumnRange, most: number): Promise<void> {
    if (range.firstSum === null) return
    const span = spanOf(path, range)
    if (span.bytes <= most) await this.#loaded(path, sums.start, span)
  }

  #loaded(path: string, start: number, span: Span): MaybePromise<Uint8Array> {
    return this.#partition.get(span.key, () => this.#load(path, start, span), path)
  }

  async #load(path: string, start: number, { first, bytes }: Span): Promise<Uint8Array> {
    const pages = new Uint8Array(bytes)
    await this.#store.readInto(path, start + first * pageBytes, pages)
    for (let at = 0; at < bytes; at += pageBytes) {
      checkPage(pages.subarray(at, at + pageBytes), first + at / pageBytes, path)
    }
    return pages
  }
}

/** The checksums of the blocks of a column. */
export class ColumnChecksums {
  readonly #pages: Uint8Array
  /** Number in the file of the first checksum in `#pages`. */
  readonly #first: number

  constructor(pages: Uint8Array, first: number) {
    this.#pages = pages
    this.#first = first
  }

  /** Return the checksum with this number in the file. */
  at(number: number): number {
    const own = number - this.#first
    const page = Math.floor(own / sumsPerPage)
    return sumAt(this.#pages, page * (pageBytes / 4) + (own - page * sumsPerPage))
  }
}

function spanOf(path: string, range: ColumnRange): Span {
  let span = spans.get(range)
  if (span === undefined) {
    const { firstSum, buffers, blocks } = range
    const first = Math.floor(firstSum! / sumsPerPage)
    const count = pagesFor(firstSum! + countBlocks(buffers, blocks)) - first
    span = { first, bytes: count * pageBytes, key: `${path}/${first}+${count}`, spent: 0, loads: 0 }
    spans.set(range, span)
  }
  return span
}
