/** Handlers of the operations on tables as catalog entries. */
import { pathToFileURL } from 'node:url'
import { schemaToJson } from '../arrow/schema-json.js'
import { sortedNames, subtree } from '../catalog/listing.js'
import { findNamespace, findTable, tagOf, versionOf } from '../catalog/lookup.js'
import type { CatalogState, TableHead } from '../catalog/state.js'
import { decideDropTable } from '../catalog/tables.js'
import { arrowSchema } from '../manifest/table-schema.js'
import type { Handler, Reply } from '../protocol/calls.js'
import { formatId } from '../protocol/identifiers.js'
import { paginate, tableNames } from '../protocol/page.js'
import { commit, type Engine, locationOf, openVersion, transactionOf } from './engine.js'

export const listTables: Handler<Engine, 'listTables'> = async (engine, request, { signal }) => {
  const state = await engine.committer.refresh(signal)
  const node = findNamespace(state, request.id)
  const listed = sortedNames(node.tables).filter(name => isListed(state, node.tables.get(name)!, request))
  const { items, ...next } = paginate(listed, tableNames, request)
  return { tables: items, ...next }
}

export const listAllTables: Handler<Engine, 'listAllTables'> = async (engine, request, { signal }) => {
  const state = await engine.committer.refresh(signal)
  const ids: string[] = []
  for (const node of subtree(state, findNamespace(state, []))) {
    for (const [name, uuid] of node.tables) {
      if (isListed(state, uuid, request)) ids.push(formatId([...node.id, name], request.delimiter))
    }
  }
  const { items, ...next } = paginate(ids.sort(), tableNames, request)
  return { tables: items, ...next }
}

function isListed(
  state: CatalogState,
  uuid: string,
  request: { include_declared?: boolean | undefined },
): boolean {
  return request.include_declared !== false || state.tables.get(uuid)!.latest !== null
}

export const tableExists: Handler<Engine, 'tableExists'> = async (engine, request, { signal }) => {
  const head = findTable(await engine.committer.refresh(signal), request.id)
  if (request.version !== undefined) versionOf(head, request.version)
}

export const describeTable: Handler<Engine, 'describeTable'> = async (engine, request, options) => {
  const head = findTable(await engine.committer.refresh(options.signal), request.id)
  const location = locationOf(engine, head)
  const asked = request.tag === undefined ? request.version : tagOf(head, request.tag)
  const entry = {
    table: head.id.at(-1)!,
    namespace: head.id.slice(0, -1),
    location,
    properties: head.props,
    storage_options: {},
    managed_versioning: true,
    is_only_declared: head.latest === null,
    ...(request.with_table_uri === true ? { table_uri: uriOf(location) } : {}),
  }
  if (head.latest === null && asked === undefined) return entry
  return { ...entry, ...(await describeVersion(engine, head, asked, options.dialect, options.signal)) }
}

async function describeVersion(
  engine: Engine,
  head: TableHead,
  version: number | undefined,
  dialect: 'namespace' | 'lance' | undefined,
  signal: AbortSignal | undefined,
): Promise<Pick<Reply<'describeTable'>, 'version' | 'schema' | 'stats' | 'metadata'>> {
  const { layout } = await openVersion(engine, head, versionOf(head, version), signal)
  const deleted = layout.fragments.reduce((sum, fragment) => sum + fragment.dead.count, 0)
  return {
    version: layout.version,
    schema: schemaToJson(arrowSchema(layout.schema), dialect ?? 'namespace'),
    stats: { num_deleted_rows: deleted, num_fragments: layout.fragments.length },
    metadata: layout.schema.metadata ?? {},
  }
}

function uriOf(location: string): string {
  return /^[a-z0-9+.-]+:\/\//i.test(location) ? location : pathToFileURL(location).href
}

export const dropTable: Handler<Engine, 'dropTable'> = async (engine, request, { signal }) => {
  let dropped: TableHead | undefined
  const committed = await commit(
    engine,
    state => {
      dropped = findTable(state, request.id)
      return { ops: [decideDropTable(state, request.id)] }
    },
    signal,
  )
  const { id, props } = dropped!
  return { id, location: locationOf(engine, dropped!), properties: props, ...transactionOf(committed) }
}
