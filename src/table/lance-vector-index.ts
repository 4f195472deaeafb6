/**
 * Vector indexes of LanceDB on a version of a Lance table. Queries use them like indexes of Sheaf: an index proposes rows,
 * whose exact distances are measured. Live rows that an index does not have are measured too. So a damaged index cannot
 * add rows to an answer.
 */
import { ErrorCode, invalidInput, SheafError, unsupported } from '../errors.js'
import { isVectorKind, type VectorKind } from '../indexes/vector/kind.js'
import type { Metric } from '../kernels/metric.js'
import type { IvfPqPlan } from '../lance/ivf-pq.js'
import type { LanceIndex } from '../lance/manifest.js'
import { lazyImport } from '../lazy-import.js'
import { findFieldById, typeOf } from '../manifest/field-node.js'
import { fragmentsById } from '../manifest/index-cover.js'
import { columnFile, type Fragment, type Layout } from '../manifest/layout.js'
import type { CoverItem, IndexSegment, TableIndex } from '../manifest/table-index.js'
import { NumberRuns } from '../primitives/number-runs.js'
import { whenResolved } from '../primitives/task.js'
import { SegmentReader } from './covered-segment.js'
import { IndexCover } from './index-cover.js'
import { lanceSegmentBytes, lanceSegmentHead, openLanceSegment } from './lance-segment.js'
import { TableReader } from './table-reader.js'
import type { TableSource } from './table-source.js'
import { holdsVectorLists, type VectorField, vectorField, vectorType } from './vector-column.js'
import type { VectorIndexReader } from './vector-index.js'

/** An index that queries cannot use. */
interface UnusableIndex {
  readonly name: string
  /** The id of the indexed field. */
  readonly field: number
  /** The kind of the index. Null: it is unknown. */
  readonly kind: VectorKind | null
  /** The metric of the index. Null: it is unknown. */
  readonly metric: Metric | null
  readonly uuid: string
  /** The time of the build in milliseconds since 1970; 0 if it is unknown. */
  readonly createdAt: number
  readonly error: SheafError
}

/** The vector indexes of a version. */
export interface LanceVectorIndexes {
  /** The indexes that queries can use, in the form of indexes of Sheaf. */
  readonly usable: readonly TableIndex[]
  readonly unusable: readonly UnusableIndex[]
  /** A reader of the version that knows the usable indexes. */
  readonly reader: TableReader
}

/** A version of a Lance table. */
interface LanceVersion {
  readonly source: TableSource
  /** The folder of the table. */
  readonly location: string
  /** A reader that knows no indexes. */
  readonly reader: TableReader
}

const importRoaring = lazyImport(() => import('../lance/roaring.js'))

/** The newest version of the format of IVF_PQ indexes that Sheaf knows. */
const knownVersion = 1

/** The indexes of each manifest. */
const indexesOf = new WeakMap<Layout, Promise<LanceVectorIndexes>>()

/** Return the vector indexes of a version. The first call for a version reads them into memory. */
export function lanceVectorIndexes(version: LanceVersion): Promise<LanceVectorIndexes> {
  const { layout } = version.reader
  let indexes = indexesOf.get(layout)
  if (indexes === undefined) {
    indexes = openIndexes(version)
    indexesOf.set(layout, indexes)
    indexes.catch(() => indexesOf.delete(layout))
  }
  return indexes
}

async function openIndexes(version: LanceVersion): Promise<LanceVectorIndexes> {
  const { source, location, reader } = version
  const { layout } = reader
  const usable: TableIndex[] = []
  const readers: VectorIndexReader[] = []
  const unusable: UnusableIndex[] = []
  const lanceIndexes = layout.lanceIndexes ?? []
  for (const name of [...new Set(lanceIndexes.map(index => index.name))].sort()) {
    const segments = lanceIndexes.filter(index => index.name === name)
    const [id] = segments[0]!.fields
    const chain = id === undefined ? null : findFieldById(layout.schema, id)
    if (chain === null || vectorType(typeOf(chain.at(-1)!)) === null) continue
    const opened = await openIndex(version, segments, vectorField(layout.schema, chain))
    if ('error' in opened) unusable.push(opened)
    else {
      usable.push(opened.index)
      readers.push(opened.reader)
    }
  }
  return { usable, unusable, reader: new TableReader(source, location, layout, [], readers) }
}

interface OpenedIndex {
  readonly index: TableIndex
  readonly reader: VectorIndexReader
}

/** Open the segments of an index. */
async function openIndex(
  version: LanceVersion,
  segments: readonly LanceIndex[],
  field: VectorField,
): Promise<OpenedIndex | UnusableIndex> {
  const { name, uuid, createdAt } = segments[0]!
  let [kind, metric]: [VectorKind | null, Metric | null] = [null, null]
  try {
    for (const segment of segments) {
      checkSegment(segment, field)
      const head = await lanceSegmentHead(version.source, folderOf(version, segment))
      if (segment !== segments[0] && (head.kind !== kind || head.metric !== metric))
        throw invalidInput('the segments of the index have different kinds or metrics')
      kind = isVectorKind(head.kind) ? head.kind : null
      metric = metrics.find(each => each === head.metric) ?? null
      if (head.kind !== 'IVF_PQ') throw unsupported(`Sheaf does not read ${head.kind} indexes of LanceDB`)
      if (segment.version > knownVersion)
        throw unsupported(`Sheaf does not know version ${segment.version} of IVF_PQ indexes`)
    }
    return await openSegments(version, segments, field, metric!)
  } catch (error) {
    if (!(error instanceof SheafError) || !isAboutIndex(error)) throw error
    return { name, field: field.id, kind, metric, uuid, createdAt, error }
  }
}

const metrics: readonly Metric[] = ['l2', 'cosine', 'dot', 'hamming']

/** Return whether an error says that an index cannot be used. Other errors may end, as those of a busy store. */
function isAboutIndex({ code }: SheafError): boolean {
  return code === ErrorCode.InvalidInput || code === ErrorCode.Unsupported || code === ErrorCode.Internal
}

function folderOf({ location }: LanceVersion, { uuid }: LanceIndex): string {
  return `${location}/_indices/${uuid}`
}

function checkSegment({ uuid, base, fields }: LanceIndex, { type }: VectorField): void {
  if (uuid === '') throw invalidInput('the manifest does not say where the files of the index are')
  if (base !== null) throw unsupported('the files of the index are in the folder of another table')
  if (fields.length !== 1) throw unsupported(`the index has ${fields.length} columns`)
  if (holdsVectorLists(type)) throw unsupported('Sheaf does not read indexes of LanceDB on lists of vectors')
}

async function openSegments(
  version: LanceVersion,
  segments: readonly LanceIndex[],
  field: VectorField,
  metric: Metric,
): Promise<OpenedIndex> {
  const { source, location, reader } = version
  const { layout } = reader
  const fragments = fragmentsById(layout)
  const taken = new Set<number>()
  const records: IndexSegment[] = []
  const readers: VectorIndexReader['segments'][number][] = []
  let plan: IvfPqPlan | null = null
  for (const segment of segments) {
    const own = await fragmentsOf(segment, layout)
    for (const { id } of own) {
      if (taken.has(id)) throw invalidInput(`two segments of the index have the rows of fragment ${id}`)
      taken.add(id)
    }
    const folder = folderOf(version, segment)
    // Versions with the same fragments have the same rows at the same ordinals.
    const key = `${folder}#${printRuns(own)}`
    const open = () =>
      source.lanceSegments.get(
        key,
        claim => openLanceSegment(folder, { source, reader, field, fragments: own }, claim),
        folder,
      )
    const opened = await open()
    plan = opened.plan
    if (plan.dim !== vectorType(field.type)!.size)
      throw invalidInput(`the index has vectors of ${plan.dim} elements`)
    const items = itemsOf(own, field, opened.missing)
    const bytes = await lanceSegmentBytes(source.store, folder)
    const record = { file: segment.uuid, bytes, crc: 0, rows: opened.segment.rows, cover: items }
    records.push(record)
    if (items.length === 0) continue
    const indexed = { source, location, layout, fragments }
    const toSegment = () => whenResolved(open(), ({ segment }) => segment)
    readers.push(new SegmentReader(indexed, { segment: record, items }, toSegment, key))
  }
  const { name, uuid, createdAt } = segments[0]!
  const { parts, bits, counts } = plan!
  const index: TableIndex = {
    name,
    uuid,
    kind: 'IVF_PQ',
    field: field.id,
    vector: { metric, partitions: counts.length, subVectors: parts, bits },
    ts: createdAt,
    segments: records,
  }
  const cover = new IndexCover(index, layout, fragments)
  const covered: VectorIndexReader['covered'] = fragment => cover.covered(fragment)
  return { index, reader: { name, kind: 'IVF_PQ', metric, field: field.id, segments: readers, covered } }
}

/** Return the fragments of a version that a segment covers. */
async function fragmentsOf({ fragments }: LanceIndex, layout: Layout): Promise<readonly Fragment[]> {
  if (fragments === null) throw unsupported('the manifest does not say which fragments the index has')
  const { decodeRoaring } = await importRoaring()
  const ids = decodeRoaring(fragments, 'the list of the fragments of the index')
  return layout.fragments.filter(({ id }) => ids.has(id))
}

function printRuns(fragments: readonly Fragment[]): string {
  const { starts, ranks } = NumberRuns.of(fragments.map(({ id }) => id).sort((a, b) => a - b))
  return Array.from(starts, (start, i) => `${start}+${ranks[i + 1]! - ranks[i]!}`).join(',')
}

/** Return the row mapping of a segment: its rows without those that are missing. */
function itemsOf(fragments: readonly Fragment[], { column }: VectorField, missing: Uint32Array): CoverItem[] {
  const items: CoverItem[] = []
  let first = 0
  let next = 0
  for (const fragment of fragments) {
    const file = columnFile(fragment, column.id)
    const end = first + fragment.rows
    for (let from = first; from < end; ) {
      const to = next < missing.length ? Math.min(end, missing[next]!) : end
      if (to > from)
        items.push({ first: from, count: to - from, fragment: fragment.id, at: from - first, file })
      if (missing[next] === to) next++
      from = to === end ? end : to + 1
    }
    first = end
  }
  return items
}
