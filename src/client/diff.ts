/**
 * The difference between two versions of a table, by row id. A query with `differs_from` returns the rows that are
 * not stored at the same address in the other version. A row id of only one version was added or removed. For a row
 * id of both versions, the values are compared, since a row may have moved, or been rewritten with equal values.
 *
 * Row ids are held in memory, 16 bytes per differing row. Rows are read a few thousand at a time.
 */
import type { Batch } from '../arrow/column.js'
import { sliceBatch } from '../arrow/slice.js'
import { takeBatch } from '../arrow/take.js'
import { toArrowTable } from '../arrow/to-arrow.js'
import type { Schema } from '../arrow/types.js'
import { lazyImport } from '../lazy-import.js'
import { Pacer } from '../primitives/pacer.js'
import { takeNoMore } from '../protocol/arguments.js'
import { type CallOptions, callShape, type Operations, type Request } from '../protocol/calls.js'
import { parse } from '../protocol/parse.js'
import { either, integer, string } from '../protocol/shape.js'
import { ascendingIds, type DifferingIds, differingIds, idNumbers } from '../query/differing-ids.js'
import { readReply } from './arrow-rows.js'
import { callOptions, type RowObject, type RowsOptions, rowObjects, rowsShape } from './row-objects.js'
import { scanPages } from './scan-pages.js'
import { type SchemaDifference, schemaDifference, sharedColumns } from './schema-difference.js'
import { type ArrowBatch, type BatchesOptions, batchesShape } from './search.js'
import { takenAtOnce, takePages } from './take.js'

const importDiffering = lazyImport(() => import('./differing.js'))

/** Row ids per query. */
const idsAtOnce = 32 * 1024

/** A version number, or a tag. A tag is resolved when the difference is first read. */
type VersionOrTag = number | string

/** A row that differs, as it is in both versions. */
export interface ChangedRow {
  readonly before: RowObject
  readonly after: RowObject
}

/** A batch of rows that differ, in both versions. */
export interface ChangedBatch {
  /** Row `i` of `before` and row `i` of `after` are the same row. */
  readonly before: ArrowBatch
  readonly after: ArrowBatch
}

/** The difference between the versions `from` and `to`. Each part is read on demand. */
export interface Diff {
  /** Rows that only `to` has: its columns and `_rowid`, ordered by `_rowid`. */
  readonly added: DiffRows
  /** Rows that only `from` has, in the same form. */
  readonly removed: DiffRows
  /** Rows of both versions that differ in a column of both versions, even if the column was renamed. */
  readonly changed: ChangedRows
  /** Compare the columns. Rows do not count as changed because of columns that only one version has. */
  schema(options?: CallOptions): Promise<SchemaDifference>
}

/** Compare two versions in any order. Tags are resolved when something is read. */
export function diffOf(
  operations: Operations,
  id: readonly string[],
  from: VersionOrTag,
  to: VersionOrTag,
): Diff {
  for (const version of [from, to]) parse(versionShape, version, 'diff: the version')
  const pair = new VersionPair(operations, id, from, to)
  return {
    added: new DiffRows(pair, 'added'),
    removed: new DiffRows(pair, 'removed'),
    changed: new ChangedRows(pair),
    schema: async options => pair.schema(options && parse(callShape, options, 'schema')),
  }
}

/** A version number or a tag. */
export const versionShape = either<VersionOrTag>(
  { is: value => typeof value === 'string', shape: string('nonEmpty') },
  { is: () => true, shape: integer(0) },
)

/** Rows of one version that the other version does not have. */
export class DiffRows {
  readonly #pair: VersionPair
  readonly #what: 'added' | 'removed'

  constructor(pair: VersionPair, what: 'added' | 'removed') {
    this.#pair = pair
    this.#what = what
  }

  /** Count the rows, without reading them. */
  async count(options: CallOptions = {}): Promise<number> {
    return (await this.#pair.ids(parse(callShape, options, 'count')))[this.#what].length
  }

  /** Return the rows as objects. */
  async toArray(given: RowsOptions = {}): Promise<RowObject[]> {
    const options = parse(rowsShape, given, 'toArray')
    return rowObjects(this.#batches(callOptions(options)), options)
  }

  /** Yield the rows as record batches of apache-arrow. One batch is in memory at a time. */
  async *batches(options: BatchesOptions = {}): AsyncGenerator<ArrowBatch, void, undefined> {
    const { rows, ...call } = parse(batchesShape, options, 'batches')
    for await (const piece of pieces(this.#batches(call), rows, call)) yield arrowBatch(piece)
  }

  async *#batches(options: CallOptions): AsyncGenerator<Batch> {
    const ids = (await this.#pair.ids(options))[this.#what]
    const side = this.#what === 'added' ? 'to' : 'from'
    if (ids.length > 0) yield* this.#pair.rows(side, ids, options)
  }
}

takeNoMore(DiffRows.prototype, { count: 1, toArray: 1, batches: 1 })

/** Rows that both versions have, with different values. */
export class ChangedRows {
  readonly #pair: VersionPair

  constructor(pair: VersionPair) {
    this.#pair = pair
  }

  /** Count the rows. Reads and compares the shared columns of the rows that may have changed. */
  async count(options: CallOptions = {}): Promise<number> {
    let count = 0
    const call = parse(callShape, options, 'count')
    for await (const { after } of this.#pair.changed(true, call)) count += after.length
    return count
  }

  /** Return the rows as objects. */
  async toArray(given: RowsOptions = {}): Promise<ChangedRow[]> {
    const options = parse(rowsShape, given, 'toArray')
    const rows: ChangedRow[] = []
    for await (const { before, after } of this.#pair.changed(false, callOptions(options))) {
      const old = await rowObjects([before], options)
      const now = await rowObjects([after], options)
      for (let i = 0; i < now.length; i++) rows.push({ before: old[i]!, after: now[i]! })
    }
    return rows
  }

  /** Yield the rows of both versions as record batches of apache-arrow. One pair of batches is in memory at a time. */
  async *batches(options: BatchesOptions = {}): AsyncGenerator<ChangedBatch, void, undefined> {
    const { rows, ...call } = parse(batchesShape, options, 'batches')
    for await (const { before, after } of this.#pair.changed(false, call)) {
      const old = pieces([before], rows, call)
      for await (const now of pieces([after], rows, call)) {
        yield {
          before: await arrowBatch((await old.next()).value as Batch),
          after: await arrowBatch(now),
        }
      }
    }
  }
}

takeNoMore(ChangedRows.prototype, { count: 1, toArray: 1, batches: 1 })

type Side = 'from' | 'to'

/** Two versions, with their row ids and schemas, which are read once. */
class VersionPair {
  readonly #operations: Operations
  readonly #id: readonly string[]
  readonly #requested: Readonly<Record<Side, VersionOrTag>>
  #versions: Readonly<Record<Side, number>> | undefined
  #ids: DifferingIds | undefined
  #schemas: Readonly<Record<Side, Schema>> | undefined

  constructor(operations: Operations, id: readonly string[], from: VersionOrTag, to: VersionOrTag) {
    this.#operations = operations
    this.#id = id
    this.#requested = { from, to }
  }

  async ids(options: CallOptions): Promise<DifferingIds> {
    if (this.#ids !== undefined) return this.#ids
    const from = await this.#idsOf('from', options)
    const to = await this.#idsOf('to', options)
    const ids = await differingIds(from, to, new Pacer(options.signal))
    this.#ids = ids
    return ids
  }

  async schema(options: CallOptions = {}): Promise<SchemaDifference> {
    const { from, to } = await this.#bothSchemas(options)
    return schemaDifference(from, to)
  }

  /** Yield rows of one side, ordered by row id. */
  async *rows(
    side: Side,
    ids: Float64Array,
    options: CallOptions,
    columns?: readonly string[],
  ): AsyncGenerator<Batch> {
    const version = (await this.#resolved(options))[side]
    const request = {
      id: this.#id,
      version,
      with_row_id: true,
      ...(columns !== undefined && { columns: { column_names: columns } }),
    }
    for await (const { batches } of takePages(this.#operations, request, '_rowid', ids, options))
      yield* batches
  }

  /** Yield the rows that differ. `compared`: read only the columns that are compared. */
  async *changed(
    compared: boolean,
    options: CallOptions,
  ): AsyncGenerator<{ readonly before: Batch; readonly after: Batch }> {
    const { both } = await this.ids(options)
    if (both.length === 0) return
    const { from, to } = await this.#bothSchemas(options)
    const shared = sharedColumns(from, to)
    if (shared.length === 0) return
    const columnsOf = (side: Side) => (compared ? shared.map(column => column[side].name) : undefined)
    const pacer = new Pacer(options.signal)
    const { differing } = await importDiffering()
    for (let at = 0; at < both.length; at += takenAtOnce) {
      const some = both.subarray(at, at + takenAtOnce)
      const before = await firstBatch(this.rows('from', some, options, columnsOf('from')))
      const after = await firstBatch(this.rows('to', some, options, columnsOf('to')))
      const rows = (await differing(before, after, shared, pacer)).toIndices()
      if (rows.length > 0) yield { before: takeBatch(before, rows), after: takeBatch(after, rows) }
      await pacer.turn()
    }
  }

  /** Return the ids of the rows of one side that are not at the same address on the other side, ascending. */
  async #idsOf(side: Side, options: CallOptions): Promise<Float64Array> {
    const request = { ...(await this.#differenceQuery(side, options)), columns: { column_names: ['_rowid'] } }
    const found: Float64Array[] = []
    for await (const page of scanPages(this.#operations, request, idsAtOnce, options)) {
      for (const { columns } of page.batches) found.push(idNumbers(columns[0]!.values as BigUint64Array))
    }
    return ascendingIds(found, new Pacer(options.signal))
  }

  async #bothSchemas(options: CallOptions): Promise<Readonly<Record<Side, Schema>>> {
    this.#schemas ??= {
      from: await this.#schemaOf('from', options),
      to: await this.#schemaOf('to', options),
    }
    return this.#schemas
  }

  async #schemaOf(side: Side, options: CallOptions): Promise<Schema> {
    const reply = await this.#operations.queryTable(
      { ...(await this.#differenceQuery(side, options)), k: 0 },
      options,
    )
    return readReply(reply).schema
  }

  /** Return a query for the rows of one side that the other side does not have at the same address. */
  async #differenceQuery(side: Side, options: CallOptions): Promise<Request<'queryTable'>> {
    const { from, to } = await this.#resolved(options)
    const [version, differs_from] = side === 'from' ? [from, to] : [to, from]
    return { id: this.#id, version, differs_from, vector: null, k: Number.MAX_SAFE_INTEGER }
  }

  async #resolved(options: CallOptions): Promise<Readonly<Record<Side, number>>> {
    if (this.#versions === undefined) {
      const { from, to } = this.#requested
      const version = async (requested: VersionOrTag) => {
        if (typeof requested !== 'string') return requested
        return (await this.#operations.getTableTagVersion({ id: this.#id, tag: requested }, options)).version
      }
      this.#versions = { from: await version(from), to: await version(to) }
    }
    return this.#versions
  }
}

async function firstBatch(batches: AsyncGenerator<Batch>): Promise<Batch> {
  const { value } = await batches.next()
  await batches.return(undefined)
  return value as Batch
}

// ---- batches

/** Cut batches into pieces of at most `rows` rows; by default, as they are read. */
async function* pieces(
  batches: AsyncIterable<Batch> | Iterable<Batch>,
  rows = takenAtOnce,
  { signal }: CallOptions,
): AsyncGenerator<Batch> {
  const pacer = new Pacer(signal)
  for await (const batch of batches) {
    for (let from = 0; from < batch.length; from += rows) {
      yield sliceBatch(batch, from, Math.min(rows, batch.length - from))
      await pacer.turn()
    }
  }
}

async function arrowBatch(batch: Batch): Promise<ArrowBatch> {
  return (await toArrowTable(batch.schema, [batch])).batches[0]!
}
