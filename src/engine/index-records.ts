/**
 * Builds the records of indexes in replies. If the request has no version, the records include builds that are queued,
 * running or failed.
 */
import { type IndexSpec, openBuilds } from '../catalog/index-builds.js'
import { findTable, hintOfNames, versionOf } from '../catalog/lookup.js'
import type { CatalogState, TableHead } from '../catalog/state.js'
import { ErrorCode, nearestName, quote, SheafError } from '../errors.js'
import type { IndexKind } from '../indexes/kind.js'
import type { ScalarKind } from '../indexes/scalar/probe.js'
import { textJson } from '../indexes/text/definition.js'
import type { TextKind } from '../indexes/text/kind.js'
import { isVectorKind } from '../indexes/vector/kind.js'
import { findFieldById, pathText } from '../manifest/field-node.js'
import { fragmentsById } from '../manifest/index-cover.js'
import { countRows, type Layout } from '../manifest/layout.js'
import type { TableIndex } from '../manifest/table-index.js'
import { Pacer } from '../primitives/pacer.js'
import type { Handler, Reply } from '../protocol/calls.js'
import { idText } from '../protocol/identifiers.js'
import { type Listing, paginate } from '../protocol/page.js'
import type { Engine } from '../root/engine.js'
import { type OpenTable, openVersion, withLanceIndexes } from '../root/open-table.js'
import { countCovered } from '../table/covered-rows.js'
import { IndexCover } from '../table/index-cover.js'
import { usableSegments } from '../table/text-index.js'
import { recallsOf } from './index-recall.js'
import { progressJson } from './jobs.js'
import { readable } from './lance-versions.js'
import { definitionJson } from './vector-definition.js'

export const listTableIndices: Handler<Engine, 'listTableIndices'> = async (engine, request, options) => {
  const { signal } = options
  const state = await engine.root.refresh(signal)
  const found = findTable(state, request.id, options.table)
  const head = await readable(engine, found, signal, request.version)
  const open = await openVersion(engine, head, versionOf(head, request.version), signal)
  const listing: Listing<Shown> = { name: 'indexes', key: ({ spec }) => spec.name, scope: head.uuid }
  const shown = await shownAt(engine, open, request.version === undefined ? state : null, signal)
  const { items, ...next } = paginate(shown, listing, request)
  const pacer = new Pacer(signal)
  const indexes: IndexRecord[] = []
  for (const item of items) indexes.push(await recordOf(engine, open, item, pacer))
  return { indexes, ...next }
}

export const describeTableIndexStats: Handler<Engine, 'describeTableIndexStats'> = async (
  engine,
  request,
  options,
) => {
  const { signal } = options
  const state = await engine.root.refresh(signal)
  const found = findTable(state, request.id, options.table)
  const head = await readable(engine, found, signal, request.version)
  const open = await openVersion(engine, head, versionOf(head, request.version), signal)
  const listed = await shownAt(engine, open, request.version === undefined ? state : null, signal)
  const shown = findIndex(head, listed, request.index_name)
  const { spec, index, build } = shown
  const progress = build === null ? null : await engine.jobs.progressOf(build.job, signal)
  const { counts, status, reason } = await coverageOf(engine, open, shown, new Pacer(signal))
  // LanceDB measures no recall.
  const measured = head.kind === 'lance' ? null : index
  const recalls = await recallsOf(engine.store, head.location, measured).catch(async error => {
    throw (await engine.source.explain?.(head.uuid, open.version, error)) ?? error
  })
  return {
    index_type: spec.kind,
    distance_type: spec.vector?.metric ?? null,
    ...counts,
    num_indices: index?.segments.length ?? 0,
    status,
    ...(reason !== null && { reason }),
    ...(progress !== null && { progress: progressJson(progress) }),
    ...(recalls.rows !== null && { recall: recalls.rows }),
    ...(recalls.between !== null && { recall_between: recalls.between }),
    ...(recalls.excluded !== null && { recall_excluded: recalls.excluded }),
  }
}

// ---- listed indexes

/** The state of one index name: an index, a build that is queued or running, or a failed build. */
export interface Shown {
  /** The newest definition with this name. If a build failed, it is the definition of the existing index. */
  readonly spec: IndexSpec
  /** The index. Null until it is built. */
  readonly index: TableIndex | null
  /** The queued or running job that builds the index. Null if there is none. */
  readonly build: { readonly job: string; readonly isRunning: boolean } | null
  /** The reason why the newest build failed. Null if it did not fail. */
  readonly reason: string | null
}

/**
 * List the indexes of a version by name. `state`: adds queued, running and failed builds; null: only indexes. If an
 * index is being replaced, the list shows the new definition, although queries still use the old index.
 */
export function shownIndexes(
  { table, indexes }: Pick<Layout, 'table' | 'indexes'>,
  state: CatalogState | null,
): readonly Shown[] {
  const shown = new Map<string, Shown>()
  for (const index of indexes) shown.set(index.name, { spec: index, index, build: null, reason: null })
  for (const { spec, reason } of state?.failedBuilds.get(table) ?? []) {
    const index = shown.get(spec.name)?.index ?? null
    shown.set(spec.name, { spec: index ?? spec, index, build: null, reason })
  }
  for (const { job, spec } of state === null ? [] : openBuilds(state.jobs, table)) {
    const build = { job: job.id, isRunning: job.status === 'Running' }
    shown.set(spec.name, { spec, index: null, build, reason: null })
  }
  return [...shown.values()].sort((a, b) => (a.spec.name < b.spec.name ? -1 : 1))
}

/** List the indexes of a version, like `shownIndexes`. For a Lance table: the vector indexes of LanceDB. */
export async function shownAt(
  engine: Engine,
  open: OpenTable,
  state: CatalogState | null,
  signal: AbortSignal | undefined,
): Promise<readonly Shown[]> {
  const { usable, unusable } = await withLanceIndexes(engine, open, signal)
  const unread = unusable.flatMap(({ name, uuid, kind, field, createdAt, metric, error }): Shown[] => {
    if (kind === null) return []
    const spec = { name, uuid, kind, field, ts: createdAt, ...(metric !== null && { vector: { metric } }) }
    return [{ spec, index: null, build: null, reason: error.message }]
  })
  const { table, indexes } = open.layout
  const listed = [...shownIndexes({ table, indexes: [...indexes, ...usable] }, state), ...unread]
  return listed.sort((a, b) => (a.spec.name < b.spec.name ? -1 : 1))
}

/** Find an index by name. Throws `IndexNotFound`. */
export function findIndex(head: TableHead, listed: readonly Shown[], name: string): Shown {
  const found = listed.find(({ spec }) => spec.name === name)
  if (found !== undefined) return found
  const names = listed.map(({ spec }) => spec.name)
  const suggestion = nearestName(name, names)
  throw new SheafError(ErrorCode.IndexNotFound, `table ${idText(head.id)} has no index ${quote(name)}`, {
    hint: suggestion === undefined ? hintOfNames('indexes', names) : `did you mean ${quote(suggestion)}?`,
  })
}

// ---- records

type IndexRecord = Reply<'listTableIndices'>['indexes'][number]

/** Version of the format of index segments, as replies report it. */
const formatVersion = 1

/** The names of the detail messages of these indexes in Lance manifests. */
const typeUrls: Readonly<Record<ScalarKind | TextKind, string>> = {
  BTREE: '/lance.table.BTreeIndexDetails',
  BITMAP: '/lance.table.BitmapIndexDetails',
  LABEL_LIST: '/lance.table.LabelListIndexDetails',
  FTS: '/lance.table.InvertedIndexDetails',
}

function typeUrl(kind: IndexKind): string {
  return isVectorKind(kind) ? '/lance.table.VectorIndexDetails' : typeUrls[kind]
}

async function recordOf(engine: Engine, open: OpenTable, shown: Shown, pacer: Pacer): Promise<IndexRecord> {
  const { spec, index } = shown
  const { name, uuid, kind, field, ts, vector, text } = spec
  const segments = index?.segments ?? []
  const { counts, status, reason } = await coverageOf(engine, open, shown, pacer)
  return {
    index_name: name,
    index_uuid: uuid,
    columns: columnsOf(open.layout, field),
    status,
    index_type: kind,
    ...counts,
    num_segments: segments.length,
    size_bytes: segments.reduce((sum, { bytes }) => sum + bytes, 0),
    created_at: new Date(ts).toISOString(),
    index_version: formatVersion,
    index_details: JSON.stringify({
      ...(vector !== undefined && definitionJson(vector)),
      ...(text !== undefined && textJson(text)),
      ...(reason !== null && { reason }),
    }),
    type_url: typeUrl(kind),
    ...(reason !== null && { reason }),
  }
}

/** Return the path of the indexed column. Empty if the column was dropped before it was indexed. */
function columnsOf({ schema }: Layout, field: number): readonly string[] {
  const chain = findFieldById(schema, field)
  return chain === null ? [] : [pathText(chain)]
}

/** Count the live rows that an index covers, and determine the status of the index. */
async function coverageOf(
  { source }: Engine,
  { layout, reader }: OpenTable,
  { index, build, reason }: Shown,
  pacer: Pacer,
): Promise<{
  readonly counts: Pick<IndexRecord, 'num_indexed_rows' | 'num_unindexed_rows'>
  readonly status: IndexRecord['status']
  /** The reason why the build failed, or why the index does not cover rows that are in its segments. */
  readonly reason: string | null
}> {
  const rows = countRows(layout)
  const usable = index === null ? null : usableSegments(index, source.analyzers)
  const indexed =
    index === null || usable === null
      ? 0
      : await countCovered(
          reader,
          new IndexCover({ ...index, segments: usable.segments }, layout, fragmentsById(layout)),
          pacer,
        )
  const counts = { num_indexed_rows: indexed, num_unindexed_rows: rows - indexed }
  if (build !== null) return { counts, status: build.isRunning ? 'building' : 'pending', reason }
  if (reason !== null) return { counts, status: 'failed', reason }
  return { counts, status: indexed === rows ? 'ready' : 'stale', reason: usable?.reason ?? null }
}
