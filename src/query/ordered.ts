/** Rows by an order: those of a table, of which only their places are kept, and those in memory. */
import type { Batch } from '../arrow/column.js'
import { sliceBatch } from '../arrow/slice.js'
import { takeBatch } from '../arrow/take.js'
import { partitionPoint } from '../primitives/partition-point.js'
import type { Part } from '../table/table-reader.js'
import type { RowHits } from './hits.js'
import type { OrderKey } from './plan.js'
import { evaluated, foundRows, namesOf, type Run, stepsOf } from './run.js'
import { Sorter } from './sort.js'
import type { Steps } from './steps.js'

/** The first `count` rows by the order of the plan. Only their places are kept while the others are looked at. */
export async function* orderedRows(run: Run, count: number, steps: Steps): AsyncGenerator<RowHits> {
  const { plan, source, pacer } = run
  const values = plan.order.map(({ value }) => value)
  const names = namesOf(values)
  const sorter = new Sorter(
    values.map(({ type }) => type),
    plan.order,
    count,
  )
  const seen = new SeenRows()
  const keySteps = stepsOf(values)
  for await (const hits of foundRows(run, names, keySteps)) {
    const batch = await source.batch(hits, names, false)
    const keys = await evaluated(values, batch, keySteps, pacer)
    await sorter.add(keys, seen.add(hits), pacer)
    await pacer.turn()
  }
  const tags = await sorter.finish(pacer)
  for (let from = 0, to: number; from < tags.length; from = to) {
    to = from + steps.rows
    yield seen.hits(tags.subarray(from, to))
  }
}

/** Rows by the number they were seen as: what a sorter gives back are numbers. */
class SeenRows {
  readonly #groups: RowHits[] = []
  readonly #firsts: number[] = []
  #count = 0

  /** Returns the number of the first of these rows. */
  add(hits: RowHits): number {
    const first = this.#count
    this.#groups.push(hits)
    this.#firsts.push(first)
    this.#count += hits.offsets.length
    return first
  }

  hits(numbers: Float64Array): RowHits {
    const parts: Part[] = []
    const known = new Map<Part, number>()
    const partOf = new Uint32Array(numbers.length)
    const offsets = new Uint32Array(numbers.length)
    const distances = this.#groups[0]?.distances == null ? null : new Float32Array(numbers.length)
    for (let i = 0; i < numbers.length; i++) {
      const group = partitionPoint(this.#firsts.length, at => this.#firsts[at]! <= numbers[i]!) - 1
      const hits = this.#groups[group]!
      const row = numbers[i]! - this.#firsts[group]!
      const part = hits.parts[hits.partOf?.[row] ?? 0]!
      let number = known.get(part)
      if (number === undefined) {
        number = parts.push(part) - 1
        known.set(part, number)
      }
      partOf[i] = number
      offsets[i] = hits.offsets[row]!
      if (distances !== null) distances[i] = hits.distances![row]!
    }
    return { parts, partOf, offsets, distances }
  }
}

/** Rows in memory by an order, and of those the ones asked for. */
export async function arranged(run: Run, batch: Batch, order: readonly OrderKey[]): Promise<Batch> {
  const { plan, pacer } = run
  const end = Math.min(batch.length, plan.offset + plan.limit)
  const from = Math.min(plan.offset, end)
  if (order.length === 0)
    return from === 0 && end === batch.length ? batch : sliceBatch(batch, from, end - from)
  const values = order.map(({ value }) => value)
  const sorter = new Sorter(
    values.map(({ type }) => type),
    order,
    end,
  )
  const steps = stepsOf(values)
  for (let at = 0, length: number; at < batch.length; at += length) {
    length = Math.min(steps.rows, batch.length - at)
    const keys = await evaluated(values, sliceBatch(batch, at, length), steps, pacer)
    await sorter.add(keys, at, pacer)
  }
  const rows = Uint32Array.from(await sorter.finish(pacer))
  return takeBatch(batch, rows.subarray(from))
}
