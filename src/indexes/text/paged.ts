/**
 * Searches a text segment without reading its dictionary whole: reads the pages with the terms of a query, and beside them
 * the pages of postings that the terms may need. So a search in object storage waits once for both.
 */
import { assert } from '../../errors.js'
import { type SectionFile, sectionOf } from '../sections/section-file.js'
import type { Numbers } from './narrow.js'
import { factsOf, type PostingsFile, readLengths, StoredTextSegment } from './open.js'
import { PageTable } from './page-table.js'
import type { PageReader } from './pages.js'
import type { TextFacts, TextSegment } from './segment.js'
import { TermPages, termsOfPage } from './term-pages.js'
import type { StoredTerm, Terms } from './terms.js'

/** Maximum bytes of the postings, and of the positions, that are read beside a page of the dictionary. */
const besideMax = 256 * 1024

/** The terms of a query that stand only for themselves. */
export interface ExactTerms {
  readonly terms: readonly string[]
  /** Whether the query needs positions. */
  readonly positions: boolean
}

/**
 * Open a segment whose dictionary has pages (section `termPages`). Throws Internal if the file is damaged or is not a text
 * segment over `rows` rows.
 */
export async function openPagedText(file: SectionFile, pages: PageReader, rows: number): Promise<PagedText> {
  const facts = factsOf(file, rows)
  const [dictionary, postings] = await Promise.all([
    TermPages.read(file, facts.terms),
    PageTable.read(file, 'postings', 'postingPages', 0),
  ])
  const positions = await PageTable.read(file, 'positions', 'positionPages', postings.count)
  return new PagedText(file, facts, rows, dictionary, { postings, positions, pages })
}

/** A segment whose dictionary is read page by page. */
export class PagedText {
  readonly #file: SectionFile
  readonly #facts: TextFacts
  readonly #rows: number
  readonly #dictionary: TermPages
  readonly #from: PostingsFile
  #lengths: Numbers | null = null
  /** The running read of the lengths. */
  #reading: Promise<Numbers> | null = null
  /** Bytes of the pages of the dictionary that searches waited for. */
  #read = 0

  constructor(file: SectionFile, facts: TextFacts, rows: number, dictionary: TermPages, from: PostingsFile) {
    this.#file = file
    this.#facts = facts
    this.#rows = rows
    this.#dictionary = dictionary
    this.#from = from
  }

  /** Bytes of memory with the lengths of all rows, without pages. */
  get bytes(): number {
    const { postings, positions } = this.#from
    return sectionOf(this.#file, 'lengths').bytes + this.#dictionary.bytes + postings.bytes + positions.bytes
  }

  /** Whether searches have read half of the dictionary in pages. A reader should then read it whole. */
  get isMuchRead(): boolean {
    return this.#read >= this.#dictionary.dictionaryBytes / 2
  }

  /**
   * Return a segment that finds the given terms, and no others. Reads their pages of the dictionary, and beside them
   * postings. Throws Internal if a page is damaged.
   */
  async having({ terms, positions }: ExactTerms, signal: AbortSignal | undefined): Promise<TextSegment> {
    const pageOf = new Map(terms.map(term => [term, this.#dictionary.pageWith(Buffer.from(term))]))
    const numbers = [...new Set(pageOf.values())].filter(page => page >= 0)
    const beside = numbers.flatMap(page => this.#beside(page, positions, signal))
    const [lengths, pages] = await Promise.all([
      this.#lengths ?? this.#readLengths(),
      Promise.all(numbers.map(async page => [page, await this.#page(page, signal)] as const)),
      // A search may not need these pages, so their errors count only if it reads them.
      Promise.allSettled(beside),
    ])
    const dictionaries = new Map(pages)
    const found = new Map<string, StoredTerm | null>()
    for (const [term, page] of pageOf) {
      const entry = dictionaries.get(page)?.find(term) ?? null
      const { firstNumber } = entry === null ? { firstNumber: 0 } : this.#dictionary.page(page)
      found.set(term, entry && { ...entry, number: firstNumber + entry.number })
    }
    return new StoredTextSegment(
      { name: this.#file.name, lengths },
      this.#facts,
      new FoundTerms(found),
      this.#from,
    )
  }

  async #page(page: number, signal: AbortSignal | undefined): Promise<Terms> {
    const { postings, positions, pages } = this.#from
    const found = this.#dictionary.page(page)
    // In the cache, the numbers of these pages follow the numbers of postings and positions.
    const number = postings.count + positions.count + 2 * page
    const reads = [
      pages.page(number, found.terms, signal),
      pages.page(number + 1, found.entries, signal),
    ] as const
    if (reads[0] instanceof Promise) this.#read += found.terms.bytes + found.entries.bytes
    const [terms, entries] = await Promise.all(reads)
    return termsOfPage(found, terms, entries, this.#facts.positions)
  }

  /** Read the pages of postings that the terms of a page of the dictionary have. */
  #beside(page: number, positions: boolean, signal: AbortSignal | undefined): Promise<Uint8Array>[] {
    const found = this.#dictionary.page(page)
    const reads = this.#between(this.#from.postings, found.postingsAt, found.postingsEnd, signal)
    if (!positions) return reads
    return [...reads, ...this.#between(this.#from.positions, found.positionsAt, found.positionsEnd, signal)]
  }

  #between(
    table: PageTable,
    from: number,
    to: number,
    signal: AbortSignal | undefined,
  ): Promise<Uint8Array>[] {
    const reads: Promise<Uint8Array>[] = []
    let left = besideMax
    for (let page = table.pageWith(from); page < table.count && table.startOf(page) < to; page++) {
      const range = table.rangeOf(page)
      left -= range.bytes
      if (left < 0) break
      reads.push((async () => this.#from.pages.page(table.numberOf(page), range, signal))())
    }
    return reads
  }

  #readLengths(): Promise<Numbers> {
    this.#reading ??= readLengths(this.#file, this.#rows)
      .then(lengths => {
        this.#lengths = lengths
        return lengths
      })
      .finally(() => {
        this.#reading = null
      })
    return this.#reading
  }
}

/** The terms of one query. */
class FoundTerms {
  readonly bytes = 0
  readonly #found: ReadonlyMap<string, StoredTerm | null>

  constructor(found: ReadonlyMap<string, StoredTerm | null>) {
    this.#found = found
  }

  find(term: string): StoredTerm | null {
    const found = this.#found.get(term)
    assert(found !== undefined, 'a search looks for a term that its query does not have')
    return found
  }

  range(): never {
    return this.#refused()
  }

  locate(): never {
    return this.#refused()
  }

  near(): never {
    return this.#refused()
  }

  #refused(): never {
    assert(false, 'a search needs all terms of a segment, but has only those of its query')
  }
}
