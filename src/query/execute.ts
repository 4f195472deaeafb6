/** Carries out a plan, step after step: rows, groups, columns, distinct rows, order (see plan.ts). */
import type { Batch, Column } from '../arrow/column.js'
import { concatColumns } from '../arrow/concat.js'
import { sliceBatch } from '../arrow/slice.js'
import { takeBatch } from '../arrow/take.js'
import type { Schema } from '../arrow/types.js'
import type { Clock } from '../primitives/clock.js'
import type { Pacer } from '../primitives/pacer.js'
import { partitionPoint } from '../primitives/partition-point.js'
import { costOf } from '../sql/binding/cost.js'
import type { BoundExpression } from '../sql/bound.js'
import { evaluate, selectRows } from '../sql/evaluate.js'
import { valueType } from '../sql/values/types.js'
import type { Part, TableReader } from '../table/table-reader.js'
import { type Accumulator, accumulator } from './accumulate.js'
import { candidates, matchingRows } from './filter.js'
import { Grouper } from './group.js'
import { pickHits, type RowHits, sliceHits } from './hits.js'
import type { Grouping, OrderKey, Plan } from './plan.js'
import { searchExact } from './search-exact.js'
import { Sorter } from './sort.js'
import { RowSource } from './source.js'

export interface QueryResult {
  readonly schema: Schema
  /** In the order of the answer; none when no row matched. */
  readonly batches: readonly Batch[]
}

/** One plan under way. */
interface Run {
  readonly plan: Plan
  readonly source: RowSource
  readonly pacer: Pacer
  /** For tables of keys. */
  readonly seed: number
}

export async function executePlan(
  plan: Plan,
  reader: TableReader,
  pacer: Pacer,
  clock: Clock,
): Promise<QueryResult> {
  const source = new RowSource(reader, pacer)
  const run: Run = { plan, source, pacer, seed: Math.floor(clock.random() * 2 ** 32) }
  const { output, grouping, distinct } = plan
  const schema: Schema = { fields: output.map(({ field }) => field) }
  const batches: Batch[] = []
  if (grouping === null && !distinct) {
    for await (const hits of wantedRows(run)) batches.push(await rowsOut(run, hits, schema))
    return { schema, batches }
  }
  if (!distinct) {
    const groups = await arranged(run, await groupRows(run, grouping!), plan.order)
    for await (const batch of projected(run, groups, schema)) batches.push(batch)
    return { schema, batches }
  }
  const unique = await arranged(run, await distinctRows(run, schema), plan.order)
  return { schema: unique.schema, batches: unique.length === 0 ? [] : [unique] }
}

// ---- rows

/** Rows of a group, so that one step on one group is short. */
const groupRowsMax = 16 * 1024
/** What the expressions of one step on a group may cost, in units of `costOf`. */
const stepCost = 3_000_000

/** Rows of a group on which these expressions are evaluated. */
function stepRows(expressions: readonly BoundExpression[]): number {
  const weight = expressions.reduce((sum, { expr }) => sum + costOf(expr).weight, 1)
  return Math.max(32, Math.min(groupRowsMax, Math.floor(stepCost / weight)))
}

/** All rows that match, by distance or in row order, in groups of at most `size`. */
async function* foundRows(run: Run, names: readonly string[], size: number): AsyncGenerator<RowHits> {
  const { plan, source, pacer } = run
  if (plan.search !== null) {
    const hits = await nearestRows(run)
    for (let from = 0; from < hits.offsets.length; from += size) yield sliceHits(hits, from, from + size)
    return
  }
  for await (const candidate of candidates(source, plan.filter, names, pacer)) {
    const parts: readonly Part[] = [candidate.part]
    for await (const offsets of matchingRows(source, candidate, pacer)) {
      for (let from = 0; from < offsets.length; from += size) {
        yield { parts, partOf: null, offsets: offsets.subarray(from, from + size), distances: null }
        await pacer.turn()
      }
    }
  }
}

async function nearestRows({ plan, source, pacer }: Run): Promise<RowHits> {
  const { search, filter, filterFirst, offset, limit } = plan
  const before = filterFirst ? filter : null
  const found = await searchExact(search!, before, offset + limit, source, pacer)
  if (filter === null || filterFirst) return found
  const batch = await source.batch(found, filter.columns, false)
  return pickHits(found, selectRows(filter, batch).toIndices())
}

/** The rows of the answer in its order, in groups. */
async function* wantedRows(run: Run): AsyncGenerator<RowHits> {
  const { offset, limit, order, output } = run.plan
  const size = stepRows(output.map(({ value }) => value))
  const rows =
    order.length > 0
      ? orderedRows(run, offset + limit, size)
      : foundRows(run, [...namesOf(output.map(({ value }) => value))], size)
  let skip = offset
  let want = limit
  if (want <= 0) return
  for await (const hits of rows) {
    const { length } = hits.offsets
    const kept = sliceHits(hits, Math.min(skip, length), Math.min(length, skip + want))
    skip -= Math.min(skip, length)
    want -= kept.offsets.length
    if (kept.offsets.length > 0) yield kept
    if (want <= 0) return
  }
}

/** The first `count` rows by the order of the plan. Only their places are kept while the others are looked at. */
async function* orderedRows(run: Run, count: number, size: number): AsyncGenerator<RowHits> {
  const { plan, source, pacer } = run
  const values = plan.order.map(({ value }) => value)
  const names = namesOf(values)
  const sorter = new Sorter(
    values.map(({ type }) => type),
    plan.order,
    count,
  )
  const seen = new SeenRows()
  for await (const hits of foundRows(run, names, stepRows(values))) {
    const batch = await source.batch(hits, names, false)
    const keys = values.map(value => evaluate(value, batch))
    await sorter.add(keys, seen.add(hits), pacer)
    await pacer.turn()
  }
  const tags = await sorter.finish(pacer)
  for (let from = 0; from < tags.length; from += size) yield seen.hits(tags.subarray(from, from + size))
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

// ---- columns of the answer

/** Columns that some expressions read. */
function namesOf(expressions: readonly BoundExpression[]): readonly string[] {
  return [...new Set(expressions.flatMap(({ columns }) => columns))]
}

/** The columns of the answer for some rows, sharing no memory with the cache. */
async function rowsOut(run: Run, hits: RowHits, schema: Schema): Promise<Batch> {
  const { source, pacer, plan } = run
  const values = plan.output.map(({ value }) => value)
  const batch = await source.batch(hits, namesOf(values), true)
  const columns: Column[] = []
  for (const value of values) {
    columns.push(evaluate(value, batch))
    await pacer.turn()
  }
  return { schema, length: batch.length, columns }
}

/** The columns of the answer for every row of a batch, in pieces. */
async function* projected(run: Run, batch: Batch, schema: Schema): AsyncGenerator<Batch> {
  const { output } = run.plan
  const size = stepRows(output.map(({ value }) => value))
  for (let from = 0; from < batch.length; from += size) {
    const piece = sliceBatch(batch, from, Math.min(size, batch.length - from))
    yield { schema, length: piece.length, columns: output.map(({ value }) => evaluate(value, piece)) }
    await run.pacer.turn()
  }
}

// ---- groups

/** One row for every group: its keys, then its aggregates. */
async function groupRows(run: Run, { keys, aggregates }: Grouping): Promise<Batch> {
  const { source, pacer, seed } = run
  const keyValues = keys.map(({ value }) => value)
  const args = aggregates.map(({ arg }) => arg)
  const read = [...keyValues, ...args.filter(arg => arg !== null)]
  const names = namesOf(read)
  const grouper = new Grouper(
    keyValues.map(({ type }) => type),
    seed,
  )
  const accumulators = aggregates.map(aggregate => accumulator(aggregate, seed))
  const count = () => (keys.length === 0 ? 1 : grouper.count)
  for await (const hits of foundRows(run, names, stepRows(read))) {
    const batch = await source.batch(hits, names, false)
    const groups =
      keys.length === 0
        ? new Uint32Array(batch.length)
        : grouper.add(keyValues.map(value => evaluate(value, batch)))
    for (const [i, arg] of args.entries()) {
      accumulators[i]!.add(groups, arg === null ? null : evaluate(arg, batch), count())
      await pacer.turn()
    }
    await pacer.turn()
  }
  const fields = [...keys, ...aggregates].map(({ field }) => field)
  const columns = [...grouper.keys()]
  for (const each of accumulators) columns.push(await finished(each, count(), pacer))
  return { schema: { fields }, length: count(), columns }
}

async function finished(of: Accumulator, count: number, pacer: Pacer): Promise<Column> {
  const pieces: Column[] = []
  for (let from = 0; from === 0 || from < count; from += groupRowsMax) {
    pieces.push(of.finish(from, Math.min(count, from + groupRowsMax)))
    await pacer.turn()
  }
  return concatColumns(pieces)
}

/** Every distinct row of the answer once, as they are met; no more than are wanted where there is no order. */
async function distinctRows(run: Run, schema: Schema): Promise<Batch> {
  const { plan, pacer, seed } = run
  const grouper = new Grouper(
    schema.fields.map(({ type }) => type),
    seed,
  )
  const enough = plan.order.length > 0 ? Number.POSITIVE_INFINITY : plan.offset + plan.limit
  for await (const batch of undistinguished(run, schema)) {
    if (batch.length > 0) grouper.add(batch.columns)
    if (grouper.count >= enough) break
    await pacer.turn()
  }
  const fields = schema.fields.map(field => ({ ...field, type: valueType(field.type) }))
  return { schema: { fields }, length: grouper.count, columns: grouper.keys() }
}

async function* undistinguished(run: Run, schema: Schema): AsyncGenerator<Batch> {
  const { grouping, output } = run.plan
  if (grouping !== null) {
    yield* projected(run, await groupRows(run, grouping), schema)
    return
  }
  const values = output.map(({ value }) => value)
  for await (const hits of foundRows(run, namesOf(values), stepRows(values))) yield rowsOut(run, hits, schema)
}

/** Rows in memory by an order, and of those the ones asked for. */
async function arranged(run: Run, batch: Batch, order: readonly OrderKey[]): Promise<Batch> {
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
  const size = stepRows(values)
  for (let at = 0; at < batch.length; at += size) {
    const piece = sliceBatch(batch, at, Math.min(size, batch.length - at))
    await sorter.add(
      values.map(value => evaluate(value, piece)),
      at,
      pacer,
    )
    await pacer.turn()
  }
  const rows = Uint32Array.from(await sorter.finish(pacer))
  return takeBatch(batch, rows.subarray(from))
}
