/** Runs the job that builds an index. */
import { typeName } from '../arrow/type-name.js'
import type { DataType } from '../arrow/types.js'
import type { IndexSpec } from '../catalog/index-builds.js'
import type { CatalogJobRun } from '../catalog/log-types.js'
import { versionOf } from '../catalog/lookup.js'
import type { TableHead } from '../catalog/state.js'
import { invalidInput, quote } from '../errors.js'
import { familyOf, type IndexFamily } from '../indexes/kind.js'
import { findFieldById, typeOf } from '../manifest/field-node.js'
import { featuresOfIndexes, type TableIndex } from '../manifest/table-index.js'
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
    if (await wereRestored(built.liveRows, reader, new Pacer(job.signal))) built = await build(engine, job)
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

async function build(engine: Engine, job: CatalogJobRun): Promise<BuiltIndex> {
  const spec = job.spec as unknown as IndexSpec
  const { signal } = job
  const state = await engine.root.refresh(signal)
  const head = tableOf(state, job, 'indexed')
  const unpin = await engine.retained.pins.hold(engine.root.head, signal)
  try {
    const { layout } = await openVersion(engine, head, versionOf(head), signal)
    checkField(layout.schema, spec)
    const reader = new TableReader(passingBy(engine.source), head.location, layout)
    const stretches = layout.fragments.map(fragment => ({ fragment, from: 0, to: fragment.rows }))
    const total = stretches.reduce((sum, { to }) => sum + to, 0)
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
