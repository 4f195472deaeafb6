/** Handlers of the operations on materialized views. The job in engine/view-refresh refreshes them. */
import { decodeIpc } from '../arrow/decode-ipc.js'
import type { Schema } from '../arrow/types.js'
import { tableNamesIn } from '../catalog/listing.js'
import { checkRows, findNamespace, findTable, tableNamed } from '../catalog/lookup.js'
import type { ViewDefinition, ViewOp } from '../catalog/ops.js'
import { type CatalogState, newTable, pathKey, type TableHead } from '../catalog/state.js'
import { decideDeclareTable, decideDropTable } from '../catalog/tables.js'
import type { Json } from '../commit/machine.js'
import { invalidInput } from '../errors.js'
import { queuedOp } from '../jobs/job-op.js'
import { numberFields } from '../manifest/table-schema.js'
import type { Handler, HandlerOptions, Reply } from '../protocol/calls.js'
import { formatId, idText } from '../protocol/identifiers.js'
import { paginate, viewNames } from '../protocol/page.js'
import { queryIn, type ViewQuery } from '../protocol/view-shapes.js'
import { projectionsOf, queryOf, selectText } from '../protocol/view-sql.js'
import { commit, commitOptimistically } from '../root/commit.js'
import type { Engine } from '../root/engine.js'
import { refreshJob } from '../root/job-names.js'
import { schemaOf } from '../root/open-table.js'
import { notRunHere, sourceOf, specOf, viewOf } from '../root/refresh-request.js'
import { buildChange } from '../write/build-change.js'
import { schemaOfTable } from '../write/conform.js'
import { bindView, checkMakes } from '../write/view-query.js'
import { departed } from './tables.js'

/** Maximum characters of the definition of a view. Each checkpoint contains the definition. */
const definitionMax = 1024 * 1024

export const createMaterializedView: Handler<Engine, 'createMaterializedView'> = async (
  engine,
  request,
  options,
) => {
  const { id, kind = 'query', output_schema, with_no_data = true, auto_refresh = false } = request
  const query = kind === 'query' ? queryOf(request) : null
  const expected = output_schema === undefined ? null : schemaFrom(output_schema)
  if (query === null && !with_no_data) throw notRunHere({ kind })
  if (query === null && expected === null) {
    throw invalidInput('output_schema is missing: Sheaf cannot derive the columns of this kind of view')
  }
  const source_query = request.source_query ?? JSON.stringify(query)
  const more = request.udtf_spec && { udtf_spec: request.udtf_spec as unknown as Json }
  const given = { kind, source_query, ...more, auto_refresh }
  if (JSON.stringify(given).length > definitionMax) {
    throw invalidInput(`the definition of the view has more than ${definitionMax} characters`)
  }
  const uuid = engine.clock.uuid()
  const attempt = async () => {
    const bound = query === null ? null : await checkedSource(engine, query, expected, options)
    const schema = expected ?? bound!.schema
    return commit<Reply<'createMaterializedView'>>(
      engine,
      (state, { firstBlob, transactionId }) => {
        if (query !== null) {
          const now = tableNamed(state, query.table)
          if (now?.uuid !== bound!.source.uuid || now.schemaId !== bound!.source.schemaId) return null
          checkNotItsSource(state, now, id)
        }
        const definition: ViewDefinition = {
          ...given,
          source: query === null ? null : { id: query.table, uuid: bound!.source.uuid },
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
  }
  const retries = { subject: 'the source of the view', tables: () => [], signal: options.signal }
  return (await commitOptimistically(engine, attempt, retries)).reply
}

function schemaFrom(text: string): Schema {
  let schema: Schema
  try {
    schema = decodeIpc(Buffer.from(text, 'base64')).schema
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw invalidInput(`output_schema is not an Arrow schema: ${reason}`, {
      hint: 'send the schema as an IPC message or an IPC stream without rows, base64',
      cause,
    })
  }
  return schemaOfTable(schema)
}

/**
 * Find the source table of a view, and bind the query to it. Returns the table, and the schema of the resulting rows.
 * Throws if this schema is not `expected`.
 */
async function checkedSource(
  engine: Engine,
  query: ViewQuery,
  expected: Schema | null,
  { signal }: HandlerOptions,
): Promise<{ readonly source: TableHead; readonly schema: Schema }> {
  const source = findTable(await engine.root.refresh(signal), query.table)
  checkRows(source)
  const { schema: bound } = bindView(query, await schemaOf(engine, source, signal), engine.clock)
  if (expected !== null) checkMakes(bound, expected)
  return { source, schema: bound }
}

/** Check that the view `id` is not its own source, directly or through other views. Throws `InvalidInput`. */
function checkNotItsSource(state: CatalogState, source: TableHead, id: readonly string[]): void {
  const visited = new Set<string>()
  for (let head: TableHead | undefined = source; head?.view && !visited.has(head.uuid); ) {
    visited.add(head.uuid)
    const { definition } = head.view
    if (definition.source !== null && idText(definition.source.id) === idText(id)) {
      throw invalidInput(`view ${idText(id)} would be its own source, through ${idText(head.id)}`)
    }
    head = sourceOf(state, head.view)
  }
}

export const describeMaterializedView: Handler<Engine, 'describeMaterializedView'> = async (
  engine,
  request,
  { signal, table },
) => {
  const head = findTable(await engine.root.refresh(signal), request.id, table)
  const { definition, src } = viewOf(head)
  const { kind, source_query, source, auto_refresh } = definition
  const query = source === null ? null : queryIn(source_query)
  const shown = { ...(src !== null && { source_version: src.version }), auto_refresh }
  const name = head.id.at(-1)!
  if (query === null) return { name, kind, query: source_query, ...shown }
  const columns = (await schemaOf(engine, head, signal)).fields.map(field => field.name)
  return {
    name,
    kind,
    query: selectText(query, columns),
    source_table: formatId(query.table),
    projections: [...projectionsOf(query, columns)],
    ...(query.filter !== undefined && { filter: query.filter }),
    ...shown,
  }
}

export const listMaterializedViews: Handler<Engine, 'listMaterializedViews'> = async (
  engine,
  request,
  { signal },
) => {
  const state = await engine.root.refresh(signal)
  const node = findNamespace(state, request.id)
  const names = tableNamesIn(state, node).filter(name => state.tables.get(node.tables.get(name)!)!.view)
  const { items, ...next } = paginate(names, { ...viewNames, scope: pathKey(request.id) }, request)
  return { views: items, ...next }
}

export const dropMaterializedView: Handler<Engine, 'dropMaterializedView'> = async (
  engine,
  request,
  options,
) => {
  const { reply } = await commit(
    engine,
    (state, { transactionId }) => {
      const head = findTable(state, request.id, options.table)
      viewOf(head)
      return { ops: [decideDropTable(head)], reply: departed(engine, head, transactionId) }
    },
    options,
  )
  return reply
}
