/** Executes a plan step by step: rows, groups, columns, distinct rows, order (see plan.ts). */
import type { Batch } from '../arrow/column.js'
import { concatBatches } from '../arrow/concat.js'
import { batchBytes } from '../arrow/layout.js'
import { sliceBatch } from '../arrow/slice.js'
import type { Schema } from '../arrow/types.js'
import { lazyImport } from '../lazy-import.js'
import type { Clock } from '../primitives/clock.js'
import type { Pacer } from '../primitives/pacer.js'
import {
  type MaybePromise,
  runTask,
  streamTask,
  type Task,
  type TaskStream,
  wait,
} from '../primitives/task.js'
import { afterKey } from '../protocol/session-shapes.js'
import { valueType } from '../sql/values/types.js'
import type { TableReader } from '../table/table-reader.js'
import { Grouper, seedOf } from './group.js'
import { groupRows } from './group-rows.js'
import { highlightsField } from './highlight-field.js'
import { joinHits, type RowHits, regrouped, sliceHits } from './hits.js'
import type { Meter } from './meter.js'
import { orderedRows, sortedBatches } from './ordered.js'
import { type Grouping, isRanked, type Plan, type VectorSearch } from './plan.js'
import { chunkRows, evaluated, foundRows, namesOf, type Run, rankedRows, stepsOf } from './run.js'
import { queryIndexColumn, queryIndexField, RowSource } from './source.js'
import { inSteps } from './steps.js'

/** The whole answer of a query. */
interface QueryResult {
  readonly schema: Schema
  /** In the order of the answer. Empty when no row matched. */
  readonly batches: readonly Batch[]
}

/** Execute a plan. `other` is the version that `plan.differsFrom` names; `meter` counts rows and time of each step. */
export async function executePlan(
  plan: Plan,
  reader: TableReader,
  other: TableReader | null,
  pacer: Pacer,
  clock: Clock,
  meter: Meter | null = null,
): Promise<QueryResult> {
  const { search, grouping, distinct } = plan
  const run = runOf(plan, reader, other, pacer, clock, meter)
  const schema = schemaOf(plan)
  const batches: Batch[] = []
  if (distinct) {
    const distinct = () => distinctRows(run, schema)
    const unique = await (meter === null ? distinct() : meter.within('distinct', distinct, rowsIn))
    for await (const batch of streamTask(sortedBatches(run, unique, plan.order))) batches.push(batch)
    return { schema: unique.schema, batches }
  }
  if (grouping !== null) {
    const groups = await groupsOf(run, grouping)
    for await (const piece of streamTask(sortedBatches(run, groups, plan.order))) {
      batches.push(await projected(run, piece, schema))
    }
    return { schema, batches }
  }
  if (plan.order.length > 0 && !isRanked(plan)) {
    for await (const batch of rowsInOrder(run, schema)) batches.push(batch)
    return { schema, batches }
  }
  if (search !== null && search.batch !== null) return batchAnswers(run, search, search.batch, schema)
  for (const batch of rowsInGroups(run, schema, true)) {
    if (batch instanceof Promise) await batch
    else batches.push(batch)
  }
  return { schema, batches }
}

/** A plan that returns its rows in the order in which it finds them. */
export interface Scan {
  readonly schema: Schema
  /** As `executePlan` returns them, but batches may be views of cached memory. Each batch is read when the caller asks for it. */
  readonly batches: TaskStream<Batch>
}

/** Begin a plan that can return rows before it has read all of them. Return null for any other plan. */
export function beginScan(
  plan: Plan,
  reader: TableReader,
  other: TableReader | null,
  pacer: Pacer,
  clock: Clock,
): Scan | null {
  const isPlain = plan.grouping === null && !plan.distinct && plan.order.length === 0 && !isRanked(plan)
  if (!isPlain) return null
  const schema = schemaOf(plan)
  return { schema, batches: rowsInGroups(runOf(plan, reader, other, pacer, clock, null), schema, false) }
}

/** Approximate size in bytes of a message of a slice, independent of how the rows are stored. */
const messageBytes = 8 * 1024 * 1024
/** A batch of more bytes is not joined with others. */
const wholeBytes = messageBytes / 2
const messageRows = 1024 * 1024

/**
 * Begin a scan of the rows from `plan.from` to `plan.until`. Its batches have about 8 MiB: small fragments are joined, wide rows
 * are split. Each batch has `sheaf:after` in its metadata.
 */
export function beginSlice(plan: Plan, reader: TableReader, pacer: Pacer, clock: Clock): Scan {
  const schema = schemaOf(plan)
  return { schema, batches: messagesOf(runOf(plan, reader, null, pacer, clock, null), schema) }
}

function* messagesOf(run: Run, schema: Schema): TaskStream<Batch> {
  const { source } = run
  const fields = run.names.map(name => source.field(name)).filter(field => field !== undefined)
  const sizeOf = ({ parts: [part] }: RowHits) => {
    if (part === undefined) return chunkRows
    const bytes = Math.max(1, source.reader.storedBytes(part, fields) / part.rows)
    return Math.max(1, Math.min(messageRows, Math.floor(messageBytes / bytes)))
  }
  let waiting: Batch[] = []
  let bytes = 0
  for (const hits of regrouped(wantedRows(run), sizeOf)) {
    if (hits instanceof Promise) {
      yield hits
      continue
    }
    const rows = yield* wait(rowsOut(run, hits, schema, false))
    const last = yield* wait(source.rowOffset(hits.parts[0]!, hits.offsets.at(-1)!))
    const batch = { ...rows, metadata: { [afterKey]: String(last + 1) } }
    const size = batchBytes(batch)
    if (waiting.length > 0 && (size > wholeBytes || bytes + size > messageBytes)) {
      yield joinedMessage(waiting)
      waiting = []
      bytes = 0
    }
    waiting.push(batch)
    bytes += size
  }
  if (waiting.length > 0) yield joinedMessage(waiting)
}

function joinedMessage(batches: readonly Batch[]): Batch {
  const { metadata } = batches.at(-1)!
  return { ...concatBatches(batches), ...(metadata !== undefined && { metadata }) }
}

function runOf(
  plan: Plan,
  reader: TableReader,
  other: TableReader | null,
  pacer: Pacer,
  clock: Clock,
  meter: Meter | null,
): Run {
  const { counted, offset, limit, output } = plan
  return {
    plan,
    source: new RowSource(reader, pacer, other, meter),
    pacer,
    names: namesOf(output.map(({ value }) => value)),
    seed: seedOf(clock),
    window: counted === 'found' ? { offset: 0, limit: Number.POSITIVE_INFINITY } : { offset, limit },
  }
}

/** The columns of the answer, without `query_index`, which an answer to several queries adds. */
function schemaOf(plan: Plan): Schema {
  const { output, highlights, metadata } = plan
  const known = schemas.get(output)
  if (known !== undefined && known.metadata === metadata && highlights.length === 0) return known
  const marks = highlights.length === 0 ? [] : [highlightsField(plan)]
  const fields = [...output.map(({ field }) => field), ...marks]
  const schema = metadata === undefined ? { fields } : { fields, metadata }
  if (highlights.length === 0) schemas.set(output, schema)
  return schema
}

/** Plans with the same output share a schema, so that it is encoded once. Weak: outputs belong to plans. */
const schemas = new WeakMap<Plan['output'], Schema>()

function chunkSize(): number {
  return chunkRows
}

/** Stream the answer in the order in which rows are found. `owned`: in batches that share no memory with the cache. */
function* rowsInGroups(run: Run, schema: Schema, owned: boolean): TaskStream<Batch> {
  for (const hits of regrouped(wantedRows(run), chunkSize)) {
    if (hits instanceof Promise) {
      yield hits
      continue
    }
    let rows: Batch | null = yield* wait(rowsOut(run, hits, schema, owned))
    if (run.plan.highlights.length > 0) rows = yield* wait(highlighted(rows, run, hits))
    yield rows
    // A suspended generator keeps its variables alive: without this line, the batch stays in memory while the next one is read.
    rows = null
  }
}

const highlighting = lazyImport(() => import('./highlight-rows.js'))

async function highlighted(rows: Batch, run: Run, hits: RowHits): Promise<Batch> {
  const { withHighlights } = await highlighting()
  return withHighlights(rows, run, hits)
}

/** An answer to several queries has batches of at least this many rows, or of this many queries. */
const joinedRows = 1024
const joinedQueries = 256

/** The nearest rows of each query of a batch, one query after the other. */
async function batchAnswers(
  run: Run,
  search: VectorSearch,
  queries: readonly Float32Array[],
  schema: Schema,
): Promise<QueryResult> {
  const numbered: Schema = { ...schema, fields: [queryIndexField, ...schema.fields] }
  const batches: Batch[] = []
  let pieces: Batch[] = []
  let rows = 0
  // One batch for each query would mean one message for each query.
  const join = () => {
    if (pieces.length > 0) batches.push(pieces.length === 1 ? pieces[0]! : concatBatches(pieces))
    pieces = []
    rows = 0
  }
  for (const [i, query] of queries.entries()) {
    const own = { ...run, plan: { ...run.plan, search: { ...search, query } } }
    for await (const hits of streamTask(regrouped(wantedRows(own), chunkSize))) {
      const { length, columns } = await rowsOut(own, hits, schema)
      pieces.push({ schema: numbered, length, columns: [queryIndexColumn(i, length), ...columns] })
      rows += length
      if (rows >= joinedRows || pieces.length >= joinedQueries) join()
    }
    await run.pacer.turn()
  }
  join()
  return { schema: numbered, batches }
}

/** Bytes of rows that are fetched together for a sorted answer: in a table larger than the cache, every fetch reads from disk. */
const fetchedBytes = 32 * 1024 * 1024

/** Stream a sorted answer. Its rows lie all over the table, so each fetch takes as many rows as memory allows. */
async function* rowsInOrder(run: Run, schema: Schema): AsyncGenerator<Batch> {
  let waiting: RowHits[] = []
  let count = 0
  let enough = chunkRows
  async function* fetched(): AsyncGenerator<Batch> {
    let bytes = 0
    for await (const batch of run.source.batches(joinHits(waiting), run.names, chunkRows)) {
      bytes += batchBytes(batch)
      yield projected(run, batch, schema)
    }
    enough = Math.max(chunkRows, (fetchedBytes / Math.max(1, bytes)) * count)
    waiting = []
    count = 0
  }
  for await (const hits of streamTask(wantedRows(run))) {
    waiting.push(hits)
    count += hits.offsets.length
    if (count >= enough) yield* fetched()
  }
  if (count > 0) yield* fetched()
}

/** The rows of the answer in its order, in pieces. */
function wantedRows(run: Run): TaskStream<RowHits> {
  const { meter } = run.source
  const rows = windowOf(run)
  return meter === null ? rows : meter.each('limit', rows, ({ offsets }) => offsets.length)
}

function* windowOf(run: Run): TaskStream<RowHits> {
  const { order } = run.plan
  const { offset, limit } = run.window
  if (limit <= 0) return
  if (isRanked(run.plan) && order.length === 0) {
    yield yield* wait(rankedRows(run.plan, run.source, run.pacer))
    return
  }
  const enough = offset + limit
  // The consumer projects these rows in steps of its own, so the time until the next request says nothing about the filter's cost.
  const rows = order.length > 0 ? orderedRows(run, enough) : foundRows(run, run.names, stepsOf([]), enough)
  let skip = offset
  let want = limit
  for (const hits of rows) {
    if (hits instanceof Promise) {
      yield hits
      continue
    }
    const { length } = hits.offsets
    const kept = sliceHits(hits, Math.min(skip, length), Math.min(length, skip + want))
    skip -= Math.min(skip, length)
    want -= kept.offsets.length
    if (kept.offsets.length > 0) yield kept
    if (want <= 0) return
  }
}

function groupsOf(run: Run, grouping: Grouping): Promise<Batch> {
  const { meter } = run.source
  const groups = () => groupRows(run, grouping)
  return meter === null ? groups() : meter.within('aggregate', groups, rowsIn)
}

function rowsIn({ length }: Batch): number {
  return length
}

/** The columns of the answer for some rows as one batch. `owned`: without memory shared with the cache. */
function rowsOut(run: Run, hits: RowHits, schema: Schema, owned = true): MaybePromise<Batch> {
  const { source, names } = run
  const rows = (from: number, to: number) => source.batch(sliceHits(hits, from, to), names, owned)
  // The rows are read before the steps begin: a step that waits for a read would not measure the cost of its rows.
  return outputOf(run, schema, hits.offsets.length, rows, () => source.expect(hits, names))
}

/** The columns of the answer for every row of a batch, as one batch. */
function projected(run: Run, batch: Batch, schema: Schema): MaybePromise<Batch> {
  return outputOf(run, schema, batch.length, (from, to) => sliceBatch(batch, from, to - from))
}

/** The columns of the answer as one batch, from `length` input rows that `rows` returns in pieces. `before` runs first. */
function outputOf(
  run: Run,
  schema: Schema,
  length: number,
  rows: (from: number, to: number) => MaybePromise<Batch>,
  before?: () => MaybePromise<void>,
): MaybePromise<Batch> {
  const { meter } = run.source
  const project = () => runTask(outputBatch(run, schema, length, rows, before))
  return meter === null ? project() : meter.within('project', project, rowsIn)
}

function* outputBatch(
  { plan, pacer }: Run,
  schema: Schema,
  length: number,
  rows: (from: number, to: number) => MaybePromise<Batch>,
  before: (() => MaybePromise<void>) | undefined,
): Task<Batch> {
  yield* wait(before?.())
  const values = plan.output.map(({ value }) => value)
  const pieces: Batch[] = []
  for (const [from, to] of inSteps(length, stepsOf(values), pacer)) {
    const batch = yield* wait(rows(from, to))
    const columns = yield* wait(evaluated(values, batch, pacer))
    pieces.push({ schema, length: to - from, columns })
  }
  return pieces.length === 1 ? pieces[0]! : concatBatches(pieces)
}

/** The distinct rows of the answer in the order in which they are found. Without an order, it stops when it has enough rows. */
async function distinctRows(run: Run, schema: Schema): Promise<Batch> {
  const { plan, pacer, seed, window } = run
  const grouper = new Grouper(
    schema.fields.map(({ type }) => type),
    seed,
  )
  const enough = plan.order.length > 0 ? Number.POSITIVE_INFINITY : window.offset + window.limit
  for await (const batch of rowsToDeduplicate(run, schema)) {
    if (batch.length > 0) grouper.add(batch.columns)
    if (grouper.count >= enough) break
    await pacer.turn()
  }
  const fields = schema.fields.map(field => ({ ...field, type: valueType(field.type) }))
  return { schema: { fields }, length: grouper.count, columns: grouper.keys() }
}

async function* rowsToDeduplicate(run: Run, schema: Schema): AsyncGenerator<Batch> {
  const { grouping, output } = run.plan
  if (grouping !== null) {
    const groups = await groupsOf(run, grouping)
    for (let from = 0; from < groups.length; from += chunkRows) {
      const piece = sliceBatch(groups, from, Math.min(chunkRows, groups.length - from))
      yield projected(run, piece, schema)
    }
    return
  }
  const values = output.map(({ value }) => value)
  for await (const hits of streamTask(foundRows(run, run.names, stepsOf(values)))) {
    yield rowsOut(run, hits, schema)
  }
}
