/** Runs the job that builds an index. */
import { typeName } from '../arrow/type-name.js'
import type { DataType } from '../arrow/types.js'
import { type IndexSpec, unitJobOf } from '../catalog/index-builds.js'
import type { CatalogJobRun } from '../catalog/log-types.js'
import { versionOf } from '../catalog/lookup.js'
import type { TableHead } from '../catalog/state.js'
import type { Json } from '../commit/machine.js'
import { invalidInput, quote } from '../errors.js'
import { familyOf, type IndexFamily } from '../indexes/kind.js'
import { findFieldById, typeOf } from '../manifest/field-node.js'
import type { Layout } from '../manifest/layout.js'
import { featuresOfIndexes, type IndexSegment, type TableIndex } from '../manifest/table-index.js'
import type { TableSchema } from '../manifest/table-schema.js'
import { Pacer } from '../primitives/pacer.js'
import type { RowSet } from '../primitives/row-set.js'
import { requirementsOf, stageTarget } from '../root/commit.js'
import type { Engine } from '../root/engine.js'
import { indexChange } from '../root/index-change.js'
import { openVersion } from '../root/open-table.js'
import { TableReader } from '../table/table-reader.js'
import { passingBy } from '../table/table-source.js'
import { holdsText } from '../table/text-column.js'
import { vectorType } from '../table/vector-column.js'
import { buildSegments } from '../write/build-index.js'
import { rowsBetween, rowsIn, type Stretch } from '../write/stretch.js'
import { commitJob, tableOf } from './job-attempts.js'

/**
 * Build the index over the rows of the newest version, and commit it. Rows that are added or moved during the build
 * stay unindexed until an index merge adds them.
 *
 * At the commit, the column must still exist. Deleted rows that the index left out must still be deleted: if a restore
 * has made them live again, the index is built again. Other changes do not matter, because the row mapping of a segment
 * determines which of its rows are used.
 */
export async function buildIndex(engine: Engine, job: CatalogJobRun): Promise<void> {
  let built = await build(engine, job)
  await commitJob(engine, job, async () => {
    const head = tableOf(await engine.root.refresh(job.signal), job, 'indexed')
    const { layout, reader } = await openVersion(engine, head, versionOf(head), job.signal)
    checkField(layout.schema, built.index)
    const isOutdated = await wereRestored(built.liveRows, reader, new Pacer(job.signal))
    if (isOutdated) built = await buildWhole(engine, job)
    const { index, liveRows } = built
    return job.commit((state, { firstBlob }) => {
      const now = tableOf(state, job, 'indexed')
      if (now.schemaId !== head.schemaId) return null
      if (liveRows !== null && mayHaveRestored(engine, head, now)) return null
      const change = indexChange(now, { put: index }, firstBlob)
      return {
        ops: [change],
        req: requirementsOf(now),
        need: featuresOfIndexes([index]),
      }
    })
  })
}

interface BuiltIndex {
  readonly index: TableIndex
  /** The live rows at the time of the build. Null if the index also contains deleted rows. */
  readonly liveRows: LiveRows | null
}

/** The live rows of each fragment with deleted rows, by fragment id. */
type LiveRows = ReadonlyMap<number, RowSet>

/** Build the index, in units if it has many rows. */
async function build(engine: Engine, job: CatalogJobRun): Promise<BuiltIndex> {
  if (job.isSplit) return buildInUnits(engine, job, [])
  const spec = job.spec as unknown as IndexSpec
  const head = tableOf(await engine.root.refresh(job.signal), job, 'indexed')
  const version = versionOf(head)
  const { layout } = await openVersion(engine, head, version, job.signal)
  const rows = layout.fragments.reduce((sum, fragment) => sum + fragment.rows, 0)
  if (rows <= engine.unitRows) return buildWhole(engine, job)
  const each = Math.ceil(rows / Math.ceil(rows / engine.unitRows))
  const units: UnitSpec[] = []
  for (let from = 0; from < rows; from += each) {
    units.push({ index: spec, version, from, to: Math.min(rows, from + each) })
  }
  return buildInUnits(engine, job, units)
}

/** The specification of a unit of an index build: the rows `from` to `to - 1` of a version, deleted rows included. */
interface UnitSpec {
  readonly index: IndexSpec
  readonly version: number
  readonly from: number
  readonly to: number
}

/** The result of a unit. */
interface UnitResult extends Pick<UnitSpec, 'version'> {
  readonly rows: number
  readonly segments: readonly IndexSegment[]
}

/**
 * Build the index in units, each by any process. The version that the units read does not expire, because the job is
 * open.
 */
async function buildInUnits(
  engine: Engine,
  job: CatalogJobRun,
  units: readonly UnitSpec[],
): Promise<BuiltIndex> {
  const { signal } = job
  const spec = job.spec as unknown as IndexSpec
  const ended = await job.inUnits(unitJobOf(job.kind), units as unknown as readonly Json[])
  const results = ended as unknown as readonly UnitResult[]
  const segmentRows = Math.max(...results.map(({ rows }) => rows))
  const index = { ...spec, segmentRows, segments: results.flatMap(({ segments }) => segments) }
  if (spec.text === undefined) return { index, liveRows: null }
  const head = tableOf(await engine.root.refresh(signal), job, 'indexed')
  const { reader } = await openVersion(engine, head, results[0]!.version, signal)
  return { index, liveRows: await liveRowsOf(reader, new Pacer(signal)) }
}

/** Run a unit of an index build. */
export async function buildUnit(engine: Engine, job: CatalogJobRun): Promise<void> {
  const { index, version, from, to } = job.spec as unknown as UnitSpec
  const { signal } = job
  const head = tableOf(await engine.root.refresh(signal), job, 'indexed')
  const { layout } = await openVersion(engine, head, version, signal)
  checkField(layout.schema, index)
  const reader = new TableReader(passingBy(engine.source), head.location, layout)
  const stretches = rowsBetween(wholeFragments(layout), from, to)
  const segments = await buildSegments(reader, index, { stretches, base: null }, stageTarget(engine, head), {
    threads: engine.buildThreads,
    pacer: new Pacer(signal),
    progress: (done, phase) => job.progress(done, to - from, phase),
  })
  const result: UnitResult = { version, rows: to - from, segments }
  await job.endUnit(result as unknown as Json)
}

function wholeFragments({ fragments }: Layout): readonly Stretch[] {
  return fragments.map(fragment => ({ fragment, from: 0, to: fragment.rows }))
}

async function buildWhole(engine: Engine, job: CatalogJobRun): Promise<BuiltIndex> {
  const spec = job.spec as unknown as IndexSpec
  const { signal } = job
  const state = await engine.root.refresh(signal)
  const head = tableOf(state, job, 'indexed')
  const unpin = await engine.retained.pins.hold(engine.root.head, signal)
  try {
    const { layout } = await openVersion(engine, head, versionOf(head), signal)
    checkField(layout.schema, spec)
    const reader = new TableReader(passingBy(engine.source), head.location, layout)
    const stretches = wholeFragments(layout)
    const total = rowsIn(stretches)
    const segments = await buildSegments(reader, spec, { stretches, base: null }, stageTarget(engine, head), {
      threads: engine.buildThreads,
      pacer: new Pacer(signal),
      progress: (done, phase) => job.progress(done, total, phase),
    })
    const liveRows = spec.text === undefined ? null : await liveRowsOf(reader, new Pacer(signal))
    return { index: { ...spec, segments }, liveRows }
  } finally {
    await unpin()
  }
}

async function liveRowsOf(reader: TableReader, pacer: Pacer): Promise<LiveRows> {
  const liveRows = new Map<number, RowSet>()
  for (const fragment of reader.layout.fragments) {
    if (fragment.dead.count > 0) liveRows.set(fragment.id, await reader.liveIn(fragment, pacer))
  }
  return liveRows
}

/** Return whether rows that were deleted in `before` are live now. */
async function wereRestored(before: LiveRows | null, reader: TableReader, pacer: Pacer): Promise<boolean> {
  if (before === null) return false
  for (const fragment of reader.layout.fragments) {
    const known = before.get(fragment.id)
    if (known === undefined) continue
    if (!(await reader.liveIn(fragment, pacer)).andNot(known).isNone) return true
  }
  return false
}

/** Return whether the changes since `before` may include a restore. */
function mayHaveRestored({ versions }: Engine, before: TableHead, now: TableHead): boolean {
  const since = versions.recent.between(now.uuid, before.mark, now.mark)
  return since === null || since.some(({ change }) => change.restore !== undefined)
}

/** Check that the field still exists and has a type that the index supports. Throws `InvalidInput`. */
function checkField(schema: TableSchema, { field, name, kind }: IndexSpec): void {
  const node = findFieldById(schema, field)?.at(-1)
  if (node === undefined) {
    throw invalidInput(`the column of index ${quote(name)} was dropped before it was indexed`)
  }
  const type = typeOf(node)
  if (acceptsType[familyOf(kind)](type)) return
  throw invalidInput(
    `the column of index ${quote(name)} got the type ${typeName(type)} before it was indexed`,
  )
}

const acceptsType: Readonly<Record<IndexFamily, (type: DataType) => boolean>> = {
  scalar: () => true,
  vector: type => vectorType(type) !== null,
  text: holdsText,
}
