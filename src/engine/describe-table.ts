/** The handler that describes a table. Every opening of a table calls it, so it is not in `tables.ts`. */
import { schemaToJson } from '../arrow/schema-json.js'
import { checkRows, versionOf } from '../catalog/lookup.js'
import { latestOf, type TableHead } from '../catalog/state.js'
import { SheafError } from '../errors.js'
import type { Layout } from '../manifest/layout.js'
import { arrowSchema, type TableSchema } from '../manifest/table-schema.js'
import type { Handler, HandlerOptions, Reply } from '../protocol/calls.js'
import type { Engine } from '../root/engine.js'
import { uriOf } from '../root/locations.js'
import { locationOf, openVersion, schemaOf } from '../root/open-table.js'
import { versionOfTag } from './lance-tags.js'
import { findCurrent } from './lance-versions.js'
import { viewMetadata } from './view-metadata.js'

export const describeTable: Handler<Engine, 'describeTable'> = async (engine, request, options) => {
  const head = await findCurrent(engine, request.id, options, request.version)
  const location = locationOf(engine, head)
  const requestedVersion =
    request.tag === undefined
      ? request.version
      : await versionOfTag(engine, head, request.tag, options.signal)
  const entry = {
    table: head.id.at(-1)!,
    namespace: head.id.slice(0, -1),
    location,
    properties: head.props,
    storage_options: {},
    managed_versioning: true,
    is_only_declared: head.kind === 'declared',
    uuid: head.uuid,
    ...(request.with_table_uri === true && { table_uri: uriOf(location) }),
  }
  // Clients with the Lance dialect need a schema. Without one, they report a broken server.
  if (options.dialect === 'lance' && head.kind !== 'lance') checkRows(head)
  if (latestOf(head) === undefined && requestedVersion === undefined) return entry
  const isDetailed = request.load_detailed_metadata === true
  return { ...entry, ...(await describeVersion(engine, head, requestedVersion, isDetailed, options)) }
}

/**
 * Describe a version. If another engine stores the rows of the table, only the version number is known. `isDetailed`:
 * whether to compute statistics.
 */
async function describeVersion(
  engine: Engine,
  head: TableHead,
  requestedVersion: number | undefined,
  isDetailed: boolean,
  { dialect, signal }: HandlerOptions,
): Promise<Pick<Reply<'describeTable'>, 'version' | 'schema' | 'stats' | 'metadata'>> {
  const version = versionOf(head, requestedVersion)
  if (head.kind === 'pointer') return { version }
  if (head.kind === 'lance')
    return describeLanceVersion(engine, head, version, isDetailed, { dialect, signal })
  if (!isDetailed && version === latestOf(head)) {
    return { version, ...describeSchema(head, version, await schemaOf(engine, head, signal), dialect) }
  }
  const { layout } = await openVersion(engine, head, version, signal)
  return {
    version,
    ...describeSchema(head, version, layout.schema, dialect),
    ...(isDetailed && { stats: statsOf(layout) }),
  }
}

/**
 * Describe a version that a Lance engine wrote. Only clients with the Lance dialect get the schema: by a reply without a
 * schema, the HTTP server knows that an engine may open the files of the table itself. `isDetailed`: whether to compute
 * statistics; they are left out if Sheaf cannot read the version.
 */
async function describeLanceVersion(
  engine: Engine,
  head: TableHead,
  version: number,
  isDetailed: boolean,
  { dialect, signal }: HandlerOptions,
): Promise<Pick<Reply<'describeTable'>, 'version' | 'schema' | 'stats' | 'metadata'>> {
  if (dialect !== 'lance' && !isDetailed) return { version }
  try {
    const { layout } = await openVersion(engine, head, version, signal)
    const stats = isDetailed && { stats: statsOf(layout) }
    return {
      version,
      ...(dialect === 'lance' && describeSchema(head, version, layout.schema, dialect)),
      ...stats,
    }
  } catch (error) {
    signal?.throwIfAborted()
    if (!(error instanceof SheafError) || dialect === 'lance') throw error
    return { version }
  }
}

function statsOf({ fragments }: Layout): Reply<'describeTable'>['stats'] {
  const deleted = fragments.reduce((sum, fragment) => sum + fragment.dead.count, 0)
  return { num_deleted_rows: deleted, num_fragments: fragments.length }
}

function describeSchema(
  head: TableHead,
  version: number,
  schema: TableSchema,
  dialect: HandlerOptions['dialect'],
): Pick<Reply<'describeTable'>, 'schema' | 'metadata'> {
  const metadata = { ...schema.metadata, ...viewMetadata(head, version) }
  const all = head.view === null ? schema : { ...schema, metadata }
  return { schema: schemaToJson(arrowSchema(all), dialect ?? 'namespace'), metadata }
}
