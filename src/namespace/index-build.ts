/** The job that builds an index; and what keeps one up with the rows of its table. */

import { type IndexSpec, indexJob } from '../catalog/index-builds.js'
import { versionOf } from '../catalog/lookup.js'
import { type CatalogState, latestOf, type TableHead } from '../catalog/state.js'
import type { Json, Propose } from '../commit/machine.js'
import { ErrorCode, invalidInput, quote, SheafError } from '../errors.js'
import type { JobKind, JobRun } from '../jobs/job-kind.js'
import { type Change, fragmentsLeaving } from '../manifest/change.js'
import { findFieldById } from '../manifest/field-node.js'
import {
  type IndexChange,
  type IndexSegment,
  indexesFeature,
  type TableIndex,
} from '../manifest/table-index.js'
import { Pacer } from '../primitives/pacer.js'
import { TableReader } from '../table/table-reader.js'
import { passingBy } from '../table/table-source.js'
import { buildChange } from '../write/build-change.js'
import { buildSegments } from '../write/build-index.js'
import type { Zeal } from '../write/compaction-plan.js'
import { type IndexFold, planIndexFold } from '../write/plan-index-fold.js'
import { commit, type Engine, openVersion, requirementsOf, stageTarget } from './engine.js'
import { overtaken, tableOf } from './job-attempts.js'

export function indexKind(engine: () => Engine): JobKind<CatalogState> {
  return { name: indexJob, onOrphan: 'requeue', run: job => build(engine(), job) }
}

/** Over the rows of the newest version there is when it begins. Those that come or move meanwhile are folded in later. */
async function build(engine: Engine, job: JobRun): Promise<Propose<CatalogState>> {
  const spec = job.spec as unknown as IndexSpec
  const { signal } = job
  const state = await engine.root.refresh(signal)
  const head = tableOf(state, job, 'indexed')
  const unpin = await engine.pins.hold(engine.root.head, signal)
  try {
    const { layout } = await openVersion(engine, head, versionOf(head), signal)
    checkField(layout.schema, spec)
    const reader = new TableReader(passingBy(engine.source), head.location, layout)
    const stretches = layout.fragments.map(fragment => ({ fragment, from: 0, to: fragment.rows }))
    const total = stretches.reduce((sum, { to }) => sum + to, 0)
    const segments = await buildSegments(
      reader,
      spec,
      stretches,
      stageTarget(engine, head),
      new Pacer(signal),
      (done, phase) => job.progress(done, total, phase),
    )
    return landing(engine, job, { ...spec, segments })
  } finally {
    await unpin()
  }
}

/** The column must still be there. Nothing else that came meanwhile matters: a cover says itself what of it counts. */
async function landing(engine: Engine, job: JobRun, put: TableIndex): Promise<Propose<CatalogState>> {
  const head = tableOf(await engine.root.refresh(job.signal), job, 'indexed')
  const { layout } = await openVersion(engine, head, versionOf(head), job.signal)
  checkField(layout.schema, put)
  return (state, { firstBlob }) => {
    const now = tableOf(state, job, 'indexed')
    if (now.schemaId !== head.schemaId) throw overtaken(engine, job, () => landing(engine, job, put))
    const { change } = indexChange(now, { put }, firstBlob)
    return { ops: [change as unknown as Json], req: requirementsOf(now), need: [indexesFeature] }
  }
}

function checkField(schema: Parameters<typeof findFieldById>[0], { field, name }: IndexSpec): void {
  if (findFieldById(schema, field) !== null) return
  throw invalidInput(`the column of index ${quote(name)} was dropped before it was indexed`)
}

/** A version that differs from the one before it in an index. */
export function indexChange(
  head: TableHead,
  change: IndexChange,
  firstBlob: number,
): { readonly change: Change } {
  return buildChange(head, { kind: 'index', indexes: () => [change] }, firstBlob)
}

// ---- folding

export interface Folded {
  readonly index: string
  /** The version it made. */
  readonly version: number
  readonly rows: number
}

/**
 * Brings rows that no segment has into the indexes of a table, as far as that is worth doing, and makes few segments of many. What
 * others commit meanwhile stays: where it moves the rows that were looked at, the work was in vain.
 */
export async function foldIndexes(
  engine: Engine,
  uuid: string,
  zeal: Zeal,
  pacer: Pacer,
): Promise<readonly Folded[]> {
  const folded: Folded[] = []
  const done = new Set<string>()
  try {
    for (;;) {
      // Each on the newest version: that of the one before has made another.
      const head = (await engine.root.refresh(pacer.signal)).tables.get(uuid)
      const version = head && latestOf(head)
      if (head?.kind !== 'sheaf' || version === undefined) return folded
      const layout = await engine.layouts.at(head, version, pacer.signal)
      const index = layout.indexes.find(({ name }) => !done.has(name))
      if (index === undefined) return folded
      done.add(index.name)
      const fold = planIndexFold(index, layout, zeal)
      if (fold === null) continue
      const reader = new TableReader(passingBy(engine.source), head.location, layout)
      const segments = await buildSegments(reader, index, fold.stretches, stageTarget(engine, head), pacer)
      const change = await land(engine, head, index.name, segments, fold)
      if (change === null) continue
      const rows = segments.reduce((sum, { rows }) => sum + rows, 0)
      folded.push({ index: index.name, version: change.v, rows })
    }
  } catch (error) {
    if (!isNoMore(error)) throw error
    return folded
  }
}

async function land(
  engine: Engine,
  head: TableHead,
  index: string,
  segments: readonly IndexSegment[],
  { from, stretches }: IndexFold,
): Promise<Change | null> {
  const fragments = new Set(stretches.map(({ fragment }) => fragment.id))
  try {
    const { reply } = await commit<Change>(engine, (state, { firstBlob }) => {
      const now = state.tables.get(head.uuid)
      const since = now && engine.recent.between(head.uuid, head.mark, now.mark)
      if (now === undefined || since == null) throw inVain
      if (since.some(({ change }) => isInTheWay(change, index, fragments))) throw inVain
      const { change } = indexChange(now, { fold: index, from, to: segments }, firstBlob)
      return { ops: [change], req: requirementsOf(now), need: [indexesFeature], reply: change }
    })
    return reply
  } catch (error) {
    if (error === inVain || isNoMore(error)) return null
    throw error
  }
}

/** Another definition or other segments of the index, or rows that are elsewhere now. */
function isInTheWay(change: Change, index: string, fragments: ReadonlySet<number>): boolean {
  const { restore, schema, indexes = [], columns = [] } = change
  if (restore !== undefined || schema !== null) return true
  if (indexes.some(each => nameIn(each) === index)) return true
  return [...fragmentsLeaving(change), ...columns.map(({ fragment }) => fragment)].some(id =>
    fragments.has(id),
  )
}

function nameIn(change: IndexChange): string {
  if ('put' in change) return change.put.name
  if ('drop' in change) return change.drop
  return 'fold' in change ? change.fold : change.moved
}

const inVain = new Error('others were first')

/** What was looked at is no more, or its files were given up for lost. */
function isNoMore(error: unknown): boolean {
  if (!(error instanceof SheafError)) return false
  const { code } = error
  return (
    code === ErrorCode.TableVersionNotFound ||
    code === ErrorCode.TableNotFound ||
    code === ErrorCode.ConcurrentModification
  )
}
