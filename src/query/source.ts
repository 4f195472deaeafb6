/**
 * Reads the columns that the expressions of a query can use: the columns of the table, and columns that the query
 * computes.
 *
 * Computed columns:
 * - `_rowid` (uint64): the id of the row. It is unique in the table and never changes.
 * - `_rowoffset` (uint64): the number of live rows of this version before the row.
 * - `_distance` (float32): the distance of a vector search (l2 squared, 1 - cos, 1 - dot).
 * - `_score` (float32): the BM25 score of a text search.
 * - `_relevance_score` (float32): the value by which a hybrid search ranks rows. If only one of the two searches
 *   returned a row, the row's `_distance` or `_score` of the other search is NULL.
 *
 * An answer to several query vectors also has `query_index`.
 */
import type { Batch, Column } from '../arrow/column.js'
import { concatColumns } from '../arrow/concat.js'
import { emptyColumn } from '../arrow/fill.js'
import { CellGatherer } from '../arrow/gather-cells.js'
import { withOwnDictionary } from '../arrow/own-dictionary.js'
import { copyColumn, sliceColumn } from '../arrow/slice.js'
import { takeColumn } from '../arrow/take.js'
import type { Field, Schema } from '../arrow/types.js'
import { assert } from '../errors.js'
import type { TableField, TableSchema } from '../manifest/table-schema.js'
import { Bitset } from '../primitives/bitset.js'
import { isRun } from '../primitives/is-run.js'
import type { Pacer } from '../primitives/pacer.js'
import { partitionPoint } from '../primitives/partition-point.js'
import { type MaybePromise, runTask, type Task, wait, whenResolved } from '../primitives/task.js'
import { bytesOfWords } from '../sql/values/vector.js'
import type { StretchZones } from '../sql/zones/stretches.js'
import {
  type Part,
  type RowsOfColumn,
  type RunOfColumn,
  stretchPatience,
  type TableReader,
} from '../table/table-reader.js'
import { Difference } from './difference.js'
import { type RowHits, searchColumns } from './hits.js'
import type { Meter } from './meter.js'
import type { Spread } from './units.js'

const uint64 = { kind: 'int', bits: 64, signed: false } as const

// The computed columns are nullable, because Lance declares them so and clients compare the schemas of answers. Only
// hybrid searches return NULLs.
export const rowIdField: Field = { name: '_rowid', type: uint64, nullable: true }
export const rowOffsetField: Field = { name: '_rowoffset', type: uint64, nullable: true }

const float32 = { kind: 'float', bits: 32 } as const
const distanceField: Field = { name: searchColumns.distance, type: float32, nullable: true }
const scoreField: Field = { name: searchColumns.score, type: float32, nullable: true }
const relevanceField: Field = { name: searchColumns.relevance, type: float32, nullable: true }

/** The kind of search that ranks the rows of a query. */
export type SearchedBy = 'nothing' | 'vector' | 'text' | 'both'

/** The columns that each kind of search adds. */
export const searchedFields: Readonly<Record<SearchedBy, readonly Field[]>> = {
  nothing: [],
  vector: [distanceField],
  text: [scoreField],
  both: [distanceField, scoreField, relevanceField],
}

/**
 * First column of an answer to several query vectors: the number of the query vector to which the row belongs, from 0.
 */
export const queryIndexField: Field = {
  name: 'query_index',
  type: { kind: 'int', bits: 32, signed: true },
  nullable: false,
}

/** All computed columns, except `query_index`. */
export const computedFields: readonly Field[] = [
  rowIdField,
  rowOffsetField,
  distanceField,
  scoreField,
  relevanceField,
]

/** The columns that expressions over a table can use. All queries on the same schema share the object. */
class Readable {
  readonly fields: ReadonlyMap<string, TableField>
  readonly #own: readonly Field[]
  readonly #schemas = new Map<SearchedBy, Schema>()

  constructor({ fields }: TableSchema) {
    this.#own = [...fields, rowIdField, rowOffsetField]
    this.fields = new Map(fields.map(field => [field.name, field]))
  }

  schema(by: SearchedBy): Schema {
    let schema = this.#schemas.get(by)
    if (schema === undefined) {
      schema = { fields: [...this.#own, ...searchedFields[by]] }
      this.#schemas.set(by, schema)
    }
    return schema
  }

  static of(schema: TableSchema): Readable {
    let known = readables.get(schema)
    if (known === undefined) {
      known = new Readable(schema)
      readables.set(schema, known)
    }
    return known
  }
}

/** Readable columns by schema. The map is weak, so an entry is dropped with its schema. */
const readables = new WeakMap<TableSchema, Readable>()

/**
 * Return the schema to which expressions are bound: the columns of the table, row numbers, and the columns that the
 * search adds.
 */
export function sourceSchema(schema: TableSchema, by: SearchedBy = 'nothing'): Schema {
  return Readable.of(schema).schema(by)
}

/** Number of parts whose columns a query keeps in memory. */
const heldParts = 2
/** A query that reads at least this share of the rows of a part reads whole columns. */
const wholeShare = 1 / 8
/** Maximum bytes of stretches that are fetched together. Joining more would block the event loop. */
const stretchBytes = 16 * 1024 * 1024

/** A range of rows of one part that was read ahead. */
interface HeldRun {
  readonly part: Part
  /** Offset of the first row. */
  readonly from: number
  /** Offset after the last row. */
  readonly to: number
  /** The rows of each column, by column name. */
  readonly columns: ReadonlyMap<string, RunOfColumn>
}

/** Reads rows of one version for one query. */
export class RowSource {
  readonly reader: TableReader
  /** The rows that the source has, if the query compares versions. Null: all rows. */
  readonly difference: Difference | null
  /** Measures the steps of the query. Null: the query is not measured. */
  readonly meter: Meter | null
  /** Sends parts of searches to other nodes. Null: this process searches alone. */
  readonly spread: Spread | null
  readonly #pacer: Pacer
  readonly #fields: ReadonlyMap<string, TableField>
  /**
   * Columns of the last parts that were read; the latest part is the last entry. A query reads many small batches of
   * the same part or of two parts. Without this map, a column that is larger than the cache would be loaded again for
   * each batch.
   */
  #held: Map<Part, Map<TableField, Column>> | undefined
  /** The range of rows that `expect` read last. */
  #run: HeldRun | null = null
  /** By part: the number of rows that the query has read. */
  #taken: Map<Part, number> | undefined

  /** `other`: a version to compare with. The source leaves out the rows that have the same position in it. */
  constructor(
    reader: TableReader,
    pacer: Pacer,
    other: TableReader | null = null,
    meter: Meter | null = null,
    spread: Spread | null = null,
  ) {
    this.reader = reader
    this.meter = meter
    this.spread = spread
    this.difference = other === null ? null : Difference.between(reader, other)
    this.#pacer = pacer
    this.#fields = Readable.of(reader.schema).fields
  }

  /** Return the table's field with this name. Return undefined for a computed column. */
  field(name: string): TableField | undefined {
    return this.#fields.get(name)
  }

  /** Start to load columns of a part that a later call will read. `names`: the columns. Return the bytes of the columns. */
  prefetch(part: Part, names: readonly string[]): number {
    const fields = [...new Set(names)]
      .map(name => this.#fields.get(name))
      .filter(field => field !== undefined)
    this.reader.prefetch(part, fields)
    return this.reader.storedBytes(part, fields)
  }

  /**
   * Return all rows of a part, including deleted rows, with the columns `names`. Does not copy columns that are in
   * memory.
   */
  partBatch(part: Part, names: readonly string[]): MaybePromise<Batch> {
    return runTask(this.#partBatch(part, names))
  }

  *#partBatch(part: Part, names: readonly string[]): Task<Batch> {
    const fields: Field[] = []
    const columns: Column[] = []
    for (const name of names) {
      const field = this.#fields.get(name)
      fields.push(field ?? computedField(name))
      const column = field === undefined ? this.#computed(name, part, null) : this.#stored(part, field)
      columns.push(column instanceof Promise ? yield* wait(column) : column)
    }
    return { schema: { fields }, length: part.rows, columns }
  }

  /**
   * Return the min/max statistics of a part's stretches, by column. Columns whose files have no statistics are missing.
   */
  *stretches(part: Part, names: readonly string[]): Task<ReadonlyMap<string, StretchZones>> {
    const found = new Map<string, StretchZones>()
    for (const name of names) {
      const field = this.#fields.get(name)
      if (field === undefined) continue
      const zones = yield* wait(this.reader.stretches(part, field, this.#pacer.signal))
      if (zones !== null) found.set(name, zones)
    }
    return found
  }

  /**
   * Return whether a filter must read single stretches (`stretchBatch`) instead of whole columns. `rows`: number of
   * rows in the needed stretches.
   */
  isFetched(part: Part, rows: number, names: readonly string[]): boolean {
    if (rows > part.rows / 2) return false
    const fields = names.map(name => this.#fields.get(name)).filter(field => field !== undefined)
    const held = this.#held?.get(part)
    if (fields.every(field => held?.has(field) || this.reader.holds(part, field))) return false
    return (this.reader.storedBytes(part, fields) * rows) / part.rows <= stretchBytes
  }

  /** Return the rows `offsets` of a part, with the columns `names`. Reads only the blocks with these rows. */
  *stretchBatch(part: Part, offsets: Uint32Array, names: readonly string[]): Task<Batch> {
    const fields = names.map(name => this.#fields.get(name))
    const stored = fields.filter(field => field !== undefined)
    const some = [{ part, offsets }]
    const [found] = yield* wait(this.reader.rows(some, stored, this.#pacer, stretchPatience))
    const columns: Column[] = []
    for (const [i, field] of fields.entries()) {
      if (field === undefined) {
        columns.push(yield* wait(this.#computed(names[i]!, part, offsets)))
        continue
      }
      const own = found![stored.indexOf(field)]!
      this.meter?.looked(own.column)
      columns.push(takenFrom(own, false))
    }
    return {
      schema: { fields: names.map((name, i) => fields[i] ?? computedField(name)) },
      length: offsets.length,
      columns,
    }
  }

  #stored(part: Part, field: TableField): MaybePromise<Column> {
    const held = this.#heldOf(part)
    return (
      held.get(field) ??
      whenResolved(this.reader.column(part, field, this.#pacer.signal), ({ column }) => {
        this.meter?.looked(column)
        held.set(field, column)
        return column
      })
    )
  }

  #heldOf(part: Part): Map<TableField, Column> {
    this.#held ??= new Map()
    let held = this.#held.get(part)
    if (held === undefined) {
      held = new Map()
      this.#held.set(part, held)
      if (this.#held.size > heldParts) this.#held.delete(this.#held.keys().next().value!)
    }
    return held
  }

  /** Return rows with the columns `names`. `owned`: whether the batch must not share memory with the cache. */
  batch(hits: RowHits, names: readonly string[], owned: boolean): MaybePromise<Batch> {
    return runTask(this.#batch(hits, names, owned))
  }

  *#batch(hits: RowHits, names: readonly string[], owned: boolean): Task<Batch> {
    const fields = names.map(name => this.#fields.get(name) ?? computedField(name))
    const { parts, partOf, offsets, computed } = hits
    const isOfOne = partOf === null || parts.length === 1
    const pieces: Partitioned<Part> = isOfOne
      ? { taken: [{ part: parts[0]!, offsets, places: offsets }], position: offsets }
      : partition(parts, partOf, offsets)
    const stored = names.map(name => this.#fields.get(name)).filter(field => field !== undefined)
    const rows = offsets.length === 0 ? [] : yield* this.#rowsOf(pieces.taken, stored)
    const columns: Column[] = []
    let number = 0
    for (const name of names) {
      const field = this.#fields.get(name)
      const found = field === undefined ? computed.find(known => known.name === name) : undefined
      if (found !== undefined) {
        columns.push(computedColumn(found.values))
      } else if (offsets.length === 0) {
        columns.push(emptyColumn((field ?? computedField(name)).type))
      } else if (field === undefined) {
        const own: Column[] = []
        for (const each of pieces.taken) own.push(yield* wait(this.#computed(name, each.part, each.offsets)))
        columns.push(isOfOne ? own[0]! : takeColumn(concatColumns(own), pieces.position))
      } else {
        columns.push(isOfOne ? takenFrom(rows[0]![number]!, owned) : placed(rows, number, pieces))
        number++
      }
      if (this.#pacer.due()) yield this.#pacer.pause()
    }
    return { schema: { fields }, length: offsets.length, columns }
  }

  /**
   * Stream rows of several parts with the columns `names`, as copies, in batches of `rows` rows. Reads every part once.
   */
  async *batches(hits: RowHits, names: readonly string[], rows: number): AsyncGenerator<Batch> {
    const fields = names.map(name => this.#fields.get(name) ?? computedField(name))
    const { taken, position } = partition(hits.parts, hits.partOf!, hits.offsets)
    const stored = names.map(name => this.#fields.get(name)).filter(field => field !== undefined)
    const found = await runTask(this.#rowsOf(taken, stored))
    const pieces: Column[][] = []
    for (const name of names) {
      const number = stored.indexOf(this.#fields.get(name)!)
      const column: Column[] = []
      for (const [i, { part, offsets }] of taken.entries()) {
        const own = found[i]![number]
        column.push(own === undefined ? await this.#computed(name, part, offsets) : takenFrom(own, true))
        await this.#pacer.turn()
      }
      pieces.push(column)
    }
    const starts = new Uint32Array(taken.length + 1)
    for (const [i, { offsets }] of taken.entries()) starts[i + 1] = starts[i]! + offsets.length
    const numbers = [...taken.keys()]
    for (let from = 0; from < position.length; from += rows) {
      const some = position.subarray(from, from + rows)
      const partOf = some.map(at => partitionPoint(taken.length, i => starts[i + 1]! <= at))
      const rowsOf = partition(
        numbers,
        partOf,
        some.map((at, i) => at - starts[partOf[i]!]!),
      )
      const columns: Column[] = []
      for (const column of pieces) {
        const copied = rowsOf.taken.map(({ part, offsets }) => takeColumn(column[part]!, offsets))
        columns.push(takeColumn(concatColumns(copied), rowsOf.position))
        await this.#pacer.turn()
      }
      yield { schema: { fields }, length: some.length, columns }
    }
  }

  /** Read rows of several parts. Returns, for each part, the rows of each field. */
  *#rowsOf(
    taken: readonly Taken<Part>[],
    fields: readonly TableField[],
  ): Task<readonly (readonly RowsOfColumn[])[]> {
    const found: (readonly RowsOfColumn[])[] = new Array(taken.length)
    const others: number[] = []
    for (let at = 0; at < taken.length; at++) {
      const { part, offsets } = taken[at]!
      const run = this.#runWith(part, offsets, fields)
      if (run !== null) {
        found[at] = fields.map(({ name }) => ownRows(run.columns.get(name)!, offsets))
        continue
      }
      const isWhole = this.#isTakenWhole(part, offsets.length)
      if (!isWhole && !this.#held?.has(part)) others.push(at)
      else found[at] = yield* this.#rowsHeld(taken[at]!, fields, isWhole)
      if (this.#pacer.due()) yield this.#pacer.pause()
    }
    if (others.length === taken.length) return yield* this.#fetched(taken, fields)
    const rest = yield* this.#fetched(
      others.map(at => taken[at]!),
      fields,
    )
    for (const [i, at] of others.entries()) found[at] = rest[i]!
    return found
  }

  /**
   * Read ahead the rows that the caller will then read in small batches. Does this only if the columns of their part
   * are too large for the cache. Reads all rows between the first and the last of these rows.
   */
  expect({ parts, partOf, offsets }: RowHits, names: readonly string[]): MaybePromise<void> {
    const part = parts[0]
    if (part === undefined || partOf !== null || offsets.length === 0) return
    const fields = names.map(name => this.#fields.get(name)).filter(field => field !== undefined)
    const taken = (this.#taken?.get(part) ?? 0) + offsets.length
    if (taken < part.rows * wholeShare || !this.reader.isLong(part, fields)) return
    this.#taken ??= new Map()
    this.#taken.set(part, taken)
    const from = offsets[0]! - (offsets[0]! % 8)
    const to = offsets.at(-1)! + 1
    return runTask(this.#readRun(part, from, to, fields))
  }

  *#readRun(part: Part, from: number, to: number, fields: readonly TableField[]): Task<void> {
    // Release the memory of the previous range before reading the next range.
    this.#run = null
    const held = this.#held?.get(part)
    const loading = fields.map(field => {
      const column = held?.get(field)
      return column === undefined
        ? this.reader.run(part, field, from, to, this.#pacer.signal)
        : { column, from: 0 }
    })
    for (const each of loading) if (each instanceof Promise) each.catch(() => {})
    const columns = new Map<string, RunOfColumn>()
    for (const [i, { name }] of fields.entries()) {
      const own = yield* wait(loading[i]!)
      this.meter?.looked(own.column)
      columns.set(name, own)
    }
    this.#run = { part, from, to, columns }
  }

  /** Return the range that was read ahead, if it has the rows `offsets` of all `fields`. Otherwise return null. */
  #runWith(part: Part, offsets: Uint32Array, fields: readonly TableField[]): HeldRun | null {
    const run = this.#run
    if (run?.part !== part || !fields.every(({ name }) => run.columns.has(name))) return null
    for (const offset of offsets) if (offset < run.from || offset >= run.to) return null
    return run
  }

  /**
   * Read rows of a part whose columns this query keeps in memory. `isWhole`: whether to read and keep all `fields` as
   * whole columns.
   */
  *#rowsHeld(
    some: Taken<Part>,
    fields: readonly TableField[],
    isWhole: boolean,
  ): Task<readonly RowsOfColumn[]> {
    const held = this.#heldOf(some.part)
    const left = isWhole ? [] : fields.filter(field => !held.has(field))
    const [fetched] = yield* this.#fetched([some], left)
    const own: RowsOfColumn[] = []
    for (const field of fields) {
      const known = fetched![left.indexOf(field)]
      const { part, offsets } = some
      const isAll = offsets.length === part.rows && isRun(offsets) && !held.has(field)
      const fresh =
        known === undefined && isAll ? this.reader.ownColumn(part, field, this.#pacer.signal) : null
      if (known !== undefined) own.push(known)
      else if (fresh !== null) {
        const column = yield* wait(fresh)
        this.meter?.looked(column)
        own.push({ column, segment: null, rows: offsets, isOwn: true })
      } else {
        const column = yield* wait(this.#stored(some.part, field))
        own.push({ column, segment: null, rows: some.offsets, isOwn: false })
      }
    }
    return own
  }

  *#fetched(
    some: readonly Taken<Part>[],
    fields: readonly TableField[],
  ): Task<readonly (readonly RowsOfColumn[])[]> {
    const found = yield* wait(this.reader.rows(some, fields, this.#pacer))
    if (this.meter !== null) for (const own of found) for (const { column } of own) this.meter.looked(column)
    return found
  }

  /**
   * Add `more` to the number of rows that the query has read of a part. Return whether it should now read whole columns.
   */
  #isTakenWhole(part: Part, more: number): boolean {
    this.#taken ??= new Map()
    const rows = (this.#taken.get(part) ?? 0) + more
    this.#taken.set(part, rows)
    return rows >= part.rows * wholeShare
  }

  /** Return the row ids of rows of a part. `offsets`: the offsets of the rows; null: all rows. */
  rowIds({ fragment, first, rows }: Part, offsets: Uint32Array | null): MaybePromise<Float64Array> {
    return whenResolved(this.reader.rowIds(fragment, this.#pacer.signal), runs => {
      if (offsets !== null && offsets.length < rows / 16) {
        return Float64Array.from(offsets, offset => runs.at(first + offset))
      }
      const ids = new Float64Array(rows)
      runs.copy(first, first + rows, ids)
      return offsets === null ? ids : Float64Array.from(offsets, offset => ids[offset]!)
    })
  }

  /** Compute `_rowid` or `_rowoffset` for rows of a part. `offsets`: the offsets of the rows; null: all rows. */
  #computed(name: string, part: Part, offsets: Uint32Array | null): MaybePromise<Column> {
    if (name === rowIdField.name) return whenResolved(this.rowIds(part, offsets), rowIdColumn)
    assert(name === rowOffsetField.name, `column ${name} cannot be computed for a part`)
    return runTask(this.#rowOffsets(part, offsets))
  }

  /**
   * Return the number of live rows of the version before a row. `offset`: offset of the row in its part; the row must
   * be live.
   */
  rowOffset(part: Part, offset: number): MaybePromise<number> {
    return runTask(this.#rowOffset(part, offset))
  }

  *#rowOffset(part: Part, offset: number): Task<number> {
    const { signal } = this.#pacer
    const live = yield* wait(this.reader.live(part, signal))
    const before =
      this.reader.liveBeforeFragment(part.fragment) + (yield* wait(this.reader.liveBefore(part, signal)))
    return before + (live === null ? offset : live.rank(offset, live.ranks()))
  }

  *#rowOffsets(part: Part, offsets: Uint32Array | null): Task<Column> {
    const length = offsets?.length ?? part.rows
    const offsetOf = (row: number) => offsets?.[row] ?? row
    const { signal } = this.#pacer
    const live = yield* wait(this.reader.live(part, signal))
    const before =
      this.reader.liveBeforeFragment(part.fragment) + (yield* wait(this.reader.liveBefore(part, signal)))
    if (live === null) return wholeNumbers(rowOffsetField, length, row => before + offsetOf(row))
    const ranks = live.ranks()
    return wholeNumbers(rowOffsetField, length, row => before + live.rank(offsetOf(row), ranks))
  }
}

function computedField(name: string): Field {
  const field = computedFields.find(known => known.name === name)
  assert(field !== undefined, `${name} is a column of the table or of the query`)
  return field
}

/** Rows of several parts, sorted by part. */
interface Partitioned<P> {
  /** The rows of each part. */
  readonly taken: readonly Taken<P>[]
  /** For each row of the answer: its index in the concatenation of `taken`. */
  readonly position: Uint32Array
}

/** Rows of one part. */
interface Taken<P> {
  readonly part: P
  /** Offsets of the rows in the part. */
  readonly offsets: Uint32Array
  /** For each row: its index in the answer. */
  readonly places: Uint32Array
}

/** Sort rows by part. Row `i` is row `offsets[i]` of part `parts[partOf[i]]`. */
function partition<P>(parts: readonly P[], partOf: Uint32Array, offsets: Uint32Array): Partitioned<P> {
  const starts = new Uint32Array(parts.length + 1)
  for (let row = 0; row < partOf.length; row++) starts[partOf[row]! + 1]! += 1
  for (let part = 0; part < parts.length; part++) starts[part + 1]! += starts[part]!
  const next = starts.slice()
  const rows = new Uint32Array(offsets.length)
  const places = new Uint32Array(offsets.length)
  const position = new Uint32Array(offsets.length)
  for (let row = 0; row < position.length; row++) {
    const at = next[partOf[row]!]!++
    position[row] = at
    rows[at] = offsets[row]!
    places[at] = row
  }
  const taken: Taken<P>[] = []
  for (let part = 0; part < parts.length; part++) {
    const [from, to] = [starts[part]!, starts[part + 1]!]
    if (from === to) continue
    taken.push({ part: parts[part]!, offsets: rows.subarray(from, to), places: places.subarray(from, to) })
  }
  return { taken, position }
}

/**
 * Gather column `number` of rows of several parts into the order of the answer. `rows`: for each part, the rows of each
 * column.
 */
function placed(
  rows: readonly (readonly RowsOfColumn[])[],
  number: number,
  { taken, position }: Partitioned<Part>,
): Column {
  const { type } = rows[0]![number]!.column
  if (!CellGatherer.takes(type)) {
    return takeColumn(concatColumns(rows.map(own => takenFrom(own[number]!, true))), position)
  }
  const gatherer = new CellGatherer(type, position.length)
  for (const [i, { places }] of taken.entries()) {
    const own = rows[i]![number]!
    gatherer.add(own.column, own.rows, places)
  }
  return gatherer.column()
}

/** Return rows of a column from a range that was read ahead. `offsets`: offsets of the rows in the part. */
function ownRows({ column, from }: RunOfColumn, offsets: Uint32Array): RowsOfColumn {
  const rows = from === 0 ? offsets : offsets.map(offset => offset - from)
  return { column, segment: null, rows, isOwn: false }
}

/** Return rows of one part as a column. `owned`: whether the column must not share memory with the cache. */
function takenFrom({ column, rows, isOwn }: RowsOfColumn, owned: boolean): Column {
  if (isOwn) return owned ? withOwnDictionary(column) : column
  if (!isRun(rows)) return owned ? withOwnDictionary(takeColumn(column, rows)) : takeColumn(column, rows)
  const run = sliceColumn(column, rows[0]!, rows.length)
  return owned ? withOwnDictionary(copyColumn(run)) : run
}

/** Return row ids as the column `_rowid`. */
function rowIdColumn(ids: Float64Array): Column {
  return wholeNumbers(rowIdField, ids.length, row => ids[row]!)
}

/** Return the column `query_index` for the rows of one query. */
export function queryIndexColumn(query: number, length: number): Column {
  return flat(queryIndexField, new Int32Array(length).fill(query))
}

function wholeNumbers(field: Field, length: number, numberOf: (row: number) => number): Column {
  const values = new BigUint64Array(length)
  // Row numbers have at most 53 bits. Writing them as two 32-bit halves is much faster than creating BigInts.
  const halves = new Uint32Array(values.buffer)
  for (let row = 0; row < length; row++) {
    const value = numberOf(row)
    halves[2 * row] = value
    halves[2 * row + 1] = value / 0x1_0000_0000
  }
  return flat(field, values)
}

/** Return a computed column of a search. NaN becomes NULL. */
function computedColumn(values: Float32Array): Column {
  const column = flat(distanceField, values)
  const nullCount = values.reduce((count, value) => count + Number(Number.isNaN(value)), 0)
  if (nullCount === 0) return column
  const valid = new Bitset(values.length)
  for (let row = 0; row < values.length; row++) if (!Number.isNaN(values[row]!)) valid.add(row)
  return { ...column, nullCount, validity: bytesOfWords(valid.words) }
}

function flat(field: Field, values: BigUint64Array | Float32Array | Int32Array): Column {
  return {
    type: field.type,
    length: values.length,
    nullCount: 0,
    validity: null,
    values,
    offsets: null,
    children: [],
    dictionary: null,
  }
}
