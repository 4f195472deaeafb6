/**
 * The indexes of a version: their definitions, their segments, and the row mapping of each segment (STORAGE S12).
 *
 * A segment file never changes. Only its row mapping ("cover") changes: a compaction moves rows, so it also updates the
 * row mapping. Deletions do not change the row mapping, because the fragments record deleted rows. A query evaluates
 * rows that are in no row mapping one by one. So an incomplete index never makes a result wrong.
 */
import { familyOf, type IndexFamily, type IndexKind } from '../indexes/kind.js'
import type { TextOptions } from '../indexes/text/options.js'
import { isVectorKind, type VectorParameters, type VectorSpec } from '../indexes/vector/kind.js'
import type { Metric } from '../kernels/metric.js'
import type { StoredRuns } from './stored-runs.js'
import type { TableSchema } from './table-schema.js'

/**
 * An item of a row mapping. It maps consecutive rows of a segment to consecutive rows of a fragment, in the same order.
 * The rows with the ordinals `first .. first+count-1` are the rows of the fragment from offset `at` on, except the rows
 * in `gone`.
 */
export interface CoverItem {
  readonly first: number
  readonly count: number
  readonly fragment: number
  readonly at: number
  /**
   * The key (`columnFile`) of the file that had the indexed column of the fragment when it was indexed; '' if no file
   * had it. The item is valid only while the fragment has the column in this file.
   */
  readonly file: string
  /** Rows that a compaction removed, as offsets from `first`. */
  readonly gone?: StoredRuns & { readonly count: number }
}

/** The parameters with which a vector index was defined. */
export interface VectorDefinition extends VectorParameters {
  readonly metric: Metric
}

/** The properties of a segment of a text index that readers need before they read the segment. */
interface TextSegmentRecord {
  /**
   * `Analyzer.identity` of the analyzer that built the segment. Another analyzer may produce other terms, so such a
   * segment cannot be searched with it.
   */
  readonly identity: string
  /** The number of live rows when the segment was built. The segment has no terms of deleted rows. */
  readonly living: number
  /** True if the segment was full when it was built. Absent otherwise. */
  readonly full?: true
}

/** A segment: a file of the table's `indexes` folder. `crc`: the checksum of its footer. */
export interface IndexSegment {
  readonly file: string
  readonly bytes: number
  readonly crc: number
  readonly rows: number
  /**
   * The number of rows with a vector when the partitions and codes of the segment were trained. Later rows were
   * appended without training. Absent: trained on all rows.
   */
  readonly begun?: number
  /** The number of vectors in the segment. Only for a column with lists of vectors. */
  readonly vectors?: number
  /** Only for segments of text indexes. */
  readonly text?: TextSegmentRecord
  /** The row mapping, sorted by `first`. */
  readonly cover: readonly CoverItem[]
}

/** An index of a table: its definition and its segments. */
export interface TableIndex {
  readonly name: string
  /** A new uuid for every definition of an index. */
  readonly uuid: string
  readonly kind: IndexKind
  /** The id of the indexed field. The field may be nested. */
  readonly field: number
  /** Only for vector indexes. */
  readonly vector?: VectorDefinition
  /**
   * Only for indexes of kind `FTS`. All options are stored, so that new defaults in later releases do not change the
   * index.
   */
  readonly text?: TextOptions
  /** The time of the definition, in milliseconds since 1970. */
  readonly ts: number
  /**
   * Number of rows of the segments of a build in units. Merges create no larger segment. Absent: segments have as many
   * rows as fit.
   */
  readonly segmentRows?: number
  readonly segments: readonly IndexSegment[]
}

/** A change of an index. */
export type IndexChange =
  /** Defines an index. It replaces an index with the same name. */
  | { readonly put: TableIndex }
  | { readonly drop: string }
  /** Replaces the segments `from` of the index `fold` by the segments `to`. */
  | { readonly fold: string; readonly from: readonly string[]; readonly to: readonly IndexSegment[] }
  /**
   * Replaces the row mapping of a segment, after a compaction, for the rows that were in the fragments `from`. `moved`:
   * the name of the index.
   */
  | {
      readonly moved: string
      readonly segment: string
      readonly from: readonly number[]
      readonly to: readonly CoverItem[]
    }

/**
 * The feature that readers must support if a table has indexes. Readers without it would delete index files as orphaned
 * files.
 */
export const indexesFeature = 'indexes'
/** The feature for vector indexes. Readers without it would read a vector segment as sorted values. */
const vectorIndexesFeature = 'vector-indexes'
/** The feature for text indexes. */
const textIndexesFeature = 'text-indexes'

/**
 * The feature for segments of columns with lists of vectors. Readers without it would use vector numbers as row
 * numbers.
 */
const vectorListsFeature = 'vector-lists'

/** The features of indexes that this release supports. */
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

/** Return the features that readers of indexes of these kinds must support. */
export function featuresOfKinds(kinds: readonly IndexKind[]): readonly string[] {
  if (kinds.length === 0) return []
  const needed = new Set([indexesFeature, ...kinds.map(kind => featureOfFamily[familyOf(kind)])])
  return indexFeatures.filter(feature => needed.has(feature))
}

/**
 * Return the features that readers of these indexes must support. `segments`: all segments of the index, or only the
 * segments that a change adds.
 */
export function featuresOfIndexes(
  indexes: readonly Pick<TableIndex, 'kind' | 'segments'>[],
): readonly string[] {
  const features = featuresOfKinds(indexes.map(({ kind }) => kind))
  const haveLists = indexes.some(({ segments }) => segments.some(({ vectors }) => vectors !== undefined))
  return haveLists ? [...features, vectorListsFeature] : features
}

/** Return the specification of a vector index. Returns null for an index that is not a vector index. */
export function vectorSpecOf({ kind, vector }: Pick<TableIndex, 'kind' | 'vector'>): VectorSpec | null {
  if (!isVectorKind(kind) || vector === undefined) return null
  const { metric, ...parameters } = vector
  return { kind, metric, parameters }
}

/** Apply changes to a list of indexes. Returns the new list. */
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

/** Return the indexes whose field still exists in a schema. */
export function indexesOf(indexes: readonly TableIndex[], { fields }: TableSchema): readonly TableIndex[] {
  if (indexes.length === 0) return indexes
  const ids = new Set(fields.flatMap(({ id, nested = [] }) => [id, ...nested]))
  return indexes.filter(({ field }) => ids.has(field))
}

/** Return the number of rows of a cover item, without the rows in `gone`. */
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
