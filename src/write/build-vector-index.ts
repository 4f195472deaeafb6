/** Builds segments of vector indexes, or adds rows to an existing segment (STORAGE S12). */
import { assert } from '../errors.js'
import { type BaseSegment, buildSegment, maxSegmentRows } from '../indexes/vector/build.js'
import type { VectorInput } from '../indexes/vector/input.js'
import type { VectorSpec } from '../indexes/vector/kind.js'
import type { SegmentHead } from '../indexes/vector/segment-head.js'
import { type FieldNode, findFieldById, typeOf } from '../manifest/field-node.js'
import { filePath } from '../manifest/file-names.js'
import type { CoveredSegment } from '../manifest/index-cover.js'
import { type CoverItem, type IndexSegment, type TableIndex, vectorSpecOf } from '../manifest/table-index.js'
import type { Pacer } from '../primitives/pacer.js'
import { partitionPoint } from '../primitives/partition-point.js'
import { readWhole } from '../table/data-file.js'
import { openSectionFile } from '../table/section-file.js'
import type { TableReader } from '../table/table-reader.js'
import { holdsVectorLists, vectorType } from '../table/vector-column.js'
import type { BuildProgress } from './build-progress.js'
import type { StageTarget } from './stage.js'
import { storeRuns } from './stage-runs.js'
import { storeSegment } from './stage-segment.js'
import { coverOf, cutInto, cutStretches, rowsIn, type Stretch } from './stretch.js'
import { endsOfLists, listedInput, vectorInput } from './vector-input.js'

/** The rows to index. */
export interface RowsToIndex {
  readonly stretches: readonly Stretch[]
  /**
   * A vector segment to extend. Null: only new segments are built. The result is one segment that replaces `base`. It
   * has the rows of `base` first, with the same ordinals, then the rows of `stretches`. So the valid parts of the row
   * mapping of `base` are also valid for the result.
   */
  readonly base: CoveredSegment | null
}

export interface BuildOptions {
  /** Maximum number of threads for a large vector segment. */
  readonly threads: number
  readonly pacer: Pacer
  readonly progress?: BuildProgress
}

/**
 * Build segments over rows, in the order of the stretches. Returns an empty array if there are no rows. If `base` is
 * not null, the rows of `base` and `stretches` together must fit into one segment.
 */
export async function buildVectorSegments(
  reader: TableReader,
  index: Pick<TableIndex, 'kind' | 'field' | 'vector'>,
  { stretches, base }: RowsToIndex,
  target: StageTarget,
  options: BuildOptions,
): Promise<readonly IndexSegment[]> {
  const { threads, pacer, progress = () => {} } = options
  const chain = findFieldById(reader.schema, index.field)
  const type = chain === null ? null : typeOf(chain.at(-1)!)
  const dim = type === null ? undefined : vectorType(type)?.size
  const spec = vectorSpecOf(index)
  assert(spec !== null && chain !== null && dim !== undefined, `a ${index.kind} index without vectors`)
  const most = maxSegmentRows(spec, dim)
  if (holdsVectorLists(type!)) {
    assert(base === null, 'segments of lists of vectors cannot be extended')
    return buildListedSegments({ reader, chain, stretches }, spec, most, target, options)
  }
  const first = base === null ? 0 : base.segment.rows
  const kept = base === null ? [] : await keptItems(base, target, pacer.signal)
  const lists = base === null ? cutStretches(stretches, most) : [stretches]
  const segments: IndexSegment[] = []
  let before = 0
  for (const list of lists) {
    const done = before
    const stored = await storeSegment(
      await buildSegment(
        spec,
        { ...vectorInput(reader, chain, list, first, pacer), ...besideIn(target) },
        base === null ? null : await opened(base.segment, target),
        pacer,
        (rows, phase) => progress(done + rows, phase),
        threads,
      ),
      target,
      pacer.signal,
    )
    const rows = rowsIn(list)
    const cover = [...kept, ...coverOf(list, chain[0]!.id, first)]
    const begun = base === null ? await vectorsOf(stored, target) : (base.segment.begun ?? first)
    segments.push({ ...stored, rows: first + rows, ...(begun < first + rows && { begun }), cover })
    before += rows
  }
  return segments
}

/** Bytes of vectors that a build sorts by partition at the same time. */
const besideBytes = 512 * 1024 * 1024

/**
 * Return whether a segment has the vectors of its rows. It has them in object storage, where a search reads them with few
 * requests. On a local disk, a search reads its candidates from the column as fast.
 */
function besideIn({ store }: StageTarget): Pick<VectorInput, 'chunkBytes'> {
  return store.replace === undefined ? {} : { chunkBytes: besideBytes }
}

/** The rows of a column of lists of vectors. */
interface ListedRows {
  readonly reader: TableReader
  readonly chain: readonly FieldNode[]
  readonly stretches: readonly Stretch[]
}

/**
 * Build segments over a column of lists. `most`: maximum vectors of a segment. A segment of one row may have more
 * vectors.
 */
async function buildListedSegments(
  { reader, chain, stretches }: ListedRows,
  spec: VectorSpec,
  most: number,
  target: StageTarget,
  { threads, pacer, progress = () => {} }: BuildOptions,
): Promise<readonly IndexSegment[]> {
  const ends = await endsOfLists(reader, chain, stretches, pacer)
  const before = (row: number) => ends[row - 1] ?? 0
  const rowsFrom = (row: number) =>
    Math.max(1, partitionPoint(ends.length, each => ends[each]! <= before(row) + most) - row)
  const segments: IndexSegment[] = []
  let row = 0
  for (const list of cutInto(stretches, rowsFrom)) {
    const first = row
    const rows = rowsIn(list)
    row += rows
    const own = Uint32Array.from(ends.subarray(first, row), end => end - before(first))
    const vectors = own.at(-1)!
    // The build counts vectors, but progress is reported in rows.
    const share = rows / Math.max(1, vectors)
    const stored = await storeSegment(
      await buildSegment(
        spec,
        listedInput(reader, chain, list, own, pacer),
        null,
        pacer,
        (done, phase) => progress(first + Math.floor(done * share), phase),
        threads,
      ),
      target,
      pacer.signal,
    )
    segments.push({ ...stored, rows, vectors, cover: coverOf(list, chain[0]!.id, 0) })
  }
  return segments
}

async function opened(segment: IndexSegment, { store, location }: StageTarget): Promise<BaseSegment> {
  const path = `${location}/${filePath('indexes', segment.file)}`
  return { rows: segment.rows, file: await openSectionFile(store, path, segment) }
}

/** Read the number of vectors of a stored segment. The partitions and codes of the segment were trained on them. */
async function vectorsOf(
  stored: Pick<IndexSegment, 'file' | 'bytes' | 'crc'>,
  { store, location }: StageTarget,
): Promise<number> {
  const { footer } = await openSectionFile(store, `${location}/${filePath('indexes', stored.file)}`, stored)
  return (footer.head as unknown as Pick<SegmentHead, 'facts'>).facts.vectors
}

/**
 * Return the valid part of a segment's row mapping, for use in a new segment. Copies the files with its deleted rows,
 * because only one change may name a file (STORAGE S7).
 */
async function keptItems(
  { items }: CoveredSegment,
  target: StageTarget,
  signal: AbortSignal | undefined,
): Promise<readonly CoverItem[]> {
  const kept: CoverItem[] = []
  for (const item of items) {
    if (item.gone === undefined) kept.push(item)
    else {
      const { gone } = item
      const bytes = await readWhole(target.store, `${target.location}/${filePath('rows', gone.file)}`, gone)
      kept.push({ ...item, gone: { ...(await storeRuns(bytes, target, signal)), count: gone.count } })
    }
  }
  return kept
}
