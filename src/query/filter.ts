/**
 * Finds the rows that pass a filter. Skips fragments and parts whose statistics exclude a match. Evaluates the filter
 * on the other parts slice by slice.
 *
 * Sometimes the positions of possible matches are known before evaluation: an index returned them, the filter has a
 * condition on row numbers, or the rows must differ from another version. Then the filter is evaluated only on these
 * rows.
 */
import type { Batch } from '../arrow/column.js'
import { sliceBatch } from '../arrow/slice.js'
import { lazyImport } from '../lazy-import.js'
import type { Fragment } from '../manifest/layout.js'
import { liveRows } from '../manifest/layout.js'
import { Bitset } from '../primitives/bitset.js'
import { joinNumbers } from '../primitives/join-numbers.js'
import type { Pacer } from '../primitives/pacer.js'
import { partitionPoint } from '../primitives/partition-point.js'
import { RowSet } from '../primitives/row-set.js'
import { type MaybePromise, runTask, type Task, type TaskStream, wait } from '../primitives/task.js'
import type { BoundExpression } from '../sql/bound-expression.js'
import type { ColumnNode } from '../sql/column-node.js'
import { selectRows } from '../sql/evaluation.js'
import { possibleTruth } from '../sql/zones/pruning.js'
import type { Zone } from '../sql/zones/zone.js'
import type { Part } from '../table/table-reader.js'
import { BlockZones, type Run, type Stretches, stretchesOf, stretchesWithin } from './block-zones.js'
import type { Choice } from './choose-probes.js'
import { noComputedColumns } from './hits.js'
import {
  countNamed,
  mayHoldNamed,
  type NamedRows,
  namedIn,
  type SplitFilter,
  splitByNames,
} from './named-rows.js'
import { gathering, lookingAtZones, scanning } from './probe-costs.js'
import type { ProbedRows } from './probed-rows.js'
import { type RowSource, rowIdField, rowOffsetField } from './source.js'
import { inSteps, Steps, wordRows } from './steps.js'

const choosing = lazyImport(() => import('./choose-probes.js'))
const probing = lazyImport(() => import('./probed-rows.js'))

/** A part that may have matching rows. */
interface Candidate {
  readonly part: Part
  /** The filter to evaluate. Null: every row of `chosen` from `first` to `end - 1` matches. */
  readonly filter: BoundExpression | null
  /** First row that may match. */
  readonly first: number
  /** The row after the last row that may match. */
  readonly end: number
  /** The live rows that may match. Null: all live rows in the range. */
  readonly chosen: RowSet | null
  /** The stretches that may have matches by their stored statistics. Null: the statistics exclude no rows. */
  readonly stretches: Stretches | null
}

/** The rows and columns that a scan needs. */
interface Asked {
  readonly filter: BoundExpression | null
  /** Number of live rows of the version to skip; default 0. */
  readonly from?: number
  /** Number of live rows of the version, counted from its start, after which the scan ends. Default: all rows. */
  readonly until?: number
  /** Number of matches after which the scan may stop. Default: no limit. */
  readonly enough?: number
  /** The fragments to scan. Default: all fragments of the version. */
  readonly fragments?: readonly Fragment[] | undefined
  /** Columns that will be read, in addition to those of the filter. */
  readonly names: readonly string[]
}

/** A filter prepared for one version. A row passes if all conditions are true. */
export interface PreparedFilter extends SplitFilter {
  /** The rows that indexes returned; null: no index is used. */
  readonly probed: ProbedRows | null
  /**
   * The conditions that the indexes do not answer, to evaluate in fragments that the indexes cover. Null: no
   * conditions.
   */
  readonly residual: BoundExpression | null
}

/** The rows to filter. The other fields are as in `Asked`. */
interface Range {
  /** The fragments to filter. Default: all fragments of the version. */
  readonly fragments?: readonly Fragment[] | undefined
  readonly from?: number
  readonly until?: number
  readonly enough?: number
}

/** Prepare a filter: choose the indexes that make it cheaper, and query them. */
export function prepareFilter(
  source: RowSource,
  filter: BoundExpression | null,
  range: Range,
  pacer: Pacer,
): MaybePromise<PreparedFilter> {
  return runTask(preparingFilter(source, filter, range, pacer))
}

function* preparingFilter(
  source: RowSource,
  filter: BoundExpression | null,
  range: Range,
  pacer: Pacer,
): Task<PreparedFilter> {
  const split = splitByNames(filter)
  const { named, rest } = split
  const choice = yield* choiceFor(source, split, range, pacer)
  if (choice === null || choice.used.length === 0) return { named, rest, probed: null, residual: rest }
  const probes = choice.used.map(({ conjunct }) => conjunct.probes)
  const { ProbedRows } = yield* wait(probing())
  const probed = yield* ProbedRows.find(probes, source.reader, pacer, source.meter)
  return { named, rest, probed, residual: choice.residual }
}

/** Choose the indexes to query. Return null if no index can answer a condition. */
export function* choiceFor(
  source: RowSource,
  split: SplitFilter,
  { fragments, from = 0, until = Number.POSITIVE_INFINITY, enough = Number.POSITIVE_INFINITY }: Range,
  pacer: Pacer,
): Task<Choice | null> {
  const { reader } = source
  const { named, rest } = split
  if (rest === null || (reader.indexes.length === 0 && reader.inlineIndexes.length === 0)) return null
  const { choose, offersFor } = yield* wait(choosing())
  const offers = yield* offersFor(rest, reader, pacer)
  if (offers.length === 0) return null
  const all = fragments ?? reader.layout.fragments
  const least = named === null ? Number.POSITIVE_INFINITY : countNamed(named)
  const live =
    fragments === undefined ? Math.max(0, Math.min(reader.liveRows, until) - from) : countLive(fragments)
  const choice = choose(rest, offers, { rows: Math.min(live, least), enough })
  // The statistics of fragments would make the estimate for a scan more exact. Do not check them if this costs more
  // than the indexes.
  if (choice.used.length === 0 || choice.cost < lookingAtZones(all.length)) return choice
  const passing: Fragment[] = []
  for (const fragment of all) {
    if (reader.liveBeforeFragment(fragment) + liveRows(fragment) <= from) continue
    if (reader.liveBeforeFragment(fragment) >= until) break
    if (mayPassByRecord(source, split, fragment)) passing.push(fragment)
    if (pacer.due()) yield pacer.pause()
  }
  if (passing.length === all.length && from === 0) return choice
  return choose(rest, offers, { rows: Math.min(countLive(passing), least), enough })
}

function countLive(fragments: readonly Fragment[]): number {
  return fragments.reduce((sum, fragment) => sum + liveRows(fragment), 0)
}

/**
 * Stream the parts that may have matching rows, in row order, from row `asked.from` on. Reads the footer of a file only
 * when its part is requested.
 */
export function candidates(source: RowSource, asked: Asked, pacer: Pacer): TaskStream<Candidate> {
  const found = candidatesOf(source, asked, pacer)
  return source.meter === null ? found : source.meter.each('scan', found, countChosen)
}

function* candidatesOf(source: RowSource, asked: Asked, pacer: Pacer): TaskStream<Candidate> {
  const { reader } = source
  const { from = 0, until = Number.POSITIVE_INFINITY, filter } = asked
  const prepared = yield* preparingFilter(source, filter, asked, pacer)
  const first = from === 0 ? 0 : reader.fragmentAt(from)
  const isAhead = reader.aheadBytes > 0 && prepared.rest !== null && until === Number.POSITIVE_INFINITY
  const only = asked.fragments === undefined ? null : new Set(asked.fragments)
  const fragments = () => onlyIn(only, candidateFragments(source, prepared, first, pacer))
  const ahead = isAhead ? new PartsAhead(source, prepared, fragments(), pacer) : null
  for (const fragment of fragments()) {
    if (fragment instanceof Promise) {
      yield fragment
      continue
    }
    if (until < Number.POSITIVE_INFINITY && reader.liveBeforeFragment(fragment) >= until) return
    if (ahead !== null) yield* ahead.reach(fragment)
    yield* candidatesIn(source, fragment, prepared, asked, pacer)
  }
}

/** Stream the fragments that are in `only`. Null: all of them. */
function* onlyIn(only: ReadonlySet<Fragment> | null, fragments: TaskStream<Fragment>): TaskStream<Fragment> {
  for (const fragment of fragments) {
    if (fragment instanceof Promise || only === null || only.has(fragment)) yield fragment
  }
}

/** Reads the columns of a filter for the next parts, also of later fragments, where a read takes long. */
class PartsAhead {
  readonly #source: RowSource
  readonly #prepared: PreparedFilter
  readonly #pacer: Pacer
  readonly #fragments: TaskStream<Fragment>
  /** The fragments whose parts are read, or will be read, with the bytes of their columns. */
  readonly #begun = new Map<Fragment, number>()
  #bytes = 0

  constructor(source: RowSource, prepared: PreparedFilter, fragments: TaskStream<Fragment>, pacer: Pacer) {
    this.#source = source
    this.#prepared = prepared
    this.#pacer = pacer
    this.#fragments = fragments
  }

  /** Read ahead from `fragment` on. The caller has filtered the fragments before. */
  *reach(fragment: Fragment): Task<void> {
    for (const [earlier, bytes] of this.#begun) {
      if (earlier === fragment) break
      this.#begun.delete(earlier)
      this.#bytes -= bytes
    }
    while (this.#bytes < this.#source.reader.aheadBytes) {
      const { done, value } = this.#fragments.next()
      if (done === true) return
      if (value instanceof Promise) yield value
      else {
        const bytes = yield* this.#prefetched(value)
        this.#begun.set(value, bytes)
        this.#bytes += bytes
      }
    }
  }

  /** Start to read the columns of the filter in a fragment. Return their bytes. */
  *#prefetched(fragment: Fragment): Task<number> {
    const { reader, difference } = this.#source
    const left = remainingIn(this.#source, this.#prepared, fragment)
    // Without these, only some rows are filtered.
    const isWhole = this.#prepared.probed === null && this.#prepared.named === null && difference === null
    if (left === null || left === 'none' || !isWhole) return 0
    let bytes = 0
    for (const part of yield* wait(reader.partsOf(fragment, this.#pacer.signal))) {
      const stretches = yield* storedStretches(this.#source, left, part, this.#pacer)
      if (stretches?.runs.length === 0) continue
      if (stretches !== null && this.#source.isFetched(part, stretches.rows, left.columns)) continue
      bytes += this.#source.prefetch(part, left.columns)
      if (this.#bytes + bytes >= reader.aheadBytes) break
    }
    return bytes
  }
}

/** Stream the fragments that may have matches, in row order. `first`: index of the first fragment to check. */
export function* candidateFragments(
  source: RowSource,
  prepared: PreparedFilter,
  first: number,
  pacer: Pacer,
): TaskStream<Fragment> {
  const { fragments } = source.reader.layout
  const positions = prepared.probed?.positionsIn(source.reader)
  const begin = positions === undefined ? first : partitionPoint(positions.length, i => positions[i]! < first)
  const end = positions?.length ?? fragments.length
  for (let i = begin; i < end; i++) {
    const fragment = fragments[positions?.[i] ?? i]!
    if (mayHold(source, prepared, fragment)) yield fragment
    else if (pacer.due()) yield pacer.pause()
  }
}

/** Stream the parts of one fragment that may have matching rows. `fragment`: an item of `candidateFragments`. */
export function* candidatesIn(
  source: RowSource,
  fragment: Fragment,
  prepared: PreparedFilter,
  {
    from = 0,
    until = Number.POSITIVE_INFINITY,
    enough = Number.POSITIVE_INFINITY,
    names,
  }: Omit<Asked, 'filter'>,
  pacer: Pacer,
): TaskStream<Candidate> {
  if (pacer.due()) yield pacer.pause()
  const left = remainingIn(source, prepared, fragment)
  if (left === 'none') return
  if (pacer.due()) yield pacer.pause()
  const found = prepared.probed?.rowsIn(fragment) ?? null
  if (source.meter !== null) source.meter.fragments++
  const listed = source.reader.partsOf(fragment, pacer.signal)
  const parts = listed instanceof Promise ? yield* wait(listed) : listed
  let ahead: Stretches | null = null
  for (const [p, part] of parts.entries()) {
    const next = parts[p + 1]
    const stretches: Stretches | null = p === 0 ? yield* storedStretches(source, left, part, pacer) : ahead
    ahead = next === undefined ? null : yield* storedStretches(source, left, next, pacer)
    if (source.meter !== null && stretches !== null) source.meter.decided += part.rows - stretches.rows
    if (stretches?.runs.length === 0) continue
    // The statistics of a fragment with one part were already checked above.
    const rest = left === null || parts.length === 1 ? left : remaining(source, left, fragment, part, true)
    if (rest === 'none') continue
    const first = yield* rowAt(source, part, from, pacer)
    if (first === part.rows) continue
    const end = until === Number.POSITIVE_INFINITY ? part.rows : yield* rowAt(source, part, until, pacer)
    if (end === 0) return
    const chosen = yield* chosenRows(source, prepared.named, found, part, { first, end }, pacer)
    if (chosen?.isNone === true) continue
    // Prefetch the next part, unless this part may have enough rows or only some of its rows are needed.
    if (next !== undefined && chosen === null && end === part.rows && enough > part.rows) {
      // Prefetch only the columns of the filter, because the other columns are not needed if no row matches.
      const wanted = rest?.columns ?? names
      if (ahead === null || !source.isFetched(next, ahead.rows, wanted)) source.prefetch(next, wanted)
    }
    if (source.meter !== null) source.meter.parts++
    yield { part, filter: rest, first, end, chosen, stretches }
  }
}

/** Return the stretches of a part that may have matches by their stored statistics. Null: all rows of the part. */
function* storedStretches(
  source: RowSource,
  filter: BoundExpression | null,
  part: Part,
  pacer: Pacer,
): Task<Stretches | null> {
  // Whether a filter fails must not depend on the statistics that a file has.
  if (filter === null || filter.expr.cost.mayFail) return null
  const { fragment } = part
  const zones = yield* source.stretches(part, filter.columns)
  const stretches = stretchesOf(filter, part.rows, zones, column => {
    const zone = zoneOf(source, column, fragment, part, true)
    return zone === null ? null : { zone, rows: fragment.rows }
  })
  if (pacer.due()) yield pacer.pause()
  return stretches
}

/** Return whether a fragment may have matching rows. Reads nothing. */
export function mayHold(source: RowSource, prepared: PreparedFilter, fragment: Fragment): boolean {
  return mayChoose(source, prepared, fragment) && remainingIn(source, prepared, fragment) !== 'none'
}

/**
 * Return the conditions that must still be evaluated on the rows of a fragment, after the index lookups and the check
 * of its statistics. Null: all rows pass. 'none': no row passes.
 */
function remainingIn(
  source: RowSource,
  prepared: PreparedFilter,
  fragment: Fragment,
): BoundExpression | null | 'none' {
  // Rows that an index returns pass its conditions. If the index does not cover the whole fragment, evaluate all
  // conditions.
  const isCovered = prepared.probed?.isCovered(fragment) ?? false
  const rest = isCovered ? prepared.residual : prepared.rest
  return rest === null ? null : remaining(source, rest, fragment, null, true)
}

/**
 * Return whether a fragment may have rows that pass the comparison of versions, the conditions on row numbers and the
 * index lookups.
 */
function mayChoose(
  { reader, difference }: RowSource,
  { named, probed }: Pick<PreparedFilter, 'named' | 'probed'>,
  fragment: Fragment,
): boolean {
  if (difference?.mayHold(fragment) === false || probed?.mayHold(fragment) === false) return false
  return named === null || mayHoldNamed(named, fragment, reader)
}

/**
 * Return the live rows of a part that may match. Null: all live rows. `found`: the rows of the fragment that indexes
 * returned; null: no index was used.
 */
function* chosenRows(
  { reader, difference }: RowSource,
  named: NamedRows | null,
  found: RowSet | null,
  part: Part,
  { first, end }: Pick<Candidate, 'first' | 'end'>,
  { signal }: Pacer,
): Task<RowSet | null> {
  let chosen = found?.slice(part.first, part.first + part.rows) ?? null
  if (named !== null && chosen?.isNone !== true) {
    chosen = intersect(yield* namedIn(named, part, reader, signal), chosen)
  }
  if (difference !== null && chosen?.isNone !== true) {
    const differing = yield* wait(difference.rowsIn(part, signal))
    if (differing !== null) chosen = intersect(differing, chosen)
  }
  if (chosen === null || chosen.isNone) return chosen
  if (first > 0 || end < part.rows) chosen = chosen.within(Bitset.range(part.rows, first, end))
  const live = yield* wait(reader.live(part, signal))
  return live === null ? chosen : chosen.within(live)
}

function intersect(bits: Bitset, chosen: RowSet | null): RowSet {
  return chosen?.within(bits) ?? RowSet.ofBits(bits)
}

/**
 * Return the first row of a part that has at least `from` live rows of the version before it. Return `part.rows` if the
 * part has no such row.
 */
function* rowAt({ reader }: RowSource, part: Part, from: number, pacer: Pacer): Task<number> {
  if (from === 0) return 0
  const before = reader.liveBeforeFragment(part.fragment)
  if (from <= before) return 0
  const rank = from - before - (yield* wait(reader.liveBefore(part, pacer.signal)))
  if (rank <= 0) return 0
  const live = yield* wait(reader.live(part, pacer.signal))
  return live === null ? Math.min(rank, part.rows) : live.select(rank)
}

/**
 * Return whether a fragment may have matching rows by the statistics in the manifest. Uses no statistics computed in
 * memory.
 */
export function mayPassByRecord(
  source: RowSource,
  { named, rest }: SplitFilter,
  fragment: Fragment,
): boolean {
  if (!mayChoose(source, { named, probed: null }, fragment)) return false
  return rest === null || remaining(source, rest, fragment, null, false) !== 'none'
}

/**
 * Return the conditions to evaluate on the rows of a fragment, or of one of its parts. Null: all rows pass. 'none': no
 * row passes. `learns`: also use statistics computed from columns in memory.
 */
function remaining(
  source: RowSource,
  filter: BoundExpression,
  fragment: Fragment,
  part: Part | null,
  learns: boolean,
): BoundExpression | null | 'none' {
  // Whether a filter fails must not depend on the columns that are in memory.
  const byLearnt = learns && !filter.expr.cost.mayFail
  const known = (column: ColumnNode) => {
    const zone = zoneOf(source, column, fragment, part, byLearnt)
    return zone === null ? null : { zone, rows: fragment.rows }
  }
  const { isTrue, isFalse, isNull } = possibleTruth(filter.expr, known)
  if (!isTrue) return 'none'
  return isFalse || isNull ? filter : null
}

/**
 * Return the min/max statistics of a column in a fragment or part. Statistics of a fragment are also valid for its
 * parts.
 */
function zoneOf(
  source: RowSource,
  { path }: ColumnNode,
  fragment: Fragment,
  part: Part | null,
  byLearnt: boolean,
): Zone | null {
  const [name] = path
  const field = source.field(name!)
  if (field !== undefined) {
    if (path.length > 1) return null
    return byLearnt ? source.reader.zoneByNow(fragment, field) : source.reader.zone(fragment, field)
  }
  const rows = part?.rows ?? fragment.rows
  const first = part?.first ?? 0
  if (name === rowIdField.name) {
    const { ids } = fragment
    return 'row0' in ids
      ? wholeNumbers(ids.row0 + first, rows)
      : wholeNumbers(ids.least, ids.greatest - ids.least + 1)
  }
  if (name !== rowOffsetField.name) return null
  // Deleted rows of the fragment before this part reduce the offsets of the part's rows, by at most `dead.count`.
  const before = source.reader.liveBeforeFragment(fragment)
  const least = before + Math.max(0, first - fragment.dead.count)
  return wholeNumbers(least, before + first + rows - least)
}

function wholeNumbers(first: number, count: number): Zone {
  return { least: BigInt(first), greatest: BigInt(first + count - 1), nulls: 0 }
}

/** Return the matching rows of a candidate. Null: all rows of the part match. */
export function passingRows(
  source: RowSource,
  candidate: Candidate,
  pacer: Pacer,
): MaybePromise<RowSet | null> {
  const { meter } = source
  const pass = () => runTask(passingTask(source, candidate, pacer))
  if (meter === null) return pass()
  const count = (rows: RowSet | null) => rows?.count ?? candidate.part.rows
  return meter.within('filter', pass, count)
}

function* passingTask(source: RowSource, candidate: Candidate, pacer: Pacer): Task<RowSet | null> {
  const { part, filter, chosen } = candidate
  if (filter === null) {
    const looked = chosen ?? (yield* wait(source.reader.live(part, pacer.signal)))
    return looked === null || looked instanceof RowSet ? looked : RowSet.ofBits(looked)
  }
  if (chosen !== null && isGathered(filter, chosen)) {
    const pieces: Uint32Array[] = []
    for (const rows of passingAmong(source, part, filter, chosen, pacer)) {
      if (rows instanceof Promise) yield rows
      else pieces.push(rows)
    }
    return RowSet.of(part.rows, joinNumbers(Uint32Array, pieces))
  }
  const rows = new Bitset(part.rows)
  for (const slice of slices(source, { ...candidate, first: 0, end: part.rows }, filter, pacer)) {
    if (slice instanceof Promise) yield slice
    else rows.words.set(slice.rows.words, slice.from >>> 5)
  }
  return RowSet.ofBits(rows)
}

/** Stream the matching rows of a candidate as ascending row numbers. A consumer that stops early saves work. */
export function matchingRows(source: RowSource, candidate: Candidate, pacer: Pacer): TaskStream<Uint32Array> {
  const found = matchingTask(source, candidate, pacer)
  return source.meter === null ? found : source.meter.each('filter', found, rows => rows.length)
}

function* matchingTask(source: RowSource, candidate: Candidate, pacer: Pacer): TaskStream<Uint32Array> {
  const { part, filter, first, end, chosen } = candidate
  if (filter === null) {
    const looked = chosen ?? (yield* wait(source.reader.live(part, pacer.signal)))
    if (looked === null) yield* numbers(first, end)
    else yield between(looked.toIndices(), first, end)
    return
  }
  if (chosen !== null && isGathered(filter, chosen)) {
    yield* passingAmong(source, part, filter, chosen, pacer)
    return
  }
  for (const slice of slices(source, candidate, filter, pacer)) {
    if (slice instanceof Promise) {
      yield slice
      continue
    }
    const { from, rows } = slice
    const numbers = rows.toIndices()
    if (from > 0) for (let i = 0; i < numbers.length; i++) numbers[i]! += from
    const asked = between(numbers, first, end)
    if (asked.length > 0) yield asked
  }
}

/** Return the numbers of an ascending list that are at least `first` and below `end`. */
function between(numbers: Uint32Array, first: number, end: number): Uint32Array {
  const from = first === 0 ? 0 : partitionPoint(numbers.length, i => numbers[i]! < first)
  return numbers.subarray(
    from,
    partitionPoint(numbers.length, i => numbers[i]! < end),
  )
}

/** Return whether it is faster to copy the chosen rows out of their part before evaluation. This is so for few rows. */
function isGathered({ conditions }: BoundExpression, { count, length }: RowSet): boolean {
  return gathering(conditions, length, count) <= scanning(conditions, length, count)
}

/** Stream the chosen rows that pass the filter, ascending. Reads and evaluates only the chosen rows. */
function* passingAmong(
  source: RowSource,
  part: Part,
  filter: BoundExpression,
  chosen: RowSet,
  pacer: Pacer,
): TaskStream<Uint32Array> {
  const rows = chosen.toIndices()
  const parts: readonly Part[] = [part]
  for (const [from, to] of inSteps(rows.length, new Steps([filter], part.rows), pacer)) {
    const offsets = rows.subarray(from, to)
    const hits = { parts, partOf: null, offsets, computed: noComputedColumns }
    const batch = yield* wait(source.batch(hits, filter.columns, false))
    const passing = selectRows(filter, batch).toIndices()
    for (let i = 0; i < passing.length; i++) passing[i] = offsets[passing[i]!]!
    yield passing
    if (pacer.due()) yield pacer.pause()
  }
}

/**
 * Evaluate a filter slice by slice on the rows of a candidate. The event loop runs between slices. Skips slices without
 * rows that may match. Yields the matching rows of each slice, relative to its start `from`.
 */
function* slices(
  source: RowSource,
  { part, first, end, chosen, stretches }: Candidate,
  filter: BoundExpression,
  pacer: Pacer,
): TaskStream<{ readonly from: number; readonly rows: Bitset }> {
  // Mask deleted rows, because their values must not make the filter fail.
  const looked = chosen === null ? yield* wait(source.reader.live(part, pacer.signal)) : chosen.asBits()
  const begin = 32 * Math.floor(first / 32)
  const within = chosen === null && stretches !== null ? stretchesWithin(stretches, begin, end) : null
  const runs: readonly Run[] = within?.runs ?? [{ from: begin, to: end, isSure: false }]
  const isSparse = within !== null && source.isFetched(part, within.rows, filter.columns)
  let batch: Batch | null = null
  if (isSparse && within.rows > 0) {
    batch = yield* source.stretchBatch(part, numbersIn(within), filter.columns)
  } else if (within?.rows !== 0) batch = yield* wait(source.partBatch(part, filter.columns))
  if (pacer.due()) yield pacer.pause()
  const steps = new Steps([filter], part.rows + wordRows - 1, wordRows)
  const zones =
    chosen !== null || isSparse || batch === null
      ? null
      : BlockZones.of(filter, batch, stretches?.zones ?? new Map())
  // If `isSparse`, `batch` has only the rows of the stretches to evaluate: number of its rows before the current range.
  let before = 0
  for (const { from: start, to, isSure } of runs) {
    const missing = isSparse ? start - before : 0
    if (!isSure) before += to - start
    for (let from = start, length: number; from < to; from += length) {
      if (zones !== null && !isSure) from = zones.next(from, to)
      length = Math.min(steps.rows, to - from)
      if (zones !== null && !isSure) length = zones.until(from, from + length) - from
      if (length === 0) break
      const within = looked === null ? undefined : looked.view(from, from + length)
      if (chosen !== null && within?.isEmpty() === true) continue
      if (isSure) {
        yield { from, rows: within ?? Bitset.full(length) }
        continue
      }
      const piece = length === batch!.length ? batch! : sliceBatch(batch!, from - missing, length)
      const begun = pacer.worked()
      const rows = selectRows(filter, piece, within)
      steps.took(length, pacer.worked() - begun)
      yield { from, rows }
      if (pacer.due()) yield pacer.pause()
    }
  }
}

/** Return the numbers of all rows in the stretches that must be evaluated. */
function numbersIn({ runs, rows }: Stretches): Uint32Array {
  const numbers = new Uint32Array(rows)
  let at = 0
  for (const { from, to, isSure } of runs) {
    for (let row = from; row < to && !isSure; row++) numbers[at++] = row
  }
  return numbers
}

function countChosen({ part, chosen }: Candidate): number {
  return chosen?.count ?? part.rows
}

/**
 * Yield the numbers from `first` to `end - 1` in growing pieces, so that few are computed if the consumer stops early.
 */
function* numbers(first: number, end: number): Generator<Uint32Array> {
  let count = 256
  for (let from = first; from < end; ) {
    const rows = new Uint32Array(Math.min(count, end - from))
    for (let i = 0; i < rows.length; i++) rows[i] = from + i
    yield rows
    from += rows.length
    count *= 8
  }
}
