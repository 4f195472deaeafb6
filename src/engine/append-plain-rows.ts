/**
 * Appends a few plain objects to a table. This is the shortest way from an object to a slot:
 *
 * - The encoder of the rows is kept from an earlier append, with the id of the schema for which it was made.
 * - The log is read first only if it has a new slot. A commit on an older state would lose the next slot. The commit is
 *   decided on the state that its entry follows. This state shows whether the table still has the schema.
 *
 * In every other case, `appendPlainRows` returns null, and nothing is committed. Then the caller inserts the rows in the
 * usual steps, which read the log first and throw the errors.
 */
import { tableNamed } from '../catalog/lookup.js'
import type { CatalogState, TableHead } from '../catalog/state.js'
import type { ProposalPosition } from '../commit/machine.js'
import { arrowSchema, type TableSchema } from '../manifest/table-schema.js'
import type { HandlerOptions, Reply, Request } from '../protocol/calls.js'
import { commit, type Decision, requirementsOf } from '../root/commit.js'
import type { Engine } from '../root/engine.js'
import { appendedRows } from '../write/build-change.js'
import { InlineRowEncoder } from '../write/inline-rows.js'
import type { MaintainedColumns } from '../write/maintained.js'

/** How rows are appended to a table with the schema `schemaId`. */
interface AppendPlan {
  readonly schemaId: number
  readonly encoder: InlineRowEncoder
  /** Ids of the fields, in the order of the columns. */
  readonly fields: readonly number[]
}

/** Maximum number of plans per root. */
const plansMax = 1000

/** By root, then by table uuid: the plan of the newest schema for which rows were inserted. */
const plansOf = new WeakMap<Engine, Map<string, AppendPlan>>()

/**
 * Keep the plan of later appends to a table. A table with maintained columns has no plan, because these columns are
 * computed from batches.
 */
export function keepAppendPlan(
  engine: Engine,
  { uuid }: TableHead,
  schema: TableSchema,
  maintained: MaintainedColumns,
): void {
  const plans = plansOf.get(engine) ?? new Map<string, AppendPlan>()
  if (plans.get(uuid)?.schemaId === schema.id || maintained.isAny) return
  const encoder = InlineRowEncoder.of(arrowSchema(schema))
  if (encoder === null) return
  if (plans.size >= plansMax) plans.clear()
  plans.set(uuid, { schemaId: schema.id, encoder, fields: schema.fields.map(field => field.id) })
  plansOf.set(engine, plans)
}

/** Append rows. Returns null if they must be inserted in the usual steps. See the head of this file. */
export async function appendPlainRows(
  engine: Engine,
  { id, mode = 'Append', upload_id }: Request<'insertIntoTable'>,
  rows: readonly object[],
  options: HandlerOptions,
): Promise<Reply<'insertIntoTable'> | null> {
  if (mode !== 'Append' || upload_id !== undefined || options.callKey !== undefined) return null
  const tableIn = (state: CatalogState) =>
    options.table === undefined ? tableNamed(state, id) : state.tables.get(options.table)
  if (engine.root.isBehind?.() === true) await engine.root.refresh(options.signal)
  const known = tableIn(engine.root.state)
  if (known === undefined || engine.writers.isUrgent(known.uuid)) return null
  const { uuid } = known
  const plan = plansOf.get(engine)?.get(uuid)
  if (plan?.schemaId !== known.schemaId) return null
  const blob = plan.encoder.encode(rows)
  if (blob === null) return null
  const decide = (state: CatalogState, at: ProposalPosition): Decision<Reply<'insertIntoTable'>> | null => {
    const head = tableIn(state)
    const isSame = head?.uuid === uuid && head.schemaId === plan.schemaId
    if (!isSame || head.kind !== 'sheaf' || head.view !== null) return null
    const change = appendedRows(head, rows.length, blob.length, plan.fields, at.firstBlob)
    return {
      ops: [change],
      blobs: [blob],
      req: requirementsOf(head),
      isPlain: true,
      reply: {
        num_inserted_rows: rows.length,
        version: change.v,
        transaction_id: at.transactionId,
      },
    }
  }
  return (await commit(engine, decide, options))?.reply ?? null
}
