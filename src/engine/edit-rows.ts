/** Handlers of the operations that change existing rows: delete, update, merge. */
import { checkWritable, findTable, versionOf } from '../catalog/lookup.js'
import type { Properties } from '../catalog/ops.js'
import type { CatalogState, TableHead } from '../catalog/state.js'
import { decideProps } from '../catalog/tables.js'
import { PlainRows } from '../client/plain-rows.js'
import { readBody } from '../client/read-body.js'
import { formatTransactionId } from '../commit/transaction-id.js'
import { ErrorCode, invalidInput, SheafError } from '../errors.js'
import type { RecentChange } from '../manifest/recent-changes.js'
import { arrowSchema, type TableSchema } from '../manifest/table-schema.js'
import { deadline } from '../primitives/abort.js'
import { Pacer } from '../primitives/pacer.js'
import type { ArrowBody, Handler, HandlerOptions, Reply, Request } from '../protocol/calls.js'
import type { ChangeKind } from '../protocol/change-kind.js'
import { idText } from '../protocol/identifiers.js'
import { durationMs } from '../protocol/row-shapes.js'
import { bindTableFilter } from '../query/bind-table-filter.js'
import { parametersOf } from '../query/plan-query.js'
import { seedOf } from '../query/seed.js'
import { commitOnNewest, requirementsOf, stageTarget } from '../root/commit.js'
import type { Engine } from '../root/engine.js'
import { type OpenTable, openTable, recordOf } from '../root/open-table.js'
import type { BoundExpression } from '../sql/bound-expression.js'
import { buildChange, type ChangeParts } from '../write/build-change.js'
import { checkColumns, conformBatches } from '../write/conform.js'
import { MaintainedColumns } from '../write/maintained.js'
import { MatchedRows } from '../write/matched-rows.js'
import { type MergeRules, RowMerge } from '../write/merge.js'
import { MergeSource } from '../write/merge-source.js'
import { type Concerns, isUnrelated, matchedBy } from '../write/probe.js'
import { RewrittenRows } from '../write/rewrite-rows.js'
import { stageDeletions } from '../write/stage-deletions.js'
import { planUpdate, updatedValues } from '../write/update.js'
import { aboutMerge, keyedRows } from './keyed-rows.js'
import { perSchema } from './per-schema.js'
import { deleteOneRow, mergeOneRow, updateOneRow } from './write-one-row.js'

// ---- delete

export const deleteFromTable: Handler<Engine, 'deleteFromTable'> = async (engine, request, options) => {
  const deleted = await deleteOneRow(engine, request, options)
  if (deleted !== null) return deleted
  const { id, predicate, parameters } = request
  const matched = new MatchedRows()
  const bound = perSchema(schema => bindTableFilter(predicate, schema, parameters, engine.clock))
  return editRows(engine, id, options, {
    kind: 'delete',
    async work({ head, reader }, pacer) {
      const filter = bound(reader.schema)
      const rows = await matched.find(reader, filter, pacer)
      const deletions = await stageDeletions(rows, stageTarget(engine, head), pacer.signal)
      const outlives = outlivesAppends(reader.schema, filter, matchedBy(filter))
      return { edit: deletions, counts: { num_deleted_rows: deletions.count }, outlives }
    },
    reply: ({ counts, version, transaction_id }) => ({ ...counts, version, transaction_id }),
  })
}

// ---- update

export const updateTable: Handler<Engine, 'updateTable'> = async (engine, request, options) => {
  const updated = await updateOneRow(engine, request, options)
  if (updated !== null) return updated
  const { id, properties } = request
  const matched = new MatchedRows()
  const rewritten = new RewrittenRows()
  const bound = perSchema(schema => {
    const resolved = planUpdate(request, schema, engine.clock)
    const set = resolved.assignments.map(({ field }) => field.name)
    const values = updatedValues(schema, resolved.assignments)
    const maintained = new MaintainedColumns(schema, engine, options)
    const { filter, isOfRow } = resolved
    return { filter, isOfRow, values: maintained.after(values, set, options.signal) }
  })
  return editRows(engine, id, options, {
    kind: 'update',
    properties,
    async work({ head, reader }, pacer) {
      const { schema } = reader
      const { filter, isOfRow, values } = bound(schema)
      const rows = await matched.find(reader, filter, pacer)
      const target = stageTarget(engine, head)
      // Values that depend on the position of a row among all rows must be computed again by each attempt.
      const writer = isOfRow ? rewritten : new RewrittenRows()
      const moved = await writer.stage(reader, arrowSchema(schema), rows, values, target, pacer)
      const { dead, drop, count } = await stageDeletions(rows, target, pacer.signal)
      const outlives = filter !== null && outlivesAppends(schema, filter, matchedBy(filter))
      return { edit: { moved, dead, drop }, counts: { updated_rows: count }, ...(outlives && { outlives }) }
    },
    reply: ({ counts, version, transaction_id, props }) => {
      return { ...counts, version, transaction_id, properties: props }
    },
  })
}

// ---- merge

export const mergeInsertIntoTable: Handler<Engine, 'mergeInsertIntoTable'> = async (
  engine,
  request,
  body,
  options,
) => {
  if (!(body instanceof PlainRows)) return mergeInTime(engine, request, body, options)
  const merged = await mergeOneRow(engine, request, body.rows, options)
  if (merged !== null) return merged
  const typed = await body.typed()
  try {
    return await mergeInTime(engine, request, typed, options)
  } finally {
    await typed.close()
  }
}

/** Merge rows that were converted to Arrow data. */
const mergeInTime: Handler<Engine, 'mergeInsertIntoTable'> = async (engine, request, body, options) => {
  const { timeout } = request
  if (timeout === undefined) return mergeRows(engine, request, body, options)
  // Use 408 and not 503: after 503, clients repeat the call, and would wait longer than their caller wanted.
  const over = new SheafError(ErrorCode.ServiceUnavailable, `merge insert timed out after ${timeout}`, {
    status: 408,
    hint: 'nothing was changed; set a longer timeout, or merge fewer rows per call',
  })
  const { signal, end } = deadline(engine.clock, durationMs(timeout), over, options.signal)
  try {
    return await mergeRows(engine, request, body, { ...options, signal })
  } finally {
    end()
  }
}

async function mergeRows(
  engine: Engine,
  request: Request<'mergeInsertIntoTable'>,
  body: ArrowBody,
  options: HandlerOptions,
): Promise<Reply<'mergeInsertIntoTable'>> {
  const { id, on } = request
  const { signal } = options
  const rules = mergeRules(request)
  const { head, layout } = await openTable(engine, id, undefined, options)
  const maintained = new MaintainedColumns(layout.schema, engine, options)
  const sent = await readBody(body, options, true)
  const incoming = maintained.withoutOwn(sent)
  const schema = maintained.incoming
  checkColumns(incoming.schema, schema)
  const givenNames = new Set(incoming.schema.fields.map(({ name }) => name))
  const fields = schema.fields.filter(({ name }) => givenNames.has(name))
  const conformed = conformBatches(incoming.batches, { fields })
  const rows = { schema: { fields }, batches: keyedRows(conformed, options, aboutMerge(sent.schema)) }
  const source = await MergeSource.read(rows, schema, on, seedOf(engine.clock), new Pacer(signal))
  const merge = new RowMerge(source, rules, layout.schema, maintained)
  let attempts = 0
  // Require the same table, because the rows were converted for it. Another table may have its name now.
  return editRows(
    engine,
    id,
    { ...options, table: head.uuid },
    {
      kind: 'merge',
      async work({ head, reader }, pacer) {
        attempts++
        if (reader.schema.id !== layout.schema.id) throw changedSchema(id)
        const { deletions, moved, drafts, updated, inserted, deleted } = await merge.prepare(
          reader,
          stageTarget(engine, head),
          pacer,
        )
        const counts = { num_updated_rows: updated, num_inserted_rows: inserted, num_deleted_rows: deleted }
        const outlives = outlivesAppends(reader.schema, null, rows => merge.concerns(rows))
        return { edit: { ...deletions, moved, drafts }, counts, outlives }
      },
      reply: ({ counts, version, transaction_id }) => {
        const written = counts.num_updated_rows + counts.num_inserted_rows
        return { ...counts, num_rows: written, num_attempts: attempts, version, transaction_id }
      },
    },
  )
}

/**
 * Return the rules of a merge request. Throws `InvalidInput` for a merge that would do nothing, and for conditions or
 * parameters that would have no effect.
 */
export function mergeRules(request: Omit<Request<'mergeInsertIntoTable'>, 'id' | 'on'>): MergeRules {
  const {
    when_matched_update_all: update = false,
    when_matched_update_all_filt: updateIf,
    when_not_matched_insert_all: insert = false,
    when_not_matched_by_source_delete: remove = false,
    when_not_matched_by_source_delete_filt: removeIf,
    parameters,
  } = request
  if (!update && !insert && !remove) {
    throw invalidInput('the merge would do nothing: it neither updates, inserts nor deletes', {
      hint: 'set when_matched_update_all, when_not_matched_insert_all or when_not_matched_by_source_delete',
    })
  }
  if (updateIf !== undefined && !update) throw conditionWithoutAction('when_matched_update_all')
  if (removeIf !== undefined && !remove) throw conditionWithoutAction('when_not_matched_by_source_delete')
  if (parameters !== undefined && updateIf === undefined && removeIf === undefined) {
    throw invalidInput('parameters are given, but the request has no condition that uses them')
  }
  return { update, updateIf, insert, remove, removeIf, parameters: parametersOf(parameters) }
}

function conditionWithoutAction(field: string): SheafError {
  return invalidInput(`${field}_filt is given, but ${field} is not true`)
}

function changedSchema(id: readonly string[]): SheafError {
  const message = `table ${idText(id)} got another schema while rows were being merged`
  return new SheafError(ErrorCode.ConcurrentModification, message, { hint: 'try again' })
}

// ---- shared

/** An edit, computed on one version. */
interface Edited<C> {
  readonly edit: Pick<ChangeParts, 'dead' | 'drop' | 'moved' | 'drafts'>
  readonly counts: C
  /**
   * Returns whether the edit is still valid after a later change. Default: an edit is never valid after a later change.
   */
  readonly outlives?: (recent: RecentChange) => boolean
}

interface RowEdit<C, R> {
  readonly kind: ChangeKind
  /** Properties to set on the table. */
  readonly properties?: Properties | undefined
  /** Compute the edit on the newest version. Runs again if another commit creates a newer version first. */
  readonly work: (open: OpenTable, pacer: Pacer) => Promise<Edited<C>>
  readonly reply: (outcome: Outcome<C>) => R
}

interface Outcome<C> {
  readonly version: number
  readonly transaction_id: string
  /** All properties of the table after the edit. */
  readonly props: Properties
  readonly counts: C
}

/**
 * Commit an edit that was computed on the newest version. An edit without effect creates no version: the reply contains
 * the newest version, and the transaction that created it (rule A-110).
 */
async function editRows<C, R>(
  engine: Engine,
  id: readonly string[],
  options: HandlerOptions,
  { kind, properties = {}, work, reply: replyOf }: RowEdit<C, R>,
): Promise<R> {
  const { signal, table } = options
  const find = (state: CatalogState): TableHead => {
    const head = findTable(state, id, table)
    checkWritable(head)
    versionOf(head)
    return head
  }
  const prepare = async (open: OpenTable | null) => {
    const { head, version } = open!
    const edited = await work(open!, new Pacer(signal))
    const fields = open!.layout.schema.fields.map(field => field.id)
    if (!isNothing(edited.edit)) return { ...edited, fields, made: null }
    const { slot, txn } = await recordOf(engine, head, version, signal)
    return { ...edited, fields, made: { version, transaction_id: formatTransactionId(slot, txn) } }
  }
  const { reply } = await commitOnNewest<Awaited<ReturnType<typeof prepare>>, R>(
    engine,
    {
      id,
      find,
      prepare,
      // A change of indexes does not change rows, so the edit is still valid after it.
      outlives: (prepared, recent) => recent.change.kind === 'index' || prepared.outlives?.(recent) === true,
      decide(state, { edit, counts, made, fields }, { firstBlob, transactionId }) {
        const head = find(state)
        const propsOps = decideProps(head, properties)
        const props = { ...head.props, ...properties }
        if (made !== null) return { ops: propsOps, reply: replyOf({ ...made, counts, props }) }
        const { change, blobs } = buildChange(head, { kind, ...edit, fields }, firstBlob)
        const reply = replyOf({ version: change.v, transaction_id: transactionId, counts, props })
        return { ops: [...propsOps, change], blobs, req: requirementsOf(head), reply }
      },
    },
    options,
  )
  return reply
}

function outlivesAppends(
  schema: TableSchema,
  filter: BoundExpression | null,
  concerns: Concerns,
): (recent: RecentChange) => boolean {
  return recent => isUnrelated(recent, schema, filter, concerns)
}

function isNothing({ dead, drop = [], moved = [], drafts = [] }: Edited<unknown>['edit']): boolean {
  return (dead?.size ?? 0) + drop.length + moved.length + drafts.length === 0
}
