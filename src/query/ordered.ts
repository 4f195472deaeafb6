/** Sorts rows of a table, of which only the sort keys and positions are kept in memory, and rows of a batch. */
import type { Batch } from '../arrow/column.js'
import { sliceBatch } from '../arrow/slice.js'
import { takeBatch } from '../arrow/take.js'
import { countRows } from '../manifest/layout.js'
import { type TaskStream, wait } from '../primitives/task.js'
import type { Part } from '../table/table-reader.js'
import { noComputedColumns, pickHits, type RowHits, sliceHits } from './hits.js'
import { isRanked, type OrderKey } from './plan.js'
import { chunkRows, evaluated, foundRows, namesOf, type Run, rankedRows, stepsOf } from './run.js'
import { Sorter } from './sort.js'
import { inSteps } from './steps.js'

/** Stream the first `count` rows in the order of the plan. */
export function orderedRows(run: Run, count: number): TaskStream<RowHits> {
  const { meter } = run.source
  const rows = inOrder(run, count)
  return meter === null ? rows : meter.each('sort', rows, ({ offsets }) => offsets.length)
}

function* inOrder(run: Run, count: number): TaskStream<RowHits> {
  const { plan, source, pacer } = run
  if (isRanked(plan)) {
    const found = yield* wait(rankedRows(plan, source, pacer))
    const sorted = yield* wait(sortedNumbers(run, found, count))
    yield pickHits(found, Uint32Array.from(sorted))
    return
  }
  const values = plan.order.map(({ value }) => value)
  const names = namesOf(values)
  const sorter = sorterOf(plan.order, count, countRows(source.reader.layout))
  const positions = new Positions()
  for (const hits of foundRows(run, names, stepsOf(values))) {
    if (hits instanceof Promise) {
      yield hits
      continue
    }
    const batch = yield* wait(source.batch(hits, names, false))
    const keys = yield* wait(evaluated(values, batch, pacer))
    yield sorter.add(keys, positions.add(hits), pacer)
    if (pacer.due()) yield pacer.pause()
  }
  const sorted = yield* wait(sorter.finish(pacer))
  for (let from = 0; from < sorted.length; from += chunkRows) {
    yield positions.hits(sorted.subarray(from, from + chunkRows))
  }
}

/** Return indexes of `found` in the order of the plan, at most `count`. */
async function sortedNumbers(
  { plan, source, pacer }: Run,
  found: RowHits,
  count: number,
): Promise<Float64Array> {
  const values = plan.order.map(({ value }) => value)
  const sorter = sorterOf(plan.order, count, found.offsets.length)
  for (const [from, to] of inSteps(found.offsets.length, stepsOf(values), pacer)) {
    const batch = await source.batch(sliceHits(found, from, to), namesOf(values), false)
    await sorter.add(await evaluated(values, batch, pacer), numbersFrom(from, to), pacer)
  }
  return sorter.finish(pacer)
}

function sorterOf(order: readonly OrderKey[], count: number, rows: number): Sorter {
  const types = order.map(({ value }) => value.type)
  return new Sorter(types, order, count, rows)
}

function numbersFrom(from: number, to: number): Float64Array {
  const numbers = new Float64Array(to - from)
  for (let i = 0; i < numbers.length; i++) numbers[i] = from + i
  return numbers
}

/** Factor of the part number in an encoded position. Offsets in a part are smaller. */
const perPart = 2 ** 32

/** Encodes the positions of rows of a scan: part and offset become one number. */
class Positions {
  readonly #parts: Part[] = []

  add({ parts, offsets }: RowHits): Float64Array {
    const part = parts[0]!
    const number = this.#parts.at(-1) === part ? this.#parts.length - 1 : this.#parts.push(part) - 1
    const positions = new Float64Array(offsets.length)
    for (let i = 0; i < positions.length; i++) positions[i] = number * perPart + offsets[i]!
    return positions
  }

  hits(positions: Float64Array): RowHits {
    const partOf = new Uint32Array(positions.length)
    const offsets = new Uint32Array(positions.length)
    for (let i = 0; i < positions.length; i++) {
      const part = Math.floor(positions[i]! / perPart)
      partOf[i] = part
      offsets[i] = positions[i]! - part * perPart
    }
    return { parts: this.#parts, partOf, offsets, computed: noComputedColumns }
  }
}

/**
 * Sort the rows of a batch, apply offset and limit, and stream the result in pieces. An empty `order`: does not sort.
 */
export function sortedBatches(run: Run, batch: Batch, order: readonly OrderKey[]): TaskStream<Batch> {
  const { meter } = run.source
  const pieces = piecesInOrder(run, batch, order)
  if (meter === null) return pieces
  return meter.each(order.length > 0 ? 'sort' : 'limit', pieces, ({ length }) => length)
}

function* piecesInOrder({ window, pacer }: Run, batch: Batch, order: readonly OrderKey[]): TaskStream<Batch> {
  const end = Math.min(batch.length, window.offset + window.limit)
  const begin = Math.min(window.offset, end)
  const values = order.map(({ value }) => value)
  if (order.length === 0) {
    // Cut at fixed positions, because the same query on the same version must return the same bytes each time.
    for (let from = begin; from < end; from += chunkRows) {
      yield sliceBatch(batch, from, Math.min(chunkRows, end - from))
    }
    return
  }
  const sorter = sorterOf(order, end, batch.length)
  for (const [from, to] of inSteps(batch.length, stepsOf(values), pacer)) {
    const keys = yield* wait(evaluated(values, sliceBatch(batch, from, to - from), pacer))
    yield sorter.add(keys, numbersFrom(from, to), pacer)
  }
  const rows = Uint32Array.from((yield* wait(sorter.finish(pacer))).subarray(begin))
  for (let from = 0; from < rows.length; from += chunkRows) {
    yield takeBatch(batch, rows.subarray(from, from + chunkRows))
    if (pacer.due()) yield pacer.pause()
  }
}
