/** An index of a table at one version: its segments' answers as rows of fragments. */
import type { ScalarKind, ScalarProbe } from '../indexes/scalar/probe.js'
import type { ScalarSegment, SegmentFile } from '../indexes/scalar/segment.js'
import { later } from '../later.js'
import { findFieldById } from '../manifest/field-node.js'
import { filePath } from '../manifest/file-names.js'
import { fragmentsById } from '../manifest/index-cover.js'
import type { Fragment, Layout } from '../manifest/layout.js'
import type { StoredRuns } from '../manifest/stored-runs.js'
import { type CoverItem, type IndexSegment, isScalarKind, type TableIndex } from '../manifest/table-index.js'
import { NumberRuns } from '../primitives/number-runs.js'
import type { Pacer } from '../primitives/pacer.js'
import { partitionPoint } from '../primitives/partition-point.js'
import { RowSet } from '../primitives/row-set.js'
import { arrival, begun, type Soon, type Waits, whenThere } from '../primitives/soon.js'
import type { Scalar } from '../sql/values/scalar.js'
import { type Awaiting, arrived, waitedFor } from './arrived.js'
import { readColumn, readFooter } from './data-file.js'
import { IndexCover } from './index-cover.js'
import type { LoadedColumn } from './loaded-column.js'
import { readStoredRuns } from './stored-runs.js'
import type { TableSource } from './table-source.js'

const opener = later(() => import('../indexes/scalar/open-segment.js'))

export interface IndexReader {
  readonly name: string
  readonly kind: ScalarKind
  /** The column it finds rows by, as a path: a top-level column, or a field inside of structs. */
  readonly path: readonly string[]
  /** For how many rows it covers a probe is true, dead ones included: as exact as `ScalarSegment.estimate`. */
  estimate(probe: ScalarProbe, pacer: Pacer): Soon<number>
  /**
   * A value with at least `rank` rows that it covers, dead ones included, before it, or from the other end after it; null where
   * there is none. Absent where values are not kept by their order.
   */
  valueAt?(rank: number, fromEnd: boolean, pacer: Pacer): Promise<Scalar>
  /** Rows for which a probe is true, by fragment id: of the rows it covers, dead ones included. Fragments without any are missing. */
  find(probe: ScalarProbe, pacer: Pacer): Soon<ReadonlyMap<number, RowSet>>
  /** The rows of a fragment of this version that it covers. Reads nothing. */
  covered(fragment: Fragment): RowSet
}

/** Readers of a version's scalar indexes; those of one layout. */
export function indexReaders(source: TableSource, location: string, layout: Layout): readonly IndexReader[] {
  if (layout.indexes.length === 0) return []
  const fragments = fragmentsById(layout)
  return layout.indexes.flatMap(index => {
    const { kind } = index
    return isScalarKind(kind) ? [new TableIndexReader(source, location, layout, fragments, index, kind)] : []
  })
}

class TableIndexReader implements IndexReader {
  readonly name: string
  readonly kind: ScalarKind
  readonly path: readonly string[]
  readonly #source: TableSource
  readonly #awaiting: Awaiting
  readonly #location: string
  readonly #fragments: ReadonlyMap<number, Fragment>
  readonly #cover: IndexCover
  readonly #opened = new Map<string, Soon<ScalarSegment>>()

  constructor(
    source: TableSource,
    location: string,
    layout: Layout,
    fragments: ReadonlyMap<number, Fragment>,
    index: TableIndex,
    kind: ScalarKind,
  ) {
    const chain = findFieldById(layout.schema, index.field)!
    this.name = index.name
    this.kind = kind
    this.path = chain.map(({ name }) => name)
    this.#source = source
    this.#awaiting = { source, layout }
    this.#location = location
    this.#fragments = fragments
    this.#cover = new IndexCover(index, layout, fragments)
  }

  estimate(probe: ScalarProbe, pacer: Pacer): Soon<number> {
    return begun(this.#estimated(probe, pacer))
  }

  *#estimated(probe: ScalarProbe, pacer: Pacer): Waits<number> {
    let sum = 0
    for (const { segment } of this.#cover.segments) {
      const opened = yield* arrival(this.#open(segment))
      sum += yield* arrival(opened.estimate(probe, pacer))
    }
    return sum
  }

  /** In the largest segment there are so many; in the others there may be more. */
  async valueAt(rank: number, fromEnd: boolean, pacer: Pacer): Promise<Scalar> {
    const [first, ...others] = this.#cover.segments
    if (first === undefined) return null
    const largest = others.reduce((a, b) => (b.segment.rows > a.segment.rows ? b : a), first)
    const opened = await this.#open(largest.segment)
    return (await opened.valueAt?.(rank, fromEnd, pacer)) ?? null
  }

  find(probe: ScalarProbe, pacer: Pacer): Soon<ReadonlyMap<number, RowSet>> {
    return begun(this.#found(probe, pacer))
  }

  *#found(probe: ScalarProbe, pacer: Pacer): Waits<ReadonlyMap<number, RowSet>> {
    const found = new Map<number, RowSet>()
    for (const { segment, items } of this.#cover.segments) {
      const opened = yield* arrival(this.#open(segment))
      const rows = yield* arrival(opened.find(probe, pacer))
      if (rows.count === 0) continue
      if (rows.count < items.length) yield* this.#placeFew(rows.toIndices(), items, found, pacer)
      else {
        for (const item of items) {
          add(found, item.fragment, yield* arrival(this.#place(rows, item)))
          if (pacer.due()) yield pacer.pause()
        }
      }
    }
    return found
  }

  covered(fragment: Fragment): RowSet {
    return this.#cover.covered(fragment)
  }

  /** Rows of a segment, fewer than it has items, as rows of fragments. */
  *#placeFew(
    rows: Uint32Array,
    items: readonly CoverItem[],
    found: Map<number, RowSet>,
    pacer: Pacer,
  ): Waits<void> {
    for (let from = 0, to: number; from < rows.length; from = to) {
      const row = rows[from]!
      const item = items[partitionPoint(items.length, i => items[i]!.first <= row) - 1]
      to = from + 1
      if (item === undefined || row >= item.first + item.count) continue
      while (to < rows.length && rows[to]! < item.first + item.count) to++
      const own = rows.subarray(from, to).map(each => each - item.first)
      const placed = this.#place(RowSet.of(item.count, own), { ...item, first: 0 })
      add(found, item.fragment, yield* arrival(placed))
      if (pacer.due()) yield pacer.pause()
    }
  }

  /** Those of a segment's rows that an item has, as rows of its fragment. */
  #place(rows: RowSet, { first, count, fragment, at, gone }: CoverItem): Soon<RowSet> {
    const { rows: length } = this.#fragments.get(fragment)!
    const own = rows.slice(first, first + count)
    if (own.isNone) return RowSet.none(length)
    if (gone === undefined) return own.shifted(length, at)
    return this.#placeLeft(own, length, at, gone)
  }

  async #placeLeft(own: RowSet, length: number, at: number, gone: StoredRuns): Promise<RowSet> {
    const left = await this.#arrived(readStoredRuns(this.#source, this.#location, gone, NumberRuns.decode))
    const offsets = own.toIndices().slice()
    let kept = 0
    let run = 0
    // Before each run of rows that are gone, how many are gone already.
    const { starts, ranks } = left
    for (let i = 0; i < offsets.length; i++) {
      const row = offsets[i]!
      while (run < starts.length && starts[run]! + (ranks[run + 1]! - ranks[run]!) <= row) run++
      if (run < starts.length && starts[run]! <= row) continue
      offsets[kept++] = at + row - ranks[run]!
    }
    return RowSet.of(length, offsets.subarray(0, kept))
  }

  /** What is being read: its file may go together with the version. */
  #arrived<T>(loading: Soon<T>): Soon<T> {
    return arrived(this.#awaiting, loading, undefined)
  }

  #open(segment: IndexSegment): Soon<ScalarSegment> {
    let opening = this.#opened.get(segment.file)
    if (opening === undefined) {
      const begun = waitedFor(this.#awaiting, this.#openNew(segment), undefined)
      opening = begun
      this.#opened.set(segment.file, opening)
      begun.then(
        opened => this.#opened.set(segment.file, opened),
        () => this.#opened.delete(segment.file),
      )
    }
    return opening
  }

  async #openNew({ file, bytes, crc, rows }: IndexSegment): Promise<ScalarSegment> {
    const source = this.#source
    const { store, footers, columns } = source
    const path = `${this.#location}/${filePath('indexes', file)}`
    const footer = await footers.get(path, () => readFooter(store, path, { bytes, crc }))
    const width = footer.schema.fields.length
    // A key that is made once is hashed once.
    const keys: string[] = []
    const arrivedPage = (loading: Soon<LoadedColumn>) => this.#arrived(loading)
    const pages: SegmentFile = {
      batchRows: footer.batches.map(({ length }) => length),
      column(batch, column) {
        const at = batch * width + column
        keys[at] ??= `${path}/${batch}/${column}`
        const loading = columns.get(
          keys[at],
          claim => readColumn(source, path, footer, batch, column, footer.schema.fields[column]!, claim),
          path,
        )
        return whenThere(arrivedPage(loading), loaded => loaded.column)
      },
    }
    const { openSegment } = await opener()
    return openSegment(this.kind, rows, pages)
  }
}

function add(found: Map<number, RowSet>, fragment: number, rows: RowSet): void {
  if (rows.isNone) return
  const known = found.get(fragment)
  found.set(fragment, known === undefined ? rows : known.or(rows))
}
