/** Handles requests for backfills, which fill columns from their definitions, and runs the backfill jobs. */
import type { CatalogJobRun } from '../catalog/log-types.js'
import { checkRows, findTable, versionOf } from '../catalog/lookup.js'
import type { TxnOp } from '../catalog/ops.js'
import type { Json } from '../commit/machine.js'
import { invalidInput, quote, type SheafError, unsupported } from '../errors.js'
import { type JobQueuedOp, queuedOp } from '../jobs/job-op.js'
import { findField } from '../manifest/field-node.js'
import { countRows } from '../manifest/layout.js'
import type { TableField, TableSchema } from '../manifest/table-schema.js'
import { Pacer } from '../primitives/pacer.js'
import type { Handler } from '../protocol/calls.js'
import { bindTableFilter } from '../query/bind-table-filter.js'
import { commit, requirementsOf, stageTarget } from '../root/commit.js'
import type { Engine } from '../root/engine.js'
import { backfillJobOf } from '../root/job-names.js'
import { openTable, openVersion } from '../root/open-table.js'
import { backfilledValues } from '../write/backfill-columns.js'
import { buildChange } from '../write/build-change.js'
import { definitionOf } from '../write/definitions.js'
import { filledWith } from '../write/derive.js'
import { findFunction, functionKey } from '../write/functions.js'
import { StagedColumns } from '../write/stage-columns.js'
import { commitJob, tableOf } from './job-attempts.js'

/** The specification of a backfill job. The log stores it. */
export interface BackfillSpec {
  /** Ids of the fields to fill. One definition computes all of them. */
  readonly fields: readonly number[]
  /** SQL predicate of the rows to fill. Default: all rows. */
  readonly where?: string
  readonly concurrency?: number
}

// ---- the request

export const alterTableBackfillColumns: Handler<Engine, 'alterTableBackfillColumns'> = async (
  engine,
  request,
  options,
) => {
  const { id, column, where, concurrency, read_version, num_frags } = request
  const { head, layout } = await openTable(engine, id, undefined, options)
  const { schema } = layout
  const chain = findField(schema, column)
  const field = schema.fields.find(({ id }) => id === chain.at(-1)!.id)
  if (field === undefined || definitionOf(field) === null) {
    throw invalidInput(`column ${quote(column)} has no definition from which it could be filled`, {
      hint: 'add it as a computed or virtual column, or set its values with an update',
    })
  }
  if (read_version !== undefined && read_version !== versionOf(head)) {
    throw unsupported(
      `read_version must be ${versionOf(head)}, because columns are filled only from the newest version; got ${read_version}`,
    )
  }
  if (num_frags !== undefined) throw unsupported('num_frags is not supported: a job fills all fragments')
  if (where !== undefined) bindTableFilter(where, schema, undefined, engine.clock)
  const spec: BackfillSpec = {
    fields: filledWith(field, schema).map(({ id }) => id),
    ...(where !== undefined && { where }),
    ...(concurrency !== undefined && { concurrency }),
  }
  const queued = backfillOp(engine, head.uuid, field, spec)
  if (queued === null) throw unknownFunction(field)
  const { reply } = await commit(
    engine,
    (state, { transactionId }) => {
      checkRows(findTable(state, id, head.uuid))
      return { ops: [queued], reply: { job_id: transactionId } }
    },
    options,
  )
  return reply
}

/**
 * Return the operation that queues the backfill of new columns with `auto_backfill`. Returns null if there are none, or
 * if this process does not have their function. Throws `InvalidInput` if they use different functions, because a commit
 * can queue only one job.
 */
export function automaticBackfill(engine: Engine, table: string, added: TableSchema): JobQueuedOp | null {
  const automatic = added.fields.filter(field => {
    const definition = definitionOf(field)
    return definition?.kind === 'virtual' && definition.column.auto_backfill === true
  })
  const [field] = automatic
  if (field === undefined) return null
  const fields = filledWith(field, added)
  const other = automatic.find(({ id }) => !fields.some(known => known.id === id))
  if (other !== undefined) {
    throw invalidInput(
      `${quote(field.name)} and ${quote(other.name)} both have autoBackfill (auto_backfill), but use different functions`,
      {
        hint: 'add the columns of each function in a separate call',
      },
    )
  }
  return backfillOp(engine, table, field, { fields: fields.map(({ id }) => id) })
}

/** Return the operation that queues a backfill, or null if this process does not have the function. */
function backfillOp(
  engine: Engine,
  table: string,
  field: TableField,
  spec: BackfillSpec,
): JobQueuedOp | null {
  const definition = definitionOf(field)!
  if (definition.kind === 'computed') return queuedOp(backfillJobOf(null), asJson(spec), table)
  const { udf_name, udf_version } = definition.column
  const called = findFunction(engine.functions, udf_name, udf_version)
  return called === undefined ? null : queuedOp(backfillJobOf(called), asJson(spec), table)
}

function unknownFunction(field: TableField): SheafError {
  const definition = definitionOf(field)!
  const { udf_name, udf_version } = definition.kind === 'virtual' ? definition.column : {}
  const name =
    udf_name === undefined ? 'the column names no function' : quote(functionKeyOf(udf_name, udf_version))
  return unsupported(
    `column ${quote(field.name)} is filled by a function that this process does not have: ${name}`,
    {
      hint: 'register it: connect(path, { functions: [{ name, version, call }] })',
    },
  )
}

function functionKeyOf(name: string, version: string | undefined): string {
  return functionKey({ name, ...(version !== undefined && { version }) })
}

function asJson(spec: BackfillSpec): Json {
  return spec as unknown as Json
}

// ---- the job

/**
 * Run a backfill job: compute the columns and commit them. If the table changes before the commit, the job computes
 * them again.
 */
export function backfill(engine: Engine, job: CatalogJobRun): Promise<void> {
  const { fields: ids, where, concurrency } = job.spec as unknown as BackfillSpec
  const { signal } = job
  const staged = new StagedColumns()
  let done = 0
  let filled = 0
  return commitJob(engine, job, async () => {
    const head = tableOf(await engine.root.refresh(signal), job, 'filled')
    const { layout, reader } = await openVersion(engine, head, versionOf(head), signal)
    const { schema } = layout
    const fields = schema.fields.filter(({ id }) => ids.includes(id))
    const [first] = fields
    if (first === undefined) throw invalidInput('the column was dropped before it was filled')
    const pacer = new Pacer(signal)
    const total = countRows(layout)
    const work = backfilledValues(reader, fields, engine, pacer, {
      filter: where === undefined ? null : bindTableFilter(where, schema, undefined, engine.clock),
      concurrency,
      progress(rows) {
        done += rows
        job.progress(Math.min(done, total), total, 'filling')
      },
      filled(rows) {
        filled += rows
      },
    })
    const columns = await staged.stage(reader, work, stageTarget(engine, head), pacer)
    return job.commit((state, { firstBlob }) => {
      const now = tableOf(state, job, 'filled')
      if (now.mark !== head.mark) return null
      if (columns.length === 0) return { ops: [resultOf(job, filled, versionOf(head))] }
      const written = fields.map(({ id }) => id)
      const { change, blobs } = buildChange(now, { kind: 'backfill', columns, fields: written }, firstBlob)
      const result = resultOf(job, filled, versionOf(head), change.v)
      return { ops: [change, result], blobs, req: requirementsOf(now) }
    })
  })
}

/** Return an operation that records the result of the job in the log. */
function resultOf({ id }: CatalogJobRun, rows: number, source: number, published?: number): TxnOp {
  const set = {
    rows_assigned: String(rows),
    source_version: String(source),
    ...(published !== undefined && { published_version: String(published) }),
  }
  return { op: 'txn', id, set, unset: [] }
}
