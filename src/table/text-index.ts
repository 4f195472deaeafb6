/** A text index of a table at one version: its segments, and which rows of fragments their ordinals are. */
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

export interface TextIndexReader {
  readonly name: string
  /** Id of the field it is of: a column, or a field inside of structs. */
  readonly field: number
  /** The names that lead to it. */
  readonly path: readonly string[]
  readonly options: TextOptions
  /** Those that number rows of this version, and have the terms that `analyzer` gives. */
  readonly segments: readonly SegmentReader<TextSegment>[]
  /** Why rows that it has are not looked for in it; null: they are. */
  readonly reason: string | null
  /** Throws code 13 where its tokenizer is not registered here. */
  analyzer(): Analyzer
  /** The rows of a fragment of this version that it covers. Reads nothing. */
  covered(fragment: Fragment): RowSet
}

/** Readers of those of a version's indexes that are of texts, as long as their columns hold some. */
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
  /** Queries that ask for no words need none of it. */
  #asked: Asked | undefined

  constructor(version: IndexedVersion, index: TableIndex, options: TextOptions, path: readonly string[]) {
    this.name = index.name
    this.field = index.field
    this.path = path
    this.options = options
    this.#version = version
    this.#index = index
  }

  get segments(): readonly SegmentReader<TextSegment>[] {
    return this.#ask().segments
  }

  get reason(): string | null {
    return this.#ask().reason
  }

  analyzer(): Analyzer {
    return this.#version.source.analyzers.open(this.options)
  }

  covered(fragment: Fragment): RowSet {
    return this.#ask().cover.covered(fragment)
  }

  #ask(): Asked {
    if (this.#asked === undefined) {
      const { source, layout, fragments } = this.#version
      const { segments, reason } = askedSegments(this.#index, source.analyzers)
      const cover = new IndexCover({ segments, field: this.field }, layout, fragments)
      const open = opening(source)
      const readers = cover.segments.map(covered => new SegmentReader(this.#version, covered, open))
      this.#asked = { cover, segments: readers, reason }
    }
    return this.#asked
  }
}

interface Asked extends Pick<TextIndexReader, 'segments' | 'reason'> {
  readonly cover: IndexCover
}

export interface AskedSegments {
  readonly segments: readonly IndexSegment[]
  /** Why there are others; null: there are none. */
  readonly reason: string | null
}

/**
 * The segments of an index that a process can ask: of a text index those with the terms that its own analyzer gives. Rows of the
 * others count like rows that no segment has.
 */
export function askedSegments(
  { segments, text }: Pick<TableIndex, 'segments' | 'text'>,
  analyzers: Analyzers,
): AskedSegments {
  if (text === undefined) return { segments, reason: null }
  const analyzer = analyzers.find(text)
  if (analyzer instanceof SheafError) return { segments: [], reason: analyzer.message }
  const { identity } = analyzer
  const asked = segments.filter(segment => segment.text?.identity === identity)
  if (asked.length === segments.length) return { segments, reason: null }
  return {
    segments: asked,
    reason:
      'a part of it has the terms that another version of its analyzer gives: ns.optimize() builds that anew',
  }
}

/** Its terms as a whole, their postings when they are asked for. */
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
