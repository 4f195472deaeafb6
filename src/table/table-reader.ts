/**
 * A table frozen at one version: its parts, their columns, and which of their rows are alive.
 *
 * A **part** is one record batch of one fragment, the unit that is loaded, filtered and searched. Everything here
 * is immutable, so what is cached is right for every reader of every version that shares the file. Loads are shared
 * between callers, so one caller's signal ends its own wait, never the load.
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
import type { DataType } from '../arrow/types.js'
import { slotKey } from '../commit/blob-log.js'
import type { SlotReader } from '../commit/slots.js'
import { assert, corrupted } from '../errors.js'
import type { Analyzers } from '../indexes/text/analysis/analyzers.js'
import type { VectorSegment } from '../kernels/vector-segment.js'
import { filePath } from '../manifest/file-names.js'
import {
  type DataFile,
  type Fragment,
  type InlineFile,
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
import type { Pacer } from '../primitives/pacer.js'
import { partitionPoint } from '../primitives/partition-point.js'
import { RowSet } from '../primitives/row-set.js'
import type { RunSequence } from '../primitives/run-sequence.js'
import { type MaybePromise, runTask, type Task, wait, whenResolved } from '../primitives/task.js'
import { UnorderedRuns } from '../primitives/unordered-runs.js'
import { fieldAt } from '../sql/batch-columns.js'
import { readStretches, type StretchZones } from '../sql/zones/stretches.js'
import { hasZones, readZone, type Zone } from '../sql/zones/zone.js'
import { type Awaiting, arrived } from './arrived.js'
import { bytesToRead, readColumn, readFooter } from './data-file.js'
import { inlineZone } from './inline-zones.js'
import { type LoadedColumn, loadedColumn } from './loaded-column.js'
import { RowFetcher, type StoredColumn } from './row-fetcher.js'
import { readRun } from './run-reader.js'
import { checkedRuns, type DecodeRuns, readStoredRuns } from './stored-runs.js'
import type { IndexReader } from './table-index.js'
import type { TableSource } from './table-source.js'
import type { TextIndexReader } from './text-index.js'
import {
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
import { isLoadedWhole, patienceFor, smallBytes } from './whole-columns.js'

export interface Part {
  readonly fragment: Fragment
  /** Which record batch of the fragment's files. */
  readonly batch: number
  /** Offset in the fragment of the part's first row. */
  readonly first: number
  readonly rows: number
}

/** Some rows of a part, by number in it, in any order. */
export interface SomeRows {
  readonly part: Part
  readonly offsets: Uint32Array
}

/** Some rows of a column: those of `column` with the numbers `rows`. */
export interface RowsOfColumn {
  readonly column: Column
  /** As in `LoadedColumn`. */
  readonly segment: VectorSegment | null
  readonly rows: Uint32Array
  /** It has no other rows, and shares no memory with what is kept but for dictionaries. */
  readonly isOwn: boolean
}

/** Consecutive rows of a column of a part. */
export interface RunOfColumn {
  readonly column: Column
  /** The first one, by its number in the part. */
  readonly from: number
}

/** Vectors of some rows: those of `vectors` with the numbers `rows`. */
export interface VectorsOfRows {
  readonly vectors: Vectors
  readonly rows: Uint32Array
}

/** The least where rows are taken in stretches: most of these may be asked for again. */
export const stretchPatience = 1
export class TableReader {
  readonly layout: Layout
  /** Those of this version that can be asked. */
  readonly indexes: readonly IndexReader[]
  /** Those of this version that propose near vectors. */
  readonly vectorIndexes: readonly VectorIndexReader[]
  /** Those of this version that find rows by the terms of a text. */
  readonly textIndexes: readonly TextIndexReader[]
  readonly #source: TableSource
  readonly #awaiting: Awaiting
  readonly #location: string
  #starts: ReadonlyMap<Fragment, number> | undefined
  #places: ReadonlyMap<number, number> | undefined
  /** Ids that follow each other. */
  readonly #ranges = new Map<Fragment, NumberRuns>()
  readonly #parts = new Map<Fragment, MaybePromise<readonly Part[]>>()
  readonly #columnBytes = new Map<TableField, number>()

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
    this.#awaiting = { source, layout }
    this.#location = location
    this.layout = layout
    this.indexes = indexes
    this.vectorIndexes = vectorIndexes
    this.textIndexes = textIndexes
  }

  /** What cuts texts into terms in this process. */
  get analyzers(): Analyzers {
    return this.#source.analyzers
  }

  get schema(): TableSchema {
    return this.layout.schema
  }

  /** All parts, in row order. Reads the footers of data files, nothing else. */
  async parts(signal?: AbortSignal): Promise<readonly Part[]> {
    const parts: Part[] = []
    for (const fragment of this.layout.fragments) parts.push(...(await this.partsOf(fragment, signal)))
    return parts
  }

  /** The parts of one fragment, in row order; the same objects every time. Reads the footer of one data file. */
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

  /** How many living rows come before a fragment. */
  liveBeforeFragment(fragment: Fragment): number {
    return this.#liveStarts().get(fragment)!
  }

  /** The number of the first fragment that has a row with at least `rowOffset` living rows before it. */
  fragmentAt(rowOffset: number): number {
    const { fragments } = this.layout
    const end = (fragment: Fragment) => this.liveBeforeFragment(fragment) + liveRows(fragment)
    return partitionPoint(fragments.length, i => end(fragments[i]!) <= rowOffset)
  }

  /** Where a fragment stands among those of the layout, by its id; undefined for one that is not there. */
  placeOf(id: number): number | undefined {
    this.#places ??= new Map(this.layout.fragments.map((fragment, place) => [fragment.id, place]))
    return this.#places.get(id)
  }

  /** How many rows are alive. */
  get liveRows(): number {
    const last = this.layout.fragments.at(-1)
    return last === undefined ? 0 : this.liveBeforeFragment(last) + liveRows(last)
  }

  #liveStarts(): ReadonlyMap<Fragment, number> {
    if (this.#starts === undefined) {
      const starts = new Map<Fragment, number>()
      let live = 0
      for (const fragment of this.layout.fragments) {
        starts.set(fragment, live)
        live += liveRows(fragment)
      }
      this.#starts = starts
    }
    return this.#starts
  }

  /** Between which values the rows of a fragment lie, dead ones included, as far as is recorded; null when nothing is. Reads nothing. */
  zone(fragment: Fragment, field: TableField): Zone | null {
    return recordedZone(fragment, field, fileOf(fragment, field))
  }

  /**
   * The same, and what was learnt of columns that ride in slots, of which nothing is recorded: where they lie in memory, or did when
   * somebody asked. So it differs from one time to the next.
   */
  zoneByNow(fragment: Fragment, field: TableField): Zone | null {
    const file = fileOf(fragment, field)
    const recorded = recordedZone(fragment, field, file)
    if (recorded !== null || file === undefined || !('slot' in file)) return recorded
    return inlineZone(file, field, () => this.#source.columns.peek(keyOfInline(file, field))?.column)
  }

  /** Between which values the stretches of a part lie; null where its file does not say. Reads its footer. */
  stretches(part: Part, field: TableField, signal?: AbortSignal): MaybePromise<StretchZones | null> {
    const file = fileOf(part.fragment, field)
    if (file === undefined || 'slot' in file || !hasZones(field.type)) return null
    return whenResolved(this.#arrived(this.#footer(file), signal), ({ batches }) => {
      const zones = batches[part.batch]?.columns[file.fields.indexOf(field.id)]?.zones ?? null
      return zones === null || part.rows === 0
        ? null
        : inFile(this.#path(file.file), () => readStretches(zones, field.type))
    })
  }

  /** Whether a column of a part is there without reading a data file. */
  holds(part: Part, field: TableField): boolean {
    const file = fileOf(part.fragment, field)
    if (file === undefined || 'slot' in file) return true
    return this.#source.columns.has(this.#keyOf(file, part, field))
  }

  /** One column of one part; all null where the fragment was written before the field existed. */
  column(part: Part, field: TableField, signal?: AbortSignal): MaybePromise<LoadedColumn> {
    const file = fileOf(part.fragment, field)
    if (file === undefined) return loadedColumn(nullColumn(field.type, part.rows))
    const load: Load<LoadedColumn> = claim =>
      'slot' in file ? this.#inlineColumn(file, field) : this.#storedColumn(file, part, field, claim)
    return this.#loaded(this.#keyOf(file, part, field), file, field, load, signal)
  }

  #loaded(
    key: string,
    file: DataFile,
    field: TableField,
    load: Load<LoadedColumn>,
    signal: AbortSignal | undefined,
  ): MaybePromise<LoadedColumn> {
    const loading = this.#source.columns.get(key, load, this.#placeOf(file))
    return whenResolved(this.#arrived(loading, signal), loaded => asOfType(loaded, field))
  }

  /** Whether columns of a part are better read some rows at a time: they, and those of the whole table, have no room in memory. */
  isLong(part: Part, fields: readonly TableField[]): boolean {
    const bytes = this.storedBytes(part, fields)
    const { memory } = this.#source
    return !memory.canHold(bytes) && !memory.canHold((bytes / part.rows) * (this.liveRows / 2))
  }

  /** Rows `from` to `to - 1` of a column of a part; all of them where they lie in memory, or would be read anyway. */
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
    if (file !== undefined && !('slot' in file)) {
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
   * Some rows of parts: for each part those of each field. Where a column lies in memory, is small, or would be read almost
   * whole, it is asked; else no more is read than the blocks that hold the rows. `share`: of what loading a column costs, how much is
   * spent on its rows at least before it is loaded.
   */
  rows(
    some: readonly SomeRows[],
    fields: readonly TableField[],
    pacer: Pacer,
    share = 0,
  ): MaybePromise<readonly (readonly RowsOfColumn[])[]> {
    const found: RowsOfColumn[][] = []
    let isAll = true
    for (const { part, offsets } of some) {
      const own: RowsOfColumn[] = new Array(fields.length)
      for (let to = 0; to < fields.length; to++) {
        const column = this.#inMemory(part, fields[to]!)
        if (column === null) isAll = false
        else own[to] = { column: column.column, segment: column.segment, rows: offsets, isOwn: false }
      }
      found.push(own)
    }
    if (isAll) return found
    try {
      return this.#arrived(runTask(this.#addMissing(found, some, fields, pacer, share)), pacer.signal)
    } catch (error) {
      return this.#arrived(Promise.reject(error), pacer.signal)
    }
  }

  /** A column of a part, where it is there at once. */
  #inMemory(part: Part, field: TableField): Pick<LoadedColumn, 'column' | 'segment'> | null {
    const file = fileOf(part.fragment, field)
    if (file === undefined) return { column: nullColumn(field.type, part.rows), segment: null }
    const loaded = this.#source.columns.peek(this.#keyOf(file, part, field))
    return loaded === undefined ? null : asOfType(loaded, field)
  }

  *#addMissing(
    found: RowsOfColumn[][],
    some: readonly SomeRows[],
    fields: readonly TableField[],
    pacer: Pacer,
    share: number,
  ): Task<readonly (readonly RowsOfColumn[])[]> {
    for (const { part } of some) this.#askFooters(part, fields)
    const fetcher = new RowFetcher(this.#source, pacer)
    const patience = Math.max(share, patienceFor(this.#bytesOf(fields), this.#source.memory))
    for (const [at, { part, offsets }] of some.entries()) {
      const own = found[at]!
      const whole: { readonly to: number; readonly loading: MaybePromise<LoadedColumn> }[] = []
      for (const [to, field] of fields.entries()) {
        if (own[to] !== undefined) continue
        const stored = yield* this.#storedRows(part, field, offsets, patience)
        if (stored === null) {
          const loading = this.column(part, field, pacer.signal)
          if (loading instanceof Promise) loading.catch(() => {})
          whole.push({ to, loading })
        } else {
          yield* fetcher.fetch(stored, offsets, column => {
            own[to] = { column, segment: null, rows: allOf(offsets.length), isOwn: true }
          })
        }
      }
      // The columns of one part at a time: nobody holds those of all.
      for (const { to, loading } of whole) {
        const { column } = yield* wait(loading)
        own[to] = {
          column: takeColumn(column, offsets),
          segment: null,
          rows: allOf(offsets.length),
          isOwn: true,
        }
        if (pacer.due()) yield pacer.pause()
      }
    }
    yield* fetcher.finish()
    return found
  }

  /** Begins to read the footers that columns of a part need. */
  #askFooters({ fragment }: Part, fields: readonly TableField[]): void {
    for (const field of fields) {
      const file = fileOf(fragment, field)
      if (file === undefined || 'slot' in file) continue
      const footer = this.#footer(file)
      if (footer instanceof Promise) footer.catch(() => {})
    }
  }

  /** Where rows of a column can be fetched from; null where the column is to be asked. */
  *#storedRows(
    part: Part,
    field: TableField,
    offsets: Uint32Array,
    patience: number,
  ): Task<StoredColumn | null> {
    const file = fileOf(part.fragment, field)
    if (file === undefined || 'slot' in file) return null
    const layout = yield* wait(this.#footer(file))
    const range = layout.batches[part.batch]?.columns[file.fields.indexOf(field.id)]
    if (range === undefined || isLoadedWhole(range, offsets, patience)) return null
    return { path: this.#path(file.file), layout, range, field }
  }

  /** Bytes that all of some columns take. */
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

  /** Bytes that columns of a part take as they are stored; where that is not known without reading, their share of a file. */
  storedBytes(part: Part, fields: readonly TableField[]): number {
    const { fragment, batch, rows } = part
    let bytes = 0
    for (const field of fields) {
      const file = fileOf(fragment, field)
      if (file === undefined) continue
      const footer = 'slot' in file ? undefined : this.#source.footers.peek(this.#path(file.file))
      const range = footer?.batches[batch]?.columns[file.fields.indexOf(field.id)]
      bytes +=
        range === undefined ? ((file.bytes / file.fields.length) * rows) / fragment.rows : bytesToRead(range)
    }
    return bytes
  }

  /** Begins to load columns of a part for later calls, where they will still be there then. */
  prefetch(part: Part, fields: readonly TableField[]): void {
    let bytes = 0
    for (const field of fields) {
      const file = fileOf(part.fragment, field)
      if (file === undefined || 'slot' in file) continue
      const range = this.#source.footers.peek(this.#path(file.file))?.batches[part.batch]?.columns[
        file.fields.indexOf(field.id)
      ]
      // Whoever fetches the footer anyway can fetch the column then.
      if (range === undefined) return
      bytes += bytesToRead(range)
    }
    if (!this.#source.memory.canHold(bytes)) return
    for (const field of fields) {
      const loading = this.column(part, field)
      if (loading instanceof Promise) loading.catch(() => {})
    }
  }

  /** The vectors of a part, where the kernels can read them. */
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
        : this.#source.vectors.get(this.#keyOf(file, part, field), convert, this.#placeOf(file))
    return whenResolved(this.#arrived(converting, signal), converted => ({ segment: converted, ...known }))
  }

  /** Vectors of some rows of parts, where the kernels can read them; read as `rows` reads. */
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

  /** The rows of a part that are alive, by offset in the part; null when all are. */
  live(part: Part, signal?: AbortSignal): MaybePromise<Bitset | null> {
    const { dead } = part.fragment
    if (dead.count === 0) return null
    const last = dead.parts.at(-1)!
    const load = () => this.#loadLive(part)
    return this.#arrived(
      this.#source.live.get(this.#liveKey(part, last), load, this.#placeOfRuns(last)),
      signal,
    )
  }

  /** `last`: the part that the commit brought after which those rows are alive. */
  #liveKey({ fragment, batch }: Part, last: RunsPlace): string {
    return `${this.layout.table}/${fragment.id}/${runsKey(last)}/${batch}`
  }

  /** The rows of a fragment that are alive. */
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

  /** How many rows of a part's fragment that come before the part are alive. */
  liveBefore({ fragment, first }: Part, signal?: AbortSignal): MaybePromise<number> {
    if (first === 0 || fragment.dead.count === 0) return first
    return whenResolved(this.#arrived(this.#deadOffsets(fragment), signal), dead =>
      dead.reduce((live, offsets) => live - offsets.rankOf(first), first),
    )
  }

  /** The ids of all rows of a fragment, dead ones included, by offset. */
  rowIds(fragment: Fragment, signal?: AbortSignal): MaybePromise<RunSequence> {
    const { ids, rows } = fragment
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

  /** What is being loaded, once it is there. */
  #arrived<T>(loading: MaybePromise<T>, signal: AbortSignal | undefined): MaybePromise<T> {
    return arrived(this.#awaiting, loading, signal)
  }

  async #loadLive(part: Part): Promise<Bitset> {
    const { parts } = part.fragment.dead
    // Where it is known what lived before the last commits, only what they killed is looked at.
    for (let after = parts.length - 1; after > 0; after--) {
      const before = this.#source.live.peek(this.#liveKey(part, parts[after - 1]!))
      if (before !== undefined) return before.clone().andNot(await this.marked(part, parts.slice(after)))
    }
    return (await this.marked(part, parts)).not()
  }

  /** The rows of a part, by offset in it, that are among those which `places` say by offset in its fragment. */
  async marked(part: Part, places: readonly RunsPlace[], signal?: AbortSignal): Promise<Bitset> {
    const { fragment, first, rows } = part
    const marked = new Bitset(rows)
    for (const runs of await this.#arrived(this.#offsetsAt(fragment, places), signal)) {
      const from = runs.rankOf(first)
      const offsets = new Uint32Array(runs.rankOf(first + rows) - from)
      runs.copy(from, from + offsets.length, offsets)
      for (const offset of offsets) marked.add(offset - first)
    }
    return marked
  }

  /** The offsets of a fragment's dead rows, commit by commit; disjoint. */
  #deadOffsets(fragment: Fragment): Promise<readonly NumberRuns[]> {
    return this.#offsetsAt(fragment, fragment.dead.parts)
  }

  async #offsetsAt({ rows }: Fragment, places: readonly RunsPlace[]): Promise<readonly NumberRuns[]> {
    const all: NumberRuns[] = []
    for (const part of places) {
      const runs = await this.#runs(part, NumberRuns.decode, readOffsets)
      if (runs.rankOf(rows) < runs.count) throw corrupted(`${runsKey(part)} marks rows beyond ${rows} dead`)
      all.push(runs)
    }
    return all
  }

  /**
   * `decode`: what a file says; `decodeInline`: what a blob does. Throws corrupted (code 18) for what is not what was written,
   * or has not `count` numbers where that is given.
   */
  async #runs<R extends RunSequence>(
    place: RunsPlace,
    decode: DecodeRuns<R>,
    decodeInline: DecodeRuns<R>,
    count?: number,
  ): Promise<R> {
    if ('file' in place) return readStoredRuns(this.#source, this.#location, place, decode, count)
    const key = runsKey(place)
    const load = async () =>
      checkedRuns(decodeInline((await this.#source.slots.get(place.slot)).blob(place.blob)), key, count)
    return (await this.#source.runs.get(key, load, slotKey(place.slot))) as R
  }

  async #listParts(fragment: Fragment): Promise<readonly Part[]> {
    const parts: Part[] = []
    let first = 0
    for (const [batch, rows] of (await this.#batchRows(fragment)).entries()) {
      parts.push({ fragment, batch, first, rows })
      first += rows
    }
    if (first !== fragment.rows) {
      throw corrupted(`fragment ${fragment.id} holds ${first} rows, its record says ${fragment.rows}`)
    }
    return parts
  }

  async #batchRows(fragment: Fragment): Promise<readonly number[]> {
    const file = fragment.files[0]
    if (file === undefined || 'slot' in file) return [fragment.rows]
    return (await this.#footer(file)).batches.map(batch => batch.length)
  }

  #footer(file: StoredFile): MaybePromise<FileLayout> {
    const path = this.#path(file.file)
    return this.#source.footers.get(path, () => readFooter(this.#source.store, path, file))
  }

  #keyOf(file: DataFile, part: Part, field: Pick<TableField, 'id'>): string {
    if ('slot' in file) return keyOfInline(file, field)
    return `${this.#location}/${file.file}/${part.batch}/${field.id}`
  }

  /** The blob that a file of columns lies in. */
  #placeOf(file: DataFile): string {
    return 'slot' in file ? slotKey(file.slot) : this.#path(file.file)
  }

  /** The blob that runs lie in. */
  #placeOfRuns(place: RunsPlace): string {
    return 'file' in place ? `${this.#location}/${filePath('rows', place.file)}` : slotKey(place.slot)
  }

  #path(file: string): string {
    return `${this.#location}/${filePath('data', file)}`
  }

  async #storedColumn(file: StoredFile, part: Part, field: TableField, claim: Claim): Promise<LoadedColumn> {
    const footer = await this.#footer(file)
    const column = file.fields.indexOf(field.id)
    return readColumn(this.#source, this.#path(file.file), footer, part.batch, column, field, claim)
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
    assert(column !== undefined, `slot ${file.slot} lacks field ${field.id}`)
    // A view would keep the whole slot.
    return loadedColumn(withOwnDictionary(takeColumn(column, allOf(column.length))))
  }

  #decoded(file: InlineFile, bytes: Uint8Array): Batch {
    const { schema, earlier } = this.layout
    const written = file.schema === schema.id ? schema : earlier.find(({ id }) => id === file.schema)
    const fields = file.fields.map(id => written?.fields.find(known => known.id === id))
    assert(!fields.includes(undefined), `slot ${file.slot} holds a field that is in no schema`)
    return decodeBatch(bytes, arrowSchema({ id: 0, fields: fields as TableField[] }))
  }
}

/** Per log, the inline rows decoded last: their columns are asked for one after the other. They view their slot, so only one is kept. */
const lastInline = new WeakMap<SlotReader, { readonly file: InlineFile; readonly batch: Batch }>()

/** The same bytes serve versions in which fields of a struct are called differently. */
function asOfType(loaded: LoadedColumn, { type }: TableField): LoadedColumn {
  if (equalTypes(loaded.column.type, type)) return loaded
  return { ...loaded, column: retyped(loaded.column, type) }
}

function keyOfInline({ slot, blob }: InlineFile, { id }: Pick<TableField, 'id'>): string {
  return `${slot}/${blob}/${id}`
}

/** `file`: the one of the fragment that holds `field`. */
function recordedZone(
  { rows, zones }: Fragment,
  { id, type }: TableField,
  file: DataFile | undefined,
): Zone | null {
  if (file === undefined) return { least: null, greatest: null, nulls: rows }
  const record = zones?.[id]
  return record === undefined ? null : readZone(record, type)
}

/** The newest file of a fragment that holds `field`. */
export function fileOf(fragment: Fragment, field: TableField): DataFile | undefined {
  return fragment.files.findLast(file => file.fields.includes(field.id))
}

/** About the bytes of a field in a file of a fragment; at most those of the file. */
function bytesOfField(file: DataFile, { rows }: Fragment, { type }: TableField): number {
  const { bytes } = file
  const row = bytesOfRow(type)
  return row === null ? bytes : Math.min(bytes, rows * row)
}

/** Bytes of a row of a type whose rows are equally long; null for others. */
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

/** Ascending u32 row offsets, as a blob of dead rows has them. */
function readOffsets(bytes: Uint8Array): NumberRuns | null {
  if (bytes.length % 4 !== 0) return null
  const { buffer, byteOffset } = aligned(bytes, 4, bytes.length / 4)
  const offsets = new Uint32Array(buffer, byteOffset, bytes.length / 4)
  for (let i = 1; i < offsets.length; i++) if (offsets[i]! <= offsets[i - 1]!) return null
  return NumberRuns.of(offsets)
}

function allOf(rows: number): Uint32Array {
  return Uint32Array.from({ length: rows }, (_, row) => row)
}
