/** Handles requests to refresh a view: queues a job, which engine/view-refresh runs. */
import { findTable, tableNamed, versionOf } from '../catalog/lookup.js'
import type { Properties, ViewDefinition } from '../catalog/ops.js'
import type { CatalogState, TableHead, ViewState } from '../catalog/state.js'
import type { Json } from '../commit/machine.js'
import { invalidInput, type SheafError, unsupported } from '../errors.js'
import { type JobQueuedOp, queuedOp } from '../jobs/job-op.js'
import type { Handler, Request } from '../protocol/calls.js'
import { idText } from '../protocol/identifiers.js'
import { commit } from './commit.js'
import type { Engine } from './engine.js'
import { refreshJob } from './job-names.js'

/**
 * Return the source table of a view, also if it was renamed. If it was dropped, return the table that has its name now.
 * Undefined if there is none.
 */
export function sourceOf(state: CatalogState, { definition, src }: ViewState): TableHead | undefined {
  if (definition.source === null) return undefined
  const { id, uuid } = definition.source
  return state.tables.get(src?.uuid ?? uuid) ?? tableNamed(state, id)
}

/** The parameters of a refresh job. */
export interface RefreshSpec {
  /** The version of the source to show. Default: the newest version when the job begins. */
  readonly version?: number
  readonly rowsMax?: number
  /** Whether to rebuild all rows of the view. */
  readonly full?: true
  /** Versions that the job reads. They do not expire before the job has ended. */
  readonly pinned: readonly { readonly table: string; readonly version: number }[]
}

/** Maximum characters of the properties of a job. */
const notesMax = 65_536

/** Queue the refresh of a view. The reply contains the id of the job. */
export const refreshMaterializedView: Handler<Engine, 'refreshMaterializedView'> = async (
  engine,
  request,
  options,
) => {
  const { id } = request
  const { reply } = await commit(
    engine,
    (state, { transactionId }) => {
      const head = findTable(state, id, options.table)
      const view = viewOf(head)
      checkOptions(request, view.definition)
      const queued = refreshOp(state, head, request)
      if (typeof queued === 'string') return { ops: [], reply: { job_id: queued } }
      return { ops: [queued], reply: { job_id: transactionId } }
    },
    options,
  )
  return reply
}

/** Return the view of a table. Throws `InvalidInput` if the table is not a view. */
export function viewOf(head: TableHead): ViewState {
  if (head.view !== null) return head.view
  throw invalidInput(`table ${idText(head.id)} is not a materialized view`)
}

type RefreshOptions = Omit<Request<'refreshMaterializedView'>, 'id'>

function checkOptions(request: RefreshOptions, definition: ViewDefinition): void {
  if (definition.kind !== 'chunker') {
    for (const name of ['source_task_size', 'output_limit'] as const) {
      if (request[name] !== undefined) {
        throw invalidInput(
          `${name} is only for views of kind chunker, but this view has the kind ${definition.kind}`,
        )
      }
    }
  }
  if (definition.source === null) throw notRunHere(definition)
}

/** Return the operation that queues a refresh, or the id of a queued job with the same parameters. */
export function refreshOp(
  state: CatalogState,
  head: TableHead,
  request: RefreshOptions,
): JobQueuedOp | string {
  const view = head.view!
  const source = sourceOf(state, view)
  // Check the version only if the source exists. If the source was dropped, the job fails with an error that says so.
  if (source !== undefined && request.src_version !== undefined) versionOf(source, request.src_version)
  const props = notesOf(request)
  for (const [id, job] of state.jobs) {
    if (job.kind !== refreshJob || job.table !== head.uuid || job.status !== 'Queued') continue
    const { version, rowsMax, full = false } = job.spec as unknown as RefreshSpec
    const isSame = version === request.src_version && rowsMax === request.max_rows_per_fragment
    if (isSame && full === (request.full ?? false)) return id
  }
  const spec = specOf(view, request, source)
  return { ...queuedOp(refreshJob, spec, head.uuid), ...(Object.keys(props).length > 0 && { props }) }
}

/** Return the options of the request as properties of the job. */
function notesOf(request: RefreshOptions): Properties {
  const { src_version, max_rows_per_fragment, concurrency, intra_applier_concurrency } = request
  const { cluster, manifest, full } = request
  const all = {
    src_version,
    full,
    max_rows_per_fragment,
    concurrency,
    intra_applier_concurrency,
    cluster,
    manifest,
  }
  const given = Object.entries(all).filter(([, value]) => value !== undefined)
  const props = Object.fromEntries(given.map(([name, value]) => [name, String(value)]))
  const length = JSON.stringify(props).length
  if (length > notesMax) {
    throw invalidInput(
      `the options of the refresh have ${length} characters; at most ${notesMax} are allowed`,
    )
  }
  return props
}

/** Return the parameters of a refresh job, with the versions that it pins. */
export function specOf(
  { src }: ViewState,
  { src_version, max_rows_per_fragment, full }: RefreshOptions,
  source?: TableHead,
): Json {
  const pinned: { table: string; version: number }[] = []
  if (src !== null) pinned.push({ table: src.uuid, version: src.version })
  if (source !== undefined && src_version !== undefined) {
    pinned.push({ table: source.uuid, version: src_version })
  }
  return {
    ...(src_version !== undefined && { version: src_version }),
    ...(max_rows_per_fragment !== undefined && { rowsMax: max_rows_per_fragment }),
    ...(full && { full }),
    pinned,
  }
}

/** Return the error for a view that Sheaf cannot refresh. */
export function notRunHere({ kind }: Pick<ViewDefinition, 'kind'>): SheafError {
  return kind === 'query'
    ? unsupported('Sheaf cannot run the query of the view (source_query), so the view cannot be refreshed', {
        hint: 'the query must be JSON: {"table": "a$b", "columns"?: [..] or {name: SQL}, "filter"?: SQL}',
      })
    : unsupported(
        `Sheaf cannot refresh a view of kind ${kind}, because it does not run the function that computes the view`,
      )
}
