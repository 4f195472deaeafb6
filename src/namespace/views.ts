/** The creation of materialized views. */
import { decodeIpc } from '../arrow/decode-ipc.js'
import type { Schema } from '../arrow/types.js'
import { checkRows, findTable, idText, tableNamed } from '../catalog/lookup.js'
import type { ViewDefinition, ViewOp } from '../catalog/ops.js'
import { type CatalogState, newTable, type TableHead } from '../catalog/state.js'
import { decideDeclareTable } from '../catalog/tables.js'
import type { Json } from '../commit/machine.js'
import { invalidInput } from '../errors.js'
import { queuedOp } from '../jobs/job-op.js'
import { numberFields } from '../manifest/table-schema.js'
import type { Handler, HandlerOptions, Reply } from '../protocol/calls.js'
import { queryIn, type ViewQuery } from '../protocol/view-shapes.js'
import { buildChange } from '../write/build-change.js'
import { schemaOfTable } from '../write/conform.js'
import { bindView, checkMakes } from '../write/view-query.js'
import { commit, type Engine, schemaOf } from './engine.js'
import { refreshJob } from './job-names.js'
import { notRunHere, sourceOf, specOf } from './refresh-request.js'

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
