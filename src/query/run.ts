/** Defines the state that the steps of an execution share, and finds the rows of a plan. */
import type { Batch, Column } from '../arrow/column.js'
import { assert } from '../errors.js'
import { lazyImport } from '../lazy-import.js'
import type { Pacer } from '../primitives/pacer.js'
import {
  type MaybePromise,
  runTask,
  type Task,
  type TaskStream,
  wait,
  whenResolved,
} from '../primitives/task.js'
import type { BoundExpression } from '../sql/bound-expression.js'
import { evaluate, selectRows } from '../sql/evaluation.js'
import type { Part } from '../table/table-reader.js'
import { candidates, matchingRows } from './filter.js'
import { inRowOrder, noComputedColumns, pickHits, type RowHits, sliceHits } from './hits.js'
import { foundWindow, isRanked, type Plan } from './plan.js'
import { searchExact } from './search-exact.js'
import type { RowSource } from './source.js'
import { inSteps, Steps } from './steps.js'
import { rowPlace } from './text-rows.js'

/** The execution of a plan: the state that all its steps share. */
export interface Run {
  readonly plan: Plan
  readonly source: RowSource
  readonly pacer: Pacer
  /** Columns of the source that the answer reads. */
  readonly names: readonly string[]
  /** Seed of the hash tables, see `Grouper`. */
  readonly seed: number
  /**
   * Offset and limit to apply to the answer. They select all rows if the plan's offset and limit count rows that a
   * search returns, because `rankedRows` then applies them.
   */
  readonly window: { readonly offset: number; readonly limit: number }
}

const searchingNear = lazyImport(() => import('./search-near.js'))
const searchingText = lazyImport(() => import('./search-text.js'))
const fusing = lazyImport(() => import('./fuse.js'))
const spreading = lazyImport(() => import('./spread.js'))

/** Maximum number of rows per step, and of rows in most batches. */
export const chunkRows = 16 * 1024

/** Return the step sizes for evaluating expressions, at most `chunkRows` rows per step. */
export function stepsOf(expressions: readonly BoundExpression[]): Steps {
  return new Steps(expressions, chunkRows)
}

/** Evaluate expressions for every row of a batch. The event loop may run between two expressions. */
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

/**
 * Stream all rows that match, step by step. A search returns the best row first, a scan returns rows in row order.
 * `names`: columns that the caller reads. `steps`: sizes of the steps. `enough`: number of rows after which the caller
 * stops; default: no limit.
 */
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

/** Return the number of matching rows after which a scan can end. `Infinity`: it must find all matching rows. */
export function enoughFor(plan: Plan): number {
  const { grouping, distinct, order, offset, limit } = plan
  const isWhole = isRanked(plan) || grouping !== null || distinct || order.length > 0
  return isWhole ? Number.POSITIVE_INFINITY : offset + limit
}

/**
 * Return the rows of a search, the best row first, after offset and limit. If offset and limit count rows of the
 * answer, return all matching rows instead, in row order, so that later steps read part by part. A filter that runs
 * after the search is applied too.
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
    const find = search.index === null ? searchExact : (yield* wait(searchingNear())).searchNear
    const alone = () => find(search, before, wanted, source, pacer)
    const nearest = () => onNodes('vector', plan, wanted, source, alone, pacer)
    near = yield* wait(meter === null ? nearest() : meter.within('nearest', nearest, rowsIn))
  }
  let found = near
  if (text !== null) {
    const { searchText } = yield* wait(searchingText())
    const alone = () => searchText(text, before, wanted, source, pacer)
    const match = () => onNodes('text', plan, wanted, source, alone, pacer)
    found = yield* wait(meter === null ? match() : meter.within('match', match, rowsIn))
    if (near !== null && fusion !== null) {
      // A filter after the search needs all rows that either search returned.
      const most = after === null ? to : Number.POSITIVE_INFINITY
      const { fused } = yield* wait(fusing())
      found = yield* fused(near, found, fusion, most, reader, pacer)
    }
  }
  assert(found !== null, 'a ranked plan has a vector search or a text search')
  if (counted === 'answer' && near !== null) {
    const placeOf = ({ fragment, first }: Part) => rowPlace(reader.positionOf(fragment.id)!, first)
    found = yield* inRowOrder(found, placeOf, pacer)
  }
  // A hybrid search has the same candidates for every page, so offset and limit count rows after the filter. A single
  // search returns more rows for later pages, so offset and limit count rows before the filter.
  const page = after !== null && fusion !== null ? found : sliceHits(found, from, found.offsets.length)
  if (after === null) return page
  const [first, end] = fusion === null ? [0, Number.POSITIVE_INFINITY] : [from, to]
  const postfilter = () => postfiltered(page, after, first, end, source, pacer)
  return yield* wait(meter === null ? postfilter() : meter.within('thin', postfilter, rowsIn))
}

/** Search on several nodes if the plan is worth it, else with `alone`. */
function onNodes(
  which: 'vector' | 'text',
  plan: Plan,
  wanted: number,
  source: RowSource,
  alone: () => MaybePromise<RowHits>,
  pacer: Pacer,
): MaybePromise<RowHits> {
  if (source.spread === null) return alone()
  return whenResolved(spreading(), ({ spreadSearch }) =>
    whenResolved(spreadSearch(which, plan, wanted, source, pacer), found => found ?? alone()),
  )
}

function rowsIn({ offsets }: RowHits): number {
  return offsets.length
}

/** Apply a filter to the rows of a search. Return the matches from number `first` to number `end - 1`. */
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

/** Return the names of the columns that the expressions read. */
export function namesOf(expressions: readonly BoundExpression[]): readonly string[] {
  const names = new Set<string>()
  for (const { columns } of expressions) for (const name of columns) names.add(name)
  return [...names]
}
