/**
 * The columns that expressions of a query can read: those of the table, and those that a query computes.
 *
 * - `_rowid`: stable as long as the row exists, unique in its table (uint64)
 * - `_rowoffset`: number of live rows of this version before the row (uint64)
 * - `_distance`: only in vector searches (float32; l2 squared, 1 - cos, 1 - dot)
 * - `_score`: only in text searches (float32; BM25)
 * - `_relevance_score`: only in hybrid searches, which rank by it (float32); a row that only one search returned has NULL for the other
 *
 * An answer to several query vectors also has `query_index`.
 */
import type { Batch, Column } from '../arrow/column.js'
import { concatColumns } from '../arrow/concat.js'
import { emptyColumn } from '../arrow/fill.js'
import { CellGatherer } from '../arrow/gather-cells.js'
import { withOwnDictionary } from '../arrow/own-dictionary.js'
import { sliceColumn } from '../arrow/slice.js'
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

const uint64 = { kind: 'int', bits: 64, signed: false } as const

// Nullable, because Lance declares them so and clients compare schemas of answers. Only hybrid searches return some nulls.
export const rowIdField: Field = { name: '_rowid', type: uint64, nullable: true }
export const rowOffsetField: Field = { name: '_rowoffset', type: uint64, nullable: true }

const float32 = { kind: 'float', bits: 32 } as const
const distanceField: Field = { name: searchColumns.distance, type: float32, nullable: true }
const scoreField: Field = { name: searchColumns.score, type: float32, nullable: true }
const relevanceField: Field = { name: searchColumns.relevance, type: float32, nullable: true }

/** Which searches rank the rows of a query. */
export type SearchedBy = 'nothing' | 'vector' | 'text' | 'both'

/** The columns that each kind of search adds. */
export const searchedFields: Readonly<Record<SearchedBy, readonly Field[]>> = {
  nothing: [],
  vector: [distanceField],
  text: [scoreField],
  both: [distanceField, scoreField, relevanceField],
}

/** First column of an answer to several query vectors: the number of the query that the row belongs to. */
export const queryIndexField: Field = {
  name: 'query_index',
  type: { kind: 'int', bits: 32, signed: true },
  nullable: false,
}

/** All columns that queries compute. */
export const computedFields: readonly Field[] = [
  rowIdField,
  rowOffsetField,
  distanceField,
  scoreField,
  relevanceField,
]

/** The readable columns of a table, shared by all its queries. */
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

/** By schema, weakly: a schema belongs to the versions of a table, and goes with the last of them. */
const readables = new WeakMap<TableSchema, Readable>()

/** Return the schema that expressions are bound to: columns of the table and those that the search adds. */
export function sourceSchema(schema: TableSchema, by: SearchedBy = 'nothing'): Schema {
  return Readable.of(schema).schema(by)
}

/** Number of parts whose columns a query keeps in memory. */
const heldParts = 2
/** A query that takes more than this share of the rows of a part reads whole columns. */
const wholeShare = 1 / 8
/** Most bytes of stretches fetched together: joining more would block the event loop. */
const stretchBytes = 16 * 1024 * 1024

/** A run of rows of one part, read ahead: columns by name. */
interface HeldRun {
  readonly part: Part
  readonly from: number
  readonly to: number
  readonly columns: ReadonlyMap<string, RunOfColumn>
}

/** Reads rows of one version for one query. */
export class RowSource {
  readonly reader: TableReader
  /** The only rows that the source has; null: all. */
  readonly difference: Difference | null
  /** Counts rows and time of each step; null: not analyzed. */
  readonly meter: Meter | null
  readonly #pacer: Pacer
  readonly #fields: ReadonlyMap<string, TableField>
  /**
   * Columns of the last parts, the latest last. Rows are taken in small batches, within a part or across two. Without this, a column
   * larger than the cache would be loaded again for each batch.
   */
  readonly #held = new Map<Part, Map<TableField, Column>>()
  /** The run of rows that `expect` read last. */
  #run: HeldRun | null = null
  /** Number of rows taken from each part. */
  readonly #taken = new Map<Part, number>()

  /** `other`: leave out the rows that are at the same position in this version. */
  constructor(
    reader: TableReader,
    pacer: Pacer,
    other: TableReader | null = null,
    meter: Meter | null = null,
  ) {
    this.reader = reader
    this.meter = meter
    this.difference = other === null ? null : Difference.between(reader, other)
    this.#pacer = pacer
    this.#fields = Readable.of(reader.schema).fields
  }

  /** Return the table's field with that name; undefined for a column that the query computes. */
  field(name: string): TableField | undefined {
    return this.#fields.get(name)
  }

  /** Start to load columns of a part that a later call will need. */
  prefetch(part: Part, names: readonly string[]): void {
    const fields = [...new Set(names)].map(name => this.#fields.get(name))
    this.reader.prefetch(
      part,
      fields.filter(field => field !== undefined),
    )
  }

  /** Return all rows of a part, deleted rows too, with the columns `names`. Does not copy columns that are in memory. */
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

  /** Return the min/max statistics of a part's stretches, by column, where files have them. */
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

  /** Whether so few rows of stretches are wanted that their blocks are read instead of whole columns. */
  isFetched(part: Part, rows: number, names: readonly string[]): boolean {
    if (rows > part.rows / 2) return false
    const fields = names.map(name => this.#fields.get(name)).filter(field => field !== undefined)
    const held = this.#held.get(part)
    if (fields.every(field => held?.has(field) || this.reader.holds(part, field))) return false
    return (this.reader.storedBytes(part, fields) * rows) / part.rows <= stretchBytes
  }

  /** As `partBatch`, for the rows of some stretches. Reads only their blocks. */
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
    let held = this.#held.get(part)
    if (held === undefined) {
      held = new Map()
      this.#held.set(part, held)
      if (this.#held.size > heldParts) this.#held.delete(this.#held.keys().next().value!)
    }
    return held
  }

  /** Return the columns `names` of some rows. `owned`: as copies that share no memory with the cache. */
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

  /** Stream the columns `names` of rows of several parts, `rows` rows at a time, as copies. Reads every part once. */
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

  /** Read rows of some columns, part by part. */
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
      if (!isWhole && !this.#held.has(part)) others.push(at)
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
   * Read ahead the rows that the caller will ask for in small batches, if the columns of their part do not fit in memory: all rows
   * between the first and the last of them.
   */
  expect({ parts, partOf, offsets }: RowHits, names: readonly string[]): MaybePromise<void> {
    const part = parts[0]
    if (part === undefined || partOf !== null || offsets.length === 0) return
    const fields = names.map(name => this.#fields.get(name)).filter(field => field !== undefined)
    const taken = (this.#taken.get(part) ?? 0) + offsets.length
    if (taken < part.rows * wholeShare || !this.reader.isLong(part, fields)) return
    this.#taken.set(part, taken)
    const from = offsets[0]! - (offsets[0]! % 8)
    const to = offsets.at(-1)! + 1
    return runTask(this.#readRun(part, from, to, fields))
  }

  *#readRun(part: Part, from: number, to: number, fields: readonly TableField[]): Task<void> {
    // Release the previous run before reading this one.
    this.#run = null
    const held = this.#held.get(part)
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

  /** Return the run that was read ahead, if it has the rows `offsets` of all `fields`. */
  #runWith(part: Part, offsets: Uint32Array, fields: readonly TableField[]): HeldRun | null {
    const run = this.#run
    if (run?.part !== part || !fields.every(({ name }) => run.columns.has(name))) return null
    for (const offset of offsets) if (offset < run.from || offset >= run.to) return null
    return run
  }

  /** Read rows of a part of which this query keeps columns. `isWhole`: keep all its columns. */
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
      if (known !== undefined) own.push(known)
      else {
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

  /** Count `more` rows of a part; return whether this query now takes so many that whole columns are read. */
  #isTakenWhole(part: Part, more: number): boolean {
    const rows = (this.#taken.get(part) ?? 0) + more
    this.#taken.set(part, rows)
    return rows >= part.rows * wholeShare
  }

  /** Return the ids of rows of a part, by offset. `offsets`: null for all rows. */
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

  /** Compute `_rowid` or `_rowoffset` for rows of a part. `offsets`: null for all rows. */
  #computed(name: string, part: Part, offsets: Uint32Array | null): MaybePromise<Column> {
    if (name === rowIdField.name) return whenResolved(this.rowIds(part, offsets), rowIdColumn)
    assert(name === rowOffsetField.name, `a query makes no column ${name} of a part`)
    return runTask(this.#rowOffsets(part, offsets))
  }

  /** Return how many live rows of the version come before a live row of a part. */
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

interface Partitioned<P> {
  readonly taken: readonly Taken<P>[]
  /** For each row of the answer: its index in the concatenation of `taken`. */
  readonly position: Uint32Array
}

interface Taken<P> {
  readonly part: P
  readonly offsets: Uint32Array
  /** For each of these rows: its index in the answer. */
  readonly places: Uint32Array
}

/** Sort rows by part; row `i` is row `offsets[i]` of part `parts[partOf[i]]`. */
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

/** Column `number` of the rows of several parts, in the order of the answer. */
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

/** Rows of a column from a run that was read ahead. */
function ownRows({ column, from }: RunOfColumn, offsets: Uint32Array): RowsOfColumn {
  const rows = from === 0 ? offsets : offsets.map(offset => offset - from)
  return { column, segment: null, rows, isOwn: false }
}

/** Rows of one part. `owned`: as a copy that shares no memory with the cache. */
function takenFrom({ column, rows, isOwn }: RowsOfColumn, owned: boolean): Column {
  if (isOwn) return owned ? withOwnDictionary(column) : column
  if (owned) return withOwnDictionary(takeColumn(column, rows))
  return isRun(rows) ? sliceColumn(column, rows[0]!, rows.length) : takeColumn(column, rows)
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
  // Row ids fit in 53 bits: writing two 32-bit halves is much faster than creating BigInts.
  const halves = new Uint32Array(values.buffer)
  for (let row = 0; row < length; row++) {
    const value = numberOf(row)
    halves[2 * row] = value
    halves[2 * row + 1] = value / 0x1_0000_0000
  }
  return flat(field, values)
}

/** A computed column; NaN becomes NULL. */
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
