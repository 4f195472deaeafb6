/**
 * The indexes of a version: their definitions, their segments, and the rows that the segments cover (STORAGE S12).
 *
 * A segment never changes, only its row mapping ("cover"). Deleted rows are known from the fragments, not from the
 * cover. When a compaction moves rows, the cover is updated. An index is correct at a version by construction: queries
 * evaluate rows that no cover lists one by one.
 */
import { familyOf, type IndexFamily, type IndexKind } from '../indexes/kind.js'
import type { TextOptions } from '../indexes/text/options.js'
import { isVectorKind, type VectorParameters, type VectorSpec } from '../indexes/vector/kind.js'
import type { Metric } from '../kernels/metric.js'
import type { StoredRuns } from './stored-runs.js'
import type { TableSchema } from './table-schema.js'

/**
 * Consecutive rows of a segment, and their position: rows `first .. first+count-1` are the rows of a fragment from `at`
 * on, in the same order, except the rows in `gone`.
 */
export interface CoverItem {
  readonly first: number
  readonly count: number
  readonly fragment: number
  readonly at: number
  /**
   * The file (`columnFile`) with the fragment's indexed column; empty: none. The item is valid only while the fragment
   * has that file.
   */
  readonly file: string
  /** Rows that a compaction removed, counted from `first` on. */
  readonly gone?: StoredRuns & { readonly count: number }
}

/** The parameters of a vector index when it was defined. */
export interface VectorDefinition extends VectorParameters {
  readonly metric: Metric
}

/** Facts about a segment of a text index that readers need before they read the segment. */
interface TextSegmentRecord {
  /** `Analyzer.identity` of the analyzer that built the segment. The terms of another analyzer do not match its terms. */
  readonly identity: string
  /** The number of live rows when it was built. The segment has no terms of other rows. */
  readonly living: number
  /** Whether it had no room for further rows. */
  readonly full?: true
}

/** A file of the table's `indexes` folder. `crc`: checksum of its footer. */
export interface IndexSegment {
  readonly file: string
  readonly bytes: number
  readonly crc: number
  readonly rows: number
  /**
   * The number of rows with a vector before rows were appended: its partitions and codes are trained on them. Absent:
   * all rows.
   */
  readonly begun?: number
  /** The number of vectors of its rows. Only for a column of lists of vectors. */
  readonly vectors?: number
  /** Only for text indexes. */
  readonly text?: TextSegmentRecord
  /** Sorted by `first`. */
  readonly cover: readonly CoverItem[]
}

/** An index of a table: its definition and its segments. */
export interface TableIndex {
  readonly name: string
  /** New for every definition. */
  readonly uuid: string
  readonly kind: IndexKind
  /** Id of the indexed field, which may be nested. */
  readonly field: number
  /** Only for vector indexes. */
  readonly vector?: VectorDefinition
  /** Only for indexes of kind `FTS`. Has every option, so that new defaults change nothing. */
  readonly text?: TextOptions
  /** When it was defined, milliseconds since 1970. */
  readonly ts: number
  readonly segments: readonly IndexSegment[]
}

/** A change of an index. */
export type IndexChange =
  /** Define an index. Replaces an index of the same name. */
  | { readonly put: TableIndex }
  | { readonly drop: string }
  /** Replace segments of an index by others. */
  | { readonly fold: string; readonly from: readonly string[]; readonly to: readonly IndexSegment[] }
  /** After a compaction: the new cover of those rows of a segment that were in moved fragments. */
  | {
      readonly moved: string
      readonly segment: string
      readonly from: readonly number[]
      readonly to: readonly CoverItem[]
    }

/** The feature that readers must know if tables have indexes. Other readers would take index files for orphans. */
export const indexesFeature = 'indexes'
/** The feature for vector indexes. Other readers would read their files as sorted values. */
const vectorIndexesFeature = 'vector-indexes'
/** The feature for text indexes. */
const textIndexesFeature = 'text-indexes'

/** The feature for segments over the vectors of lists. Other readers would take vector numbers for row numbers. */
const vectorListsFeature = 'vector-lists'

/** The features that this release knows. */
export const indexFeatures: readonly string[] = [
  indexesFeature,
  vectorIndexesFeature,
  textIndexesFeature,
  vectorListsFeature,
]

const featureOfFamily: Readonly<Record<IndexFamily, string>> = {
  scalar: indexesFeature,
  vector: vectorIndexesFeature,
  text: textIndexesFeature,
}

/** Return the features that readers of indexes of these kinds must know. */
export function featuresOfKinds(kinds: readonly IndexKind[]): readonly string[] {
  if (kinds.length === 0) return []
  const needed = new Set([indexesFeature, ...kinds.map(kind => featureOfFamily[familyOf(kind)])])
  return indexFeatures.filter(feature => needed.has(feature))
}

/**
 * Return the features that readers of these indexes must know. `segments`: all segments of an index, or those that a
 * change adds.
 */
export function featuresOfIndexes(
  indexes: readonly Pick<TableIndex, 'kind' | 'segments'>[],
): readonly string[] {
  const features = featuresOfKinds(indexes.map(({ kind }) => kind))
  const haveLists = indexes.some(({ segments }) => segments.some(({ vectors }) => vectors !== undefined))
  return haveLists ? [...features, vectorListsFeature] : features
}

/** Return the specification of a vector index; null for other indexes. */
export function vectorSpecOf({ kind, vector }: Pick<TableIndex, 'kind' | 'vector'>): VectorSpec | null {
  if (!isVectorKind(kind) || vector === undefined) return null
  const { metric, ...parameters } = vector
  return { kind, metric, parameters }
}

/** Apply changes to the indexes of a table. */
export function changedIndexes(
  indexes: readonly TableIndex[],
  changes: readonly IndexChange[],
): readonly TableIndex[] {
  return changes.reduce(changedBy, indexes)
}

function changedBy(indexes: readonly TableIndex[], change: IndexChange): readonly TableIndex[] {
  if ('put' in change) {
    const others = indexes.filter(({ name }) => name !== change.put.name)
    return [...others, change.put].sort((a, b) => (a.name < b.name ? -1 : 1))
  }
  if ('drop' in change) return indexes.filter(({ name }) => name !== change.drop)
  const segmentsOf = ({ segments }: TableIndex) => {
    if ('fold' in change) {
      return [...segments.filter(({ file }) => !change.from.includes(file)), ...change.to]
    }
    return segments.map(segment => {
      if (segment.file !== change.segment) return segment
      const stayed = segment.cover.filter(({ fragment }) => !change.from.includes(fragment))
      return { ...segment, cover: [...stayed, ...change.to].sort((a, b) => a.first - b.first) }
    })
  }
  const changed = 'fold' in change ? change.fold : change.moved
  return indexes.map(index => (index.name === changed ? { ...index, segments: segmentsOf(index) } : index))
}

/** Return the indexes whose fields are in a schema. */
export function indexesOf(indexes: readonly TableIndex[], { fields }: TableSchema): readonly TableIndex[] {
  if (indexes.length === 0) return indexes
  const ids = new Set(fields.flatMap(({ id, nested = [] }) => [id, ...nested]))
  return indexes.filter(({ field }) => ids.has(field))
}

/** Return the number of rows of a cover item. */
export function rowsOfItem({ count, gone }: CoverItem): number {
  return count - (gone?.count ?? 0)
}

/** Yield the files that segments refer to. */
export function* filesOfSegments(
  segments: readonly IndexSegment[],
): Generator<readonly [folder: 'indexes' | 'rows', name: string]> {
  for (const { file, cover } of segments) {
    yield ['indexes', file]
    yield* filesOfCover(cover)
  }
}

/** Yield the files that cover items refer to. */
function* filesOfCover(cover: readonly CoverItem[]): Generator<readonly ['rows', string]> {
  for (const { gone } of cover) if (gone !== undefined) yield ['rows', gone.file]
}

/** Yield the files that changes add. */
export function* filesOfIndexChanges(
  changes: readonly IndexChange[],
): Generator<readonly [folder: 'indexes' | 'rows', name: string]> {
  for (const change of changes) {
    if ('put' in change) yield* filesOfSegments(change.put.segments)
    else if ('fold' in change) yield* filesOfSegments(change.to)
    else if ('moved' in change) yield* filesOfCover(change.to)
  }
}
