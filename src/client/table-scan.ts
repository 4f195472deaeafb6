/** A scan: one version of a table in slices, for any number of readers. */
import type { ArrowBatch } from '../arrow/to-arrow.js'
import { corrupted } from '../errors.js'
import { lazyImport } from '../lazy-import.js'
import { takeNoMore } from '../protocol/arguments.js'
import { type CallOptions, callFields, callShape, type Operations, type Reply } from '../protocol/calls.js'
import { parse } from '../protocol/parse.js'
import { afterKey, createSessionRequest } from '../protocol/session-shapes.js'
import { array, boolean, options as declare, either, record, string } from '../protocol/shape.js'
import type { SqlFragment } from '../sql/syntax/sql-fragment.js'
import { conditionShape, filterFields } from './filter-fields.js'
import { importReplies } from './import-replies.js'
import { selectedFields } from './selection.js'

const importJoinConditions = lazyImport(() => import('./join-conditions.js'))

/** Options of `Table.scan`. */
export interface ScanOptions extends CallOptions {
  /** Most slices, 1 to 10,000. Default: one per 64 MiB of the columns that are read. */
  readonly slices?: number
  /** An SQL predicate, or a fragment made by the tag `sql`: reads the rows for which it is true. Default: all rows. */
  readonly where?: string | SqlFragment
  /** Names of columns, or SQL expressions keyed by column name, as in `Search.select`. Default: all columns. */
  readonly select?: readonly string[] | Readonly<Record<string, string | SqlFragment>>
  /** Whether to add `_rowid`. Default false. */
  readonly withRowId?: boolean
  /**
   * Whether to report the files that hold the rows (`slice.ranges`). Not together with `where`, expressions or
   * `withRowId`. Default false.
   */
  readonly files?: boolean
}

/** Options of `TableSlice.batches`. */
export interface SliceOptions extends CallOptions {
  /**
   * Cursor to continue after: `batch.metadata.get('sheaf:after')` of the last batch that was read. Default: the
   * beginning of the slice.
   */
  readonly after?: string
}

export const scanShape = declare<ScanOptions>()({
  slices: createSessionRequest.fields.slices.shape,
  where: conditionShape,
  select: either<NonNullable<ScanOptions['select']>>(
    { is: Array.isArray, shape: array(string('nonEmpty'), { distinct: name => name }) },
    { is: () => true, shape: record(conditionShape) },
  ),
  withRowId: boolean,
  files: boolean,
  ...callFields,
})

export const sliceShape = declare<SliceOptions>()({ after: string('nonEmpty'), ...callFields })

/** About the bytes of rows per request: bounds the memory of a reader. */
const requestBytes = 16 * 1024 * 1024

/** A part of the rows of a scan. The slices of a scan are disjoint. */
export class TableSlice {
  /** Token of the slice, valid in every process that has the root open, or uses a server of it (see `Table.slice`). */
  readonly token: string
  readonly #operations: Operations
  readonly #table: readonly string[]

  constructor(operations: Operations, table: readonly string[], token: string) {
    this.#operations = operations
    this.#table = table
    this.token = token
  }

  /**
   * Yield the rows in row order, as record batches of apache-arrow of about 8 MiB. A reader holds two or three
   * batches in memory. `metadata` of each batch has `sheaf:after`, the cursor for another reader to continue after
   * it. Throws `TableVersionNotFound` if the files of the version were deleted.
   */
  async *batches(options: SliceOptions = {}): AsyncGenerator<ArrowBatch, void, undefined> {
    const { after, ...call } = parse(sliceShape, options, 'batches')
    for (let from = after; ; ) {
      const request = { id: this.#table, token: this.token, max_bytes: requestBytes }
      const cursor = from === undefined ? {} : { after: from }
      const reply = await this.#operations.readTableSlice({ ...request, ...cursor }, call)
      const { arrowBatch, readReply } = await importReplies()
      const { schema, batches } = readReply(reply)
      if (batches.length === 0) return
      for (const batch of batches) yield await arrowBatch(schema, batch)
      const next = batches.at(-1)!.metadata?.[afterKey]
      // Without a cursor, the loop would read the same rows forever.
      if (next === undefined) throw corrupted(`a message of a slice has no ${afterKey} in its metadata`)
      from = next
    }
  }
}

/** A slice, with its size, as `scan` returns it. */
export class CutSlice extends TableSlice {
  /** An upper bound of the rows; a `where` lets fewer pass. */
  readonly rows: number
  /** About the stored bytes of the columns that are read. */
  readonly bytes: number
  /**
   * Where the rows are stored, in row order: rows `first` to `first + count - 1` of Arrow IPC files, minus deleted
   * rows. A range with a token instead of files must be read by `table.slice(token)`. Undefined unless `files` was
   * set.
   */
  readonly ranges: Reply<'createTableReadSession'>['slices'][number]['ranges']

  constructor(
    operations: Operations,
    table: readonly string[],
    { token, num_rows, num_bytes, ranges }: Reply<'createTableReadSession'>['slices'][number],
  ) {
    super(operations, table, token)
    this.rows = num_rows
    this.bytes = num_bytes
    this.ranges = ranges
  }
}

/**
 * A scan of one version. Read its slices with `slice.batches()`, or pass `slice.token` to another process, which
 * reads it by `table.slice(token)`. The version stays readable, even if it expires or the table is dropped, until no
 * reader has used the scan for an hour (`maintenance.keepIdleMs`).
 *
 * ```js
 * const scan = await table.scan({ slices: 4 })
 * for (const slice of scan.slices) for await (const batch of slice.batches()) consume(batch)
 * ```
 */
export class TableScan {
  /** The version that the scan reads. */
  readonly version: number
  /** The slices in row order. Empty if the planner finds that no row can match. */
  readonly slices: readonly CutSlice[]
  readonly #operations: Operations
  readonly #table: readonly string[]
  readonly #session: string

  constructor(operations: Operations, table: readonly string[], reply: Reply<'createTableReadSession'>) {
    this.#operations = operations
    this.#table = table
    this.#session = reply.session
    this.version = reply.version
    this.slices = reply.slices.map(slice => new CutSlice(operations, table, slice))
  }

  /** Release the version. Reading a slice afterwards may throw `TableVersionNotFound`. */
  async close(options: CallOptions = {}): Promise<void> {
    const request = { id: this.#table, session: this.#session }
    await this.#operations.closeTableReadSession(request, parse(callShape, options, 'close'))
  }
}

takeNoMore(TableSlice.prototype, { batches: 1 })
takeNoMore(TableScan.prototype, { close: 1 })

/** Begin a scan of a version of a table. */
export async function beginTableScan(
  operations: Operations,
  at: { readonly id: readonly string[]; readonly version?: number },
  options: ScanOptions,
): Promise<TableScan> {
  const { slices, where, select, withRowId, files, ...call } = parse(scanShape, options, 'scan')
  const filter: Partial<ReturnType<typeof filterFields>> =
    where === undefined ? {} : filterFields('scan', where)
  const { fields, withValues } =
    select === undefined ? { fields: {}, withValues: [] } : selectedFields('scan', select)
  const query = { ...filter, ...fields }
  const joined =
    withValues.length === 0 ? {} : (await importJoinConditions()).joinConditions(query, withValues)
  const request = {
    ...at,
    ...query,
    ...joined,
    ...(withRowId !== undefined && { with_row_id: withRowId }),
    ...(slices !== undefined && { slices }),
    ...(files !== undefined && { files }),
  }
  return new TableScan(operations, at.id, await operations.createTableReadSession(request, call))
}
