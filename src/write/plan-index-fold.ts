/**
 * Plans index merges: chooses the index segments to merge, and the unindexed rows to add. Segments of similar size are
 * merged, as in a log-structured merge-tree. So each row is indexed once per size tier, and searches read few segments.
 */
import { maxTextSegmentRows } from '../indexes/text/build.js'
import { isExtendable, maxSegmentRows } from '../indexes/vector/build.js'
import { findFieldById, typeOf } from '../manifest/field-node.js'
import type { FragmentsById } from '../manifest/fragments-by-id.js'
import { type CoveredSegment, coverAt, fragmentsById } from '../manifest/index-cover.js'
import { type Fragment, type Layout, liveRows } from '../manifest/layout.js'
import {
  type CoverItem,
  type IndexSegment,
  rowsOfItem,
  type TableIndex,
  vectorSpecOf,
} from '../manifest/table-index.js'
import { mergedFrom } from '../primitives/tiers.js'
import { itemsByFragment } from '../table/index-cover.js'
import { holdsText } from '../table/text-column.js'
import { holdsVectorLists, vectorType } from '../table/vector-column.js'
import { segmentRows } from './build-index.js'
import type { CompactionMode } from './compaction-plan.js'
import { rowsIn, type Stretch } from './stretch.js'

/** A planned index merge. */
export interface IndexFold {
  /** Names of the files of the segments to replace. */
  readonly from: readonly string[]
  /** The rows of the new segments, except the rows of `base`. */
  readonly stretches: readonly Stretch[]
  /**
   * The replaced segment to extend: the new segment gets its rows, then the rows of `stretches`. Null: no segment is
   * extended.
   */
  readonly base: CoveredSegment | null
}

/** The thresholds from which segments of an index are merged. */
interface MergePolicy {
  /**
   * While the table changes: minimum share of unindexed rows in the table. Below it, unindexed rows are not indexed
   * yet.
   */
  readonly lazyShare: number
  /** While the table changes: minimum number of unindexed rows. With fewer rows, they are not indexed yet. */
  readonly lazyMin: number
  /** When the table no longer changes: minimum number of unindexed rows. With fewer rows, they are not indexed. */
  readonly eagerMin: number
  /** Minimum share of a segment's rows that are left in the table. Below it, the segment is rebuilt. */
  readonly coveredShare: number
  /** Maximum number of rows of a segment. */
  readonly rowsMax: number
  /** Maximum size of a segment to merge, as a multiple of the total size of the smaller merged segments. */
  readonly ratio: number
  /**
   * Maximum size of an extended segment, as a multiple of the vectors on which it was trained. 0: segments are not
   * extended.
   */
  readonly growth: number
}

const scalarPolicy: MergePolicy = {
  lazyShare: 1 / 64,
  lazyMin: 16 * 1024,
  eagerMin: 1,
  coveredShare: 0.5,
  rowsMax: segmentRows,
  ratio: 1,
  growth: 0,
}

/**
 * The policy of vector indexes. Indexing is delayed until there are many unindexed rows, because inserting a row into a
 * graph takes up to a millisecond. A query needs less than a microsecond for an unindexed row, so 10,000 unindexed rows
 * take a few milliseconds, and their distances are exact.
 *
 * The rows are then appended to a segment that may be up to 16 times as large. The segment is written again, but a copy
 * of a row costs little compared with its insertion into the graph. Fewer segments make queries faster, because a query
 * searches all segments.
 *
 * An extended segment keeps the partitions and codes of the vectors on which it was trained. So it is rebuilt before it
 * is too large for them. It is also rebuilt when more than 20 % of its rows are gone, because its graph still contains
 * them.
 */
const vectorPolicy: Omit<MergePolicy, 'rowsMax' | 'ratio' | 'growth'> = {
  lazyShare: 1 / 16,
  lazyMin: 10_000,
  eagerMin: 10_000,
  coveredShare: 0.8,
}
/** The policy for segments that can be extended. `rebuilding` is the policy for segments that a merge must rebuild. */
const extending = { ratio: 16, growth: 4 }
const rebuilding = { ratio: 1, growth: 0 }

/**
 * The policy of text indexes. A search splits every unindexed row into terms, which takes about 0.5 µs per term. So
 * 1,000 rows of 100 terms take 50 ms, the maximum for a query. A row is indexed again each time the size of its segment
 * doubles. Deleted rows affect the scores until their segment is rebuilt, which happens when more than 20 % of its rows
 * are deleted.
 */
const textPolicy: MergePolicy = {
  lazyShare: 0,
  lazyMin: 1024,
  eagerMin: 1,
  coveredShare: 0.8,
  rowsMax: maxTextSegmentRows,
  ratio: 1,
  growth: 0,
}

/**
 * Plan an index merge. Returns null if no threshold is reached, or if the type of the column no longer fits the index.
 * `isCurrent` returns whether a new segment would be built in the same way as an existing segment; other segments are
 * rebuilt. Default: all are current.
 */
export function planIndexFold(
  index: TableIndex,
  layout: Layout,
  mode: CompactionMode,
  isCurrent: (segment: IndexSegment) => boolean = () => true,
): IndexFold | null {
  const family = policyOf(index, layout)
  if (family === null) return null
  const { segmentRows: cutRows = Number.POSITIVE_INFINITY } = index
  const policy = { ...family, rowsMax: Math.min(family.rowsMax, cutRows) }
  const fragments = fragmentsById(layout)
  const covered = coverAt(index, layout, fragments)
  const uncovered = uncoveredStretches(
    layout.fragments,
    covered.flatMap(({ items }) => items),
  )
  const missing = rowsIn(uncovered)
  const total = layout.fragments.reduce((sum, { rows }) => sum + rows, 0)
  const isWaiting = missing < leastMissing(policy, total, mode)
  const kept = covered.map(segment => sized(segment, policy, fragments)).sort((a, b) => b.size - a.size)
  const sparse = kept.filter(({ rows, there, begun, covered }) => {
    return rows === 0 || there < begun * policy.coveredShare || !isCurrent(covered.segment)
  })
  if ((missing === 0 || isWaiting) && sparse.length === 0) return null
  // A full text segment is not merged, because the result would again be two segments.
  const whole = kept.filter(each => !sparse.includes(each) && each.covered.segment.text?.full !== true)
  const rest = missing + sparse.reduce((sum, { rows }) => sum + rows, 0)
  const start =
    rest === 0
      ? whole.length
      : mergedFrom([...whole.map(({ size }) => size), rest], policy.rowsMax, policy.ratio)
  const merged = [...whole.slice(start), ...sparse]
  const added = missing + merged.slice(1).reduce((sum, { rows }) => sum + rows, 0)
  const base = start < whole.length && canGrow(whole[start]!, added, policy) ? whole[start]! : null
  const stretches = merged
    .filter(each => each !== base)
    .flatMap(({ covered: { items } }) =>
      items.map(item => ({
        fragment: fragments.get(item.fragment)!,
        from: item.at,
        to: item.at + rowsOfItem(item),
      })),
    )
  return {
    from: merged.map(({ covered: { segment } }) => segment.file),
    stretches: inOrder([...stretches, ...uncovered], layout),
    base: base === null ? null : base.covered,
  }
}

function policyOf(index: TableIndex, { schema }: Layout): MergePolicy | null {
  const type = typeOf(findFieldById(schema, index.field)!.at(-1)!)
  if (index.text !== undefined) return holdsText(type) ? textPolicy : null
  const spec = vectorSpecOf(index)
  if (spec === null) return scalarPolicy
  const vectors = vectorType(type)
  if (vectors === null) return null
  const most = maxSegmentRows(spec, vectors.size)
  if (holdsVectorLists(type))
    return { ...vectorPolicy, ...rebuilding, rowsMax: Math.max(1, Math.floor(most / vectorsPerRow(index))) }
  return { ...vectorPolicy, ...(isExtendable(spec) ? extending : rebuilding), rowsMax: most }
}

/** Return the average number of vectors per row in the existing segments, at least 1. */
function vectorsPerRow({ segments }: TableIndex): number {
  const rows = segments.reduce((sum, { rows }) => sum + rows, 0)
  const vectors = segments.reduce((sum, { vectors = 0 }) => sum + vectors, 0)
  return Math.max(1, vectors / Math.max(1, rows))
}

function leastMissing(
  { lazyShare, lazyMin, eagerMin }: MergePolicy,
  total: number,
  mode: CompactionMode,
): number {
  if (mode === 'thorough') return 1
  return mode === 'lazy' ? Math.max(lazyMin, total * lazyShare) : eagerMin
}

/** A segment with the numbers that determine whether it is merged. */
interface SizedSegment {
  readonly covered: CoveredSegment
  /**
   * Number of the segment's rows that are still in their fragments. It includes deleted rows, which a new segment
   * includes too.
   */
  readonly rows: number
  /** Number of the segment's rows that are left: `rows`, or for a text segment only the live rows. */
  readonly there: number
  /**
   * The value of `there` when the segment was built. If `there / begun` is below `coveredShare`, the segment is
   * rebuilt.
   */
  readonly begun: number
  /** Maximum number of rows that the segment adds to a merged segment. */
  readonly size: number
}

function canGrow({ covered: { segment } }: SizedSegment, added: number, { growth }: MergePolicy): boolean {
  const { rows, begun = rows } = segment
  return rows + added <= begun * growth
}

/**
 * Compute the numbers of a segment. If segments can be extended, `size` includes lost rows, because they stay in the
 * segment.
 */
function sized(
  covered: CoveredSegment,
  policy: MergePolicy,
  fragments: Pick<FragmentsById, 'get'>,
): SizedSegment {
  const { segment, items } = covered
  const rows = items.reduce((sum, item) => sum + rowsOfItem(item), 0)
  const size = policy.growth > 0 ? segment.rows : rows
  if (segment.text === undefined) return { covered, rows, there: rows, begun: segment.rows, size }
  return { covered, rows, there: liveAmong(items, fragments), begun: segment.text.living, size }
}

/**
 * Return an upper bound of the number of live rows in the items. If items cover only a part of a fragment, this
 * function assumes that the deleted rows are in the other part. So a segment that was just built from live rows is
 * never considered sparse.
 */
function liveAmong(items: readonly CoverItem[], fragments: Pick<FragmentsById, 'get'>): number {
  let live = 0
  for (const [id, own] of itemsByFragment(items)) {
    const rows = own.reduce((sum, item) => sum + rowsOfItem(item), 0)
    live += Math.min(rows, liveRows(fragments.get(id)!))
  }
  return live
}

function uncoveredStretches(fragments: readonly Fragment[], items: readonly CoverItem[]): readonly Stretch[] {
  const byFragment = new Map<number, { readonly at: number; readonly end: number }[]>()
  for (const item of items) {
    const piece = { at: item.at, end: item.at + rowsOfItem(item) }
    const known = byFragment.get(item.fragment)
    if (known === undefined) byFragment.set(item.fragment, [piece])
    else known.push(piece)
  }
  const stretches: Stretch[] = []
  for (const fragment of fragments) {
    let from = 0
    // The rows of a fragment without live rows need not be indexed.
    if (liveRows(fragment) === 0) continue
    for (const { at, end } of (byFragment.get(fragment.id) ?? []).sort((a, b) => a.at - b.at)) {
      if (at > from) stretches.push({ fragment, from, to: at })
      from = Math.max(from, end)
    }
    if (from < fragment.rows) stretches.push({ fragment, from, to: fragment.rows })
  }
  return stretches
}

function inOrder(stretches: readonly Stretch[], { fragments }: Layout): readonly Stretch[] {
  const position = new Map(fragments.map(({ id }, i) => [id, i]))
  return [...stretches].sort(
    (a, b) => position.get(a.fragment.id)! - position.get(b.fragment.id)! || a.from - b.from,
  )
}
