/** A scalar index of a table at one version. It maps the results of its segments to rows of fragments. */
import type { Column } from '../arrow/column.js'
import type { FileLayout } from '../arrow/file-reader.js'
import { isScalarKind } from '../indexes/kind.js'
import type { Key } from '../indexes/scalar/place-of.js'
import type { ScalarKind, ScalarProbe } from '../indexes/scalar/probe.js'
import type { ColumnRows, RowRun, ScalarSegment, SegmentFile } from '../indexes/scalar/segment.js'
import { lazyImport } from '../lazy-import.js'
import { findFieldById } from '../manifest/field-node.js'
import { filePath } from '../manifest/file-names.js'
import type { FragmentsById } from '../manifest/fragments-by-id.js'
import { fragmentsById } from '../manifest/index-cover.js'
import type { Fragment, Layout } from '../manifest/layout.js'
import type { StoredRuns } from '../manifest/stored-runs.js'
import type { CoverItem, IndexSegment, TableIndex } from '../manifest/table-index.js'
import { NumberRuns } from '../primitives/number-runs.js'
import type { Pacer } from '../primitives/pacer.js'
import { RowSet } from '../primitives/row-set.js'
import { type MaybePromise, runAll, runTask, type Task, wait, whenResolved } from '../primitives/task.js'
import type { Scalar } from '../sql/values/scalar.js'
import { arrived, type ReadVersion, waitedFor } from './arrived.js'
import { readColumn, readFooter } from './data-file.js'
import { IndexCover } from './index-cover.js'
import { RowFetcher } from './row-fetcher.js'
import { readStoredRuns } from './stored-runs.js'
import type { TableSource } from './table-source.js'
import { isLoadedWhole, pagePatienceFor } from './whole-columns.js'

const opener = lazyImport(() => import('../indexes/scalar/open-segment.js'))

/** A scalar index of one version. */
export interface IndexReader {
  readonly name: string
  readonly kind: ScalarKind
  /** The path of the indexed column: a top-level column, or a field inside of structs. */
  readonly path: readonly string[]
  /** Identifies the definition and the segments. Versions with the same index and segments share the object. */
  readonly definition: object
  /** Whether the index has no rows, and stands for the inline rows (`TableReader.inlineIndexes`). Default false. */
  readonly isOfInlineRows?: boolean
  /**
   * Estimate the number of covered rows for which a probe is true, deleted rows included. For each segment, the estimate
   * is the exact number or an upper bound (see `ScalarSegment.estimate`).
   */
  estimate(probe: ScalarProbe, pacer: Pacer): MaybePromise<number>
  /**
   * Return a value with at least `rank` covered rows before it in the sort order. Deleted rows count too. With `fromEnd`,
   * at least `rank` covered rows are after the value. Return null if there is no such value. The method is absent if the
   * index does not order values.
   */
  valueAt?(rank: number, fromEnd: boolean, pacer: Pacer): Promise<Scalar>
  /**
   * Return the covered rows for which a probe is true, by fragment id, deleted rows included. The map has no entry for
   * fragments without matching rows.
   */
  find(probe: ScalarProbe, pacer: Pacer): MaybePromise<ReadonlyMap<number, RowSet>>
  /** Return the rows of a fragment that the index covers. Reads nothing. */
  covered(fragment: Fragment): RowSet
  /**
   * Add the covered rows with the value `key`, deleted rows included. `key`: see `keyOf`, for the value type of the
   * column. Reads only memory. Returns false if needed data is not in memory, if a segment has more than `most` rows with
   * the value, or if the index cannot find rows in this way.
   */
  seek(key: Key, found: FoundRows, most: number): boolean
  /**
   * Open all segments, and load their pages if they take at most half of the memory budget. The method is absent if the
   * index has no files.
   */
  load?(pacer: Pacer): Promise<void>
}

/** Rows of fragments. Row `i` is the row `offsets[i]` of the fragment with the id `fragments[i]`. */
export interface FoundRows {
  readonly fragments: number[]
  readonly offsets: number[]
}

/** Return readers of a version's scalar indexes. */
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
  readonly definition: TableIndex
  readonly #source: TableSource
  readonly #reading: ReadVersion
  readonly #location: string
  readonly #fragments: Pick<FragmentsById, 'get'>
  readonly #cover: IndexCover
  readonly #opened = new Map<string, MaybePromise<ScalarSegment>>()

  constructor(
    source: TableSource,
    location: string,
    layout: Layout,
    fragments: Pick<FragmentsById, 'get'>,
    index: TableIndex,
    kind: ScalarKind,
  ) {
    const chain = findFieldById(layout.schema, index.field)!
    this.name = index.name
    this.kind = kind
    this.path = chain.map(({ name }) => name)
    this.definition = index
    this.#source = source
    this.#reading = { source, layout }
    this.#location = location
    this.#fragments = fragments
    this.#cover = new IndexCover(index, layout, fragments)
  }

  estimate(probe: ScalarProbe, pacer: Pacer): MaybePromise<number> {
    return runTask(this.#estimated(probe, pacer))
  }

  *#estimated(probe: ScalarProbe, pacer: Pacer): Task<number> {
    const estimates = yield* runAll(
      this.#cover.segments.map(({ segment }) => () => {
        return whenResolved(this.#open(segment), opened => opened.estimate(probe, pacer))
      }),
    )
    return estimates.reduce((sum, estimate) => sum + estimate, 0)
  }

  /**
   * Return the value that the largest segment alone gives: at least `rank` of its rows precede the value. Rows of other
   * segments can only add to this number.
   */
  async valueAt(rank: number, fromEnd: boolean, pacer: Pacer): Promise<Scalar> {
    const [first, ...others] = this.#cover.segments
    if (first === undefined) return null
    const largest = others.reduce((a, b) => (b.segment.rows > a.segment.rows ? b : a), first)
    const opened = await this.#open(largest.segment)
    return (await opened.valueAt?.(rank, fromEnd, pacer)) ?? null
  }

  find(probe: ScalarProbe, pacer: Pacer): MaybePromise<ReadonlyMap<number, RowSet>> {
    return runTask(this.#findRows(probe, pacer))
  }

  *#findRows(probe: ScalarProbe, pacer: Pacer): Task<ReadonlyMap<number, RowSet>> {
    const found = new Map<number, RowSet>()
    for (const { segment, items } of this.#cover.segments) {
      const opened = yield* wait(this.#open(segment))
      const rows = yield* wait(opened.find(probe, pacer))
      if (rows.count === 0) continue
      if (rows.count < items.length) yield* this.#mapFewRows(rows.toIndices(), items, found, pacer)
      else {
        for (const item of items) {
          add(found, item.fragment, yield* wait(this.#mapRows(rows, item)))
          if (pacer.due()) yield pacer.pause()
        }
      }
    }
    return found
  }

  covered(fragment: Fragment): RowSet {
    return this.#cover.covered(fragment)
  }

  seek(key: Key, { fragments, offsets }: FoundRows, most: number): boolean {
    for (const { segment, items } of this.#cover.segments) {
      const opened = this.#opened.get(segment.file)
      if (opened === undefined || opened instanceof Promise || opened.seek === undefined) return false
      const ordinals: number[] = []
      if (!opened.seek(key, ordinals, most)) return false
      for (let i = 0; i < ordinals.length; i++) {
        const ordinal = ordinals[i]!
        const item = itemOf(items, ordinal)
        if (item === undefined) continue
        if (item.gone !== undefined) return false
        fragments.push(item.fragment)
        offsets.push(item.at + ordinal - item.first)
      }
    }
    return true
  }

  /**
   * Map rows of a segment to rows of fragments, row by row. This is faster if there are fewer rows than items in the
   * row mapping.
   */
  *#mapFewRows(
    rows: Uint32Array,
    items: readonly CoverItem[],
    found: Map<number, RowSet>,
    pacer: Pacer,
  ): Task<void> {
    for (let from = 0, to: number; from < rows.length; from = to) {
      const item = itemOf(items, rows[from]!)
      to = from + 1
      if (item === undefined) continue
      while (to < rows.length && rows[to]! < item.first + item.count) to++
      const own = rows.subarray(from, to).map(each => each - item.first)
      const mapped = this.#mapRows(RowSet.of(item.count, own), { ...item, first: 0 })
      add(found, item.fragment, yield* wait(mapped))
      if (pacer.due()) yield pacer.pause()
    }
  }

  /**
   * Take the rows of a segment that belong to one item of the row mapping. Return the rows of the item's fragment to
   * which they correspond.
   */
  #mapRows(rows: RowSet, { first, count, fragment, at, gone }: CoverItem): MaybePromise<RowSet> {
    const { rows: length } = this.#fragments.get(fragment)!
    const own = rows.slice(first, first + count)
    if (own.isNone) return RowSet.none(length)
    if (gone === undefined) return own.shifted(length, at)
    return this.#mapRemainingRows(own, length, at, gone)
  }

  async #mapRemainingRows(own: RowSet, length: number, at: number, gone: StoredRuns): Promise<RowSet> {
    const left = await this.#arrived(readStoredRuns(this.#source, this.#location, gone, NumberRuns.decode))
    const offsets = own.toIndices().slice()
    let kept = 0
    let run = 0
    // `left` has the runs of rows that a compaction removed. For each row, the loop skips the runs that end before the
    // row. `ranks[run]` is the number of rows in the skipped runs.
    const { starts, ranks } = left
    for (let i = 0; i < offsets.length; i++) {
      const row = offsets[i]!
      while (run < starts.length && starts[run]! + (ranks[run + 1]! - ranks[run]!) <= row) run++
      if (run < starts.length && starts[run]! <= row) continue
      offsets[kept++] = at + row - ranks[run]!
    }
    return RowSet.of(length, offsets.subarray(0, kept))
  }

  /** Wait for a read. If it fails because the version has expired, throw an error that says so. */
  #arrived<T>(loading: MaybePromise<T>): MaybePromise<T> {
    return arrived(this.#reading, loading, undefined)
  }

  async load(pacer: Pacer): Promise<void> {
    for (const { segment } of this.#cover.segments) await this.#open(segment)
    if (!this.#source.memory.canHold(this.#bytes())) return
    for (const { segment } of this.#cover.segments) {
      const pages = await waitedFor(this.#reading, this.#pagesOf(segment), undefined)
      await waitedFor(this.#reading, pages.loadAll(pacer), pacer.signal)
    }
  }

  #open(segment: IndexSegment): MaybePromise<ScalarSegment> {
    let opening = this.#opened.get(segment.file)
    if (opening === undefined) {
      const begun = waitedFor(this.#reading, this.#openNew(segment), undefined)
      opening = begun
      this.#opened.set(segment.file, opening)
      begun.then(
        opened => this.#opened.set(segment.file, opened),
        () => this.#opened.delete(segment.file),
      )
    }
    return opening
  }

  async #openNew(segment: IndexSegment): Promise<ScalarSegment> {
    const pages = await this.#pagesOf(segment)
    const { openSegment } = await opener()
    return openSegment(this.kind, segment.rows, pages)
  }

  async #pagesOf({ file, bytes, crc }: IndexSegment): Promise<StoredSegment> {
    const { store, footers, memory } = this.#source
    const path = `${this.#location}/${filePath('indexes', file)}`
    const footer = await footers.get(path, () => readFooter(store, path, { bytes, crc }))
    const patience = pagePatienceFor(this.#bytes(), memory)
    return new StoredSegment(this.#source, this.#reading, path, footer, patience)
  }

  /** Bytes of the files of all segments. */
  #bytes(): number {
    return this.#cover.segments.reduce((sum, { segment }) => sum + segment.bytes, 0)
  }
}

/** Reads the columns of a segment's file, and caches them in the memory budget of the root. */
class StoredSegment implements SegmentFile {
  readonly batchRows: readonly number[]
  readonly #source: TableSource
  readonly #reading: ReadVersion
  readonly #path: string
  readonly #layout: FileLayout
  readonly #patience: number
  readonly #width: number
  /** Cache keys by batch and column. Keys are kept, because JavaScript hashes a string object only once. */
  readonly #keys: string[] = []
  /** By column: settles when the reads that `expect` began have ended. */
  readonly #expected = new Map<number, Promise<unknown>>()

  constructor(source: TableSource, reading: ReadVersion, path: string, layout: FileLayout, patience: number) {
    this.#source = source
    this.batchRows = layout.batches.map(({ length }) => length)
    this.#reading = reading
    this.#path = path
    this.#layout = layout
    this.#patience = patience
    this.#width = layout.schema.fields.length
  }

  column(batch: number, column: number): MaybePromise<Column> {
    const source = this.#source
    const field = this.#layout.schema.fields[column]!
    const loading = source.columns.get(
      this.#keyOf(batch, column),
      claim => readColumn(source, { path: this.#path, layout: this.#layout, batch, column, field }, claim),
      this.#path,
    )
    return whenResolved(arrived(this.#reading, loading, undefined), loaded => loaded.column)
  }

  /** Load all columns of all batches. */
  async loadAll(pacer: Pacer): Promise<void> {
    for (let batch = 0; batch < this.batchRows.length; batch++) {
      for (let column = 0; column < this.#width; column++) await this.column(batch, column)
      if (pacer.due()) await pacer.pause()
    }
  }

  peek(batch: number, column: number): Column | undefined {
    return this.#source.columns.peek(this.#keyOf(batch, column))?.column
  }

  rows(runs: readonly RowRun[], column: number, pacer: Pacer): MaybePromise<readonly ColumnRows[]> {
    const { columns } = this.#source
    const found: ColumnRows[] = []
    for (const { batch } of runs) {
      const there = columns.peek(this.#keyOf(batch, column))
      if (there === undefined) {
        const expected = this.#expected.get(column)
        const fetching =
          expected === undefined
            ? this.#fetched(found, runs, column, pacer)
            : this.#fetchedAfter(expected, runs, column, pacer)
        return arrived(this.#reading, runTask(fetching), pacer.signal)
      }
      found.push({ column: there.column, from: 0 })
    }
    return found
  }

  expect(runs: readonly RowRun[], column: number, pacer: Pacer): void {
    // On a disk, a needless read takes longer than a wait for the read before it.
    if (this.#source.store.replace === undefined) return
    const reading = runTask(this.#fetched([], runs, column, pacer))
    if (!(reading instanceof Promise)) return
    // The read of a caller reports the error.
    const ended: Promise<unknown> = Promise.all([this.#expected.get(column), reading]).catch(() => {})
    this.#expected.set(column, ended)
    ended.then(() => {
      if (this.#expected.get(column) === ended) this.#expected.delete(column)
    })
  }

  /** Read runs as `rows` does, after the running reads that `expect` began. */
  *#fetchedAfter(
    expected: Promise<unknown>,
    runs: readonly RowRun[],
    column: number,
    pacer: Pacer,
  ): Task<readonly ColumnRows[]> {
    yield expected
    return yield* this.#fetched([], runs, column, pacer)
  }

  /**
   * Read the columns of the runs that `found` lacks. `found`: the columns of the first runs, which were in the cache.
   */
  *#fetched(
    found: ColumnRows[],
    runs: readonly RowRun[],
    column: number,
    pacer: Pacer,
  ): Task<readonly ColumnRows[]> {
    const fetcher = new RowFetcher(this.#source, pacer)
    const field = this.#layout.schema.fields[column]!
    for (let i = found.length; i < runs.length; i++) {
      const { batch, from, to } = runs[i]!
      const range = this.#layout.batches[batch]?.columns[column]
      const rows = Uint32Array.from({ length: to - from }, (_, at) => from + at)
      const isThere = this.#source.columns.has(this.#keyOf(batch, column))
      if (range === undefined || isThere || isLoadedWhole(range, rows, this.#patience)) {
        found[i] = { column: yield* wait(this.column(batch, column)), from: 0 }
      } else {
        yield* fetcher.fetch({ path: this.#path, layout: this.#layout, range, field }, rows, came => {
          found[i] = { column: came, from }
        })
      }
    }
    yield* fetcher.finish()
    return found
  }

  #keyOf(batch: number, column: number): string {
    const at = batch * this.#width + column
    this.#keys[at] ??= `${this.#path}/${batch}/${column}`
    return this.#keys[at]
  }
}

/** Return the item of a row mapping that has a row of the segment. Undefined if no item has it. */
function itemOf(items: readonly CoverItem[], ordinal: number): CoverItem | undefined {
  let [low, high] = [0, items.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (items[middle]!.first <= ordinal) low = middle + 1
    else high = middle
  }
  const item = items[low - 1]
  return item !== undefined && ordinal < item.first + item.count ? item : undefined
}

function add(found: Map<number, RowSet>, fragment: number, rows: RowSet): void {
  if (rows.isNone) return
  const known = found.get(fragment)
  found.set(fragment, known === undefined ? rows : known.or(rows))
}
