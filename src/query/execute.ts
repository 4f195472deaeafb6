/** Carries out a plan, step after step: rows, groups, columns, distinct rows, order (see plan.ts). */
import type { Batch } from '../arrow/column.js'
import { sliceBatch } from '../arrow/slice.js'
import type { Schema } from '../arrow/types.js'
import type { Clock } from '../primitives/clock.js'
import type { Pacer } from '../primitives/pacer.js'
import { valueType } from '../sql/values/types.js'
import type { TableReader } from '../table/table-reader.js'
import { Grouper } from './group.js'
import { groupRows } from './group-rows.js'
import { type RowHits, sliceHits } from './hits.js'
import { arranged, orderedRows } from './ordered.js'
import type { Plan } from './plan.js'
import { evaluated, foundRows, namesOf, type Run, stepsOf } from './run.js'
import { RowSource } from './source.js'
import type { Steps } from './steps.js'

export interface QueryResult {
  readonly schema: Schema
  /** In the order of the answer; none when no row matched. */
  readonly batches: readonly Batch[]
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
    const steps = stepsOf(output.map(({ value }) => value))
    for await (const hits of wantedRows(run, steps)) batches.push(await rowsOut(run, hits, schema, steps))
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

/** The rows of the answer in its order, in groups. */
async function* wantedRows(run: Run, steps: Steps): AsyncGenerator<RowHits> {
  const { offset, limit, order, output } = run.plan
  const names = namesOf(output.map(({ value }) => value))
  const rows = order.length > 0 ? orderedRows(run, offset + limit, steps) : foundRows(run, names, steps)
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

/** The columns of the answer for some rows, sharing no memory with the cache. */
async function rowsOut(run: Run, hits: RowHits, schema: Schema, steps: Steps): Promise<Batch> {
  const { source, pacer, plan } = run
  const values = plan.output.map(({ value }) => value)
  const batch = await source.batch(hits, namesOf(values), true)
  return { schema, length: batch.length, columns: await evaluated(values, batch, steps, pacer) }
}

/** The columns of the answer for every row of a batch, in pieces. */
async function* projected(run: Run, batch: Batch, schema: Schema): AsyncGenerator<Batch> {
  const values = run.plan.output.map(({ value }) => value)
  const steps = stepsOf(values)
  for (let from = 0, length: number; from < batch.length; from += length) {
    length = Math.min(steps.rows, batch.length - from)
    const columns = await evaluated(values, sliceBatch(batch, from, length), steps, run.pacer)
    yield { schema, length, columns }
  }
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
  const steps = stepsOf(values)
  for await (const hits of foundRows(run, namesOf(values), steps)) yield rowsOut(run, hits, schema, steps)
}
