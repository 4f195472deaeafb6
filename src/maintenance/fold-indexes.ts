/** Adds unindexed rows to the indexes of one table, and merges index segments. */
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
import { commit, requirementsOf, stageTarget } from '../root/commit.js'
import type { Engine } from '../root/engine.js'
import { indexChange } from '../root/index-change.js'
import { TableReader } from '../table/table-reader.js'
import { passingBy } from '../table/table-source.js'
import { buildSegments } from '../write/build-index.js'
import type { CompactionMode } from '../write/compaction-plan.js'
import { type IndexFold, planIndexFold } from '../write/plan-index-fold.js'
import { rowsIn } from '../write/stretch.js'
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
): Promise<readonly Folded[]> {
  const folded: Folded[] = []
  const done = new Set<string>()
  try {
    for (;;) {
      // Read the newest version for each index, because the commit for the previous index created a version.
      const head = (await engine.root.refresh(pacer.signal)).tables.get(uuid)
      const version = head && latestOf(head)
      if (head?.kind !== 'sheaf' || version === undefined) return folded
      const layout = await engine.versions.layouts.at(head, version, pacer.signal)
      const index = layout.indexes.find(({ name }) => !done.has(name))
      if (index === undefined) return folded
      done.add(index.name)
      const fold = planFold(engine, index, layout, mode)
      if (fold === null) continue
      const reader = new TableReader(passingBy(engine.source), head.location, layout)
      const target = stageTarget(engine, head)
      const segments = await buildSegments(reader, index, fold, target, {
        threads: engine.buildThreads,
        pacer,
      })
      const change = await commitSegments(engine, head, index, segments, fold)
      if (change === null) continue
      folded.push({ index: index.name, version: change.v, rows: rowsIn(fold.stretches) })
    }
  } catch (error) {
    if (!isSuperseded(error)) throw error
    return folded
  }
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
  head: TableHead,
  { name, kind }: TableIndex,
  segments: readonly IndexSegment[],
  { from, stretches }: IndexFold,
): Promise<Change | null> {
  const fragments = new Set(stretches.map(({ fragment }) => fragment.id))
  try {
    const outcome = await commit<Change>(engine, (state, { firstBlob }) => {
      const now = state.tables.get(head.uuid)
      const since = now && engine.versions.recent.between(head.uuid, head.mark, now.mark)
      if (now === undefined || since == null) return null
      if (since.some(({ change }) => conflicts(change, name, fragments))) return null
      const change = indexChange(now, { fold: name, from, to: segments }, firstBlob)
      return {
        ops: [change],
        req: requirementsOf(now),
        need: featuresOfIndexes([{ kind, segments }]),
        reply: change,
      }
    })
    return outcome === null ? null : outcome.reply
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
