/** A text index of a table at one version: its segments, and the mapping from their ordinals to rows of fragments. */
import { SheafError } from '../errors.js'
import type { Analyzer } from '../indexes/text/analysis/analyzer.js'
import type { Analyzers } from '../indexes/text/analysis/analyzers.js'
import type { TextOptions } from '../indexes/text/options.js'
import type { ExactTerms } from '../indexes/text/paged.js'
import type { TextSegment } from '../indexes/text/segment.js'
import { lazyImport } from '../lazy-import.js'
import { findFieldById, typeOf } from '../manifest/field-node.js'
import { type CoveredSegment, fragmentsById } from '../manifest/index-cover.js'
import type { Fragment, Layout } from '../manifest/layout.js'
import type { IndexSegment, TableIndex } from '../manifest/table-index.js'
import type { RowSet } from '../primitives/row-set.js'
import type { MaybePromise } from '../primitives/task.js'
import { arrived } from './arrived.js'
import { type IndexedVersion, SegmentReader } from './covered-segment.js'
import { IndexCover } from './index-cover.js'
import { openSectionFile } from './section-file.js'
import { segmentPages } from './segment-pages.js'
import type { TableSource } from './table-source.js'
import { holdsText } from './text-column.js'

const opener = lazyImport(() => import('../indexes/text/open.js'))
const pagedOpener = lazyImport(() => import('../indexes/text/paged.js'))

/** A text index of one version. */
export interface TextIndexReader {
  readonly name: string
  /** Id of the indexed field: a column, or a field inside of structs. */
  readonly field: number
  /** The path of the indexed field. */
  readonly path: readonly string[]
  readonly options: TextOptions
  /** The segments that cover rows of this version and were built by the analyzer that this process uses. */
  readonly segments: readonly TextSegmentReader[]
  /** The reason why this process does not use some segments. Null if it uses all segments. */
  readonly reason: string | null
  /** Return the analyzer. Throws InvalidInput when its tokenizer is not registered in this process. */
  analyzer(): Analyzer
  /** Return the rows of a fragment that the used segments cover. Reads nothing. */
  covered(fragment: Fragment): RowSet
}

/** Return readers of a version's text indexes. Skips an index if its column no longer contains texts. */
export function textIndexReaders(
  source: TableSource,
  location: string,
  layout: Layout,
): readonly TextIndexReader[] {
  if (layout.indexes.length === 0) return []
  const version = { source, location, layout, fragments: fragmentsById(layout) }
  return layout.indexes.flatMap(index => {
    const { field, text } = index
    if (text === undefined) return []
    const chain = findFieldById(layout.schema, field)!
    if (!holdsText(typeOf(chain.at(-1)!))) return []
    return [
      new TableTextIndex(
        version,
        index,
        text,
        chain.map(({ name }) => name),
      ),
    ]
  })
}

class TableTextIndex implements TextIndexReader {
  readonly name: string
  readonly field: number
  readonly path: readonly string[]
  readonly options: TextOptions
  readonly #version: IndexedVersion
  readonly #index: TableIndex
  /**
   * The usable segments. They are computed at the first use, because queries without a text search do not need them.
   */
  #usable: Usable | undefined

  constructor(version: IndexedVersion, index: TableIndex, options: TextOptions, path: readonly string[]) {
    this.name = index.name
    this.field = index.field
    this.path = path
    this.options = options
    this.#version = version
    this.#index = index
  }

  get segments(): readonly TextSegmentReader[] {
    return this.#segments().segments
  }

  get reason(): string | null {
    return this.#segments().reason
  }

  analyzer(): Analyzer {
    return this.#version.source.analyzers.open(this.options)
  }

  covered(fragment: Fragment): RowSet {
    return this.#segments().cover.covered(fragment)
  }

  #segments(): Usable {
    if (this.#usable === undefined) {
      const { source, layout, fragments } = this.#version
      const { segments, reason } = usableSegments(this.#index, source.analyzers)
      const cover = new IndexCover({ segments, field: this.field }, layout, fragments)
      const files = new TextFiles(source)
      const readers = cover.segments.map(covered => new TextSegmentReader(this.#version, covered, files))
      this.#usable = { cover, segments: readers, reason }
    }
    return this.#usable
  }
}

interface Usable extends Pick<TextIndexReader, 'segments' | 'reason'> {
  readonly cover: IndexCover
}

interface UsableSegments {
  readonly segments: readonly IndexSegment[]
  /** The reason why this process does not use the other segments. Null if it uses all segments. */
  readonly reason: string | null
}

/**
 * Return the segments of an index that this process can use. A process uses a segment of a text index only if its
 * analyzer has the same identity as the analyzer that built the segment. Rows of other segments count as unindexed.
 */
export function usableSegments(
  { segments, text }: Pick<TableIndex, 'segments' | 'text'>,
  analyzers: Analyzers,
): UsableSegments {
  if (text === undefined) return { segments, reason: null }
  const analyzer = analyzers.find(text)
  if (analyzer instanceof SheafError) return { segments: [], reason: analyzer.message }
  const { identity } = analyzer
  const usable = segments.filter(segment => segment.text?.identity === identity)
  if (usable.length === segments.length) return { segments, reason: null }
  return {
    segments: usable,
    reason:
      'another version of the analyzer built a part of the index. Call ns.optimize() to rebuild this part',
  }
}

/** A segment of a text index at one version. */
export class TextSegmentReader extends SegmentReader<TextSegment> {
  readonly #version: IndexedVersion
  readonly #segment: IndexSegment
  readonly #files: TextFiles

  constructor(version: IndexedVersion, covered: CoveredSegment, files: TextFiles) {
    super(version, covered, (path, segment) => files.whole(path, segment))
    this.#version = version
    this.#segment = covered.segment
    this.#files = files
  }

  /** Return the segment if all of its terms are in memory. */
  known(): TextSegment | undefined {
    return this.#version.source.textSegments.peek(this.path)
  }

  /**
   * Return a segment that finds at least the terms of a query. In object storage, it does not wait for the other terms
   * of the segment. Null: all terms.
   */
  openFor(exact: ExactTerms | null, signal: AbortSignal | undefined): MaybePromise<TextSegment> {
    if (exact === null) return this.open(signal)
    return arrived(this.#version, this.#files.having(this.path, this.#segment, exact, signal), signal)
  }

  /** Open the file of the segment. Returns whether its dictionary has pages. */
  async hasPages(signal: AbortSignal): Promise<boolean> {
    const { paged } = await arrived(this.#version, this.#files.file(this.path, this.#segment), signal)
    return paged !== null
  }
}

/** Opens the files of text segments. */
class TextFiles {
  readonly #source: TableSource

  constructor(source: TableSource) {
    this.#source = source
  }

  /** Open the file of a segment, without its dictionary. */
  file(path: string, { bytes, crc, rows }: IndexSegment): ReturnType<TableSource['textFiles']['get']> {
    const { store, textFiles } = this.#source
    return textFiles.get(path, async () => {
      const file = await openSectionFile(store, path, { bytes, crc })
      if (!file.footer.sections.some(({ name }) => name === 'termPages')) return { file, paged: null }
      const { openPagedText } = await pagedOpener()
      return { file, paged: await openPagedText(file, segmentPages(this.#source, path), rows) }
    })
  }

  /** Open a segment with all terms. Postings are read on demand. */
  whole(path: string, segment: IndexSegment): MaybePromise<TextSegment> {
    return this.#source.textSegments.get(path, async () => {
      const [{ openTextSegment }, { file }] = await Promise.all([opener(), this.file(path, segment)])
      return openTextSegment(file, segmentPages(this.#source, path), segment.rows)
    })
  }

  /** Open a segment with the terms of a query, or with all terms if its dictionary has no pages or is much used. */
  async having(
    path: string,
    segment: IndexSegment,
    exact: ExactTerms,
    signal: AbortSignal | undefined,
  ): Promise<TextSegment> {
    const { paged } = await this.file(path, segment)
    return paged === null || paged.isMuchRead ? this.whole(path, segment) : paged.having(exact, signal)
  }
}
