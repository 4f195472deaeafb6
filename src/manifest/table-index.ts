/**
 * What a version says about its indexes: which there are, the segments they are made of, and which rows those number (STORAGE S12).
 *
 * A segment never changes. What changes is its cover: rows that die are told from the fragments, and where a compaction
 * moves rows, their places in the cover move too. An index is right at a version by construction: rows that no cover
 * has are looked at one by one.
 */
import { familyOf, type IndexFamily, type IndexKind } from '../indexes/kind.js'
import type { TextOptions } from '../indexes/text/options.js'
import { isVectorKind, type VectorParameters, type VectorSpec } from '../indexes/vector/kind.js'
import type { Metric } from '../kernels/metric.js'
import type { StoredRuns } from './stored-runs.js'
import type { TableSchema } from './table-schema.js'

/**
 * Rows of a segment that follow each other, and where they are: rows `first .. first+count-1` are those of a fragment from
 * `at` on, in their order, but for the ones that are no more.
 */
export interface CoverItem {
  readonly first: number
  readonly count: number
  readonly fragment: number
  readonly at: number
  /** The file (`columnFile`) its fragment has the indexed column in; empty: none. It counts only as long as that is so. */
  readonly file: string
  /** Rows that a compaction left behind, counted from `first` on. */
  readonly gone?: StoredRuns & { readonly count: number }
}

/** What was said of a vector index when it was defined. */
export interface VectorDefinition extends VectorParameters {
  readonly metric: Metric
}

/** What is to be known of a segment of a text index without reading it. */
export interface TextSegmentRecord {
  /** `Analyzer.identity` of what it was built with: under another one its terms are not those of a query. */
  readonly identity: string
  /** Rows that lived when it was built. It has no terms of the others. */
  readonly living: number
  /** Whether it had no place for the rows that came next. */
  readonly full?: true
}

/** A file of the table's `indexes` folder; `crc` is that of its footer. */
export interface IndexSegment {
  readonly file: string
  readonly bytes: number
  readonly crc: number
  readonly rows: number
  /** Rows that had a vector before others were put behind them: of those its partitions and codes are made. Absent: all. */
  readonly begun?: number
  /** Of a column of lists of vectors, and of no other: how many vectors its rows have. */
  readonly vectors?: number
  /** Of those of text indexes, and of no others. */
  readonly text?: TextSegmentRecord
  /** By `first`. */
  readonly cover: readonly CoverItem[]
}

export interface TableIndex {
  readonly name: string
  /** New with every definition. */
  readonly uuid: string
  readonly kind: IndexKind
  /** Id of the field, be it inside of others, that rows are found by. */
  readonly field: number
  /** Of those of a vector kind, and of no others. */
  readonly vector?: VectorDefinition
  /** Of those of kind `FTS`, and of no others: all there is to say, so that other defaults change nothing. */
  readonly text?: TextOptions
  /** When it was defined, Unix milliseconds. */
  readonly ts: number
  readonly segments: readonly IndexSegment[]
}

/** What a change does to the indexes of its table. */
export type IndexChange =
  /** There is one of that name from now on, in the place of any other. */
  | { readonly put: TableIndex }
  | { readonly drop: string }
  /** Segments in the place of others, in an index that is there. */
  | { readonly fold: string; readonly from: readonly string[]; readonly to: readonly IndexSegment[] }
  /** Of a compaction: where the rows of a segment are that were in fragments which moved. */
  | {
      readonly moved: string
      readonly segment: string
      readonly from: readonly number[]
      readonly to: readonly CoverItem[]
    }

/** What a reader of the log must know where tables have indexes: who does not would give their files up for lost. */
export const indexesFeature = 'indexes'
/** And where there are vector indexes: who does not would look in their files for values in order. */
export const vectorIndexesFeature = 'vector-indexes'
/** The same of text indexes. */
export const textIndexesFeature = 'text-indexes'

/** Needed where a segment numbers the vectors of lists: a reader without it would take those numbers for numbers of rows. */
export const vectorListsFeature = 'vector-lists'

/** All that a reader of this process knows. */
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

/** What a reader must know of indexes of these kinds. */
export function featuresOfKinds(kinds: readonly IndexKind[]): readonly string[] {
  if (kinds.length === 0) return []
  const needed = new Set([indexesFeature, ...kinds.map(kind => featureOfFamily[familyOf(kind)])])
  return indexFeatures.filter(feature => needed.has(feature))
}

/** The features that a reader of these indexes needs. `segments`: all of an index, or those that a change brings. */
export function featuresOfIndexes(
  indexes: readonly Pick<TableIndex, 'kind' | 'segments'>[],
): readonly string[] {
  const features = featuresOfKinds(indexes.map(({ kind }) => kind))
  const haveLists = indexes.some(({ segments }) => segments.some(({ vectors }) => vectors !== undefined))
  return haveLists ? [...features, vectorListsFeature] : features
}

/** What a vector index is to be like; null of others. */
export function vectorSpecOf({ kind, vector }: Pick<TableIndex, 'kind' | 'vector'>): VectorSpec | null {
  if (!isVectorKind(kind) || vector === undefined) return null
  const { metric, ...parameters } = vector
  return { kind, metric, parameters }
}

/** The indexes after a change of them. */
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

/** Those whose fields are in a schema. */
export function indexesOf(indexes: readonly TableIndex[], { fields }: TableSchema): readonly TableIndex[] {
  if (indexes.length === 0) return indexes
  const ids = new Set(fields.flatMap(({ id, nested = [] }) => [id, ...nested]))
  return indexes.filter(({ field }) => ids.has(field))
}

/** How many rows of its fragment an item has. */
export function rowsOfItem({ count, gone }: CoverItem): number {
  return count - (gone?.count ?? 0)
}

/** Files that segments bring. */
export function* filesOfSegments(
  segments: readonly IndexSegment[],
): Generator<readonly [folder: 'indexes' | 'rows', name: string]> {
  for (const { file, cover } of segments) {
    yield ['indexes', file]
    yield* filesOfCover(cover)
  }
}

export function* filesOfCover(cover: readonly CoverItem[]): Generator<readonly ['rows', string]> {
  for (const { gone } of cover) if (gone !== undefined) yield ['rows', gone.file]
}

/** Files that changes bring. */
export function* filesOfIndexChanges(
  changes: readonly IndexChange[],
): Generator<readonly [folder: 'indexes' | 'rows', name: string]> {
  for (const change of changes) {
    if ('put' in change) yield* filesOfSegments(change.put.segments)
    else if ('fold' in change) yield* filesOfSegments(change.to)
    else if ('moved' in change) yield* filesOfCover(change.to)
  }
}
