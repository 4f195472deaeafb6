/**
 * Pages of checksums that cover a whole column, kept in memory: blocks of such a column are read without pages of their own.
 * A column's pages are loaded together once reading some of them has cost more than that does.
 */
import { checkPage, countBlocks, pageBytes, pagesFor, sumAt, sumsPerPage } from '../arrow/block-sums.js'
import type { ColumnRange } from '../arrow/file-layout.js'
import type { FileLayout } from '../arrow/file-reader.js'
import type { Memory, Partition } from '../primitives/memory.js'
import type { BlobStore } from '../storage/blob-store.js'
import { readCost } from './read-cost.js'

/** Consecutive pages of a file. */
interface Span {
  /** Number of the first page among those of the file. */
  readonly first: number
  readonly bytes: number
  readonly key: string
  /** Cost of the pages read one by one since the span was last loaded. */
  spent: number
  loads: number
}

const spans = new WeakMap<ColumnRange, Span>()

export class ChecksumPages {
  readonly #store: BlobStore
  readonly #memory: Memory
  readonly #room: Partition<Uint8Array>

  constructor(store: BlobStore, memory: Memory) {
    this.#store = store
    this.#memory = memory
    this.#room = memory.partition('checksums', 'data', pages => pages.length)
  }

  /** The checksums of a column that is cut into blocks; null where not all of them are in memory. */
  of(path: string, range: ColumnRange): ColumnChecksums | null {
    const span = spanOf(path, range)
    const pages = this.#room.peek(span.key)
    return pages === undefined ? null : new ColumnChecksums(pages, span.first * sumsPerPage)
  }

  /** Counts a page of a column that is read by itself. Begins to load all of them where such reads have cost enough. */
  spend(path: string, { sums }: Pick<FileLayout, 'sums'>, range: ColumnRange): void {
    const span = spanOf(path, range)
    span.spent += pageBytes + readCost
    // Pages that left memory are loaded again less readily each time.
    if (span.spent <= (span.bytes + readCost) * 2 ** span.loads) return
    if (!this.#memory.canHold(16 * span.bytes)) return
    span.spent = 0
    span.loads++
    const loading = this.#room.get(span.key, () => this.#load(path, sums.start, span), path)
    // A page that is damaged is reported by the reader of its blocks.
    if (loading instanceof Promise) loading.catch(() => {})
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
  /** Number of the first checksum of the pages. */
  readonly #first: number

  constructor(pages: Uint8Array, first: number) {
    this.#pages = pages
    this.#first = first
  }

  /** Checksum `number` of the file. */
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
