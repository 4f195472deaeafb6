/** Runs one round of compaction of one table: plans the work on the newest version, does the work, and commits it. */
import { compactionJob } from '../catalog/compaction-job.js'
import type { CatalogJobRun } from '../catalog/log-types.js'
import { type CatalogState, type Job, latestOf, type TableHead } from '../catalog/state.js'
import type { TableCompacted } from '../client/maintenance-event.js'
import type { Json } from '../commit/machine.js'
import { type Change, type FoldedDead, fragmentsLeaving, movesFeature } from '../manifest/change.js'
import type { Layout } from '../manifest/layout.js'
import { indexesFeature } from '../manifest/table-index.js'
import { Pacer } from '../primitives/pacer.js'
import { commitOptimistically, requirementsOf, stageTarget } from '../root/commit.js'
import type { Engine } from '../root/engine.js'
import { TableReader } from '../table/table-reader.js'
import { passingBy } from '../table/table-source.js'
import { buildChange, type MovedDraft, type MovePart } from '../write/build-change.js'
import { carriedIndexes, movedIndexes } from '../write/carry-indexes.js'
import {
  type CarriedMove,
  type Compacted,
  carriedOver,
  compactFragments,
  mergeDeletionVectors,
  stillMerged,
  touches,
  withLaterDeletions,
} from '../write/compact.js'
import { type CompactionMode, type CompactionPlan, planCompaction } from '../write/compaction-plan.js'
import { InlineRoom } from '../write/inline-room.js'
import { noteMoves } from '../write/newest-rows.js'
import type { StageTarget } from '../write/stage.js'
import { isSuperseded } from './is-superseded.js'

/**
 * Maximum time in milliseconds for which compaction waits for open transactions of callers. Its commit would make these
 * transactions run again.
 */
const transactionsMs = 2000
/** Maximum number of attempts to commit. Before each attempt, the work is updated with commits of other writers. */
const attemptsMax = 10

/** Work that is done but not committed, and the manifest of the version on which it was done. */
interface Work {
  readonly layout: Layout
  readonly compacted: readonly Compacted[]
  readonly folded: readonly FoldedDead[]
}

export interface Round {
  readonly event: TableCompacted
  /** Whether more work is left than one commit may contain. */
  readonly hasMore: boolean
}

/** Another process compacts the table, or merges its indexes. `busy`: the id of its job. */
export interface Busy {
  readonly busy: string
}

/**
 * Run one round of compaction on a table. Returns null if no work is worth its cost. Also returns null if the work has
 * become useless because the table was replaced, dropped, or given other columns. Other calls on the table do not wait
 * for the work. No call of this process has to be repeated because of it.
 */
export async function compactTable(
  engine: Engine,
  uuid: string,
  mode: CompactionMode,
  fullBytes: number,
  pacer: Pacer,
): Promise<Round | Busy | null> {
  await pacer.turn()
  const state = await engine.root.refresh(pacer.signal)
  const open = openJobOn(state, uuid)
  if (open !== null) return open.kind === compactionJob ? { busy: open.id } : null
  const planned = await plan(engine, uuid, mode, fullBytes, pacer)
  if (planned === null) return null
  const performed = await engine.jobs.perform(compactionJob, uuid, pinning(uuid, planned.version), job =>
    compactClaimed(engine, job, mode, fullBytes, pacerOf(engine, job, pacer)),
  )
  return 'busy' in performed ? performed : performed.result
}

/** Compact a table that this process has claimed. */
async function compactClaimed(
  engine: Engine,
  job: CatalogJobRun,
  mode: CompactionMode,
  fullBytes: number,
  pacer: Pacer,
): Promise<Round | null> {
  const started = engine.clock.elapsed()
  // Another process may have compacted the table before the claim.
  const planned = await plan(engine, job.table!, mode, fullBytes, pacer)
  if (planned === null) return null
  const { head, reader, work } = planned
  let change: Change | null
  try {
    const done = await executePlan(reader, work, stageTarget(engine, head), pacer)
    change = await commitWork(engine, job, head, done, pacer)
  } catch (error) {
    if (isSuperseded(error)) return null
    throw error
  }
  if (change === null) return null
  const event: TableCompacted = {
    kind: 'compaction',
    table: head.id,
    version: change.v,
    fragmentsBefore: fragmentsLeaving(change).length,
    fragmentsAfter: change.add.length,
    rows: change.add.reduce((sum, { rows }) => sum + rows, 0),
    bytes: change.add.reduce((sum, { files }) => sum + files.reduce((all, { bytes }) => all + bytes, 0), 0),
    ms: engine.clock.elapsed() - started,
  }
  return { event, hasMore: work.hasMore }
}

/** The work on the newest version of a table. */
interface Planned {
  readonly head: TableHead
  readonly version: number
  readonly reader: TableReader
  readonly work: CompactionPlan
}

/** Plan the work on the newest version of a table. Returns null if no work is worth its cost. */
async function plan(
  engine: Engine,
  uuid: string,
  mode: CompactionMode,
  fullBytes: number,
  { signal }: Pacer,
): Promise<Planned | null> {
  const head = (await engine.root.refresh(signal)).tables.get(uuid)
  const version = head && latestOf(head)
  if (head?.kind !== 'sheaf' || version === undefined) return null
  try {
    const reader = await readerOf(engine, head, version, signal)
    const work = planCompaction(reader.layout, mode, fullBytes)
    return work.groups.length + work.folds.length === 0 ? null : { head, version, reader, work }
  } catch (error) {
    if (isSuperseded(error)) return null
    throw error
  }
}

/** Return the spec of a job that reads one version of a table, and the newest ones. */
export function pinning(table: string, version: number): Json {
  return { pinned: [{ table, version }] }
}

/** Return a pacer that also stops when the claim of a job is lost. */
export function pacerOf({ clock, running }: Engine, job: CatalogJobRun, { signal }: Pacer): Pacer {
  return new Pacer(
    signal === undefined ? job.signal : AbortSignal.any([signal, job.signal]),
    clock,
    running.calls,
  )
}

async function executePlan(
  reader: TableReader,
  { groups, folds }: CompactionPlan,
  target: StageTarget,
  pacer: Pacer,
): Promise<Work> {
  const compacted: Compacted[] = []
  for (const from of groups) compacted.push(await compactFragments(reader, from, target, pacer))
  const folded: FoldedDead[] = []
  for (const fragment of folds) folded.push(await mergeDeletionVectors(reader, fragment, target, pacer))
  return { layout: reader.layout, compacted, folded }
}

/**
 * Return an open job on a table; null if there is none. Jobs other than compactions would have to repeat their work for
 * fragments that are compacted.
 */
function openJobOn(state: CatalogState, uuid: string): Job | null {
  for (const [, job] of state.jobs) if (job.table === uuid) return job
  return null
}

async function readerOf(
  engine: Engine,
  head: TableHead,
  version: number,
  signal: AbortSignal | undefined,
): Promise<TableReader> {
  const layout = await engine.versions.layouts.at(head, version, signal)
  return new TableReader(passingBy(engine.source), head.location, layout)
}

/**
 * Commit the work. The commit waits for its turn among the writers of this process to the table, so no other change of
 * this process comes between. Changes of other processes are merged into the work.
 */
async function commitWork(
  engine: Engine,
  job: CatalogJobRun,
  head: TableHead,
  work: Work,
  pacer: Pacer,
): Promise<Change | null> {
  const { signal } = pacer
  await engine.running.transactions.waitUntilIdle(transactionsMs, signal)
  const inTurn = () => {
    return commitOptimistically(engine, () => tryToCommit(engine, job, head, work, pacer), {
      subject: 'the table',
      tables: () => [head.uuid],
      signal,
      attemptsMax,
      urgentAttempt: Number.POSITIVE_INFINITY,
    })
  }
  const { change } = await engine.writers.inTurn([head.id], inTurn, signal)
  return change
}

/** The result of an attempt. `change`: null if there was nothing to commit. */
interface Attempt {
  readonly change: Change | null
}

async function tryToCommit(
  engine: Engine,
  job: CatalogJobRun,
  { uuid }: TableHead,
  { layout, compacted, folded }: Work,
  pacer: Pacer,
): Promise<Attempt | null> {
  const { signal } = pacer
  const head = (await engine.root.refresh(signal)).tables.get(uuid)
  const version = head && latestOf(head)
  if (head === undefined || version === undefined) return { change: null }
  const newer = await readerOf(engine, head, version, signal)
  const target = stageTarget(engine, head)
  const moves: CarriedMove[] = []
  const moving: Compacted[] = []
  for (const each of compacted) {
    const move = await carriedOver(each, newer, target, pacer)
    if (move === null) continue
    moves.push(move)
    moving.push(each)
  }
  const carried = await carriedIndexes(engine.source, newer.layout, moving, target, pacer)
  const merged = stillMerged(folded, layout, newer.layout)
  if (moves.length + merged.length === 0) return { change: null }
  const survivors = moving.map(each => each.survivors)
  const committed = await job.commit((state, { firstBlob, earlier }) => {
    const now = state.tables.get(uuid)
    if (now === undefined) return null
    const since = engine.versions.recent.between(uuid, head.mark, now.mark, earlier)
    if (since === null || since.some(({ change }) => endsWork(change, merged))) return null
    const room = new InlineRoom()
    const later: MovePart[] = []
    for (const [i, move] of moves.entries()) {
      const moved = withLaterDeletions(moving[i]!, move, since, room)
      if (moved === null) return null
      later.push(moved)
    }
    const parts = {
      kind: 'compaction',
      moves: later,
      folded: merged,
      indexes: (idOf: (draft: MovedDraft) => number) => movedIndexes(carried, idOf),
      fields: layout.schema.fields.map(({ id }) => id),
    } as const
    const { change: built, blobs } = buildChange(now, parts, firstBlob)
    // Writers of single rows follow the change as soon as it is in the log. So the moves are noted before, for the object
    // that is committed.
    const change = JSON.parse(JSON.stringify(built)) as Change
    noteMoves(change, survivors)
    return { ops: [change], blobs, req: requirementsOf(now), need: featuresOf(change), isPlain: true }
  })
  if (committed === null) return null
  return { change: committed === 'ended' ? null : (committed.entry.ops[0] as Change) }
}

function featuresOf({ indexes }: Change): readonly string[] {
  return indexes === undefined ? [movesFeature] : [movesFeature, indexesFeature]
}

/** Return whether the work cannot be committed after a change. */
function endsWork(change: Change, merged: readonly FoldedDead[]): boolean {
  const { restore, indexes = [] } = change
  // A new index has its own row mappings, and these would have to be updated for the moved rows.
  if (restore !== undefined || indexes.length > 0) return true
  // New parts of a deletion vector come after its merged parts.
  const fragments = new Set(merged.map(([id]) => id))
  return touches({ ...change, dead: [] }, fragments)
}
