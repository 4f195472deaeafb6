/**
 * Chooses index segments to merge, and adds unindexed rows. Works as a log-structured merge: each row is indexed once
 * per size tier, and the number of segments to search stays small.
 */
import { maxTextSegmentRows } from '../indexes/text/build.js'
import { isExtendable, maxSegmentRows } from '../indexes/vector/build.js'
import { findFieldById, typeOf } from '../manifest/field-node.js'
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

/** A planned merge of segments. */
export interface IndexFold {
  /** Files of the segments to replace. */
  readonly from: readonly string[]
  /** Rows of the new segments. */
  readonly stretches: readonly Stretch[]
  /** One of the replaced segments: the new segment keeps its rows and appends the others. Null: built from scratch. */
  readonly base: CoveredSegment | null
}

/** When segments of an index are merged. */
interface MergePolicy {
  /** Unindexed rows, as a share of the table and as a minimum, from which they are indexed while the table changes. */
  readonly lazyShare: number
  readonly lazyMin: number
  /** The minimum when the table no longer changes. */
  readonly eagerMin: number
  /** A segment is rebuilt if fewer than this share of its rows is left. */
  readonly coveredShare: number
  readonly rowsMax: number
  /** A segment is merged with segments of at least this share of its size. */
  readonly ratio: number
  /** The largest merged segment is extended up to this multiple of the vectors that it was trained on; 0: never. */
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
 * Finding the neighbours of a row for a graph takes up to a millisecond. Measuring an unindexed row takes a query less
 * than a microsecond, so ten thousand rows cost a few milliseconds, and their results are exact. So rows wait until
 * there are many.
 *
 * Then they are appended to a segment up to sixteen times as large. Writing that segment again is a copy, which costs
 * little per row compared with placing a row in the graph. And each query searches every segment, so fewer segments are
 * faster. An extended segment keeps the partitions and codes of the vectors it was trained on. So it is rebuilt before
 * it grows too large for them, and when a fifth of its rows is gone, which its graph still has.
 */
const vectorPolicy: Omit<MergePolicy, 'rowsMax' | 'ratio' | 'growth'> = {
  lazyShare: 1 / 16,
  lazyMin: 10_000,
  eagerMin: 10_000,
  coveredShare: 0.8,
}
/** Segments that cannot be extended are rebuilt when merged. */
const extending = { ratio: 16, growth: 4 }
const rebuilding = { ratio: 1, growth: 0 }

/**
 * A search splits every unindexed row into terms: half a microsecond per term, so a thousand rows of a hundred terms
 * take as long as a query may. A row is indexed again whenever its segment doubles. Deleted rows count in scores until
 * a segment is built without them: at the latest when a fifth of the rows is deleted.
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
 * Plan a merge. Null if there is nothing worth doing, or if the column no longer has vectors or text. `isCurrent`:
 * whether a segment would be built the same way today; others are rebuilt.
 */
export function planIndexFold(
  index: TableIndex,
  layout: Layout,
  mode: CompactionMode,
  isCurrent: (segment: IndexSegment) => boolean = () => true,
): IndexFold | null {
  const policy = policyOf(index, layout)
  if (policy === null) return null
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
  // Merging a full segment would again give two segments.
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

/** Average number of vectors per row, from the existing segments. */
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

interface SizedSegment {
  readonly covered: CoveredSegment
  /**
   * Rows of the segment that are left. Includes deleted rows that are still in their fragments, as a new segment would.
   */
  readonly rows: number
  /** Number of rows left that count for `coveredShare`, */
  readonly there: number
  /** and the same number when the segment was built. */
  readonly begun: number
  /** Maximum number of rows that it adds to a merged segment. */
  readonly size: number
}

function canGrow({ covered: { segment } }: SizedSegment, added: number, { growth }: MergePolicy): boolean {
  const { rows, begun = rows } = segment
  return rows + added <= begun * growth
}

/** Lost rows of a segment that can be extended still use space, so they count in `size`. */
function sized(
  covered: CoveredSegment,
  policy: MergePolicy,
  fragments: ReadonlyMap<number, Fragment>,
): SizedSegment {
  const { segment, items } = covered
  const rows = items.reduce((sum, item) => sum + rowsOfItem(item), 0)
  const size = policy.growth > 0 ? segment.rows : rows
  if (segment.text === undefined) return { covered, rows, there: rows, begun: segment.rows, size }
  return { covered, rows, there: liveAmong(items, fragments), begun: segment.text.living, size }
}

/**
 * Maximum number of live rows in the items. If items cover only a part of a fragment, its deleted rows are assumed to
 * be in the other part. So a segment just built from live rows never counts as sparse.
 */
function liveAmong(items: readonly CoverItem[], fragments: ReadonlyMap<number, Fragment>): number {
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
    // Fragments without live rows need no index.
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
