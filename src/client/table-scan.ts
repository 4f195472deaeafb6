/** One version of a table in slices, which any number of readers read. */
import { type ArrowTable, toArrowTable } from '../arrow/to-arrow.js'
import { corrupted } from '../errors.js'
import { takeNoMore } from '../protocol/arguments.js'
import { type CallOptions, callFields, callShape, type Operations, type Reply } from '../protocol/calls.js'
import { parse } from '../protocol/parse.js'
import { afterKey, createSessionRequest } from '../protocol/session-shapes.js'
import { array, boolean, options as declare, either, record, string } from '../protocol/shape.js'
import type { SqlFragment } from '../sql/syntax/tag.js'
import { readReply } from './arrow-rows.js'
import { conditionShape, filterFields } from './filter-fields.js'
import { selectedFields } from './selection.js'

type ArrowBatch = ArrowTable['batches'][number]

export interface ScanOptions extends CallOptions {
  /** Slices at most, 1 to 10,000. Default: one for every 64 MiB of the columns that are read. */
  readonly slices?: number
  /** Rows to read: SQL, or what the tag `sql` makes. Default: all. */
  readonly where?: string | SqlFragment
  /** Names of columns, or expressions (SQL) by the names they get, as in `Search.select`. Default: all columns. */
  readonly select?: readonly string[] | Readonly<Record<string, string | SqlFragment>>
  /** Whether to add `_rowid`. Default false. */
  readonly withRowId?: boolean
  /** Whether to say in which files the rows lie (`slice.ranges`). Not with `where`, expressions or `withRowId`. Default false. */
  readonly files?: boolean
}

export interface SliceOptions extends CallOptions {
  /** Where to go on: `batch.metadata.get('sheaf:after')` of the last batch that was read. Default: at the beginning. */
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

/** Bytes of rows that one request brings, about: the memory of a reader. */
const requestBytes = 16 * 1024 * 1024

/** Some rows of a scan. Its batches together are those of no other slice. */
export class TableSlice {
  /** Names the slice in every process that has the root open, or asks a server of it: see `Table.slice`. */
  readonly token: string
  readonly #operations: Operations
  readonly #table: readonly string[]

  constructor(operations: Operations, table: readonly string[], token: string) {
    this.#operations = operations
    this.#table = table
    this.token = token
  }

  /**
   * The rows in row order, as record batches of apache-arrow of about 8 MiB; a reader holds two of them or three. The metadata of each has
   * `sheaf:after`, with which another reader goes on behind it. Throws code 11 where the files of the version are gone.
   */
  async *batches(options: SliceOptions = {}): AsyncGenerator<ArrowBatch, void, undefined> {
    const { after, ...call } = parse(sliceShape, options, 'batches')
    for (let from = after; ; ) {
      const request = { id: this.#table, token: this.token, max_bytes: requestBytes }
      const place = from === undefined ? {} : { after: from }
      const { schema, batches } = readReply(
        await this.#operations.readTableSlice({ ...request, ...place }, call),
      )
      if (batches.length === 0) return
      for (const batch of batches) yield (await toArrowTable(schema, [batch])).batches[0]!
      const next = batches.at(-1)!.metadata?.[afterKey]
      // Else it would read the same rows again and again.
      if (next === undefined) throw corrupted(`a message of a slice has no ${afterKey} in its metadata`)
      from = next
    }
  }
}

/** A slice as it was cut. */
export class CutSlice extends TableSlice {
  /** Rows at most; those that pass the condition are fewer. */
  readonly rows: number
  /** Of the columns that are read, as they are stored; about. */
  readonly bytes: number
  /**
   * Where the rows lie, in row order: positions `first .. first + count` of Arrow IPC files, without those that are deleted. A range with a
   * token in place of files is read by `table.slice(token)`. Undefined where nobody asked for `files`.
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
 * `const scan = await table.scan({ slices: 4 })`, then `slice.batches()` of each of `scan.slices`, here or by its token elsewhere
 * (`table.slice`). The version stays readable, even where it expires or the table is dropped, until nobody has read of it for an hour
 * (`maintenance.keepIdleMs`).
 */
export class TableScan {
  /** The version that is read. */
  readonly version: number
  /** In row order; none where no row can pass the condition. */
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

  /** Lets go of the version. Slices that are read afterwards may find that it is gone. */
  async close(options: CallOptions = {}): Promise<void> {
    const request = { id: this.#table, session: this.#session }
    await this.#operations.closeTableReadSession(request, parse(callShape, options, 'close'))
  }
}

takeNoMore(TableSlice.prototype, { batches: 1 })
takeNoMore(TableScan.prototype, { close: 1 })

/** Begins a scan of a version of a table. */
export async function beginTableScan(
  operations: Operations,
  at: { readonly id: readonly string[]; readonly version?: number },
  options: ScanOptions,
): Promise<TableScan> {
  const { slices, where, select, withRowId, files, ...call } = parse(scanShape, options, 'scan')
  const filter: Partial<ReturnType<typeof filterFields>> =
    where === undefined ? {} : filterFields('scan', where, undefined)
  const selected = select === undefined ? {} : selectedFields('scan', select, filter.parameters)
  const request = {
    ...at,
    ...filter,
    ...selected,
    ...(withRowId !== undefined && { with_row_id: withRowId }),
    ...(slices !== undefined && { slices }),
    ...(files !== undefined && { files }),
  }
  return new TableScan(operations, at.id, await operations.createTableReadSession(request, call))
}
