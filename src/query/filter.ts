/**
 * Which rows pass a filter: fragments and parts that cannot hold one are passed over by what is known of their
 * columns, the others evaluated a slice at a time.
 */
import { sliceBatch } from '../arrow/slice.js'
import type { Fragment } from '../manifest/layout.js'
import { Bitset } from '../primitives/bitset.js'
import type { Pacer } from '../primitives/pacer.js'
import type { BoundExpression, ColumnNode } from '../sql/bound.js'
import { selectRows } from '../sql/evaluate.js'
import { possibleTruth } from '../sql/zones/prune.js'
import type { Zone } from '../sql/zones/zone.js'
import type { Part } from '../table/table-reader.js'
import { type RowSource, rowIdField, rowOffsetField } from './source.js'
import { Steps } from './steps.js'

/** Part of a table that may hold rows which pass. */
export interface Candidate {
  readonly part: Part
  /** Null: every living row passes. */
  readonly filter: BoundExpression | null
}

/**
 * Parts that may hold rows for which `filter` is true, in row order. Footers are read as they are come to. `names`: further
 * columns that will be read of every part.
 */
export async function* candidates(
  source: RowSource,
  filter: BoundExpression | null,
  names: readonly string[],
  pacer: Pacer,
): AsyncGenerator<Candidate> {
  for (const fragment of source.reader.layout.fragments) {
    const left = filter === null ? null : remaining(source, filter, fragment, null)
    await pacer.turn()
    if (left === 'none') continue
    const parts = await source.reader.partsOf(fragment, pacer.signal)
    for (const [i, part] of parts.entries()) {
      const rest = left === null ? null : remaining(source, left, fragment, part)
      if (rest === 'none') continue
      // The next part comes from disk while this one is looked at.
      const next = parts[i + 1]
      if (next !== undefined) source.prefetch(next, [...(rest?.columns ?? []), ...names])
      yield { part, filter: rest }
    }
  }
}

/** Whether a fragment may hold rows for which `filter` is true. */
export function mayPass(source: RowSource, filter: BoundExpression | null, fragment: Fragment): boolean {
  return filter === null || remaining(source, filter, fragment, null) !== 'none'
}

/** What must still be asked of the rows of a fragment, or of a part of it; `none` when no row can pass. */
function remaining(
  source: RowSource,
  filter: BoundExpression,
  fragment: Fragment,
  part: Part | null,
): BoundExpression | null | 'none' {
  const known = (column: ColumnNode) => {
    const zone = zoneOf(source, column, fragment, part)
    return zone === null ? null : { zone, rows: fragment.rows }
  }
  const { isTrue, isFalse, isNull } = possibleTruth(filter.expr, known)
  if (!isTrue) return 'none'
  return isFalse || isNull ? filter : null
}

/** What is known of a column in a fragment holds for its parts too. */
function zoneOf(source: RowSource, { path }: ColumnNode, fragment: Fragment, part: Part | null): Zone | null {
  const [name] = path
  const field = source.field(name!)
  if (field !== undefined) return path.length === 1 ? source.reader.zone(fragment, field) : null
  const rows = part?.rows ?? fragment.rows
  const first = part?.first ?? 0
  if (name === rowIdField.name) return wholeNumbers(fragment.ids.row0 + first, rows)
  if (name !== rowOffsetField.name) return null
  // Dead rows before a part bring its rows further to the front, by as many as there are at most.
  const before = source.liveBefore(fragment)
  const least = before + Math.max(0, first - fragment.dead.count)
  return wholeNumbers(least, before + first + rows - least)
}

function wholeNumbers(first: number, count: number): Zone {
  return { least: BigInt(first), greatest: BigInt(first + count - 1), nulls: 0 }
}

/** Living rows of a part for which `filter` is true; null when that is all of them. */
export async function passingRows(
  source: RowSource,
  { part, filter }: Candidate,
  pacer: Pacer,
): Promise<Bitset | null> {
  if (filter === null) return source.reader.live(part, pacer.signal)
  const passing = new Bitset(part.rows)
  for await (const { from, rows } of slices(source, { part, filter }, pacer)) {
    passing.words.set(rows.words, from >>> 5)
  }
  return passing
}

/** The same, as ascending row numbers of the part, a slice at a time: who has enough need not go on. */
export async function* matchingRows(
  source: RowSource,
  candidate: Candidate,
  pacer: Pacer,
): AsyncGenerator<Uint32Array> {
  const { part, filter } = candidate
  if (filter === null) {
    const live = await source.reader.live(part, pacer.signal)
    yield live === null ? numbersUpTo(part.rows) : live.toIndices()
    return
  }
  for await (const { from, rows } of slices(source, { part, filter }, pacer)) {
    const numbers = rows.toIndices()
    if (numbers.length === 0) continue
    if (from > 0) for (let i = 0; i < numbers.length; i++) numbers[i]! += from
    yield numbers
  }
}

/** Evaluates a filter slice by slice, and lets others run between them. */
async function* slices(
  source: RowSource,
  { part, filter }: { readonly part: Part; readonly filter: BoundExpression },
  pacer: Pacer,
): AsyncGenerator<{ readonly from: number; readonly rows: Bitset }> {
  // Dead rows are no rows: what they hold must not make the filter fail.
  const live = await source.reader.live(part, pacer.signal)
  const batch = await source.partBatch(part, filter.columns)
  await pacer.turn()
  const steps = new Steps([filter], part.rows + 31)
  let length: number
  for (let from = 0; from < part.rows; from += length) {
    length = Math.min(steps.rows, part.rows - from)
    const piece = length === part.rows ? batch : sliceBatch(batch, from, length)
    const within =
      live === null ? undefined : new Bitset(length, live.words.slice(from >>> 5, (from + length + 31) >>> 5))
    const begun = pacer.elapsed()
    const rows = selectRows(filter, piece, within)
    steps.took(length, pacer.elapsed() - begun)
    yield { from, rows }
    await pacer.turn()
  }
}

function numbersUpTo(count: number): Uint32Array {
  const rows = new Uint32Array(count)
  for (let row = 0; row < count; row++) rows[row] = row
  return rows
}
