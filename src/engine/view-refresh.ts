/** Runs the job that refreshes a materialized view from its source. */
import type { CatalogJobRun } from '../catalog/log-types.js'
import { checkRows, versionOf } from '../catalog/lookup.js'
import type { ShowsOp, TxnOp, ViewDefinition } from '../catalog/ops.js'
import { type CatalogState, latestOf, type TableHead, type ViewState } from '../catalog/state.js'
import type { Json } from '../commit/machine.js'
import { ErrorCode, invalidInput, SheafError } from '../errors.js'
import { countRows } from '../manifest/layout.js'
import { hasNumber } from '../manifest/runs.js'
import { arrowSchema, type TableSchema } from '../manifest/table-schema.js'
import { Pacer } from '../primitives/pacer.js'
import { kindsKeepingRows } from '../protocol/change-kind.js'
import { idText } from '../protocol/identifiers.js'
import { queryIn } from '../protocol/view-shapes.js'
import { requirementsOf, stageTarget } from '../root/commit.js'
import type { Engine } from '../root/engine.js'
import { openVersion } from '../root/open-table.js'
import { type RefreshSpec, sourceOf } from '../root/refresh-request.js'
import type { TableReader } from '../table/table-reader.js'
import { buildChange } from '../write/build-change.js'
import {
  movedIds,
  type RefreshedRows,
  type RefreshWork,
  rebuiltRows,
  updatedRows,
} from '../write/refresh-view.js'
import { type BoundView, bindView, checkMakes, readsTheSame } from '../write/view-query.js'
import { commitJob, tableOf } from './job-attempts.js'

/**
 * Run a refresh job: compute the rows of the view and commit them. If the view changes before the commit, the job
 * computes them again.
 */
export function refreshView(engine: Engine, job: CatalogJobRun): Promise<void> {
  const { signal } = job
  return commitJob(engine, job, async () => {
    await engine.root.refresh(signal)
    // Read the state and the slot together, because a commit may change them during an `await`.
    const { state, head: slot } = engine.root
    const unpin = await engine.retained.pins.hold(slot, signal)
    try {
      const head = tableOf(state, job, 'refreshed')
      const { rows, shows, version } = await refreshed(engine, state, head, job)
      return await job.commit((state, { firstBlob }) => {
        const now = tableOf(state, job, 'refreshed')
        // Compare the source version as well, because a refresh that changes no rows creates no version of the view.
        if (now.mark !== head.mark || now.view!.src !== head.view!.src) return null
        const recordResult = (mode: RefreshMode, rows: number, published: number) =>
          resultOf(job, { mode, rows_written: rows, source_version: version, published_version: published })
        if (shows === null) return { ops: [recordResult('no_op', 0, latestOf(now)!)] }
        const req = [...requirementsOf(now), { viewSrc: now.uuid, src: now.view!.src as unknown as Json }]
        const op: ShowsOp = { op: 'shows', t: now.uuid, src: shows }
        if (rows === null) return { ops: [op, recordResult('no_op', 0, latestOf(now)!)], req }
        const { change, blobs } = buildChange(now, { kind: 'refresh', ...rows }, firstBlob)
        const result = recordResult(rows.mode, rows.written, change.v)
        return { ops: [change, op, result], blobs, req }
      })
    } finally {
      await unpin()
    }
  })
}

type RefreshMode = 'no_op' | 'incremental' | 'rebuild'

/** Return an operation that records the result of the job in the log. */
function resultOf({ id }: CatalogJobRun, result: Readonly<Record<string, string | number>>): TxnOp {
  const set = Object.fromEntries(Object.entries(result).map(([name, value]) => [name, String(value)]))
  return { op: 'txn', id, set, unset: [] }
}

interface RefreshedView extends RefreshedRows {
  readonly fields: readonly number[]
  readonly nextRow: number
  readonly mode: RefreshMode
  /** Number of rows that are new or changed. */
  readonly written: number
}

interface Refreshed {
  /** The version of the source that the view shows after the refresh. */
  readonly version: number
  /** The changes of the view's rows. Null: no row changes. */
  readonly rows: RefreshedView | null
  /** The source version to record in the log. Null: the view is already up to date. */
  readonly shows: ShowsOp['src'] | null
}

/**
 * If more than this share of the source's rows have moved, all rows of the view are rewritten. This reads and writes at
 * most twice as many rows, but in one pass, and leaves no deleted rows.
 */
const rebuiltPart = 0.5
/** Number of moved rows up to which the rows are always compared one by one. */
const comparedMin = 4096

async function refreshed(
  engine: Engine,
  state: CatalogState,
  head: TableHead,
  job: CatalogJobRun,
): Promise<Refreshed> {
  const { signal } = job
  const spec = job.spec as unknown as RefreshSpec
  const view = head.view!
  const source = sourceOf(state, view)
  if (source === undefined) throw sourceIsGone(view)
  checkRows(source)
  const version = versionOf(source, spec.version)
  const now = await openVersion(engine, source, version, signal)
  const own = await openVersion(engine, head, versionOf(head), signal)
  const query = bindTo(view.definition, now.layout.schema, own.layout.schema, engine, source, version)
  const { src } = view
  const isSameTable = src?.uuid === source.uuid
  const isFull = spec.full ?? false
  if (isSameTable && src.version === version && query.isOfRow && !isFull) {
    return { version, rows: null, shows: null }
  }
  // Rows of a new source table get ids that the view has never used. Rows of the same table keep their ids.
  const firstRow = isSameTable ? src.firstRow : head.next.row
  const pacer = new Pacer(signal)
  const work: RefreshWork = {
    source: now.reader,
    view: own.reader,
    query,
    place: { firstRow, rowsMax: spec.rowsMax },
    target: stageTarget(engine, head),
    progress: (done, total) => job.progress(done, total, 'refreshing'),
  }
  const most = Math.max(comparedMin, countRows(now.layout) * rebuiltPart)
  const pairs =
    isSameTable && query.isOfRow && !isFull
      ? await pairsBetween(engine, source, src.version, version, query, signal)
      : null
  const ids = pairs === null ? null : await movedIds(pairs, most, pacer)
  const rows = ids === null ? await rebuiltRows(work, pacer) : await updatedRows(work, ids, pacer)
  const shows = { uuid: source.uuid, version, firstRow }
  if (isNothing(rows)) return { version, rows: null, shows }
  const { moved = [] } = rows
  const details = {
    fields: own.layout.schema.fields.map(({ id }) => id),
    nextRow: firstRow + now.layout.next.row,
    mode: ids === null ? ('rebuild' as const) : ('incremental' as const),
    written: moved.reduce((sum, { draft }) => sum + draft.rows, 0),
  }
  return { version, rows: { ...rows, ...details }, shows }
}

function isNothing({ moved = [], dead, drop = [] }: RefreshedRows): boolean {
  return moved.length + drop.length + (dead?.size ?? 0) === 0
}

function sourceIsGone({ definition }: ViewState): SheafError {
  return new SheafError(
    ErrorCode.TableNotFound,
    `the source of the view, table ${idText(definition.source!.id)}, was dropped or deregistered`,
  )
}

/**
 * Bind the query of a view to a version of its source. Throws `InvalidInput` if the result no longer has the columns of
 * the view.
 */
function bindTo(
  { source_query }: ViewDefinition,
  schema: TableSchema,
  view: TableSchema,
  { clock }: Engine,
  source: TableHead,
  version: number,
): BoundView {
  const expected = arrowSchema(view)
  const { columns = { column_names: expected.fields.map(({ name }) => name) }, filter } =
    queryIn(source_query)!
  try {
    const query = bindView({ columns, ...(filter !== undefined && { filter }) }, schema, clock)
    const fields = query.schema.fields.map(field => ({ ...field, nullable: false }))
    checkMakes({ fields }, expected)
    return query
  } catch (cause) {
    if (!(cause instanceof SheafError)) throw cause
    const what = `version ${version} of its source ${idText(source.id)}`
    throw invalidInput(`the query of the view does not fit ${what}: ${cause.message}`, {
      hint: `restore these columns of the source, refresh from an earlier version, or create the view again`,
      cause,
    })
  }
}

/**
 * Return pairs of source versions. The differences within these pairs together are the difference between `from` and
 * `to`. Compactions lie between the pairs, because they only move rows. Returns null if a version is missing or the
 * columns of the query have changed.
 */
async function pairsBetween(
  engine: Engine,
  source: TableHead,
  from: number,
  to: number,
  { reads }: BoundView,
  signal: AbortSignal,
): Promise<readonly (readonly [TableReader, TableReader])[] | null> {
  if (!hasNumber(source.live, from)) return null
  const [first, last] = from < to ? [from, to] : [to, from]
  const ranges: [number, number][] = []
  let begin = first
  let before = first
  for (const { version, kind } of await engine.versions.history.range(source.uuid, first + 1, last, signal)) {
    const isThere = hasNumber(source.live, before) && hasNumber(source.live, version)
    if (kindsKeepingRows.has(kind) && isThere) {
      if (before > begin) ranges.push([begin, before])
      begin = version
    }
    before = version
  }
  if (last > begin) ranges.push([begin, last])
  const pairs: [TableReader, TableReader][] = []
  for (const [a, b] of ranges) {
    const [left, right] = [
      await openVersion(engine, source, a, signal),
      await openVersion(engine, source, b, signal),
    ]
    pairs.push([left.reader, right.reader])
  }
  const [old, now] = [
    await openVersion(engine, source, from, signal),
    await openVersion(engine, source, to, signal),
  ]
  return readsTheSame(reads, old.layout.schema, now.layout.schema) ? pairs : null
}
