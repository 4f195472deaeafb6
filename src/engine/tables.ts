/** Handlers of the operations on tables that do not read or write rows. */
import { tableNamesIn, tablePaths } from '../catalog/listing.js'
import { findNamespace, findTable, mayHaveManifests, tableNamed, versionOf } from '../catalog/lookup.js'
import { type CatalogState, ownLocation, pathKey, type TableHead } from '../catalog/state.js'
import {
  decideDeclareTable,
  decideDropTable,
  decideRegisterTable,
  decideRenameTable,
  type FoundVersions,
  merged,
} from '../catalog/tables.js'
import { invalidInput, quote } from '../errors.js'
import { countRows } from '../manifest/layout.js'
import type { Handler, Reply } from '../protocol/calls.js'
import { formatId } from '../protocol/identifiers.js'
import { detectNamingScheme, parseManifestName } from '../protocol/manifest-name.js'
import { type Listing, paginate, tableNames } from '../protocol/page.js'
import { newNamespaceOf } from '../protocol/table-shapes.js'
import { commit } from '../root/commit.js'
import type { Engine } from '../root/engine.js'
import { folderAt } from '../root/locations.js'
import { locationOf } from '../root/open-table.js'
import { findCurrent, manifestsAbove, openReadable } from './lance-versions.js'
import { checkOtherRoots } from './other-roots.js'

// ---- list

export const listTables: Handler<Engine, 'listTables'> = async (engine, request, { signal }) => {
  const state = await engine.root.refresh(signal)
  const node = findNamespace(state, request.id)
  const names = tableNamesIn(state, node)
  const listed =
    request.include_declared === false
      ? names.filter(name => state.tables.get(node.tables.get(name)!)!.kind !== 'declared')
      : names
  const { items, ...next } = paginate(listed, { ...tableNames, scope: pathKey(request.id) }, request)
  return { tables: items, ...next }
}

export const listAllTables: Handler<Engine, 'listAllTables'> = async (engine, request, { signal }) => {
  const state = await engine.root.refresh(signal)
  const all = tableIds(state, request.delimiter)
  const listed = request.include_declared === false ? all.filter(({ path }) => !isDeclared(state, path)) : all
  const listing: Listing<TableId> = { ...tableNames, key: ({ id }) => id }
  const { items, ...next } = paginate(listed, listing, request)
  return { tables: items.map(({ id }) => id), ...next }
}

interface TableId {
  readonly id: string
  readonly path: readonly string[]
}

const idsByDelimiter = new WeakMap<
  readonly (readonly string[])[],
  Map<string | undefined, readonly TableId[]>
>()

/** Return the identifiers of all tables, sorted. The result is cached per set of names and delimiter. */
function tableIds(state: CatalogState, delimiter: string | undefined): readonly TableId[] {
  const paths = tablePaths(state)
  const known = idsByDelimiter.get(paths) ?? new Map<string | undefined, readonly TableId[]>()
  let ids = known.get(delimiter)
  if (ids === undefined) {
    ids = paths.map(path => ({ id: formatId(path, delimiter), path })).sort((a, b) => (a.id < b.id ? -1 : 1))
    idsByDelimiter.set(paths, known.set(delimiter, ids))
  }
  return ids
}

function isDeclared(state: CatalogState, path: readonly string[]): boolean {
  return tableNamed(state, path)!.kind === 'declared'
}

// ---- describe

export const tableExists: Handler<Engine, 'tableExists'> = async (engine, request, options) => {
  const { version } = request
  if (version === undefined) findTable(await engine.root.refresh(options.signal), request.id, options.table)
  else versionOf(await findCurrent(engine, request.id, options, version), version)
}

/** Fragments with fewer rows are counted as small, as in LanceDB. */
const smallFragmentRows = 100_000

export const getTableStats: Handler<Engine, 'getTableStats'> = async (engine, request, options) => {
  const { layout } = await openReadable(engine, request.id, undefined, options)
  const { fragments, indexes } = layout
  const lengths = fragments.map(({ rows, dead }) => rows - dead.count).sort((a, b) => a - b)
  const quantile = (part: number) => lengths[Math.ceil(part * lengths.length) - 1] ?? 0
  const bytes = fragments.flatMap(({ files }) => files.map(file => file.bytes))
  return {
    total_bytes: bytes.reduce((sum, size) => sum + size, 0),
    num_rows: countRows(layout),
    num_indices: indexes.length,
    fragment_stats: {
      num_fragments: fragments.length,
      num_small_fragments: lengths.filter(rows => rows < smallFragmentRows).length,
      lengths: {
        min: lengths[0] ?? 0,
        max: lengths.at(-1) ?? 0,
        mean: Math.floor(lengths.reduce((sum, rows) => sum + rows, 0) / Math.max(1, lengths.length)),
        p25: quantile(0.25),
        p50: quantile(0.5),
        p75: quantile(0.75),
        p99: quantile(0.99),
      },
    },
  }
}

// ---- change

export const declareTable: Handler<Engine, 'declareTable'> = async (engine, request, options) => {
  const { id, location, properties = {} } = request
  const uuid = engine.clock.uuid()
  const folder = location === undefined ? ownLocation(uuid) : folderAt(engine.location, location)
  if (location !== undefined) await checkOtherRoots(engine.store, folder, options.signal)
  const { reply } = await commit(
    engine,
    (state, { transactionId }) => ({
      ops: [decideDeclareTable(state, id, uuid, properties, folder)],
      reply: declared(engine, folder, properties, transactionId),
    }),
    options,
  )
  return reply
}

/** Return the reply for a declared table. Local stores need no storage options. */
export function declared(
  engine: Engine,
  folder: string,
  properties: Readonly<Record<string, string>>,
  transaction_id: string,
): Reply<'declareTable'> {
  const location = locationOf(engine, { location: folder })
  return { location, storage_options: {}, properties, managed_versioning: true, transaction_id }
}

export const registerTable: Handler<Engine, 'registerTable'> = async (engine, request, options) => {
  const { id, mode = 'Create', properties = {} } = request
  const folder = folderAt(engine.location, request.location)
  const before = await engine.root.refresh(options.signal)
  // For known locations the log is authoritative, whatever files exist there.
  const isKnown =
    before.detached.has(folder) || before.external.has(folder) || folder.startsWith(ownLocation(''))
  if (!isKnown) await checkOtherRoots(engine.store, folder, options.signal)
  const found = isKnown ? null : await findVersions(engine, folder, options.signal)
  const detached = before.detached.get(folder)
  // The versions that a Lance engine wrote while the table was deregistered.
  const laterManifests =
    detached && mayHaveManifests(detached) ? await manifestsAbove(engine, detached, options.signal) : []
  const uuid = engine.clock.uuid()
  const { reply } = await commit(
    engine,
    (state, { transactionId }) => {
      const ops = decideRegisterTable(
        state,
        { id, uuid, location: folder, props: properties, found, since: laterManifests },
        mode,
      )
      const named = tableNamed(state, id)
      const detached = state.detached.get(folder) ?? (named?.location === folder ? named : undefined)
      return {
        ops,
        reply: {
          location: locationOf(engine, { location: folder }),
          properties: detached === undefined ? properties : merged(detached, properties),
          ...(ops.length > 0 && { transaction_id: transactionId }),
        },
      }
    },
    options,
  )
  return reply
}

/**
 * Register a table of a directory of LanceDB. Unlike `registerTable`, this does not look for roots of Sheaf in the folder
 * of the table, because LanceDB owns the folder.
 */
export async function registerLanceTable(
  engine: Engine,
  id: readonly string[],
  location: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const found = await findVersions(engine, location, signal)
  const uuid = engine.clock.uuid()
  await commit(engine, state => {
    const table = { id, uuid, location, props: {}, found, since: [] }
    return { ops: decideRegisterTable(state, table, 'Create'), reply: null }
  })
}

/**
 * Return the versions that a Lance engine left at a location, in ascending order. All have the same naming scheme.
 * Throws `InvalidInput` if there are none, or if the newest file is not a Lance manifest. The content is checked because
 * manifests of Sheaf have names of the same form.
 */
async function findVersions(engine: Engine, folder: string, signal?: AbortSignal): Promise<FoundVersions> {
  const manifests = await engine.versions.lance.list({ uuid: '', location: folder }, signal)
  const versions = [...manifests].map(([key, size]) => {
    return { key, size, version: Number(parseManifestName(key)!.version) }
  })
  const newest = versions.reduce<(typeof versions)[number] | null>(
    (a, b) => (a && a.version > b.version ? a : b),
    null,
  )
  if (newest === null) {
    throw invalidInput(`there is no table at location ${quote(folder)}`, {
      hint: 'to create a table there, declare it with this location',
    })
  }
  const { key, size, version } = newest
  if (!Number.isSafeInteger(version)) throw invalidInput(`${quote(key)} has a version beyond 2^53 - 1`)
  if (!(await engine.versions.lance.isManifest(key, size, signal))) {
    throw invalidInput(
      `${quote(key)} is not a Lance manifest, so the table at ${quote(folder)} cannot be registered`,
    )
  }
  const ascending = versions.sort((a, b) => a.version - b.version)
  return {
    scheme: detectNamingScheme(manifests.keys()) ?? 'V2',
    versions: ascending.map(each => [each.version, each.size] as const),
  }
}

export const deregisterTable: Handler<Engine, 'deregisterTable'> = async (engine, request, options) => {
  const { reply } = await commit(
    engine,
    (state, { transactionId }) => {
      const head = findTable(state, request.id, options.table)
      return { ops: [{ op: 'deregister', t: head.uuid }], reply: departed(engine, head, transactionId) }
    },
    options,
  )
  return reply
}

export const dropTable: Handler<Engine, 'dropTable'> = async (engine, request, options) => {
  const { reply } = await commit(
    engine,
    (state, { transactionId }) => {
      const head = findTable(state, request.id, options.table)
      return { ops: [decideDropTable(head)], reply: departed(engine, head, transactionId) }
    },
    options,
  )
  return reply
}

/** Return the reply for a table that was dropped or deregistered. */
export function departed(engine: Engine, head: TableHead, transaction_id: string): Reply<'deregisterTable'> {
  return { id: head.id, location: locationOf(engine, head), properties: head.props, transaction_id }
}

export const renameTable: Handler<Engine, 'renameTable'> = async (engine, request, options) => {
  const { id, new_table_name } = request
  const { reply } = await commit(
    engine,
    (state, { transactionId }) => {
      const head = findTable(state, id, options.table)
      const ops = decideRenameTable(state, head, new_table_name, newNamespaceOf(request))
      return { ops, reply: ops.length === 0 ? {} : { transaction_id: transactionId } }
    },
    options,
  )
  return reply
}
