/**
 * Which segments of an index are built anew, with the rows that no segment has: as in a log-structured merge, so that a row is
 * indexed once for each of a few sizes, and there are few segments to be asked.
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

export interface IndexFold {
  /** Files of the segments that go. */
  readonly from: readonly string[]
  /** Rows of the new ones. */
  readonly stretches: readonly Stretch[]
  /** One of those that go: the new one keeps its rows, and has the others behind them. */
  readonly base: CoveredSegment | null
}

/** How the segments of an index are kept few. */
interface Manner {
  /** Rows that no segment has, as a part of the table and at least, before they are seen to while the table is changed, */
  readonly lazyShare: number
  readonly lazyMin: number
  /** and when it has come to rest. */
  readonly eagerMin: number
  /** A segment is built anew when fewer than this share of its rows is still there. */
  readonly coveredShare: number
  readonly rowsMax: number
  /** A segment is merged with what is at least this part of it. */
  readonly ratio: number
  /** The largest of merged segments keeps its rows, as long as it gets no more than so many times the vectors it was begun with; 0: never. */
  readonly growth: number
}

const scalarManner: Manner = {
  lazyShare: 1 / 64,
  lazyMin: 16 * 1024,
  eagerMin: 1,
  coveredShare: 0.5,
  rowsMax: segmentRows,
  ratio: 1,
  growth: 0,
}

/**
 * To find the neighbours of a row takes a graph up to a millisecond; to measure one that no segment has takes a query less than a
 * microsecond, and ten thousand of them are a few milliseconds, after which its answer is exact for these. So rows wait until there are many. Then they are
 * put behind those of a segment up to sixteen times as large: to write that again is a copy, for each row a small part of what it takes
 * to place it, and every segment less is one less that each query walks through. Its partitions and codes stay those of the vectors it was
 * begun with, so that it is built anew before it has grown out of them; and when a fifth of its rows is gone, of which its graph is
 * still made.
 */
const vectorManner: Omit<Manner, 'rowsMax' | 'ratio' | 'growth'> = {
  lazyShare: 1 / 16,
  lazyMin: 10_000,
  eagerMin: 10_000,
  coveredShare: 0.8,
}
/** Where a segment cannot be extended, merging is building anew. */
const extending = { ratio: 16, growth: 4 }
const rebuilding = { ratio: 1, growth: 0 }

/**
 * Who searches cuts every row that no segment has into terms: half a microsecond each, so a thousand rows of a hundred terms take as
 * long as a query may. A row is cut again whenever what it lies in doubles. Rows that are dead count in scores until a segment is built
 * without them: at the latest when a fifth is.
 */
const textManner: Manner = {
  lazyShare: 0,
  lazyMin: 1024,
  eagerMin: 1,
  coveredShare: 0.8,
  rowsMax: maxTextSegmentRows,
  ratio: 1,
  growth: 0,
}

/**
 * Null: there is nothing worth doing, or nothing that can be done for a column that holds no vectors or no text any more. `isCurrent`:
 * whether a segment is one that would be built like that again; others are built anew.
 */
export function planIndexFold(
  index: TableIndex,
  layout: Layout,
  mode: CompactionMode,
  isCurrent: (segment: IndexSegment) => boolean = () => true,
): IndexFold | null {
  const manner = mannerOf(index, layout)
  if (manner === null) return null
  const fragments = fragmentsById(layout)
  const covered = coverAt(index, layout, fragments)
  const uncovered = uncoveredStretches(
    layout.fragments,
    covered.flatMap(({ items }) => items),
  )
  const missing = rowsIn(uncovered)
  const total = layout.fragments.reduce((sum, { rows }) => sum + rows, 0)
  const isWaiting = missing < leastMissing(manner, total, mode)
  const kept = covered.map(segment => sized(segment, manner, fragments)).sort((a, b) => b.size - a.size)
  const thin = kept.filter(({ rows, there, begun, covered }) => {
    return rows === 0 || there < begun * manner.coveredShare || !isCurrent(covered.segment)
  })
  if ((missing === 0 || isWaiting) && thin.length === 0) return null
  // To merge a full one would make two of two.
  const whole = kept.filter(each => !thin.includes(each) && each.covered.segment.text?.full !== true)
  const rest = missing + thin.reduce((sum, { rows }) => sum + rows, 0)
  const start =
    rest === 0
      ? whole.length
      : mergedFrom([...whole.map(({ size }) => size), rest], manner.rowsMax, manner.ratio)
  const merged = [...whole.slice(start), ...thin]
  const added = missing + merged.slice(1).reduce((sum, { rows }) => sum + rows, 0)
  const base = start < whole.length && canGrow(whole[start]!, added, manner) ? whole[start]! : null
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

function mannerOf(index: TableIndex, { schema }: Layout): Manner | null {
  const type = typeOf(findFieldById(schema, index.field)!.at(-1)!)
  if (index.text !== undefined) return holdsText(type) ? textManner : null
  const spec = vectorSpecOf(index)
  if (spec === null) return scalarManner
  const vectors = vectorType(type)
  if (vectors === null) return null
  const most = maxSegmentRows(spec, vectors.size)
  if (holdsVectorLists(type))
    return { ...vectorManner, ...rebuilding, rowsMax: Math.max(1, Math.floor(most / vectorsPerRow(index))) }
  return { ...vectorManner, ...(isExtendable(spec) ? extending : rebuilding), rowsMax: most }
}

/** How many vectors the lists of a row hold on average, as far as segments tell. */
function vectorsPerRow({ segments }: TableIndex): number {
  const rows = segments.reduce((sum, { rows }) => sum + rows, 0)
  const vectors = segments.reduce((sum, { vectors = 0 }) => sum + vectors, 0)
  return Math.max(1, vectors / Math.max(1, rows))
}

function leastMissing({ lazyShare, lazyMin, eagerMin }: Manner, total: number, mode: CompactionMode): number {
  if (mode === 'thorough') return 1
  return mode === 'lazy' ? Math.max(lazyMin, total * lazyShare) : eagerMin
}

interface SizedSegment {
  readonly covered: CoveredSegment
  /** Rows of it that are still there. Dead ones are as long as their fragments have them: a new segment would have them too. */
  readonly rows: number
  /** Those of them that count, */
  readonly there: number
  /** and how many did when it was built. */
  readonly begun: number
  /** Rows it brings into one that it is merged into, at most. */
  readonly size: number
}

function canGrow({ covered: { segment } }: SizedSegment, added: number, { growth }: Manner): boolean {
  const { rows, begun = rows } = segment
  return rows + added <= begun * growth
}

/** What a segment that keeps its rows has lost takes room all the same. */
function sized(
  covered: CoveredSegment,
  manner: Manner,
  fragments: ReadonlyMap<number, Fragment>,
): SizedSegment {
  const { segment, items } = covered
  const rows = items.reduce((sum, item) => sum + rowsOfItem(item), 0)
  const size = manner.growth > 0 ? segment.rows : rows
  if (segment.text === undefined) return { covered, rows, there: rows, begun: segment.rows, size }
  return { covered, rows, there: livingAmong(items, fragments), begun: segment.text.living, size }
}

/**
 * How many rows of items live, at most: of a fragment of which they have only a part, dead rows are taken to be in the rest. So what was
 * just built of the living ones is not thin.
 */
function livingAmong(items: readonly CoverItem[], fragments: ReadonlyMap<number, Fragment>): number {
  let living = 0
  for (const [id, own] of itemsByFragment(items)) {
    const rows = own.reduce((sum, item) => sum + rowsOfItem(item), 0)
    living += Math.min(rows, liveRows(fragments.get(id)!))
  }
  return living
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
    // Rows that have all died need no index.
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
  const place = new Map(fragments.map(({ id }, i) => [id, i]))
  return [...stretches].sort(
    (a, b) => place.get(a.fragment.id)! - place.get(b.fragment.id)! || a.from - b.from,
  )
}
