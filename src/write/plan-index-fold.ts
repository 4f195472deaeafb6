/**
 * Which segments of an index are built anew, with the rows that no segment has: as in a log-structured merge, so that a row is
 * indexed once for each of a few sizes, and there are few segments to be asked.
 */
import { coverAt, fragmentsById } from '../manifest/index-cover.js'
import { type Fragment, type Layout, liveRows } from '../manifest/layout.js'
import { type CoverItem, rowsOfItem, type TableIndex } from '../manifest/table-index.js'
import { mergedFrom } from '../primitives/tiers.js'
import { type Stretch, segmentRows } from './build-index.js'
import type { Zeal } from './compaction-plan.js'

export interface IndexFold {
  /** Files of the segments that go. */
  readonly from: readonly string[]
  /** Rows of the new ones. */
  readonly stretches: readonly Stretch[]
}

/** Rows that no segment has, as a part of the table and at least, before they are seen to while the table is changed. */
const uncoveredShare = 1 / 64
const uncoveredMin = 16 * 1024
/** A segment is built anew when fewer than this share of its rows is still there. */
const coveredShare = 0.5

/** Null: there is nothing worth doing. */
export function planIndexFold(index: TableIndex, layout: Layout, zeal: Zeal): IndexFold | null {
  const fragments = fragmentsById(layout)
  const covered = coverAt(index, layout, fragments)
  const uncovered = uncoveredStretches(
    layout.fragments,
    covered.flatMap(({ items }) => items),
  )
  const missing = rowsIn(uncovered)
  const total = layout.fragments.reduce((sum, { rows }) => sum + rows, 0)
  const isWaiting = zeal === 'lazy' && missing < Math.max(uncoveredMin, total * uncoveredShare)
  const kept = covered
    .map(({ segment, items }) => ({
      segment,
      items,
      rows: items.reduce((sum, item) => sum + rowsOfItem(item), 0),
    }))
    .sort((a, b) => b.rows - a.rows)
  const thin = kept.filter(({ rows, segment }) => rows < segment.rows * coveredShare)
  if ((missing === 0 || isWaiting) && thin.length === 0) return null
  const whole = kept.filter(each => !thin.includes(each))
  const rest = missing + thin.reduce((sum, { rows }) => sum + rows, 0)
  const start = rest === 0 ? whole.length : mergedFrom([...whole.map(({ rows }) => rows), rest], segmentRows)
  const merged = [...whole.slice(start), ...thin]
  const stretches = merged.flatMap(({ items }) =>
    items.map(item => ({
      fragment: fragments.get(item.fragment)!,
      from: item.at,
      to: item.at + rowsOfItem(item),
    })),
  )
  return {
    from: merged.map(({ segment }) => segment.file),
    stretches: inOrder([...stretches, ...uncovered], layout),
  }
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

function rowsIn(stretches: readonly Stretch[]): number {
  return stretches.reduce((sum, { from, to }) => sum + to - from, 0)
}

function inOrder(stretches: readonly Stretch[], { fragments }: Layout): readonly Stretch[] {
  const place = new Map(fragments.map(({ id }, i) => [id, i]))
  return [...stretches].sort(
    (a, b) => place.get(a.fragment.id)! - place.get(b.fragment.id)! || a.from - b.from,
  )
}
