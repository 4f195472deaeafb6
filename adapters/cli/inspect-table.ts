/** Collects facts about one table for `sheaf inspect`. */
import { schemaFromJson } from '../../src/arrow/schema-from-json.js'
import { typeName } from '../../src/arrow/type-name.js'
import { ErrorCode, SheafError } from '../../src/errors.js'
import type { Namespace } from '../../src/index.js'
import type { Reply } from '../../src/protocol/calls.js'
import type { ColumnFacts, IndexFacts, TableDetails, TableFacts, VersionFacts } from './inspect-facts.js'

/** Maximum number of versions in the details of a table. */
const listedVersions = 10

/**
 * Return the facts for the list of tables. A damaged table does not throw; the result has kind `damaged` and the
 * problem.
 */
export async function describeTable(
  { operations }: Namespace,
  id: readonly string[],
  signal: AbortSignal,
): Promise<TableFacts> {
  const options = { signal }
  try {
    const described = await operations.describeTable({ id, load_detailed_metadata: true }, options)
    const { uuid, location, properties = {}, metadata = {}, schema, version } = described
    const entry = { id, ...(uuid !== undefined && { uuid }), location, properties }
    if (version === undefined) return { kind: 'declared', ...entry }
    const [newest] = (await operations.listTableVersions({ id, limit: 1, descending: true }, options))
      .versions
    const { tags, directory_tags = {} } = await operations.listTableTags({ id }, options)
    const facts = {
      ...entry,
      version: newest === undefined ? { version, time: null, operation: null } : versionFacts(newest),
      tags: [
        ...Object.entries(tags).map(([name, tag]) => ({ name, version: tag.version })),
        ...Object.entries(directory_tags).map(([name, tag]) => ({ name, ...tag, directory: true as const })),
      ],
    }
    if (schema === undefined) return { kind: 'foreign', ...facts }
    const stats = await operations.getTableStats({ id }, options)
    const { indexes } = await operations.listTableIndices({ id }, options)
    const query = metadata['geneva::view::query']
    return {
      kind: query === undefined ? 'table' : 'view',
      ...facts,
      rows: stats.num_rows,
      deadRows: described.stats?.num_deleted_rows ?? 0,
      bytes: stats.total_bytes,
      fragments: stats.fragment_stats.num_fragments,
      indexes: indexes.map(indexFacts),
      ...(query !== undefined && { view: viewFacts(query, metadata) }),
    }
  } catch (error) {
    if (!(error instanceof SheafError) || error.code !== ErrorCode.Internal) throw error
    return { id, kind: 'damaged', problem: error.message }
  }
}

/** Return all facts about a table. Throws Internal for a damaged table. */
export async function detailTable(
  ns: Namespace,
  id: readonly string[],
  signal: AbortSignal,
): Promise<TableDetails> {
  const { operations } = ns
  const facts = await describeTable(ns, id, signal)
  if (facts.kind === 'damaged') throw new SheafError(ErrorCode.Internal, facts.problem!)
  const options = { signal }
  if (facts.kind === 'declared')
    return { ...facts, columns: [], metadata: {}, versions: [], fragmentRows: null }
  const request = { id, limit: listedVersions, descending: true }
  const { versions } = await operations.listTableVersions(request, options)
  // The other dialect has no units and time zones.
  const { schema, metadata = {} } = await operations.describeTable({ id }, { ...options, dialect: 'lance' })
  const ofSheaf = facts.kind !== 'foreign'
  const stats = ofSheaf ? await operations.getTableStats({ id }, options) : null
  return {
    ...facts,
    columns: schema === undefined ? [] : columnFacts(schema),
    metadata,
    versions: versions.map(versionFacts),
    fragmentRows: stats === null ? null : stats.fragment_stats.lengths,
  }
}

function versionFacts({
  version,
  timestamp_millis: ms,
  metadata,
}: Reply<'describeTableVersion'>['version']): VersionFacts {
  return {
    version,
    time: ms === undefined ? null : new Date(ms).toISOString(),
    operation: metadata?.operation ?? null,
  }
}

function indexFacts(index: Reply<'listTableIndices'>['indexes'][number]): IndexFacts {
  const { reason: _, ...parameters } = JSON.parse(index.index_details ?? '{}') as Record<string, unknown>
  return {
    name: index.index_name,
    type: index.index_type,
    columns: index.columns,
    status: index.status,
    rows: index.num_indexed_rows,
    unindexedRows: index.num_unindexed_rows,
    segments: index.num_segments,
    bytes: index.size_bytes,
    created: index.created_at,
    parameters,
    ...(index.reason !== undefined && { reason: index.reason }),
  }
}

function viewFacts(query: string, metadata: Readonly<Record<string, string>>): TableFacts['view'] & object {
  const version = metadata['geneva::view::base_version']
  return {
    source: metadata['geneva::view::base_table'] ?? null,
    version: version === undefined ? null : Number(version),
    query,
  }
}

function columnFacts(json: Parameters<typeof schemaFromJson>[0]): readonly ColumnFacts[] {
  const { fields } = schemaFromJson(json)
  return fields.map(({ name, type, nullable, metadata = {} }) => ({
    name,
    type: typeName(type),
    nullable,
    metadata,
  }))
}
