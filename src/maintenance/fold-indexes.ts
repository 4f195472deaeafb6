/** Adds unindexed rows to the indexes of one table, and merges index segments. */
import { compactionJob } from '../catalog/compaction-job.js'
import type { CatalogJobRun } from '../catalog/log-types.js'
import { latestOf, type TableHead } from '../catalog/state.js'
import { SheafError } from '../errors.js'
import { type Change, fragmentsLeaving } from '../manifest/change.js'
import type { Layout } from '../manifest/layout.js'
import {
  featuresOfIndexes,
  type IndexChange,
  type IndexSegment,
  type TableIndex,
} from '../manifest/table-index.js'
import type { Pacer } from '../primitives/pacer.js'
import { requirementsOf, stageTarget } from '../root/commit.js'
import type { Engine } from '../root/engine.js'
import { indexChange } from '../root/index-change.js'
import { TableReader } from '../table/table-reader.js'
import { passingBy } from '../table/table-source.js'
import { buildSegments } from '../write/build-index.js'
import type { CompactionMode } from '../write/compaction-plan.js'
import { type IndexFold, planIndexFold } from '../write/plan-index-fold.js'
import { rowsIn } from '../write/stretch.js'
import { type Busy, pacerOf, pinning } from './compact-table.js'
import { isSuperseded } from './is-superseded.js'

/** The result of the work on one index. */
export interface Folded {
  readonly index: string
  /** The version that the commit created. */
  readonly version: number
  /** The number of rows in new segments, including rows that were already indexed before. */
  readonly rows: number
}

/**
 * Add the unindexed rows of a table to its indexes if that is worth the cost, and merge segments if there are many.
 * Commits of other writers always take precedence: if another commit moved rows that were indexed here, the work on
 * that index is dropped.
 */
export async function foldIndexes(
  engine: Engine,
  uuid: string,
  mode: CompactionMode,
  pacer: Pacer,
): Promise<FoldedIndexes> {
  const folded: Folded[] = []
  const done = new Set<string>()
  try {
    for (;;) {
      const planned = await planNext(engine, uuid, mode, name => !done.has(name), pacer)
      if (planned === null) return { folded, busy: null }
      const { name } = planned.index
      done.add(name)
      const performed = await engine.jobs.perform(compactionJob, uuid, pinning(uuid, planned.version), job =>
        foldClaimed(engine, job, mode, name, pacerOf(engine, job, pacer)),
      )
      if ('busy' in performed) return { folded, busy: performed }
      if (performed.result !== null) folded.push(performed.result)
    }
  } catch (error) {
    if (!isSuperseded(error)) throw error
    return { folded, busy: null }
  }
}

/** The result of `foldIndexes`. `busy`: the work of another process because of which indexes are left. */
interface FoldedIndexes {
  readonly folded: readonly Folded[]
  readonly busy: Busy | null
}

/** Work on the index `name` of a table that this process has claimed. */
async function foldClaimed(
  engine: Engine,
  job: CatalogJobRun,
  mode: CompactionMode,
  name: string,
  pacer: Pacer,
): Promise<Folded | null> {
  // Another process may have done the work before the claim.
  const planned = await planNext(engine, job.table!, mode, each => each === name, pacer)
  if (planned === null) return null
  const { head, index, fold, layout } = planned
  const reader = new TableReader(passingBy(engine.source), head.location, layout)
  const target = stageTarget(engine, head)
  const segments = await buildSegments(reader, index, fold, target, { threads: engine.buildThreads, pacer })
  const change = await commitSegments(engine, job, planned, segments)
  return change && { index: name, version: change.v, rows: rowsIn(fold.stretches) }
}

/** The work on one index of the newest version of a table. */
interface Planned {
  readonly head: TableHead
  readonly version: number
  readonly layout: Layout
  readonly index: TableIndex
  readonly fold: IndexFold
}

/** Plan the work on the first index that is chosen and has work. Returns null if there is none. */
async function planNext(
  engine: Engine,
  uuid: string,
  mode: CompactionMode,
  isChosen: (name: string) => boolean,
  { signal }: Pacer,
): Promise<Planned | null> {
  const head = (await engine.root.refresh(signal)).tables.get(uuid)
  const version = head && latestOf(head)
  if (head?.kind !== 'sheaf' || version === undefined) return null
  const layout = await engine.versions.layouts.at(head, version, signal)
  for (const index of layout.indexes) {
    const fold = isChosen(index.name) ? planFold(engine, index, layout, mode) : null
    if (fold !== null) return { head, version, layout, index, fold }
  }
  return null
}

/**
 * Plan the work on one index. Returns null if there is nothing to do. Also returns null for a text index whose analyzer
 * is not available in this process: another process can do the work.
 */
function planFold(
  { source }: Engine,
  index: TableIndex,
  layout: Layout,
  mode: CompactionMode,
): IndexFold | null {
  if (index.text === undefined) return planIndexFold(index, layout, mode)
  const analyzer = source.analyzers.find(index.text)
  if (analyzer instanceof SheafError) return null
  return planIndexFold(index, layout, mode, ({ text }) => text?.identity === analyzer.identity)
}

async function commitSegments(
  engine: Engine,
  job: CatalogJobRun,
  { head, index: { name, kind }, fold: { from, stretches } }: Planned,
  segments: readonly IndexSegment[],
): Promise<Change | null> {
  const fragments = new Set(stretches.map(({ fragment }) => fragment.id))
  try {
    const committed = await job.commit((state, { firstBlob }) => {
      const now = state.tables.get(head.uuid)
      const since = now && engine.versions.recent.between(head.uuid, head.mark, now.mark)
      if (now === undefined || since == null) return null
      if (since.some(({ change }) => conflicts(change, name, fragments))) return null
      const change = indexChange(now, { fold: name, from, to: segments }, firstBlob)
      return { ops: [change], req: requirementsOf(now), need: featuresOfIndexes([{ kind, segments }]) }
    })
    return committed === null || committed === 'ended' ? null : (committed.entry.ops[0] as Change)
  } catch (error) {
    if (isSuperseded(error)) return null
    throw error
  }
}

/** Return whether a change redefines the index, replaces its segments, or moves rows of `fragments`. */
function conflicts(change: Change, index: string, fragments: ReadonlySet<number>): boolean {
  const { restore, schema, indexes = [], columns = [] } = change
  if (restore !== undefined || schema !== null) return true
  if (indexes.some(each => indexNameOf(each) === index)) return true
  return [...fragmentsLeaving(change), ...columns.map(({ fragment }) => fragment)].some(id =>
    fragments.has(id),
  )
}

function indexNameOf(change: IndexChange): string {
  if ('put' in change) return change.put.name
  if ('drop' in change) return change.drop
  return 'fold' in change ? change.fold : change.moved
}
