/**
 * Opens a text segment from its file. Terms and row lengths stay in memory. Postings are read when a query needs them.
 */
import { assert, corrupted } from '../../errors.js'
import type { Pacer } from '../../primitives/pacer.js'
import { type MaybePromise, runAll, type Task, type TaskStream } from '../../primitives/task.js'
import { numbersOf, type SectionFile, sectionOf } from '../sections/section-file.js'
import type { TextHead } from './build.js'
import type { Numbers } from './narrow.js'
import { PageTable } from './page-table.js'
import type { PageReader } from './pages.js'
import { Postings, type PostingsOwner, type TermBytes } from './postings.js'
import type { NearTerm, TermEntry, TermMatcher, TextFacts, TextSegment } from './segment.js'
import { type StoredTerm, type TermAddress, Terms } from './terms.js'

/** Maximum number of cached term lookups. When the cache is full, it is cleared. */
const mostLookups = 64
/** Terms of a prefix whose postings are read together. */
const termsAtOnce = 64

/**
 * Open a segment: read everything except postings and positions into memory. Throws Internal if the file is damaged or
 * is not a text segment over `rows` rows.
 */
export async function openTextSegment(
  file: SectionFile,
  pages: PageReader,
  rows: number,
): Promise<TextSegment> {
  const facts = factsOf(file, rows)
  // In object storage, reads that do not wait for each other take the time of one.
  const [lengths, termBytes, entries, blocks, postings] = await Promise.all([
    readLengths(file, rows),
    bytesOf(file, 'terms'),
    bytesOf(file, 'entries'),
    numbersOf(file, 'blocks'),
    PageTable.read(file, 'postings', 'postingPages', 0),
  ])
  const terms = new Terms(facts.terms, { terms: termBytes, entries, blocks }, facts.positions)
  const positions = await PageTable.read(file, 'positions', 'positionPages', postings.count)
  return new StoredTextSegment({ name: file.name, lengths }, facts, terms, { postings, positions, pages })
}

/** Return the facts in the footer. Throws Internal if the file is not a text segment over `rows` rows. */
export function factsOf(file: SectionFile, rows: number): TextFacts {
  const head = file.footer.head as unknown as TextHead
  if (head.shape === 'text' && head.rows === rows) return head.facts
  throw corrupted(
    `${file.name} is a ${head.shape} segment over ${head.rows} rows, not a text segment over ${rows}`,
  )
}

/** The terms of a segment, or some of them. */
export type Dictionary = Pick<Terms, 'bytes' | 'find' | 'range' | 'locate' | 'near'>

/** Locates and reads the postings and positions of a segment. */
export interface PostingsFile {
  readonly postings: PageTable
  readonly positions: PageTable
  readonly pages: PageReader
}

/** A segment whose terms and row lengths are in memory. */
export class StoredTextSegment implements TextSegment {
  readonly rows: number
  readonly facts: TextFacts
  readonly lengths: Numbers
  readonly #terms: Dictionary
  readonly #postings: PageTable
  readonly #positions: PageTable
  readonly #pages: PageReader
  readonly #owner: PostingsOwner
  /** Cache of term lookups. Every query looks up each term twice: for its weight and for its postings. */
  readonly #lookups = new Map<string, TermEntry | null>()

  constructor(
    owner: PostingsOwner,
    facts: TextFacts,
    terms: Dictionary,
    { postings, positions, pages }: PostingsFile,
  ) {
    this.rows = owner.lengths.length
    this.facts = facts
    this.lengths = owner.lengths
    this.#owner = owner
    this.#terms = terms
    this.#postings = postings
    this.#positions = positions
    this.#pages = pages
  }

  get bytes(): number {
    return this.lengths.byteLength + this.#terms.bytes + this.#postings.bytes + this.#positions.bytes
  }

  find(term: string): TermEntry | null {
    let entry = this.#lookups.get(term)
    if (entry === undefined) {
      entry = this.#terms.find(term)
      if (this.#lookups.size === mostLookups) this.#lookups.clear()
      this.#lookups.set(term, entry)
    }
    return entry
  }

  *begun(prefix: string, pacer: Pacer): TaskStream<Postings> {
    const { from, to } = this.#terms.range(prefix)
    for (let at = from; at < to; at += termsAtOnce) {
      const addresses = this.#terms.locate(at, Math.min(to, at + termsAtOnce))
      const reads = addresses.map(address => () => this.#postingsAt(address, false, pacer.signal))
      const read = yield* runAll(reads)
      yield* read
      if (pacer.due()) yield pacer.pause()
    }
  }

  near(matcher: TermMatcher, pacer: Pacer): Task<readonly NearTerm[]> {
    return this.#terms.near(matcher, pacer)
  }

  postings(entry: TermEntry, positions: boolean, signal: AbortSignal | undefined): MaybePromise<Postings> {
    return this.#postingsAt((entry as StoredTerm).address, positions, signal)
  }

  #postingsAt(
    { docs, at, end, positionsAt, positionsEnd }: TermAddress,
    positions: boolean,
    signal: AbortSignal | undefined,
  ): MaybePromise<Postings> {
    assert(!positions || this.facts.positions, 'a segment without positions cannot return positions')
    const rows = this.#read(this.#postings, at, end, signal)
    const places = positions ? this.#read(this.#positions, positionsAt, positionsEnd, signal) : null
    if (!(rows instanceof Promise) && !(places instanceof Promise)) {
      return new Postings(docs, rows, places, this.#owner)
    }
    return Promise.all([rows, places]).then(([rows, places]) => new Postings(docs, rows, places, this.#owner))
  }

  #read(table: PageTable, at: number, end: number, signal: AbortSignal | undefined): MaybePromise<TermBytes> {
    const page = table.pageWith(at)
    const start = table.startOf(page)
    const bytes = this.#pages.page(table.numberOf(page), table.rangeOf(page), signal)
    if (!(bytes instanceof Promise)) return { bytes, at: at - start, end: end - start }
    return bytes.then(bytes => ({ bytes, at: at - start, end: end - start }))
  }
}

/** Read the number of term occurrences of each row. */
export async function readLengths(file: SectionFile, rows: number): Promise<Numbers> {
  const { bytes } = sectionOf(file, 'lengths')
  const width = rows === 0 ? 1 : bytes / rows
  const target =
    width === 4 ? new Uint32Array(rows) : width === 2 ? new Uint16Array(rows) : new Uint8Array(rows)
  const section = sectionOf(file, 'lengths', target.byteLength)
  await file.readInto(section, new Uint8Array(target.buffer))
  return target
}

async function bytesOf(file: SectionFile, name: string): Promise<Uint8Array> {
  const section = sectionOf(file, name)
  const bytes = new Uint8Array(section.bytes)
  await file.readInto(section, bytes)
  return bytes
}
