/**
 * Reads the columns, row ids and live rows of one version of a table.
 *
 * A **part** is one record batch of one fragment: the unit that is loaded, filtered and searched. Versions, files and
 * parts are immutable, so readers of all versions that contain a file can use the same cached data. Several callers may
 * wait for the same load. Therefore the signal of a caller ends only the wait of this caller, never the load.
 */
import type { Batch, Column } from '../arrow/column.js'
import type { FileLayout } from '../arrow/file-reader.js'
import { nullColumn } from '../arrow/fill.js'
import { decodeBatch } from '../arrow/inline-batch.js'
import { aligned, cellBytes, hasCells } from '../arrow/layout.js'
import { withOwnDictionary } from '../arrow/own-dictionary.js'
import { retyped } from '../arrow/retype.js'
import { equalTypes } from '../arrow/same-type.js'
import { takeColumn } from '../arrow/take.js'
import type { DataType, Schema } from '../arrow/types.js'
import { slotKey } from '../commit/blob-log.js'
import type { SlotReader } from '../commit/slots.js'
import { assert, corrupted } from '../errors.js'
import type { Analyzers } from '../indexes/text/analysis/analyzers.js'
import type { VectorsBeside } from '../indexes/vector/segment.js'
import type { VectorSegment } from '../kernels/vector-segment.js'
import { filePath } from '../manifest/file-names.js'
import { FragmentsById } from '../manifest/fragments-by-id.js'
import {
  type DataFile,
  type Fragment,
  type InlineFile,
  type LanceColumns,
  type Layout,
  liveRows,
  type RunsPlace,
  runsKey,
  type StoredFile,
} from '../manifest/layout.js'
import { arrowSchema, type TableField, type TableSchema } from '../manifest/table-schema.js'
import { Bitset } from '../primitives/bitset.js'
import type { Claim, Load } from '../primitives/memory.js'
import { NumberRuns } from '../primitives/number-runs.js'
import { Pacer } from '../primitives/pacer.js'
import { partitionPoint } from '../primitives/partition-point.js'
import { RowSet } from '../primitives/row-set.js'
import type { RunSequence } from '../primitives/run-sequence.js'
import { type MaybePromise, runTask, type Task, wait, whenResolved } from '../primitives/task.js'
import { UnorderedRuns } from '../primitives/unordered-runs.js'
import { fieldAt } from '../sql/batch-columns.js'
import { readStretches, type StretchZones } from '../sql/zones/stretches.js'
import { hasZones, readZone, type Zone } from '../sql/zones/zone.js'
import { arrived, type ReadVersion } from './arrived.js'
import { BesideReader } from './beside-vectors.js'
import { bytesToRead, readColumn, readFooter } from './data-file.js'
import { fileOf } from './file-of.js'
import { type InlineRows, inlineRows, NoIndex } from './inline-keys.js'
import { inlineZone } from './inline-zones.js'
import {
  lanceKey,
  lanceParts,
  lanceRowBytes,
  readLanceColumn,
  readLanceRows,
  readLanceVectors,
} from './lance-columns.js'
import { readLanceDeletions } from './lance-deletions.js'
import { type LoadedColumn, loadedColumn } from './loaded-column.js'
import { lanceReadCost } from './read-cost.js'
import { RowFetcher, type StoredColumn } from './row-fetcher.js'
import { readRun } from './run-reader.js'
import { checkedRuns, type DecodeRuns, readStoredRuns } from './stored-runs.js'
import type { IndexReader } from './table-index.js'
import type { TableSource } from './table-source.js'
import type { TextIndexReader } from './text-index.js'
import {
  elementKind,
  plainVectors,
  presentVectors,
  type VectorField,
  type Vectors,
  vectorLists,
  vectorSegment,
  vectorsOf,
} from './vector-column.js'
import type { VectorIndexReader } from './vector-index.js'
import { inFile } from './verified-range.js'
import { isLoadedWhole, isSpent, patienceFor, smallBytes } from './whole-columns.js'

/** A record batch of a fragment: the unit that is loaded, filtered and searched. */
export interface Part {
  readonly fragment: Fragment
  /** The number of the record batch. All files of a fragment have the same record batches. */
  readonly batch: number
  /** Offset of the part's first row in the fragment. */
  readonly first: number
  readonly rows: number
}

/** Some rows of a part. */
export interface SomeRows {
  readonly part: Part
  /** Row numbers in the part, in any order. */
  readonly offsets: Uint32Array
  /** The places of the columns that are read (`KnownPart.places`). Absent: the reader finds them. */
  readonly columnPlaces?: readonly ColumnPlace[]
}

/** Where a column of a part is stored. Null: in no file, because the fragment was written before the field was added. */
type ColumnPlace = {
  readonly file: DataFile
  /** The key of the column in the cache. */
  readonly key: string
  /** The path of the file. Null: the rows are inline. */
  readonly path: string | null
} | null

/** Some rows of a column. `rows`: the numbers of these rows in `column`. */
export interface RowsOfColumn {
  readonly column: Column
  /** As in `LoadedColumn`. */
  readonly segment: VectorSegment | null
  readonly rows: Uint32Array
  /** True if `column` has exactly these rows and shares no memory with the cache. Dictionaries are always shared. */
  readonly isOwn: boolean
}

/** Consecutive rows of a part's column. */
export interface RunOfColumn {
  readonly column: Column
  /** The number of the first row of `column` in the part. */
  readonly from: number
}

/** Vectors of some rows. `rows`: the numbers of these rows in `vectors`. */
interface VectorsOfRows {
  readonly vectors: Vectors
  readonly rows: Uint32Array
}

/**
 * The minimum `share` (see `TableReader.rows`) for callers that read a column stretch by stretch. It is large, because
 * such callers may read most of the rows later again.
 */
export const stretchPatience = 1

/** Maximum rows of a fragment of a data file that reads of single rows find by value without an index. */
const smallFragment = 16 * 1024

/** Maximum rows of a table whose rows are found by value without an index (`TableReader.noIndex`). */
const fewRows = 128 * 1024
/** The definition of the object that `TableReader.noIndex` returns. */
const everyRow = {}

/**
 * Maximum bytes of columns that a scan in object storage reads ahead. About as many bytes arrive in the time in which the
 * scan would wait for a few reads, one after the other.
 */
const aheadMax = 32 * 1024 * 1024

/** Maximum number of parts of Lance that a scan in object storage reads ahead. */
const lancePartsAhead = 16

/**
 * Maximum bytes of columns that are loaded at the same time to read some of their rows. With a cache that cannot hold four
 * times as many bytes, they are loaded one after the other.
 */
const loadedTogether = 16 * 1024 * 1024

/** Number of rows of Lance files that are read one by one at the same time. */
const singlesTogether = 256

/** Minimum number of fragments of inline rows from which on queries find inline rows by value without an index. */
const manyInline = 32

/** Reads one version of a table. See the head of this file. */
export class TableReader {
  readonly layout: Layout
  /** The scalar indexes of this version. */
  readonly indexes: readonly IndexReader[]
  /** The vector indexes of this version. */
  readonly vectorIndexes: readonly VectorIndexReader[]
  /** The text indexes of this version. */
  readonly textIndexes: readonly TextIndexReader[]
  readonly #source: TableSource
  readonly #reading: ReadVersion
  readonly #location: string
  /** By position of a fragment: the number of live rows before it. The last element is the number of all live rows. */
  #starts: Float64Array | undefined
  /** Row ids of fragments with consecutive ids. */
  readonly #ranges = new Map<Fragment, NumberRuns>()
  readonly #parts = new Map<Fragment, MaybePromise<readonly Part[]>>()
  readonly #columnBytes = new Map<TableField, number>()
  #inlineIndexes: readonly IndexReader[] | undefined
  #arrowSchema: Schema | undefined

  /** `location`: the table's folder, relative to the root. */
  constructor(
    source: TableSource,
    location: string,
    layout: Layout,
    indexes: readonly IndexReader[] = [],
    vectorIndexes: readonly VectorIndexReader[] = [],
    textIndexes: readonly TextIndexReader[] = [],
  ) {
    this.#source = source
    this.#reading = { source, layout }
    this.#location = location
    this.layout = layout
    this.indexes = indexes
    this.vectorIndexes = vectorIndexes
    this.textIndexes = textIndexes
  }

  /** The text analyzers of this process. */
  get analyzers(): Analyzers {
    return this.#source.analyzers
  }

  /**
   * Maximum bytes of columns that a scan reads ahead. 0 if a read takes little time, unlike in object storage, or if the
   * cache is small.
   */
  get aheadBytes(): number {
    const { store, memory } = this.#source
    return store.replace !== undefined && memory.canHold(4 * aheadMax) ? aheadMax : 0
  }

  get schema(): TableSchema {
    return this.layout.schema
  }

  /** List all parts, in row order. Reads the footers of data files only. */
  async parts(signal?: AbortSignal): Promise<readonly Part[]> {
    const parts: Part[] = []
    for (const fragment of this.layout.fragments) parts.push(...(await this.partsOf(fragment, signal)))
    return parts
  }

  /**
   * List the parts of one fragment, in row order. Each call returns the same objects. Reads only the footer of one data
   * file.
   */
  partsOf(fragment: Fragment, signal?: AbortSignal): MaybePromise<readonly Part[]> {
    let parts = this.#parts.get(fragment)
    if (parts === undefined) {
      parts = this.#listParts(fragment)
      this.#parts.set(fragment, parts)
      parts.then(
        listed => this.#parts.set(fragment, listed),
        () => this.#parts.delete(fragment),
      )
    }
    return this.#arrived(parts, signal)
  }

  /** Return the number of live rows before a fragment. */
  liveBeforeFragment(fragment: Fragment): number {
    return this.#liveStarts()[this.positionOf(fragment.id)!]!
  }

  /**
   * Return the position, in the version's list of fragments, of the fragment with the live row `rowOffset`. The live
   * rows of the version are numbered from 0. If there is no such row, return the number of fragments.
   */
  fragmentAt(rowOffset: number): number {
    const starts = this.#liveStarts()
    return partitionPoint(this.layout.fragments.length, i => starts[i + 1]! <= rowOffset)
  }

  /**
   * Return the position of the fragment with this id in the version's list of fragments. Return undefined if the
   * version does not have the fragment.
   */
  positionOf(id: number): number | undefined {
    return FragmentsById.of(this.layout.fragments).positionOf(id)
  }

  /** Return the fragment with this id; undefined if the version does not have it. */
  fragmentOf(id: number): Fragment | undefined {
    return FragmentsById.of(this.layout.fragments).get(id)
  }

  /**
   * Return the inline rows by the values of the column of `index`. Null if the column is a field of a struct. Reads the
   * column of inline rows that no earlier call has read.
   */
  *inlineRows(index: IndexReader, pacer: Pacer): Task<InlineRows | null> {
    const field =
      index.path.length > 1 ? undefined : this.schema.fields.find(({ name }) => name === index.path[0])
    return field === undefined ? null : yield* inlineRows(this.#source, this, field, index, pacer)
  }

  /**
   * Return what `inlineRows` returns, with the rows of small data files, if this needs no wait. Otherwise return null. A
   * later call may succeed. `field`: the column of `index`.
   */
  inlineRowsNow(index: IndexReader, field: TableField): InlineRows | null {
    try {
      const storedMax = index.definition === everyRow ? fewRows : smallFragment
      const found = runTask(inlineRows(this.#source, this, field, index, new Pacer(), storedMax))
      if (!(found instanceof Promise)) return found
      found.catch(() => {})
    } catch {
      // The caller then executes a query, which reports the error.
    }
    return null
  }

  /**
   * Return the parts of a fragment for callers that read rows with `fields` often. Return null if the parts are not known
   * without waiting.
   */
  knownParts(fragment: Fragment, fields: readonly TableField[]): readonly KnownPart[] | null {
    const parts = this.#partsNow(fragment)
    if (parts === null) return null
    const last = fragment.dead.parts.at(-1)
    return parts.map(part => {
      const liveKey = last === undefined || fragment.dead.count === 0 ? null : this.#liveKey(part, last)
      return new KnownPart(this.#source, part, liveKey, () => this.#placesOf(part, fields))
    })
  }

  /**
   * For each column, an object in place of its index: by it, queries find inline rows by value. Empty if the version has
   * few fragments of inline rows, because then checking each of them is faster.
   */
  get inlineIndexes(): readonly IndexReader[] {
    if (this.#inlineIndexes === undefined) {
      const { fragments, schema } = this.layout
      let count = 0
      for (let i = 0; i < fragments.length && count < manyInline; i++) {
        const file = fragments[i]!.files[0]
        if (file !== undefined && 'slot' in file) count++
      }
      this.#inlineIndexes = count < manyInline ? [] : schema.fields.map(field => new NoIndex(field))
    }
    return this.#inlineIndexes
  }

  /**
   * Return an object in place of the index of a column that has none: by it, `inlineRowsNow` finds all rows by value.
   * Returns undefined if the table has too many rows for this.
   */
  noIndex(field: TableField): IndexReader | undefined {
    let rows = 0
    for (const fragment of this.layout.fragments) rows += fragment.rows
    return rows <= fewRows ? new NoIndex(field, everyRow) : undefined
  }

  /** The number of live rows. */
  get liveRows(): number {
    return this.#liveStarts().at(-1)!
  }

  #liveStarts(): Float64Array {
    if (this.#starts === undefined) {
      const { fragments } = this.layout
      const starts = new Float64Array(fragments.length + 1)
      for (let i = 0; i < fragments.length; i++) starts[i + 1] = starts[i]! + liveRows(fragments[i]!)
      this.#starts = starts
    }
    return this.#starts
  }

  /**
   * Return the min/max statistics of a fragment's column that the manifest records, or null if it records none. The
   * statistics include deleted rows. Reads nothing.
   */
  zone(fragment: Fragment, field: TableField): Zone | null {
    return recordedZone(fragment, field, fileOf(fragment, field))
  }

  /**
   * Return the min/max statistics of a fragment's column as `zone` does. The manifest records no statistics of inline
   * rows. This method computes them if the column is in the cache; otherwise it returns null. So a later call may
   * return statistics where an earlier call returned null.
   */
  zoneByNow(fragment: Fragment, field: TableField): Zone | null {
    const file = fileOf(fragment, field)
    const recorded = recordedZone(fragment, field, file)
    if (recorded !== null || file === undefined || !('slot' in file)) return recorded
    return inlineZone(file, field, () => this.#source.columns.peek(keyOfInline(file, field))?.column)
  }

  /**
   * Return the min/max statistics of the stretches of a part. Return null if the file has none. Reads the file's
   * footer.
   */
  stretches(part: Part, field: TableField, signal?: AbortSignal): MaybePromise<StretchZones | null> {
    const file = fileOf(part.fragment, field)
    if (file === undefined || !('file' in file) || !hasZones(field.type)) return null
    return whenResolved(this.#arrived(this.#footer(file), signal), ({ batches }) => {
      const zones = batches[part.batch]?.columns[file.fields.indexOf(field.id)]?.zones ?? null
      return zones === null || part.rows === 0
        ? null
        : inFile(this.#path(file.file), () => readStretches(zones, field.type))
    })
  }

  /** Return whether `column` would return this column of a part without reading a data file. */
  holds(part: Part, field: TableField): boolean {
    const file = fileOf(part.fragment, field)
    if (file === undefined || 'slot' in file) return true
    return this.#source.columns.has(this.#keyOf(file, part, field))
  }

  /** Read a column of one part. All its values are null if the fragment was written before the field was added. */
  column(part: Part, field: TableField, signal?: AbortSignal): MaybePromise<LoadedColumn> {
    const file = fileOf(part.fragment, field)
    if (file === undefined) return loadedColumn(nullColumn(field.type, part.rows))
    const load: Load<LoadedColumn> = claim => {
      if ('slot' in file) return this.#inlineColumn(file, field)
      if ('lance' in file) return this.#lanceRows(file, part, field, 0, part.rows, claim)
      return this.#storedColumn(file, part, field, claim)
    }
    return this.#loaded(this.#keyOf(file, part, field), file, field, load, signal)
  }

  /**
   * Read a whole column of a part into memory that no other code uses, without the cache. Returns null if this would take
   * more time than a copy of the cached column: it is in the cache, or it is not a column of vectors in a file of Lance.
   */
  ownColumn(part: Part, field: TableField, signal?: AbortSignal): MaybePromise<Column> | null {
    const file = fileOf(part.fragment, field)
    if (file === undefined || !('lance' in file) || elementKind(field.type) === null) return null
    if (this.#source.columns.has(this.#keyOf(file, part, field))) return null
    const range = { fragmentRows: part.fragment.rows, from: part.first, to: part.first + part.rows }
    const reading = readLanceVectors(this.#source, this.#location, file, field, range)
    return whenResolved(
      this.#arrived(reading, signal),
      column => asOfType(loadedColumn(column), field).column,
    )
  }

  #loaded(
    key: string,
    file: DataFile,
    field: TableField,
    load: Load<LoadedColumn>,
    signal: AbortSignal | undefined,
  ): MaybePromise<LoadedColumn> {
    const loading = this.#source.columns.get(key, load, this.#blobKey(file))
    return whenResolved(this.#arrived(loading, signal), loaded => asOfType(loaded, field))
  }

  /**
   * Return whether to read columns of a part in several runs of rows. This is true if the cache has no space for the
   * columns of the part, and no space for half of the columns of the table.
   */
  isLong(part: Part, fields: readonly TableField[]): boolean {
    const bytes = this.storedBytes(part, fields)
    const { memory } = this.#source
    return !memory.canHold(bytes) && !memory.canHold((bytes / part.rows) * (this.liveRows / 2))
  }

  /**
   * Read rows `from` to `to - 1` of a part's column. Returns the whole column if it is in the cache, is inline, or has
   * at most `smallBytes` bytes.
   */
  run(
    part: Part,
    field: TableField,
    from: number,
    to: number,
    signal?: AbortSignal,
  ): MaybePromise<RunOfColumn> {
    return runTask(this.#runOf(part, field, from, to, signal))
  }

  *#runOf(
    part: Part,
    field: TableField,
    from: number,
    to: number,
    signal: AbortSignal | undefined,
  ): Task<RunOfColumn> {
    const file = fileOf(part.fragment, field)
    if (file !== undefined && 'lance' in file) {
      const key = this.#keyOf(file, part, field)
      if (this.storedBytes(part, [field]) > smallBytes && !this.#source.columns.has(key)) {
        const load: Load<LoadedColumn> = claim => this.#lanceRows(file, part, field, from, to, claim)
        const { column } = yield* wait(this.#loaded(`${key}/${from}-${to}`, file, field, load, signal))
        return { column, from }
      }
    }
    if (file !== undefined && 'file' in file) {
      const key = this.#keyOf(file, part, field)
      const layout = yield* wait(this.#arrived(this.#footer(file), signal))
      const range = layout.batches[part.batch]?.columns[file.fields.indexOf(field.id)]
      if (range !== undefined && range.bytes > smallBytes && !this.#source.columns.has(key)) {
        const stored = { path: this.#path(file.file), layout, range, field }
        const load: Load<LoadedColumn> = async claim => {
          claim((range.bytes * (to - from)) / part.rows)
          return loadedColumn(await readRun(this.#source, stored, from, to))
        }
        const { column } = yield* wait(this.#loaded(`${key}/${from}-${to}`, file, field, load, signal))
        return { column, from }
      }
    }
    const { column } = yield* wait(this.column(part, field, signal))
    return { column, from: 0 }
  }

  /**
   * Read some rows of parts. Returns an array for each element of `some`, with one element per field.
   *
   * A column is loaded whole if it is small, or if reading the blocks with the rows would cost as much. Otherwise only
   * the blocks with the rows are read. When the cost of such reads reaches a share of the cost of loading the column,
   * the column is loaded whole too (`patienceFor`). `share`: the minimum of this share, default 0.
   */
  rows(
    some: readonly SomeRows[],
    fields: readonly TableField[],
    pacer: Pacer,
    share = 0,
  ): MaybePromise<readonly (readonly RowsOfColumn[])[]> {
    const found: RowsOfColumn[][] = []
    const missing: MissingRows[] = []
    for (let at = 0; at < some.length; at++) {
      const { part, offsets, columnPlaces = this.#placesOf(part, fields) } = some[at]!
      const own: RowsOfColumn[] = new Array(fields.length)
      for (let to = 0; to < fields.length; to++) {
        const field = fields[to]!
        const place = columnPlaces[to]!
        if (place === null) {
          own[to] = ownRows(nullColumn(field.type, offsets.length))
          continue
        }
        const loaded = this.#source.columns.peek(place.key)
        if (loaded === undefined) missing.push({ own, to, field, place, part, offsets })
        else {
          const { column, segment } = asOfType(loaded, field)
          own[to] = { column, segment, rows: offsets, isOwn: false }
        }
      }
      found.push(own)
    }
    if (missing.length === 0) return found
    try {
      const adding = runTask(this.#addMissing(missing, fields, pacer, share))
      return whenResolved(this.#arrived(adding, pacer.signal), () => found)
    } catch (error) {
      return this.#arrived(Promise.reject(error), pacer.signal)
    }
  }

  *#addMissing(
    missing: readonly MissingRows[],
    fields: readonly TableField[],
    pacer: Pacer,
    share: number,
  ): Task<void> {
    for (const { place } of missing) this.#prefetchFooter(place)
    const together = this.#source.memory.canHold(4 * loadedTogether) ? loadedTogether : 0
    const fetcher = new RowFetcher(this.#source, pacer)
    const patience = Math.max(share, patienceFor(this.#bytesOf(fields), this.#source.memory))
    let singles: { readonly rows: MissingRows; readonly reading: Promise<Column> }[] = []
    let singleRows = 0
    function* finishSingles(): Task<void> {
      for (const { rows, reading } of singles) {
        const { column } = asOfType(loadedColumn(yield* wait(reading)), rows.field)
        rows.own[rows.to] = ownRows(column)
      }
      singles = []
      singleRows = 0
    }
    let loads: { readonly rows: MissingRows; readonly loading: MaybePromise<LoadedColumn> }[] = []
    let bytes = 0
    function* loaded(): Task<void> {
      for (const { rows, loading } of loads) {
        const { column } = yield* wait(loading)
        rows.own[rows.to] = ownRows(takeColumn(column, rows.offsets))
        if (pacer.due()) yield pacer.pause()
      }
      loads = []
      bytes = 0
    }
    for (const rows of missing) {
      const { own, to, part, field, offsets } = rows
      const stored = yield* this.#storedRows(rows, patience)
      if (stored !== null) {
        yield* fetcher.fetch(stored, offsets, column => {
          own[to] = ownRows(column)
        })
        continue
      }
      const single = this.#singleLanceRows(rows, patience)
      if (single !== null) {
        singles.push({ rows, reading: single })
        singleRows += offsets.length
        if (singleRows >= singlesTogether) yield* finishSingles()
        continue
      }
      // Limit the columns that are in memory together.
      bytes += this.storedBytes(part, [field])
      if (bytes > together) yield* loaded()
      const loading = this.column(part, field, pacer.signal)
      if (loading instanceof Promise) loading.catch(() => {})
      loads.push({ rows, loading })
    }
    // Blocks and columns are read at the same time.
    yield* fetcher.finish()
    yield* finishSingles()
    yield* loaded()
  }

  /**
   * Start to read rows of a Lance table one by one. Returns null if the column is in another file, or is to be loaded
   * whole.
   */
  #singleLanceRows(
    { place: { file }, part, field, offsets }: MissingRows,
    patience: number,
  ): Promise<Column> | null {
    if (!('lance' in file)) return null
    const bytes = lanceRowBytes(file, field)
    if (bytes === null) return null
    if (isSpent(part, bytes * part.rows, offsets.length * (bytes + lanceReadCost), patience)) return null
    const { rows: fragmentRows } = part.fragment
    const rows = offsets.map(row => part.first + row)
    const reading = readLanceRows(this.#source, this.#location, file, field, { fragmentRows, rows })
    reading.catch(() => {})
    return reading
  }

  /** Start reading the footer of the file that contains a column. */
  #prefetchFooter({ file, path }: NonNullable<ColumnPlace>): void {
    if (path === null || this.#source.footers.has(path)) return
    const footer = this.#footerAt(path, file as StoredFile)
    if (footer instanceof Promise) footer.catch(() => {})
  }

  /**
   * Return the location of a column whose rows are to be read in blocks. Return null if the column is to be loaded
   * whole.
   */
  *#storedRows(
    { place: { file, path }, part, field, offsets }: MissingRows,
    patience: number,
  ): Task<StoredColumn | null> {
    if (path === null) return null
    const layout = yield* wait(this.#footerAt(path, file as StoredFile))
    const range = layout.batches[part.batch]?.columns[file.fields.indexOf(field.id)]
    if (range === undefined || isLoadedWhole(range, offsets, patience)) return null
    return { path, layout, range, field }
  }

  /** Return the places of columns of a part. */
  #placesOf(part: Part, fields: readonly TableField[]): readonly ColumnPlace[] {
    return fields.map(field => {
      const file = fileOf(part.fragment, field)
      if (file === undefined) return null
      return {
        file,
        key: this.#keyOf(file, part, field),
        path: 'file' in file ? this.#path(file.file) : null,
      }
    })
  }

  /** Estimate the stored size in bytes of columns, for all fragments of the table. */
  #bytesOf(fields: readonly TableField[]): number {
    let sum = 0
    for (const field of fields) {
      let bytes = this.#columnBytes.get(field)
      if (bytes === undefined) {
        bytes = 0
        for (const fragment of this.layout.fragments) {
          const file = fileOf(fragment, field)
          if (file !== undefined) bytes += bytesOfField(file, fragment, field)
        }
        this.#columnBytes.set(field, bytes)
      }
      sum += bytes
    }
    return sum
  }

  /**
   * Return the stored size of a part's columns in bytes. If the footer of a file is not in the cache, the size is an
   * estimate: all columns of the file count as equally large.
   */
  storedBytes(part: Part, fields: readonly TableField[]): number {
    const { fragment, batch, rows } = part
    let bytes = 0
    for (const field of fields) {
      const file = fileOf(fragment, field)
      if (file === undefined) continue
      const footer = 'file' in file ? this.#source.footers.peek(this.#path(file.file)) : undefined
      const range = footer?.batches[batch]?.columns[file.fields.indexOf(field.id)]
      bytes +=
        range === undefined ? ((file.bytes / file.fields.length) * rows) / fragment.rows : bytesToRead(range)
    }
    return bytes
  }

  /** Start to load columns of a part for later calls, if the cache has space for them and has their footers. */
  prefetch(part: Part, fields: readonly TableField[]): void {
    let bytes = 0
    for (const field of fields) {
      const file = fileOf(part.fragment, field)
      if (file === undefined || 'slot' in file) continue
      if ('lance' in file) {
        bytes += this.storedBytes(part, [field])
        continue
      }
      const range = this.#source.footers.peek(this.#path(file.file))?.batches[part.batch]?.columns[
        file.fields.indexOf(field.id)
      ]
      // The footer is not in the cache. A later call must read it, and can then read the column.
      if (range === undefined) return
      bytes += bytesToRead(range)
    }
    if (!this.#source.memory.canHold(bytes)) return
    for (const each of this.#prefetched(part, fields, bytes)) {
      for (const field of fields) {
        const loading = this.column(each, field)
        if (loading instanceof Promise) loading.catch(() => {})
      }
    }
  }

  /**
   * Return the parts to load when a part is prefetched. In object storage, these are also the parts of Lance after it,
   * because these parts are small. `bytes`: the size of the columns of `part`.
   */
  #prefetched(part: Part, fields: readonly TableField[], bytes: number): readonly Part[] {
    const { aheadBytes } = this
    const isLance = fields.some(field => {
      const file = fileOf(part.fragment, field)
      return file !== undefined && 'lance' in file
    })
    if (aheadBytes === 0 || !isLance) return [part]
    const count = Math.min(lancePartsAhead, Math.max(1, Math.floor(aheadBytes / Math.max(1, bytes))))
    const parts = this.#partsNow(part.fragment) ?? [part]
    return parts.slice(part.batch, part.batch + count)
  }

  /** Read the vectors of a part into memory that the kernels can read. */
  vectors(part: Part, field: VectorField, signal?: AbortSignal): MaybePromise<Vectors> {
    return whenResolved(this.column(part, field.column, signal), loaded =>
      this.#vectorsIn(loaded, part, field, signal),
    )
  }

  #vectorsIn(
    { column, segment }: Pick<LoadedColumn, 'column' | 'segment'>,
    part: Part,
    field: VectorField,
    signal: AbortSignal | undefined,
  ): MaybePromise<Vectors> {
    const own = fieldAt(column, field.path.slice(1))
    const vectors = vectorsOf(own)
    const known = { present: presentVectors(vectors), lists: vectorLists(own) }
    if (segment !== null) return { segment, ...known }
    const file = fileOf(part.fragment, field.column)
    const convert = async () => vectorSegment(vectors)
    const converting =
      file === undefined
        ? convert()
        : this.#source.vectors.get(this.#keyOf(file, part, field), convert, this.#blobKey(file))
    return whenResolved(this.#arrived(converting, signal), converted => ({ segment: converted, ...known }))
  }

  /** Read vectors of some rows of parts into memory that the kernels can read. Reads columns as `rows` does. */
  vectorsOf(
    some: readonly SomeRows[],
    field: VectorField,
    pacer: Pacer,
  ): MaybePromise<readonly VectorsOfRows[]> {
    return runTask(this.#vectorsOf(some, field, pacer))
  }

  *#vectorsOf(some: readonly SomeRows[], field: VectorField, pacer: Pacer): Task<readonly VectorsOfRows[]> {
    const found: VectorsOfRows[] = []
    for (const [i, [own]] of (yield* wait(this.rows(some, [field.column], pacer))).entries()) {
      if (own!.isOwn) {
        const column = fieldAt(own!.column, field.path.slice(1))
        const vectors = vectorsOf(column)
        const known = { present: presentVectors(vectors), lists: vectorLists(column) }
        found.push({ vectors: { segment: plainVectors(vectors), ...known }, rows: own!.rows })
      } else {
        const vectors = yield* wait(this.#vectorsIn(own!, some[i]!.part, field, pacer.signal))
        found.push({ vectors, rows: own!.rows })
      }
    }
    return found
  }

  /**
   * Read all checksums of the blocks of a part's columns, for those columns whose checksums have at most `most` bytes.
   */
  async readChecksums(part: Part, most: number): Promise<void> {
    for (const file of part.fragment.files) {
      if (!('file' in file)) continue
      const layout = await this.#footer(file)
      for (const range of layout.batches[part.batch]?.columns ?? [])
        await this.#source.checksums.load(this.#path(file.file), layout, range, most)
    }
  }

  /**
   * Return a reader of the vectors that a segment of a vector index has beside its lists. `path`: the file of the segment.
   */
  besideReader(path: string, beside: VectorsBeside, pacer: Pacer): BesideReader {
    return new BesideReader(this.#source, path, beside, pacer, loading =>
      this.#arrived(loading, pacer.signal),
    )
  }

  /** Return the live rows of a part, as offsets in the part. Return null if all rows are live. */
  live(part: Part, signal?: AbortSignal): MaybePromise<Bitset | null> {
    const { dead } = part.fragment
    if (dead.count === 0) return null
    const last = dead.parts.at(-1)!
    const load = () => this.#loadLive(part)
    return this.#arrived(
      this.#source.live.get(this.#liveKey(part, last), load, this.#blobKeyOfRuns(last)),
      signal,
    )
  }

  /**
   * Return the cache key of a set of live rows. `last`: the newest part of the fragment's deletion vector that the set
   * takes into account.
   */
  #liveKey({ fragment, batch }: Part, last: RunsPlace): string {
    return `${this.layout.table}/${fragment.id}/${runsKey(last)}/${batch}`
  }

  /** Return the live rows of a fragment. */
  async liveIn(fragment: Fragment, pacer: Pacer): Promise<RowSet> {
    const { rows, dead } = fragment
    if (dead.count === 0) return RowSet.all(rows)
    const bits = new Bitset(rows)
    for (const part of await this.partsOf(fragment, pacer.signal)) {
      const live = await this.live(part, pacer.signal)
      if (live === null) bits.addRange(part.first, part.first + part.rows)
      else bits.addShifted(live, part.first)
      await pacer.turn()
    }
    return RowSet.ofBits(bits)
  }

  /** Return the number of live rows that precede a part in its fragment. */
  liveBefore({ fragment, first }: Part, signal?: AbortSignal): MaybePromise<number> {
    if (first === 0 || fragment.dead.count === 0) return first
    return whenResolved(this.#arrived(this.#deadOffsets(fragment), signal), dead =>
      dead.reduce((live, offsets) => live - offsets.rankOf(first), first),
    )
  }

  /** Return the row ids of a fragment, in the order of the rows. Includes deleted rows. */
  rowIds(fragment: Fragment, signal?: AbortSignal): MaybePromise<RunSequence> {
    const { ids, rows } = fragment
    if ('sequence' in ids) return ids.sequence
    if ('row0' in ids) {
      let range = this.#ranges.get(fragment)
      if (range === undefined) {
        range = NumberRuns.range(ids.row0, rows)
        this.#ranges.set(fragment, range)
      }
      return range
    }
    const decode: DecodeRuns<RunSequence> = ids.ascending === false ? UnorderedRuns.decode : NumberRuns.decode
    return this.#arrived(this.#runs(ids, decode, decode, rows), signal)
  }

  /** Wait for a load; see `arrived`. */
  #arrived<T>(loading: MaybePromise<T>, signal: AbortSignal | undefined): MaybePromise<T> {
    return arrived(this.#reading, loading, signal)
  }

  async #loadLive(part: Part): Promise<Bitset> {
    const { parts } = part.fragment.dead
    // If the live rows before the newest commits are cached, read only the rows that these commits deleted.
    for (let after = parts.length - 1; after > 0; after--) {
      const before = this.#source.live.peek(this.#liveKey(part, parts[after - 1]!))
      if (before !== undefined) return before.clone().andNot(await this.marked(part, parts.slice(after)))
    }
    return (await this.marked(part, parts)).not()
  }

  /**
   * Return the rows of a part that stored sets of rows contain, as offsets in the part. `addresses`: the stored sets,
   * which contain offsets in the fragment.
   */
  async marked(part: Part, addresses: readonly RunsPlace[], signal?: AbortSignal): Promise<Bitset> {
    const { fragment, first, rows } = part
    const marked = new Bitset(rows)
    for (const runs of await this.#arrived(this.#offsetsAt(fragment, addresses), signal)) {
      const from = runs.rankOf(first)
      const offsets = new Uint32Array(runs.rankOf(first + rows) - from)
      runs.copy(from, from + offsets.length, offsets)
      for (const offset of offsets) marked.add(offset - first)
    }
    return marked
  }

  /**
   * Return the offsets of a fragment's deleted rows, one set per part of its deletion vector. The sets are disjoint.
   */
  #deadOffsets(fragment: Fragment): Promise<readonly NumberRuns[]> {
    return this.#offsetsAt(fragment, fragment.dead.parts)
  }

  async #offsetsAt({ rows }: Fragment, addresses: readonly RunsPlace[]): Promise<readonly NumberRuns[]> {
    const all: NumberRuns[] = []
    for (const part of addresses) {
      const runs = await this.#runs(part, NumberRuns.decode, readOffsets)
      if (runs.rankOf(rows) < runs.count)
        throw corrupted(`${runsKey(part)} marks rows beyond ${rows} as deleted`)
      all.push(runs)
    }
    return all
  }

  /**
   * Read a set of row numbers from a file or an inline blob. `decode` decodes a file, `decodeInline` a blob. Throws
   * Internal ("corrupted") if the bytes are damaged, or if they do not contain `count` numbers. `count` undefined: any
   * number of numbers.
   */
  #runs<R extends RunSequence>(
    address: RunsPlace,
    decode: DecodeRuns<R>,
    decodeInline: DecodeRuns<R>,
    count?: number,
  ): MaybePromise<R> {
    if ('lance' in address)
      return readLanceDeletions(this.#source, this.#location, address) as MaybePromise<R & NumberRuns>
    if ('file' in address) return readStoredRuns(this.#source, this.#location, address, decode, count)
    const key = runsKey(address)
    const load = async () =>
      checkedRuns(decodeInline((await this.#source.slots.get(address.slot)).blob(address.blob)), key, count)
    return this.#source.runs.get(key, load, slotKey(address.slot)) as MaybePromise<R>
  }

  /** Return what `partsOf` returns, if the parts or the footer of the file are in memory. Otherwise return null. */
  #partsNow(fragment: Fragment): readonly Part[] | null {
    const known = this.#parts.get(fragment)
    if (known !== undefined && !(known instanceof Promise)) return known
    const [file] = fragment.files
    if (file === undefined || 'slot' in file) return listed(fragment, [fragment.rows])
    if ('lance' in file) return listed(fragment, lanceParts(fragment.rows))
    const footer = this.#source.footers.peek(this.#path(file.file))
    return footer === undefined ? null : listed(fragment, rowsOfBatches(footer))
  }

  async #listParts(fragment: Fragment): Promise<readonly Part[]> {
    const [file] = fragment.files
    if (file === undefined || 'slot' in file) return listed(fragment, [fragment.rows])
    if ('lance' in file) return listed(fragment, lanceParts(fragment.rows))
    return listed(fragment, rowsOfBatches(await this.#footer(file)))
  }

  #footer(file: StoredFile): MaybePromise<FileLayout> {
    return this.#footerAt(this.#path(file.file), file)
  }

  #footerAt(path: string, file: StoredFile): MaybePromise<FileLayout> {
    return this.#source.footers.get(path, () => readFooter(this.#source.store, path, file))
  }

  #keyOf(file: DataFile, part: Part, field: Pick<TableField, 'id'>): string {
    if ('slot' in file) return keyOfInline(file, field)
    if ('lance' in file) return `${this.#location}/${file.lance}/${part.batch}/${lanceKey(file, field.id)}`
    return `${this.#location}/${file.file}/${part.batch}/${field.id}`
  }

  /** Return the key of the blob that contains columns: a data file, or the slot of inline rows. */
  #blobKey(file: DataFile): string {
    if ('lance' in file) return `${this.#location}/${file.lance}`
    return 'slot' in file ? slotKey(file.slot) : this.#path(file.file)
  }

  /** Return the key of the blob that contains a set of row numbers: a file, or a slot. */
  #blobKeyOfRuns(address: RunsPlace): string {
    if ('lance' in address) return `${this.#location}/${address.lance}`
    return 'file' in address ? `${this.#location}/${filePath('rows', address.file)}` : slotKey(address.slot)
  }

  /** Read rows `from` to `to - 1` of a part's column from a data file of Lance. */
  #lanceRows(
    file: LanceColumns,
    { fragment, first }: Part,
    field: TableField,
    from: number,
    to: number,
    claim: Claim,
  ): Promise<LoadedColumn> {
    return readLanceColumn(this.#source, this.#location, file, field, {
      fragmentRows: fragment.rows,
      from: first + from,
      to: first + to,
      claim,
    })
  }

  #path(file: string): string {
    return `${this.#location}/${filePath('data', file)}`
  }

  async #storedColumn(file: StoredFile, part: Part, field: TableField, claim: Claim): Promise<LoadedColumn> {
    const footer = await this.#footer(file)
    const column = file.fields.indexOf(field.id)
    return readColumn(
      this.#source,
      { path: this.#path(file.file), layout: footer, batch: part.batch, column, field },
      claim,
    )
  }

  /**
   * Return all columns of a fragment of inline rows, for a caller that reads many fragments once. Caches nothing. Returns
   * null if the fragment has deleted rows, or was not written with the schema of this version.
   */
  async inlineBatch(fragment: Fragment, signal?: AbortSignal): Promise<Batch | null> {
    const { files, dead, rows } = fragment
    const { id, fields } = this.schema
    const [file] = files
    if (file === undefined || files.length > 1 || !('slot' in file) || dead.count > 0) return null
    if (file.schema !== id || file.fields.length !== fields.length) return null
    if (fields.some((field, i) => field.id !== file.fields[i])) return null
    const slot = await this.#arrived(this.#source.slots.get(file.slot), signal)
    this.#arrowSchema ??= arrowSchema(this.schema)
    // Copy the blob, because a view of the slot would keep the whole slot in memory.
    const batch = decodeBatch(slot.blob(file.blob).slice(), this.#arrowSchema)
    if (batch.length !== rows)
      throw corrupted(`slot ${file.slot} has ${batch.length} rows instead of ${rows}`)
    return { ...batch, columns: batch.columns.map(withOwnDictionary) }
  }

  async #inlineColumn(file: InlineFile, field: TableField): Promise<LoadedColumn> {
    const { slots } = this.#source
    const slot = await slots.get(file.slot)
    let last = lastInline.get(slots)
    if (last?.file !== file) {
      last = { file, batch: this.#decoded(file, slot.blob(file.blob)) }
      lastInline.set(slots, last)
    }
    const column: Column | undefined = last.batch.columns[file.fields.indexOf(field.id)]
    assert(column !== undefined, `slot ${file.slot} has no column of field ${field.id}`)
    // Copy the column, because a view of the slot would keep the whole slot in memory.
    return loadedColumn(withOwnDictionary(takeColumn(column, ascendingTo(column.length))))
  }

  #decoded(file: InlineFile, bytes: Uint8Array): Batch {
    const { schema, earlier } = this.layout
    const written = file.schema === schema.id ? schema : earlier.find(({ id }) => id === file.schema)
    const fields = file.fields.map(id => written?.fields.find(known => known.id === id))
    assert(
      !fields.includes(undefined),
      `slot ${file.slot} has a column of a field that is not in schema ${file.schema}`,
    )
    return decodeBatch(bytes, arrowSchema({ id: 0, fields: fields as TableField[] }))
  }
}

function rowsOfBatches({ batches }: FileLayout): readonly number[] {
  return batches.map(batch => batch.length)
}

/** Return the parts of a fragment. `batchRows`: the number of rows of each record batch. */
function listed(fragment: Fragment, batchRows: readonly number[]): readonly Part[] {
  const parts: Part[] = []
  let first = 0
  for (const [batch, rows] of batchRows.entries()) {
    parts.push({ fragment, batch, first, rows })
    first += rows
  }
  if (first !== fragment.rows) {
    throw corrupted(`fragment ${fragment.id} has ${first} rows, but its record says ${fragment.rows}`)
  }
  return parts
}

/** A part whose rows are read often. Nothing is kept in memory for this object. */
export class KnownPart {
  readonly part: Part
  readonly #source: TableSource
  /** The cache key of the live rows. Null: all rows are live. */
  readonly #liveKey: string | null
  readonly #findPlaces: () => readonly ColumnPlace[]
  #places: readonly ColumnPlace[] | null = null

  constructor(
    source: TableSource,
    part: Part,
    liveKey: string | null,
    findPlaces: () => readonly ColumnPlace[],
  ) {
    this.part = part
    this.#source = source
    this.#liveKey = liveKey
    this.#findPlaces = findPlaces
  }

  /** The places of the columns, in the order of the fields. */
  get places(): readonly ColumnPlace[] {
    this.#places ??= this.#findPlaces()
    return this.#places
  }

  /** Return the live rows as offsets in the part. Null: all rows. Undefined: the live rows are not in memory. */
  live(): Bitset | null | undefined {
    return this.#liveKey === null ? null : this.#source.live.peek(this.#liveKey)
  }
}

/** Rows of a column that is not in memory. The rows become `own[to]`. */
interface MissingRows {
  readonly own: RowsOfColumn[]
  readonly to: number
  readonly field: TableField
  readonly place: NonNullable<ColumnPlace>
  readonly part: Part
  readonly offsets: Uint32Array
}

/** Return all rows of a column that shares no memory with the cache. */
function ownRows(column: Column): RowsOfColumn {
  return { column, segment: null, rows: ascendingTo(column.length), isOwn: true }
}

/**
 * For each log, the batch of inline rows that was decoded last. Callers usually read its columns one after the other.
 * Only one batch is kept, because a batch keeps the memory of its whole slot.
 */
const lastInline = new WeakMap<SlotReader, { readonly file: InlineFile; readonly batch: Batch }>()

/**
 * Give a column the type of its field. Two versions may share a column but have different names for fields of a struct.
 */
function asOfType(loaded: LoadedColumn, { type }: TableField): LoadedColumn {
  if (equalTypes(loaded.column.type, type)) return loaded
  return { ...loaded, column: retyped(loaded.column, type) }
}

function keyOfInline({ slot, blob }: InlineFile, { id }: Pick<TableField, 'id'>): string {
  return `${slot}/${blob}/${id}`
}

/**
 * Read recorded statistics from a manifest. `file`: the file of the fragment with `field`; undefined: all values are
 * null.
 */
function recordedZone(
  { rows, zones }: Fragment,
  { id, type }: TableField,
  file: DataFile | undefined,
): Zone | null {
  if (file === undefined) return { least: null, greatest: null, nulls: rows }
  const record = zones?.[id]
  return record === undefined ? null : readZone(record, type)
}

/** Estimate the bytes of a field in a file of a fragment. The result is at most the size of the file. */
function bytesOfField(file: DataFile, { rows }: Fragment, { type }: TableField): number {
  const { bytes } = file
  const row = bytesOfRow(type)
  return row === null ? bytes : Math.min(bytes, rows * row)
}

/** Return the bytes per row of a type whose rows are equally long. Return null for other types. */
function bytesOfRow(type: DataType): number | null {
  switch (type.kind) {
    case 'null':
    case 'bool':
      return 1
    case 'fixed_size_list': {
      const element = bytesOfRow(type.child.type)
      return element === null ? null : type.size * element
    }
    default:
      return hasCells(type) && type.kind !== 'dictionary' ? cellBytes(type) : null
  }
}

/** Decode a blob of deleted rows, which consists of ascending u32 row offsets. Return null if the blob is invalid. */
function readOffsets(bytes: Uint8Array): NumberRuns | null {
  if (bytes.length % 4 !== 0) return null
  const { buffer, byteOffset } = aligned(bytes, 4, bytes.length / 4)
  const offsets = new Uint32Array(buffer, byteOffset, bytes.length / 4)
  for (let i = 1; i < offsets.length; i++) if (offsets[i]! <= offsets[i - 1]!) return null
  return NumberRuns.of(offsets)
}

function ascendingTo(rows: number): Uint32Array {
  const numbers = new Uint32Array(rows)
  for (let row = 1; row < rows; row++) numbers[row] = row
  return numbers
}
