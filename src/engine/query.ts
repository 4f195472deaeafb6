/** Handlers of the query operations. */

import { describedBatch, describedSchema } from '../arrow/blob.js'
import type { Batch } from '../arrow/column.js'
import { openBuilds } from '../catalog/index-builds.js'
import { findTable, versionOf } from '../catalog/lookup.js'
import { type CatalogState, latestOf } from '../catalog/state.js'
import { ReadRows } from '../client/arrow-rows.js'
import { invalidInput } from '../errors.js'
import { lazyImport } from '../lazy-import.js'
import { findFieldById, typeOf } from '../manifest/field-node.js'
import { countRows } from '../manifest/layout.js'
import { orAborted } from '../primitives/abort.js'
import type { Clock } from '../primitives/clock.js'
import { Pacer } from '../primitives/pacer.js'
import { type MaybePromise, type TaskStream, whenResolved } from '../primitives/task.js'
import type { ArrowReply, Handler, HandlerOptions, Request } from '../protocol/calls.js'
import { binding, hasExpressions } from '../query/binding.js'
import { countMatching } from '../query/count.js'
import { beginScan, executePlan, type Scan } from '../query/execute.js'
import type { Plan } from '../query/plan.js'
import type { NearIndex } from '../query/plan-near-search.js'
import { planQuery } from '../query/plan-query.js'
import type { TextIndex } from '../query/plan-text-search.js'
import { RowSource } from '../query/source.js'
import type { Spread } from '../query/units.js'
import type { Engine } from '../root/engine.js'
import { type OpenTable, openVersion, withLanceIndexes } from '../root/open-table.js'
import { RequestTally } from '../storage/request-tally.js'
import type { TableReader } from '../table/table-reader.js'
import { holdsText } from '../table/text-column.js'
import { answered } from './answered.js'
import { besideRefresh, isFresh } from './beside-refresh.js'
import { readable } from './lance-versions.js'

const importFilter = lazyImport(() => import('../query/bind-table-filter.js'))
const importEnds = lazyImport(() => import('../query/ends.js'))
const importExplain = lazyImport(() => import('../query/explain.js'))
const importAnalyze = lazyImport(() => import('../query/analyze.js'))
const importSpread = lazyImport(() => import('./node-spread.js'))

export const queryTable: Handler<Engine, 'queryTable'> = async (engine, request, options) => {
  // An answer that is streamed begins only when the state is known.
  if (options.streamAfter !== undefined && !isFresh(engine, options))
    return answerOf(engine, request, await engine.root.refresh(options.signal), options)
  return besideRefresh(engine, request.id, options, (state, each) => answerOf(engine, request, state, each))
}

async function answerOf(
  engine: Engine,
  request: Request<'queryTable'>,
  state: CatalogState,
  options: HandlerOptions,
): Promise<ArrowReply> {
  const opened = await openVersions(engine, request.id, request, state, options)
  const { reader, version, other } = opened
  const pacer = new Pacer(options.signal)
  const clock = clockOf(engine, options)
  const plan = await planIn(engine, clock, request, opened, pacer)
  const { streamAfter, dialect } = options
  const scan = streamAfter === undefined ? null : beginScan(plan, reader, other, pacer, engine.clock)
  if (scan !== null)
    return answered(version, dialect === 'lance' ? withDescriptors(scan) : scan, streamAfter!)
  const spread = await spreadOf(engine, clock, request, opened, options)
  const { schema, batches } = await executePlan(plan, reader, other, pacer, engine.clock, { spread })
  if (dialect !== 'lance') return new ReadRows(version, schema, batches, true)
  const described = describedSchema(schema)
  return new ReadRows(
    version,
    described,
    batches.map(batch => (described === schema ? batch : describedBatch(batch, described))),
  )
}

/**
 * Replace the blobs of a scan by descriptors. Clients of LanceDB read descriptors, and fetch only the bytes that they
 * need (`fetchTableBlobs`).
 */
function withDescriptors({ schema, batches }: Scan): Scan {
  const described = describedSchema(schema)
  if (described === schema) return { schema, batches }
  function* all(): TaskStream<Batch> {
    for (const batch of batches) yield batch instanceof Promise ? batch : describedBatch(batch, described)
  }
  return { schema: described, batches: all() }
}

export const explainTableQueryPlan: Handler<Engine, 'explainTableQueryPlan'> = async (
  engine,
  { id, query, verbose },
  options,
) => {
  const opened = await openVersions(engine, id, query, await engine.root.refresh(options.signal), options)
  const { reader, other } = opened
  const pacer = new Pacer(options.signal)
  const clock = clockOf(engine, options)
  const plan = await planIn(engine, clock, { ...query, id }, opened, pacer, true)
  const spread = await spreadOf(engine, clock, { ...query, id }, opened, options)
  const source = new RowSource(reader, pacer, other, null, spread)
  const { explainPlan } = await importExplain()
  return explainPlan(plan, source, id.join('$'), verbose === true, pacer)
}

export const analyzeTableQueryPlan: Handler<Engine, 'analyzeTableQueryPlan'> = async (
  engine,
  request,
  options,
) => {
  const { analyzePlan, requestsText } = await importAnalyze()
  const analyze = async () => {
    const state = await engine.root.refresh(options.signal)
    const opened = await openVersions(engine, request.id, request, state, options)
    const { reader, other } = opened
    const pacer = new Pacer(options.signal)
    const clock = clockOf(engine, options)
    const plan = await planIn(engine, clock, request, opened, pacer)
    const spread = await spreadOf(engine, clock, request, opened, options)
    return analyzePlan(plan, reader, other, request.id.join('$'), pacer, { clock: engine.clock, spread })
  }
  const { meter } = engine.store
  if (meter === undefined) return analyze()
  const tally = new RequestTally()
  const text = await meter.tallied(tally, analyze)
  return `${text}\n${requestsText(tally, meter.prices)}`
}

export const countTableRows: Handler<Engine, 'countTableRows'> = (engine, request, options) => {
  const { id, version, predicate, parameters } = request
  return besideRefresh(engine, id, options, async (state, { signal, table }) => {
    const head = await readable(engine, findTable(state, id, table), signal, version)
    const { layout, reader } = await openVersion(engine, head, versionOf(head, version), signal)
    if (predicate === undefined) {
      if (parameters !== undefined) throw invalidInput('parameters are given, but no predicate')
      return countRows(layout)
    }
    const pacer = new Pacer(signal)
    const { bindTableFilter } = await importFilter()
    const filter = bindTableFilter(predicate, reader.schema, parameters, engine.clock)
    return countMatching(reader, filter, pacer)
  })
}

/** Return the clock of a query. If other nodes may take part in the query, its time stands still. */
function clockOf({ clock }: Engine, { nodes }: HandlerOptions): Clock {
  if (nodes === undefined) return clock
  const now = clock.now()
  return { ...clock, now: () => now }
}

/** Return how to send parts of a query to other nodes. Null: this process searches alone. `clock`: the clock of the plan. */
async function spreadOf(
  engine: Engine,
  clock: Clock,
  request: Request<'queryTable'>,
  { head, version, reader }: OpenedVersions,
  { nodes, signal }: HandlerOptions,
): Promise<Spread | null> {
  // Other nodes compare versions by what the log says about their files.
  if (nodes === undefined || head.kind === 'lance') return null
  if (request.vector == null && request.full_text_query === undefined) return null
  const { openSpread } = await importSpread()
  const { uuid, location } = head
  const { id } = request
  const query = { id, uuid, location, version, now: clock.now(), layout: reader.layout, signal }
  return openSpread(engine, nodes, request, query)
}

/**
 * Plan a query. `guess`: whether to assume that enough rows match the filter, instead of counting them (see
 * `narrowedToEnds`).
 */
function planIn(
  { source }: Engine,
  clock: Clock,
  request: Request<'queryTable'>,
  { reader, analyzedTexts, unusable }: OpenedVersions,
  pacer: Pacer,
  guess = false,
): MaybePromise<Plan> {
  return whenResolved(hasExpressions(request) ? binding() : null, bind => {
    const plan = planQuery(request, reader.schema, bind, clock, {
      vectors: unusable.length === 0 ? reader.vectorIndexes : [...reader.vectorIndexes, ...unusable],
      texts: analyzedTexts.length === 0 ? reader.textIndexes : [...reader.textIndexes, ...analyzedTexts],
      analyzer: options => source.analyzers.open(options),
    })
    if (plan.order.length === 0 && plan.grouping === null) return plan
    return whenResolved(importEnds(), ({ narrowedToEnds }) => narrowedToEnds(plan, reader, pacer, guess))
  })
}

interface OpenedVersions extends Pick<OpenTable, 'head' | 'reader' | 'version'> {
  /** The version to compare with (`differs_from`). Null: the query compares no versions. */
  readonly other: TableReader | null
  /**
   * Text indexes of which searches use only the analyzer: those whose build is queued or running, and those of LanceDB.
   */
  readonly analyzedTexts: readonly TextIndex[]
  /** Vector indexes of LanceDB that no query can use. */
  readonly unusable: readonly NearIndex[]
}

/** The parts of a request that select versions and indexes. */
type Searched = Pick<Request<'queryTable'>, 'version' | 'differs_from' | 'vector' | 'full_text_query'>

/** Open the version that the request reads, and the version to compare with. */
async function openVersions(
  engine: Engine,
  id: readonly string[],
  { version, differs_from, vector, full_text_query: text }: Searched,
  state: CatalogState,
  { signal, table }: HandlerOptions,
): Promise<OpenedVersions> {
  const head = await readable(engine, findTable(state, id, table), signal, version)
  const open = await openVersion(engine, head, versionOf(head, version), signal)
  const isLance = head.kind === 'lance'
  const analyzedTexts =
    isLance && text !== undefined
      ? await textIndexesOfLance(engine, open, signal)
      : open.version === latestOf(head)
        ? textIndexesInBuild(state, open)
        : []
  // Open both versions from one state, because a second look-up of the name could find another table.
  const other =
    differs_from === undefined
      ? null
      : (await openVersion(engine, head, versionOf(head, differs_from), signal)).reader
  const named = { head, version: open.version, analyzedTexts, other }
  if (vector == null || !isLance) return { ...named, reader: open.reader, unusable: [] }
  const { reader, unusable } = await withLanceIndexes(engine, open, signal)
  const reasons = unusable.map(index => ({ ...index, unusable: index.error.message }))
  return { ...named, reader, unusable: reasons }
}

const importLanceTexts = lazyImport(() => import('../table/lance-text-index.js'))

async function textIndexesOfLance(
  { source }: Engine,
  { head, layout }: OpenTable,
  signal: AbortSignal | undefined,
): Promise<readonly TextIndex[]> {
  if (layout.lanceIndexes === undefined || layout.lanceIndexes.length === 0) return []
  const { lanceTextIndexes } = await importLanceTexts()
  const indexes = await orAborted(lanceTextIndexes(source, head.location, layout), signal)
  const onlyAnalyzer = 'Sheaf uses the options of text indexes of LanceDB, and reads every row'
  return indexes.map(index => ({ ...index, reason: null, onlyAnalyzer }))
}

/**
 * Return the text indexes whose build is queued or running. Replacements of existing indexes are left out, because
 * queries use the old index until the build ends.
 */
export function textIndexesInBuild(
  state: CatalogState,
  { head, layout, reader }: OpenTable,
): readonly TextIndex[] {
  return openBuilds(state.jobs, head.uuid).flatMap(({ spec: { name, field, text } }) => {
    const chain = text === undefined ? null : findFieldById(layout.schema, field)
    if (chain === null || !holdsText(typeOf(chain.at(-1)!))) return []
    if (reader.textIndexes.some(index => index.name === name)) return []
    const path = chain.map(node => node.name)
    return [{ name, path, options: text!, reason: null, onlyAnalyzer: 'it is being built' }]
  })
}
