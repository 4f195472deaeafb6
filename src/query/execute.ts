/** Executes a plan step by step. The order of the steps is described in plan.ts. */
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
import { highlightsField } from './highlight-field.js'
import { joinHits, type RowHits, regrouped, sliceHits } from './hits.js'
import type { Meter } from './meter.js'
import { type Grouping, isRanked, type Plan, type VectorSearch } from './plan.js'
import { chunkRows, evaluated, foundRows, namesOf, type Run, rankedRows, stepsOf } from './run.js'
import { seedOf } from './seed.js'
import { queryIndexColumn, queryIndexField, RowSource } from './source.js'
import { inSteps } from './steps.js'
import type { Spread } from './units.js'

const ordering = lazyImport(() => import('./ordered.js'))
const grouping = lazyImport(() => import('./group-rows.js'))
const distinguishing = lazyImport(() => import('./group.js'))
const highlighting = lazyImport(() => import('./highlight-rows.js'))

/** The complete answer of a query. */
interface QueryResult {
  readonly schema: Schema
  /** Batches in the order of the answer. The list is empty if no row matches. */
  readonly batches: readonly Batch[]
}

/** How a plan is executed. */
interface Execution {
  /** Measures the steps. Default: no measurements. */
  readonly meter?: Meter | null
  /** Sends parts of searches to other nodes. Default: this process searches alone. */
  readonly spread?: Spread | null
}

/** Execute a plan. `other`: reader of the version `plan.differsFrom`, else null. */
export async function executePlan(
  plan: Plan,
  reader: TableReader,
  other: TableReader | null,
  pacer: Pacer,
  clock: Clock,
  { meter = null, spread = null }: Execution = {},
): Promise<QueryResult> {
  const { search, distinct } = plan
  const run = runOf(plan, new RowSource(reader, pacer, other, meter, spread), pacer, clock)
  const schema = schemaOf(plan)
  const batches: Batch[] = []
  if (distinct) {
    const distinct = () => distinctRows(run, schema)
    const unique = await (meter === null ? distinct() : meter.within('distinct', distinct, rowsIn))
    const { sortedBatches } = await ordering()
    for await (const batch of streamTask(sortedBatches(run, unique, plan.order))) batches.push(batch)
    return { schema: unique.schema, batches }
  }
  if (plan.grouping !== null) {
    const groups = await groupsOf(run, plan.grouping)
    const { sortedBatches } = await ordering()
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

/** The answer of a plan that returns its rows in row order, as a stream. */
export interface Scan {
  readonly schema: Schema
  /**
   * The rows that `executePlan` would return, but a batch may be a view of cached memory. A batch is read when the
   * caller requests it.
   */
  readonly batches: TaskStream<Batch>
}

/** Begin to execute a plan whose rows can be returned one batch at a time. Return null for any other plan. */
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
  const run = runOf(plan, new RowSource(reader, pacer, other), pacer, clock)
  return { schema, batches: rowsInGroups(run, schema, false) }
}

/** Approximate size of a batch of a slice in bytes. It does not depend on the division of the rows into fragments. */
const messageBytes = 8 * 1024 * 1024
/** A batch with more bytes is not joined with other batches. */
const wholeBytes = messageBytes / 2
/** Maximum number of rows of a batch of a slice. */
const messageRows = 1024 * 1024

/**
 * Begin a scan of the live rows from `plan.from` to `plan.until`. Its batches have about 8 MiB: rows of small fragments
 * are joined, and fragments with wide rows are split. The metadata `sheaf:after` of a batch is the row number at which
 * a scan of the remaining rows begins.
 */
export function beginSlice(plan: Plan, reader: TableReader, pacer: Pacer, clock: Clock): Scan {
  const schema = schemaOf(plan)
  return { schema, batches: messagesOf(runOf(plan, new RowSource(reader, pacer), pacer, clock), schema) }
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

function runOf(plan: Plan, source: RowSource, pacer: Pacer, clock: Clock): Run {
  const { counted, offset, limit, output } = plan
  return {
    plan,
    source,
    pacer,
    names: namesOf(output.map(({ value }) => value)),
    seed: seedOf(clock),
    window: counted === 'found' ? { offset: 0, limit: Number.POSITIVE_INFINITY } : { offset, limit },
  }
}

/** Return the schema of the answer. It does not contain `query_index`, which `batchAnswers` adds. */
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

/** Schemas by output. Plans with the same output share a schema, so that the schema is encoded once. */
const schemas = new WeakMap<Plan['output'], Schema>()

function chunkSize(): number {
  return chunkRows
}

/**
 * Stream the answer in the order in which the rows are found. `owned`: whether the batches must not share memory with
 * the cache.
 */
function* rowsInGroups(run: Run, schema: Schema, owned: boolean): TaskStream<Batch> {
  for (const hits of regrouped(wantedRows(run), chunkSize)) {
    if (hits instanceof Promise) {
      yield hits
      continue
    }
    let rows: Batch | null = yield* wait(rowsOut(run, hits, schema, owned))
    if (run.plan.highlights.length > 0) rows = yield* wait(highlighted(rows, run, hits))
    yield rows
    // A suspended generator keeps its variables. Without this line, the batch would stay in memory while the next batch
    // is read.
    rows = null
  }
}

async function highlighted(rows: Batch, run: Run, hits: RowHits): Promise<Batch> {
  const { withHighlights } = await highlighting()
  return withHighlights(rows, run, hits)
}

/** In an answer to several query vectors: number of rows at which a batch is complete. */
const joinedRows = 1024
/**
 * In an answer to several query vectors: number of query vectors at which a batch is complete, even with fewer rows.
 */
const joinedQueries = 256

/** Return the nearest rows of each query vector, one query vector after the other. */
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
  // Join the rows of several query vectors, because every batch of the answer becomes a separate message.
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

/**
 * Approximate bytes of rows that are fetched together for a sorted answer. If a table is larger than the cache, every
 * fetch reads from disk, so large fetches are faster.
 */
const fetchedBytes = 32 * 1024 * 1024

/** Stream a sorted answer. Its rows are scattered over the table, so each fetch takes about `fetchedBytes` of rows. */
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

/** Stream the rows of the answer in the order of the answer, after offset and limit. */
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
  // `stepsOf([])`: do not learn step sizes for an expression here. The time until the consumer's next request includes
  // the time in which the consumer computes the output, so it is not the cost of an expression.
  const rows =
    order.length > 0
      ? (yield* wait(ordering())).orderedRows(run, enough)
      : foundRows(run, run.names, stepsOf([]), enough)
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

async function groupsOf(run: Run, planned: Grouping): Promise<Batch> {
  const { meter } = run.source
  const { groupRows } = await grouping()
  const groups = () => groupRows(run, planned)
  return meter === null ? groups() : meter.within('aggregate', groups, rowsIn)
}

function rowsIn({ length }: Batch): number {
  return length
}

/**
 * Compute the columns of the answer for some rows as one batch. `owned`: whether the batch must not share memory with
 * the cache.
 */
function rowsOut(run: Run, hits: RowHits, schema: Schema, owned = true): MaybePromise<Batch> {
  const { source, names } = run
  const rows = (from: number, to: number) => source.batch(sliceHits(hits, from, to), names, owned)
  // Read the rows before the steps begin. Otherwise the measured time of a step, which sets the size of the next step,
  // would include the time of a read.
  return outputOf(run, schema, hits.offsets.length, rows, {
    before: () => source.expect(hits, names),
    isAtOnce: isCopied(run, hits),
  })
}

/** Maximum bytes of stored columns that are copied in one step. */
const copiedBytes = 8 * 1024 * 1024

/** Return whether the columns of the answer are copies of stored columns with few bytes. */
function isCopied({ plan, source, names }: Run, { parts, offsets }: RowHits): boolean {
  const [part] = parts
  if (part === undefined || parts.length > 1) return false
  if (plan.output.some(({ value }) => value.expr.kind !== 'column')) return false
  const fields = names.map(name => source.field(name)).filter(field => field !== undefined)
  return (source.reader.storedBytes(part, fields) / part.rows) * offsets.length <= copiedBytes
}

/** Compute the columns of the answer for every row of a batch, as one batch. */
function projected(run: Run, batch: Batch, schema: Schema): MaybePromise<Batch> {
  return outputOf(run, schema, batch.length, (from, to) => sliceBatch(batch, from, to - from))
}

interface OutputOptions {
  /** Called first. */
  readonly before?: () => MaybePromise<void>
  /** Whether to compute all rows in one step. Default false. */
  readonly isAtOnce?: boolean
}

/**
 * Compute the columns of the answer as one batch. `length`: number of input rows. `rows`: returns the input rows from
 * one index to another.
 */
function outputOf(
  run: Run,
  schema: Schema,
  length: number,
  rows: (from: number, to: number) => MaybePromise<Batch>,
  options: OutputOptions = {},
): MaybePromise<Batch> {
  const { meter } = run.source
  const project = () => runTask(outputBatch(run, schema, length, rows, options))
  return meter === null ? project() : meter.within('project', project, rowsIn)
}

function* outputBatch(
  { plan, pacer }: Run,
  schema: Schema,
  length: number,
  rows: (from: number, to: number) => MaybePromise<Batch>,
  { before, isAtOnce = false }: OutputOptions,
): Task<Batch> {
  yield* wait(before?.())
  const values = plan.output.map(({ value }) => value)
  const pieces: Batch[] = []
  const whole = [[0, length]] as const
  for (const [from, to] of isAtOnce ? whole : inSteps(length, stepsOf(values), pacer)) {
    const batch = yield* wait(rows(from, to))
    const columns = yield* wait(evaluated(values, batch, pacer))
    pieces.push({ schema, length: to - from, columns })
  }
  return pieces.length === 1 ? pieces[0]! : concatBatches(pieces)
}

/**
 * Return the distinct rows of the answer in the order in which they are found. Without an order, stop at offset plus
 * limit rows.
 */
async function distinctRows(run: Run, schema: Schema): Promise<Batch> {
  const { plan, pacer, seed, window } = run
  const { Grouper } = await distinguishing()
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
  const { output } = run.plan
  if (run.plan.grouping !== null) {
    const groups = await groupsOf(run, run.plan.grouping)
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
