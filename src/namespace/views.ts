/** Materialized views: their creation, and the request for a refresh, which is a job (namespace/view-refresh). */
import { decodeIpc } from '../arrow/decode-ipc.js'
import type { Schema } from '../arrow/types.js'
import { checkRows, findTable, idText, tableNamed, versionOf } from '../catalog/lookup.js'
import type { Properties, ViewDefinition, ViewOp } from '../catalog/ops.js'
import { type CatalogState, newTable, type TableHead, type ViewState } from '../catalog/state.js'
import { decideDeclareTable } from '../catalog/tables.js'
import type { Json } from '../commit/machine.js'
import { invalidInput, type SheafError, unsupported } from '../errors.js'
import { type JobQueuedOp, queuedOp } from '../jobs/job-op.js'
import { numberFields } from '../manifest/table-schema.js'
import type { Handler, HandlerOptions, Reply, Request } from '../protocol/calls.js'
import { queryIn, type ViewQuery } from '../protocol/view-shapes.js'
import { buildChange } from '../write/build-change.js'
import { schemaOfTable } from '../write/conform.js'
import { bindView, checkMakes } from '../write/view-query.js'
import { commit, type Engine, schemaOf } from './engine.js'
import { refreshJob } from './job-names.js'

// ---- create

/** Characters of a definition: it is part of every checkpoint. */
const definitionMax = 1024 * 1024

export const createMaterializedView: Handler<Engine, 'createMaterializedView'> = async (
  engine,
  request,
  options,
) => {
  const { id, kind, source_query, with_no_data = true, auto_refresh = false } = request
  const schema = schemaFrom(request.output_schema)
  const query = kind === 'query' ? queryIn(source_query) : null
  if (query === null && !with_no_data) throw notRunHere({ kind })
  const more = request.udtf_spec && { udtf_spec: request.udtf_spec as unknown as Json }
  const given = { kind, source_query, ...more, auto_refresh }
  if (JSON.stringify(given).length > definitionMax) {
    throw invalidInput(`the definition of the view has more than ${definitionMax} characters`)
  }
  const uuid = engine.clock.uuid()
  for (;;) {
    const source = query === null ? null : await checkedSource(engine, query, schema, options)
    try {
      const { reply } = await commit<Reply<'createMaterializedView'>>(
        engine,
        (state, { firstBlob, transactionId }) => {
          if (query !== null) checkIsStill(state, query, source!, id)
          const definition: ViewDefinition = {
            ...given,
            source: query === null ? null : { id: query.table, uuid: source!.uuid },
          }
          const head = newTable(uuid, id, {})
          const { change } = buildChange(
            head,
            { kind: 'create', schema: numberFields(schema, 1, 0) },
            firstBlob,
          )
          const view: ViewOp = { op: 'view', t: uuid, definition }
          const ops = [decideDeclareTable(state, id, uuid, {}), view, change]
          if (with_no_data) return { ops, reply: { version: change.v } }
          const job = queuedOp(refreshJob, specOf({ definition, src: null }, {}), uuid)
          return { ops: [...ops, job], reply: { version: change.v, job_id: transactionId } }
        },
        options,
      )
      return reply
    } catch (error) {
      if (error !== otherSource) throw error
    }
  }
}

const otherSource = new Error('the source changed')

function schemaFrom(text: string): Schema {
  let schema: Schema
  try {
    schema = decodeIpc(Buffer.from(text, 'base64')).schema
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw invalidInput(`output_schema is no Arrow schema: ${reason}`, {
      hint: 'send the schema as an IPC message or an IPC stream without rows, base64',
      cause,
    })
  }
  return schemaOfTable(schema)
}

/** The source, if the query fits it and makes rows of the schema. */
async function checkedSource(
  engine: Engine,
  query: ViewQuery,
  schema: Schema,
  { signal }: HandlerOptions,
): Promise<TableHead> {
  const source = findTable(await engine.root.refresh(signal), query.table)
  checkRows(source)
  const { schema: made } = bindView(query, await schemaOf(engine, source, signal), engine.clock)
  checkMakes(made, schema)
  return source
}

/** Throws `otherSource` where the source is not what was looked at, and code 13 for a view that would be made of itself. */
function checkIsStill(
  state: CatalogState,
  { table }: ViewQuery,
  source: TableHead,
  id: readonly string[],
): void {
  const now = tableNamed(state, table)
  if (now?.uuid !== source.uuid || now.schemaId !== source.schemaId) throw otherSource
  const met = new Set<string>()
  for (let head: TableHead | undefined = now; head?.view && !met.has(head.uuid); ) {
    met.add(head.uuid)
    const { definition } = head.view
    if (definition.source !== null && idText(definition.source.id) === idText(id)) {
      throw invalidInput(`view ${idText(id)} would be made of itself, by way of ${idText(head.id)}`)
    }
    head = sourceOf(state, head.view)
  }
}

/** The table a view is made of, whatever it is called by now; when it is gone, the one that has its name. */
export function sourceOf(state: CatalogState, { definition, src }: ViewState): TableHead | undefined {
  if (definition.source === null) return undefined
  const { id, uuid } = definition.source
  return state.tables.get(src?.uuid ?? uuid) ?? tableNamed(state, id)
}

function notRunHere({ kind }: Pick<ViewDefinition, 'kind'>): SheafError {
  return kind === 'query'
    ? unsupported('the source_query of the view is none that Sheaf runs, so it cannot be refreshed', {
        hint: 'Sheaf runs JSON: {"table": "a$b", "columns"?: [..] or {name: SQL}, "filter"?: SQL}',
      })
    : unsupported(
        `a view of kind ${kind} is made by a function, which Sheaf does not run: it cannot be refreshed`,
      )
}

// ---- refresh: the request

/** What a refresh is to do. */
export interface RefreshSpec {
  /** Of the source; absent: the newest when the job begins. */
  readonly version?: number
  readonly rowsMax?: number
  /** Versions it reads: they stay until it has ended. */
  readonly pinned: readonly { readonly table: string; readonly version: number }[]
}

/** Characters of what is noted on a job. */
const notesMax = 65_536

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

function viewOf(head: TableHead): ViewState {
  if (head.view !== null) return head.view
  throw invalidInput(`table ${idText(head.id)} is not a materialized view`)
}

type RefreshOptions = Omit<Request<'refreshMaterializedView'>, 'id'>

function checkOptions(request: RefreshOptions, definition: ViewDefinition): void {
  if (definition.kind !== 'chunker') {
    for (const name of ['source_task_size', 'output_limit'] as const) {
      if (request[name] !== undefined) {
        throw invalidInput(`${name} is for views of kind chunker; this one is of kind ${definition.kind}`)
      }
    }
  }
  if (definition.source === null) throw notRunHere(definition)
}

/** What queues a refresh; or the id of a job that waits to do the same. */
export function refreshOp(
  state: CatalogState,
  head: TableHead,
  request: RefreshOptions,
): JobQueuedOp | string {
  const view = head.view!
  const source = sourceOf(state, view)
  // A source that is gone is for the job to tell.
  if (source !== undefined && request.src_version !== undefined) versionOf(source, request.src_version)
  const props = notesOf(request)
  for (const [id, job] of state.jobs) {
    if (job.kind !== refreshJob || job.table !== head.uuid || job.status !== 'Queued') continue
    const { version, rowsMax } = job.spec as unknown as RefreshSpec
    if (version === request.src_version && rowsMax === request.max_rows_per_fragment) return id
  }
  const spec = specOf(view, request, source)
  return { ...queuedOp(refreshJob, spec, head.uuid), ...(Object.keys(props).length > 0 && { props }) }
}

/** Options of the request as they are told on the job. */
function notesOf(request: RefreshOptions): Properties {
  const { src_version, max_rows_per_fragment, concurrency, intra_applier_concurrency } = request
  const { cluster, manifest } = request
  const all = {
    src_version,
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
    throw invalidInput(`the options of the refresh have ${length} characters, more than ${notesMax}`)
  }
  return props
}

function specOf(
  { src }: ViewState,
  { src_version, max_rows_per_fragment }: RefreshOptions,
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
    pinned,
  }
}
