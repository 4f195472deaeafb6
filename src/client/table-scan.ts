/** A scan: the rows of one version of a table, split into slices for any number of readers. */
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
  /** Maximum number of slices, 1 to 10,000. Default: one slice per 64 MiB of the columns that are read. */
  readonly slices?: number
  /**
   * An SQL predicate, or a fragment made by the tag `sql`. Only rows for which it is true are read. Default: all rows.
   */
  readonly where?: string | SqlFragment
  /** Names of columns, or SQL expressions keyed by column name, like in `Search.select`. Default: all columns. */
  readonly select?: readonly string[] | Readonly<Record<string, string | SqlFragment>>
  /** Whether to add `_rowid`. Default false. */
  readonly withRowId?: boolean
  /**
   * Whether to return the files in which the rows are stored (`slice.ranges`). Not together with `where`, expressions
   * or `withRowId`. Default false.
   */
  readonly files?: boolean
}

/** Options of `TableSlice.batches`. */
export interface SliceOptions extends CallOptions {
  /**
   * Cursor after which reading continues: `batch.metadata.get('sheaf:after')` of the last batch that was read. Default:
   * the beginning of the slice.
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

/** Approximate bytes of rows per request. The limit bounds the memory of a reader. */
const requestBytes = 16 * 1024 * 1024

/** A part of the rows of a scan. The slices of a scan are disjoint. */
export class TableSlice {
  /**
   * Token of the slice for `Table.slice`. Valid in every process that has the root open, or uses a server of the root.
   */
  readonly token: string
  readonly #operations: Operations
  readonly #table: readonly string[]

  constructor(operations: Operations, table: readonly string[], token: string) {
    this.#operations = operations
    this.#table = table
    this.token = token
  }

  /**
   * Yield the rows in row order, as record batches of apache-arrow of about 8 MiB. A reader has two or three batches in
   * memory. The metadata of each batch has the key `sheaf:after`. Its value is the cursor with which another reader
   * continues after this batch. Throws `TableVersionNotFound` if the files of the version were deleted.
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
      // Stop, because the next request would read the same rows again, without end.
      if (next === undefined) throw corrupted(`a message of a slice has no ${afterKey} in its metadata`)
      from = next
    }
  }
}

/** A slice that `Table.scan` returns, with its size. */
export class CutSlice extends TableSlice {
  /** Maximum number of rows. The slice has fewer rows if the scan has a `where`. */
  readonly rows: number
  /** Approximate size of the slice in the files, in bytes, for the columns that are read. */
  readonly bytes: number
  /**
   * The ranges of stored rows that form the slice, in row order. A range consists of `count` consecutive rows of Arrow
   * IPC files, beginning with row `first`, without deleted rows. A range that has a token instead of files must be read
   * by `table.slice(token)`. Undefined unless the option `files` was set.
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
 * A scan of one version. Read its slices with `slice.batches()`, or pass `slice.token` to another process, which opens
 * the slice by `table.slice(token)`. The version stays readable even if it expires or the table is dropped. This ends
 * when no reader has used the scan for an hour (`maintenance.keepIdleMs`), or with `close`.
 *
 * ```js
 * const scan = await table.scan({ slices: 4 })
 * for (const slice of scan.slices) for await (const batch of slice.batches()) consume(batch)
 * ```
 */
export class TableScan {
  /** The version that the scan reads. */
  readonly version: number
  /** The slices in row order. Empty if min/max statistics show that no row passes the `where`. */
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

  /** End the scan, so that its version is no longer kept. Later reads of a slice may throw `TableVersionNotFound`. */
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
