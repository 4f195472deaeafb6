/** A text index of a table at one version: its segments, and the mapping from their ordinals to rows of fragments. */
import { SheafError } from '../errors.js'
import type { Analyzer } from '../indexes/text/analysis/analyzer.js'
import type { Analyzers } from '../indexes/text/analysis/analyzers.js'
import type { TextOptions } from '../indexes/text/options.js'
import type { TextSegment } from '../indexes/text/segment.js'
import { lazyImport } from '../lazy-import.js'
import { findFieldById, typeOf } from '../manifest/field-node.js'
import { fragmentsById } from '../manifest/index-cover.js'
import type { Fragment, Layout } from '../manifest/layout.js'
import type { IndexSegment, TableIndex } from '../manifest/table-index.js'
import type { RowSet } from '../primitives/row-set.js'
import { type IndexedVersion, type OpenSegment, SegmentReader } from './covered-segment.js'
import { IndexCover } from './index-cover.js'
import { openSectionFile } from './section-file.js'
import { segmentPages } from './segment-pages.js'
import type { TableSource } from './table-source.js'
import { holdsText } from './text-column.js'

const opener = lazyImport(() => import('../indexes/text/open.js'))

/** A text index of one version. */
export interface TextIndexReader {
  readonly name: string
  /** Id of the indexed field: a column, or a field inside of structs. */
  readonly field: number
  /** The path of the indexed field. */
  readonly path: readonly string[]
  readonly options: TextOptions
  /** The segments that cover rows of this version and were built by the analyzer that this process uses. */
  readonly segments: readonly SegmentReader<TextSegment>[]
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

  get segments(): readonly SegmentReader<TextSegment>[] {
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
      const open = opening(source)
      const readers = cover.segments.map(covered => new SegmentReader(this.#version, covered, open))
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

/** Return a function that opens segments. It loads all terms; postings are read on demand. */
function opening(source: TableSource): OpenSegment<TextSegment> {
  const { store, textSegments } = source
  return (path, { bytes, crc, rows }) =>
    textSegments.get(path, async () => {
      const { openTextSegment } = await opener()
      return openTextSegment(
        await openSectionFile(store, path, { bytes, crc }),
        segmentPages(source, path),
        rows,
      )
    })
}
