/** The execution of a plan: state that its steps share, and the search for its rows. */
import type { Batch, Column } from '../arrow/column.js'
import { assert } from '../errors.js'
import { lazyImport } from '../lazy-import.js'
import type { Pacer } from '../primitives/pacer.js'
import { type MaybePromise, runTask, type Task, type TaskStream, wait } from '../primitives/task.js'
import type { BoundExpression } from '../sql/bound.js'
import { evaluate, selectRows } from '../sql/evaluate.js'
import type { Part } from '../table/table-reader.js'
import { candidates, matchingRows } from './filter.js'
import { fused } from './fuse.js'
import { inRowOrder, noComputedColumns, pickHits, type RowHits, sliceHits } from './hits.js'
import { isRanked, type Plan } from './plan.js'
import { searchExact } from './search-exact.js'
import { searchNear } from './search-near.js'
import type { RowSource } from './source.js'
import { inSteps, Steps } from './steps.js'
import { rowPlace } from './text-rows.js'

/** The state that all steps of an execution share. */
export interface Run {
  readonly plan: Plan
  readonly source: RowSource
  readonly pacer: Pacer
  /** Columns of the source that the answer reads. */
  readonly names: readonly string[]
  /** Seed of hash tables (see `Grouper`). */
  readonly seed: number
  /** Offset and limit of the answer. All rows, if the plan's offset and limit count the rows that a search returns. */
  readonly window: { readonly offset: number; readonly limit: number }
}

const searchingText = lazyImport(() => import('./search-text.js'))

/** Most rows per step, so that a step is short. */
export const chunkRows = 16 * 1024

/** Return a step size for these expressions. */
export function stepsOf(expressions: readonly BoundExpression[]): Steps {
  return new Steps(expressions, chunkRows)
}

/** Return the values of some expressions for every row of a batch. */
export function evaluated(
  values: readonly BoundExpression[],
  batch: Batch,
  pacer: Pacer,
): MaybePromise<Column[]> {
  return runTask(evaluatingTask(values, batch, pacer))
}

function* evaluatingTask(values: readonly BoundExpression[], batch: Batch, pacer: Pacer): Task<Column[]> {
  const columns: Column[] = []
  for (const value of values) {
    columns.push(evaluate(value, batch))
    if (pacer.due()) yield pacer.pause()
  }
  return columns
}

/** Stream all rows that match, best first or in row order, step by step. `enough`: number of rows after which the caller stops. */
export function* foundRows(
  { plan, source, pacer }: Run,
  names: readonly string[],
  steps: Steps,
  enough = Number.POSITIVE_INFINITY,
): TaskStream<RowHits> {
  if (isRanked(plan)) {
    const hits = yield* wait(rankedRows(plan, source, pacer))
    for (const [from, to] of inSteps(hits.offsets.length, steps, pacer)) yield sliceHits(hits, from, to)
    return
  }
  const { filter, from, until = Number.POSITIVE_INFINITY } = plan
  for (const candidate of candidates(source, { filter, from, until, enough, names }, pacer)) {
    if (candidate instanceof Promise) {
      yield candidate
      continue
    }
    const parts: readonly Part[] = [candidate.part]
    for (const offsets of matchingRows(source, candidate, pacer)) {
      if (offsets instanceof Promise) {
        yield offsets
        continue
      }
      for (const [start, end] of inSteps(offsets.length, steps, pacer)) {
        yield { parts, partOf: null, offsets: offsets.subarray(start, end), computed: noComputedColumns }
        if (pacer.due()) yield pacer.pause()
      }
    }
  }
}

/** Return the number of matching rows after which a scan can end. */
export function enoughFor(plan: Plan): number {
  const { grouping, distinct, order, offset, limit } = plan
  const isWhole = isRanked(plan) || grouping !== null || distinct || order.length > 0
  return isWhole ? Number.POSITIVE_INFINITY : offset + limit
}

/**
 * Return the best rows, as many as the plan asks for. If offset and limit count rows of the answer: return all that match, in row
 * order, so that later reads go part by part. A postfilter is applied to these rows.
 */
export function rankedRows(plan: Plan, source: RowSource, pacer: Pacer): MaybePromise<RowHits> {
  return runTask(rankingTask(plan, source, pacer))
}

function* rankingTask(plan: Plan, source: RowSource, pacer: Pacer): Task<RowHits> {
  const { filter, filterFirst, search, text, fusion, counted } = plan
  const { reader } = source
  const before = filterFirst ? filter : null
  const after = filterFirst ? null : filter
  const { meter } = source
  const { from, to } = foundWindow(plan)
  const wanted = fusion?.candidates ?? to
  let near: RowHits | null = null
  if (search !== null) {
    const find = search.index === null ? searchExact : searchNear
    const nearest = () => find(search, before, wanted, source, pacer)
    near = yield* wait(meter === null ? nearest() : meter.within('nearest', nearest, rowsIn))
  }
  let found = near
  if (text !== null) {
    const { searchText } = yield* wait(searchingText())
    const match = () => searchText(text, before, wanted, source, pacer)
    found = yield* wait(meter === null ? match() : meter.within('match', match, rowsIn))
    if (near !== null && fusion !== null) {
      // A postfilter needs all rows that either search returned.
      const most = after === null ? to : Number.POSITIVE_INFINITY
      found = yield* fused(near, found, fusion, most, reader, pacer)
    }
  }
  assert(found !== null, 'rows that are ranked are searched by something')
  if (counted === 'answer' && near !== null) {
    const placeOf = ({ fragment, first }: Part) => rowPlace(reader.positionOf(fragment.id)!, first)
    found = yield* inRowOrder(found, placeOf, pacer)
  }
  // A hybrid search has the same candidates on every page, so its pages count rows after the postfilter. A single search finds more
  // rows for later pages, so its pages count rows before the postfilter.
  const page = after !== null && fusion !== null ? found : sliceHits(found, from, found.offsets.length)
  if (after === null) return page
  const [first, end] = fusion === null ? [0, Number.POSITIVE_INFINITY] : [from, to]
  const postfilter = () => postfiltered(page, after, first, end, source, pacer)
  return yield* wait(meter === null ? postfilter() : meter.within('thin', postfilter, rowsIn))
}

/** Which of the rows that a search returns the plan uses, best first. */
export function foundWindow({ counted, offset, limit }: Plan): {
  readonly from: number
  readonly to: number
} {
  return counted === 'found'
    ? { from: offset, to: offset + limit }
    : { from: 0, to: Number.POSITIVE_INFINITY }
}

function rowsIn({ offsets }: RowHits): number {
  return offsets.length
}

/** Apply a postfilter to found rows; return the matches from number `first` to number `end`. */
async function postfiltered(
  found: RowHits,
  after: BoundExpression,
  first: number,
  end: number,
  source: RowSource,
  pacer: Pacer,
): Promise<RowHits> {
  const kept: number[] = []
  for (const [from, to] of inSteps(found.offsets.length, stepsOf([after]), pacer)) {
    const batch = await source.batch(sliceHits(found, from, to), after.columns, false)
    for (const row of selectRows(after, batch).toIndices()) kept.push(from + row)
    await pacer.turn()
  }
  return pickHits(found, Uint32Array.from(kept).subarray(first, end))
}

/** Return the names of the columns that some expressions read. */
export function namesOf(expressions: readonly BoundExpression[]): readonly string[] {
  const names = new Set<string>()
  for (const { columns } of expressions) for (const name of columns) names.add(name)
  return [...names]
}
