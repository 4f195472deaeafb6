/**
 * Handlers of the operations that change the schema of a table. Each operation creates a version that follows the
 * newest one.
 */
import { checkWritable, findTable, versionOf } from '../catalog/lookup.js'
import type { CatalogState, TableHead } from '../catalog/state.js'
import { quote, schemaMismatch, unsupported } from '../errors.js'
import type { JobQueuedOp } from '../jobs/job-op.js'
import { type NumberedSchema, numberFields, type TableSchema } from '../manifest/table-schema.js'
import type { Clock } from '../primitives/clock.js'
import { Pacer } from '../primitives/pacer.js'
import type { Handler, HandlerOptions } from '../protocol/calls.js'
import { bindTableFilter } from '../query/bind-table-filter.js'
import { countMatching } from '../query/count.js'
import { commitOnNewest, requirementsOf, stageTarget } from '../root/commit.js'
import type { Engine } from '../root/engine.js'
import type { OpenTable } from '../root/open-table.js'
import type { TableReader } from '../table/table-reader.js'
import { addedValues, planNewColumns } from '../write/add-columns.js'
import { type Obstacle, planAlterations, withFieldMetadata, withoutColumns } from '../write/alter-columns.js'
import { buildChange, type ChangeParts } from '../write/build-change.js'
import { checkDependents } from '../write/derive.js'
import { reshapedValues } from '../write/reshape-columns.js'
import { StagedColumns } from '../write/stage-columns.js'
import { automaticBackfill } from './backfill.js'
import { perSchema } from './per-schema.js'

// ---- add

export const alterTableAddColumns: Handler<Engine, 'alterTableAddColumns'> = async (
  engine,
  request,
  options,
) => {
  const { id, new_columns } = request
  const staged = new StagedColumns()
  const resolved = perSchema(schema => {
    const added = planNewColumns(new_columns, schema, { clock: engine.clock })
    return { added, work: addedValues(added) }
  })
  return changeSchema(engine, id, options, {
    async work({ head, reader }, pacer) {
      const { schema } = reader
      const { added, work } = resolved(schema)
      const numbered = numberFields(
        { fields: added.map(({ field }) => field) },
        head.schemaId + 1,
        head.next.field,
      )
      const written = numbered.schema.fields.filter((_, i) => added[i]!.value !== null)
      const fields = [...schema.fields, ...numbered.schema.fields]
      const next = { ...numbered, schema: { ...schema, id: numbered.schema.id, fields } }
      checkDependents(schema, next.schema, engine)
      const columns = work === null ? [] : await staged.stage(reader, work, stageTarget(engine, head), pacer)
      return {
        schema: next,
        columns,
        fields: written.map(field => field.id),
        job: automaticBackfill(engine, head.uuid, numbered.schema),
      }
    },
    reply: version => version,
  })
}

// ---- alter, drop

export const alterTableAlterColumns: Handler<Engine, 'alterTableAlterColumns'> = async (
  engine,
  request,
  options,
) => {
  const { id, alterations } = request
  const staged = new StagedColumns()
  return changeSchema(engine, id, options, {
    async work({ head, reader }, pacer) {
      const resolved = planAlterations(alterations, reader.schema, head.next.field)
      for (const obstacle of resolved.obstacles) await checkAbsent(reader, obstacle, engine.clock, pacer)
      return reshape(engine, { head, reader }, resolved, staged, pacer)
    },
    reply: version => version,
  })
}

export const alterTableDropColumns: Handler<Engine, 'alterTableDropColumns'> = async (
  engine,
  request,
  options,
) => {
  const { id, columns } = request
  const staged = new StagedColumns()
  return changeSchema(engine, id, options, {
    work({ head, reader }, pacer) {
      const schema = withoutColumns(reader.schema, columns)
      return reshape(engine, { head, reader }, { schema, nextField: head.next.field }, staged, pacer)
    },
    reply: version => version,
  })
}

/** Return the change to the new schema, with the columns whose values must be rewritten. */
async function reshape(
  engine: Engine,
  { head, reader }: Pick<OpenTable, 'head' | 'reader'>,
  { schema, nextField }: NumberedSchema,
  staged: StagedColumns,
  pacer: Pacer,
): Promise<SchemaChange> {
  const next = { schema: { ...schema, id: head.schemaId + 1 }, nextField }
  checkDependents(reader.schema, next.schema, engine)
  const reshaped = reshapedValues(reader.schema, next.schema)
  if (reshaped === null) return { schema: next }
  const columns = await staged.stage(reader, reshaped.work, stageTarget(engine, head), pacer)
  return { schema: next, columns, fields: reshaped.fields }
}

async function checkAbsent(
  reader: TableReader,
  { path, condition }: Obstacle,
  clock: Clock,
  pacer: Pacer,
): Promise<void> {
  const rows = await countMatching(reader, bindTableFilter(condition, reader.schema, undefined, clock), pacer)
  if (rows === 0) return
  throw schemaMismatch(`column ${quote(path)} is null in ${rows} ${rows === 1 ? 'row' : 'rows'}`, {
    hint: `update or delete these rows first: ${condition}`,
  })
}

// ---- metadata

export const updateFieldMetadata: Handler<Engine, 'updateFieldMetadata'> = async (
  engine,
  request,
  options,
) => {
  const { id, updates } = request
  return changeSchema(engine, id, options, {
    async work({ head, reader }) {
      const { schema, fields } = withFieldMetadata(reader.schema, updates)
      return { schema: successor(head, schema), answer: fields }
    },
    reply: (version, fields) => ({ ...version, fields }),
  })
}

export const updateTableSchemaMetadata: Handler<Engine, 'updateTableSchemaMetadata'> = async (
  engine,
  request,
  options,
) => {
  const { id, metadata } = request
  return changeSchema(engine, id, options, {
    work: async ({ head, reader }) => ({ schema: successor(head, { ...reader.schema, metadata }) }),
    reply: ({ transaction_id }) => ({ metadata, transaction_id }),
  })
}

// ---- shared

/** Return `schema` with the next schema id of the table. The schema must not have new fields. */
function successor(head: TableHead, schema: TableSchema): NumberedSchema {
  return { schema: { ...schema, id: head.schemaId + 1 }, nextField: head.next.field }
}

/** The change of a schema, computed on one version. */
interface SchemaChange extends Pick<ChangeParts, 'columns' | 'fields'> {
  readonly schema: NumberedSchema
  /** A job to queue in the same commit. Default: none. */
  readonly job?: JobQueuedOp | null
}

interface SchemaEdit<A, R> {
  /** Compute the change on the newest version. Runs again if another commit creates a newer version first. */
  readonly work: (open: OpenTable, pacer: Pacer) => Promise<SchemaChange & { readonly answer?: A }>
  readonly reply: (version: { readonly version: number; readonly transaction_id: string }, answer: A) => R
}

async function changeSchema<A, R>(
  engine: Engine,
  id: readonly string[],
  options: HandlerOptions,
  { work, reply }: SchemaEdit<A, R>,
): Promise<R> {
  const find = (state: CatalogState): TableHead => {
    const head = findTable(state, id, options.table)
    checkWritable(head)
    versionOf(head)
    return head
  }
  const outcome = await commitOnNewest(
    engine,
    {
      id,
      find,
      prepare: open => work(open!, new Pacer(options.signal)),
      decide(state, { answer, job = null, ...parts }, { firstBlob, transactionId }) {
        const head = find(state)
        if (job !== null && state.jobs.has(transactionId)) {
          throw unsupported(
            'a transaction can queue only one job, and this transaction has already queued a job',
            {
              hint: 'use a separate transaction for each call that adds columns with autoBackfill (auto_backfill)',
            },
          )
        }
        const { change, blobs } = buildChange(head, { kind: 'schema', ...parts }, firstBlob)
        const version = { version: change.v, transaction_id: transactionId }
        return {
          ops: job === null ? [change] : [change, job],
          blobs,
          req: requirementsOf(head),
          reply: reply(version, answer as A),
        }
      },
    },
    options,
  )
  return outcome.reply
}
