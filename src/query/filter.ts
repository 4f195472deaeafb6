/**
 * Which rows pass a filter: fragments and parts that cannot hold one are passed over by what is known of their
 * columns, the others evaluated a slice at a time. Rows that are known by number before anything is evaluated (those a
 * filter names, those that differ from another version) are looked at alone.
 */
import { sliceBatch } from '../arrow/slice.js'
import type { Fragment } from '../manifest/layout.js'
import { Bitset } from '../primitives/bitset.js'
import type { Pacer } from '../primitives/pacer.js'
import { partitionPoint } from '../primitives/partition-point.js'
import type { BoundExpression, ColumnNode } from '../sql/bound.js'
import { selectRows } from '../sql/evaluate.js'
import { possibleTruth } from '../sql/zones/prune.js'
import type { Zone } from '../sql/zones/zone.js'
import type { Part } from '../table/table-reader.js'
import { mayHoldNamed, type NamedRows, namedIn, namedRows } from './named-rows.js'
import { type RowSource, rowIdField, rowOffsetField } from './source.js'
import { inSteps, Steps } from './steps.js'

/** Part of a table that may hold rows which pass. */
export interface Candidate {
  readonly part: Part
  /** Null: every row looked at passes. */
  readonly filter: BoundExpression | null
  /** Rows before this one are passed over. */
  readonly first: number
  /** The only rows to look at, living ones from `first` on; null: all of those. */
  readonly chosen: Bitset | null
}

/** What of a table is asked for. */
export interface Asked {
  readonly filter: BoundExpression | null
  /** Living rows of the version that are passed over; default none. */
  readonly from?: number
  /** Rows that are enough; default all. */
  readonly enough?: number
  /** Columns besides those of the filter that will be read. */
  readonly names: readonly string[]
}

/**
 * Parts that may hold rows for which the filter is true, in row order. What comes before `from` is not looked at; footers
 * are read as they are come to.
 */
export async function* candidates(source: RowSource, asked: Asked, pacer: Pacer): AsyncGenerator<Candidate> {
  const { reader } = source
  const { fragments } = reader.layout
  const { from = 0, filter } = asked
  const named = filter === null ? null : namedRows(filter)
  for (let i = from === 0 ? 0 : reader.fragmentAt(from); i < fragments.length; i++) {
    if (mayChoose(source, named, fragments[i]!)) yield* candidatesIn(source, fragments[i]!, asked, pacer)
    else if (i % fragmentsAtOnce === 0) await pacer.turn()
  }
}

/** Fragments passed over between two looks at the clock. */
const fragmentsAtOnce = 1024

/** As `candidates`, of one fragment. */
export async function* candidatesIn(
  source: RowSource,
  fragment: Fragment,
  { filter, from = 0, enough = Number.POSITIVE_INFINITY, names }: Asked,
  pacer: Pacer,
): AsyncGenerator<Candidate> {
  await pacer.turn()
  const named = filter === null ? null : namedRows(filter)
  const rest = named === null ? filter : named.rest
  if (!mayChoose(source, named, fragment)) return
  const left = rest === null ? null : remaining(source, rest, fragment, null)
  if (left === 'none') return
  await pacer.turn()
  const parts = await source.reader.partsOf(fragment, pacer.signal)
  for (const [p, part] of parts.entries()) {
    const rest = left === null ? null : remaining(source, left, fragment, part)
    if (rest === 'none') continue
    const first = await firstRow(source, part, from, pacer)
    if (first === part.rows) continue
    const chosen = await chosenRows(source, named, part, first, pacer)
    if (chosen?.isEmpty() === true) continue
    // The next part comes from disk while this one is looked at, where this one cannot be enough, nor some of its rows.
    const next = chosen === null ? parts[p + 1] : undefined
    if (next !== undefined && enough > part.rows) source.prefetch(next, [...(rest?.columns ?? []), ...names])
    yield { part, filter: rest, first, chosen }
  }
}

/** Whether a fragment may hold rows that are looked at, whatever is in them. */
function mayChoose({ reader, difference }: RowSource, named: NamedRows | null, fragment: Fragment): boolean {
  if (difference?.mayHold(fragment) === false) return false
  return named === null || mayHoldNamed(named, fragment, reader)
}

async function chosenRows(
  { reader, difference }: RowSource,
  named: NamedRows | null,
  part: Part,
  first: number,
  { signal }: Pacer,
): Promise<Bitset | null> {
  let chosen = named === null ? null : await namedIn(named, part, reader, signal)
  if (difference !== null && chosen?.isEmpty() !== true) {
    const differing = await difference.rowsIn(part, signal)
    if (differing !== null) chosen = chosen?.and(differing) ?? differing
  }
  if (chosen === null || chosen.isEmpty()) return chosen
  if (first > 0) chosen.and(Bitset.range(part.rows, first, part.rows))
  const live = await reader.live(part, signal)
  return live === null ? chosen : chosen.and(live)
}

/** The first row of a part with at least `from` living rows of the version before it; the number of its rows for none. */
async function firstRow({ reader }: RowSource, part: Part, from: number, pacer: Pacer): Promise<number> {
  const before = reader.liveBeforeFragment(part.fragment)
  if (from <= before) return 0
  const rank = from - before - (await reader.liveBefore(part, pacer.signal))
  if (rank <= 0) return 0
  const live = await reader.live(part, pacer.signal)
  return live === null ? Math.min(rank, part.rows) : live.select(rank)
}

/** Whether a fragment may hold rows that are looked at and for which `filter` is true. */
export function mayPass(source: RowSource, filter: BoundExpression | null, fragment: Fragment): boolean {
  const named = filter === null ? null : namedRows(filter)
  const rest = named === null ? filter : named.rest
  if (!mayChoose(source, named, fragment)) return false
  return rest === null || remaining(source, rest, fragment, null) !== 'none'
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
  if (name === rowIdField.name) {
    const { ids } = fragment
    return 'row0' in ids
      ? wholeNumbers(ids.row0 + first, rows)
      : wholeNumbers(ids.least, ids.greatest - ids.least + 1)
  }
  if (name !== rowOffsetField.name) return null
  // Dead rows before a part bring its rows further to the front, by as many as there are at most.
  const before = source.reader.liveBeforeFragment(fragment)
  const least = before + Math.max(0, first - fragment.dead.count)
  return wholeNumbers(least, before + first + rows - least)
}

function wholeNumbers(first: number, count: number): Zone {
  return { least: BigInt(first), greatest: BigInt(first + count - 1), nulls: 0 }
}

/** Rows of a candidate that pass; null when that is every row of the part. */
export async function passingRows(
  source: RowSource,
  candidate: Candidate,
  pacer: Pacer,
): Promise<Bitset | null> {
  const { part, filter, chosen } = candidate
  if (filter === null) return chosen ?? source.reader.live(part, pacer.signal)
  const passing = new Bitset(part.rows)
  if (chosen !== null) {
    for await (const rows of passingAmong(source, part, filter, chosen, pacer)) {
      for (const row of rows) passing.add(row)
    }
    return passing
  }
  for await (const { from, rows } of slices(source, part, filter, 0, pacer)) {
    passing.words.set(rows.words, from >>> 5)
  }
  return passing
}

/** The same from the first row asked for, as ascending row numbers of the part, a slice at a time: who has enough need not go on. */
export async function* matchingRows(
  source: RowSource,
  { part, filter, first, chosen }: Candidate,
  pacer: Pacer,
): AsyncGenerator<Uint32Array> {
  if (filter === null) {
    const looked = chosen ?? (await source.reader.live(part, pacer.signal))
    const rows = looked === null ? numbersUpTo(part.rows) : looked.toIndices()
    yield first === 0 ? rows : rows.subarray(partitionPoint(rows.length, i => rows[i]! < first))
    return
  }
  if (chosen !== null) {
    yield* passingAmong(source, part, filter, chosen, pacer)
    return
  }
  for await (const { from, rows } of slices(source, part, filter, first, pacer)) {
    const numbers = rows.toIndices()
    if (from > 0) for (let i = 0; i < numbers.length; i++) numbers[i]! += from
    const asked = numbers.subarray(partitionPoint(numbers.length, i => numbers[i]! < first))
    if (asked.length > 0) yield asked
  }
}

/** Those of the rows chosen that pass, ascending: the columns of these rows are put together and evaluated, no others. */
async function* passingAmong(
  source: RowSource,
  part: Part,
  filter: BoundExpression,
  chosen: Bitset,
  pacer: Pacer,
): AsyncGenerator<Uint32Array> {
  const rows = chosen.toIndices()
  const parts: readonly Part[] = [part]
  for (const [from, to] of inSteps(rows.length, new Steps([filter], part.rows), pacer)) {
    const offsets = rows.subarray(from, to)
    const hits = { parts, partOf: null, offsets, distances: null }
    const passing = selectRows(filter, await source.batch(hits, filter.columns, false))
    yield passing.toIndices().map(i => offsets[i]!)
    await pacer.turn()
  }
}

/** Evaluates a filter slice by slice from the first row asked for, and lets others run between them. */
async function* slices(
  source: RowSource,
  part: Part,
  filter: BoundExpression,
  first: number,
  pacer: Pacer,
): AsyncGenerator<{ readonly from: number; readonly rows: Bitset }> {
  // Dead rows are no rows: what they hold must not make the filter fail.
  const live = await source.reader.live(part, pacer.signal)
  const batch = await source.partBatch(part, filter.columns)
  await pacer.turn()
  const steps = new Steps([filter], part.rows + 31)
  let length: number
  for (let from = 32 * Math.floor(first / 32); from < part.rows; from += length) {
    length = Math.min(steps.rows, part.rows - from)
    const piece = length === part.rows ? batch : sliceBatch(batch, from, length)
    const within =
      live === null ? undefined : new Bitset(length, live.words.slice(from >>> 5, (from + length + 31) >>> 5))
    const begun = pacer.worked()
    const rows = selectRows(filter, piece, within)
    steps.took(length, pacer.worked() - begun)
    yield { from, rows }
    await pacer.turn()
  }
}

function numbersUpTo(count: number): Uint32Array {
  const rows = new Uint32Array(count)
  for (let row = 0; row < count; row++) rows[row] = row
  return rows
}
