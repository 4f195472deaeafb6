/**
 * Divides a search into units, which several nodes can search at the same time. A unit is a segment of an index, the
 * unindexed rows, or a range of fragments of an exact search. The result of a unit depends only on the version, the plan
 * and the unit. Therefore the answer of a search does not depend on the nodes that searched its units.
 */
import { liveRows } from '../manifest/layout.js'
import { Pacer } from '../primitives/pacer.js'
import { partitionPoint } from '../primitives/partition-point.js'
import { type MaybePromise, runTask, type Task, wait } from '../primitives/task.js'
import type { SegmentReader } from '../table/covered-segment.js'
import type { Part, TableReader } from '../table/table-reader.js'
import { exactUnits } from './exact-units.js'
import { mergeHits, Parts, type RankedHits, type RowHits, searchColumns } from './hits.js'
import { guessing, measuredColumn, measuring, scanningTexts, sweeping } from './near-costs.js'
import { foundWindow, type Plan, type VectorSearch } from './plan.js'
import { partialCover } from './probed-rows.js'
import { searchExact } from './search-exact.js'
import { columnBytes, searchNear } from './search-near.js'
import { searchText } from './search-text.js'
import type { RowSource } from './source.js'
import type { TextSearch } from './text-plan.js'
import { addStatistics, noStatistics, termsOf, textStatistics, undividedText } from './text-statistics.js'
import type { SearchUnit, TextStatistics, UnitAnswer, UnitQuery, UnitRows } from './units.js'

/**
 * Minimum work of a unit, on average, as a share of the minimum work of a search. Sending a unit takes about 2 ms of all
 * processors together (bench/spread.ts).
 */
const partShare = 0.2
/** Maximum number of rows that a unit may return. */
const rowsMax = 10_000

// ---- decide

interface Division {
  readonly units: readonly SearchUnit[]
  /** Why the search is not sent to other nodes. Null: it is sent. */
  readonly reason: string | null
}

/** Divide a search, and decide whether it is sent to other nodes. Reads nothing. */
export function* divide(
  which: 'vector' | 'text',
  plan: Plan,
  { reader, difference }: RowSource,
  minWorkMs: number,
  pacer: Pacer,
): Task<Division> {
  const refused = (reason: string): Division => ({ units: [], reason })
  if (difference !== null) return refused('it compares two versions')
  if ((plan.fusion?.candidates ?? foundWindow(plan).to) > rowsMax)
    return refused(`it needs more than ${rowsMax} rows`)
  let units: readonly SearchUnit[]
  if (which === 'vector') {
    if (plan.search!.batch !== null) return refused('it has several query vectors')
    units = yield* vectorUnits(plan.search!, reader, pacer)
  } else {
    const why = undividedText(plan.text!)
    if (why !== null) return refused(why)
    units = yield* textUnits(plan.text!, reader, pacer)
  }
  if (units.length < 2) return { units, reason: 'it has only one part' }
  const work = units.reduce((sum, unit) => sum + unit.work, 0) / 1e6
  const least = Math.max(minWorkMs, partShare * minWorkMs * units.length)
  if (work >= least) return { units, reason: null }
  return { units, reason: `about ${work.toPrecision(2)} ms of work are less than ${least} ms` }
}

/** Describe a division for `explain`. */
export function divisionText({ units, reason }: Division): string {
  if (reason !== null) return `searched by this node alone, because ${reason}`
  const work = units.reduce((sum, unit) => sum + unit.work, 0) / 1e6
  return `spread over nodes in ${units.length} parts, about ${work.toPrecision(2)} ms of work`
}

function* vectorUnits(search: VectorSearch, reader: TableReader, pacer: Pacer): Task<readonly SearchUnit[]> {
  const { layout } = reader
  const column = measuredColumn(columnBytes(search), reader.liveRows)
  const exact = (rows: number, parts: number) => measuring(rows, parts, column)
  if (search.index === null) {
    return exactUnits(layout).map((fragments): SearchUnit => {
      const rows = fragments.reduce((sum, fragment) => sum + liveRows(fragment), 0)
      return { shard: `rows-${fragments[0]!.id}`, rows, work: exact(rows, fragments.length) }
    })
  }
  const { name, effort } = search.index
  const index = reader.vectorIndexes.find(known => known.name === name)!
  const queries = search.multi?.length ?? 1
  const units = index.segments.map(segment => {
    const guess = guessing(index.kind, segment.rows, search.query.length, effort.mostPartitions)
    return unitOf(segment, Math.min(exact(segment.rows, 1), queries * guess))
  })
  if (search.fast) return units
  const partial = yield* partialCover(index, reader, pacer)
  if (partial.size === 0) return units
  let rows = 0
  for (const [fragment, covered] of partial) rows += fragment.rows - covered.count
  return [...units, { shard: 'unindexed', rows, work: exact(rows, partial.size) }]
}

function* textUnits(search: TextSearch, reader: TableReader, pacer: Pacer): Task<readonly SearchUnit[]> {
  const index = reader.textIndexes.find(known => known.name === search.columns[0]!.index)!
  const terms = termsOf(search).length
  const units = index.segments.map(segment => unitOf(segment, sweeping(segment.rows, terms)))
  if (search.fast) return units
  const partial = yield* partialCover(index, reader, pacer)
  if (partial.size === 0) return units
  let rows = 0
  for (const [fragment, covered] of partial) rows += fragment.rows - covered.count
  return [...units, { shard: 'unindexed', rows, work: scanningTexts(rows) }]
}

function unitOf({ path, rows }: SegmentReader<unknown>, work: number): SearchUnit {
  return { shard: path.slice(path.lastIndexOf('/') + 1), rows, work }
}

// ---- search

/**
 * Search the units of a plan on several nodes. Return null if this process must search alone (`divide`). `limit`: number
 * of wanted rows.
 */
export function spreadSearch(
  which: 'vector' | 'text',
  plan: Plan,
  limit: number,
  source: RowSource,
  pacer: Pacer,
): MaybePromise<RowHits | null> {
  return runTask(spreading(which, plan, limit, source, pacer))
}

function* spreading(
  which: 'vector' | 'text',
  plan: Plan,
  limit: number,
  source: RowSource,
  pacer: Pacer,
): Task<RowHits | null> {
  const spread = source.spread!
  const { units, reason } = yield* divide(which, plan, source, spread.minWorkMs, pacer)
  if (reason !== null || limit === 0) return null
  const local = async (query: UnitQuery, signal: AbortSignal) =>
    runTask(searchUnit(plan, query, source, new Pacer(signal)))
  const ask = (queries: readonly UnitQuery[]) => wait(spread.answers(queries, units, local))
  if (which === 'vector') {
    const queries = units.map((_, unit): UnitQuery => ({ search: 'vector', unit }))
    const answers = (yield* ask(queries)) as readonly UnitRows[]
    return yield* mergedRows(answers, searchColumns.distance, limit, source.reader, pacer)
  }
  const counts = yield* ask(units.map((_, unit): UnitQuery => ({ search: 'statistics', unit })))
  const statistics = (counts as readonly TextStatistics[]).reduce(addStatistics, noStatistics(plan.text!))
  const queries = units.map((_, unit): UnitQuery => ({ search: 'text', unit, statistics }))
  const answers = (yield* ask(queries)) as readonly UnitRows[]
  return yield* mergedRows(answers, searchColumns.score, limit, source.reader, pacer)
}

/** Search one unit of a plan in this process. */
export function* searchUnit(plan: Plan, query: UnitQuery, source: RowSource, pacer: Pacer): Task<UnitAnswer> {
  const { search, text, fusion, filterFirst } = plan
  const filter = filterFirst ? plan.filter : null
  const limit = fusion?.candidates ?? foundWindow(plan).to
  if (query.search === 'statistics') return yield* textStatistics(text!, query.unit, source, pacer)
  if (query.search === 'text')
    return placedRows(yield* wait(searchText(text!, filter, limit, source, pacer, query)), source.reader)
  const find = search!.index === null ? searchExact : searchNear
  return placedRows(yield* wait(find(search!, filter, limit, source, pacer, query.unit)), source.reader)
}

/** Return rows by their positions in the version. */
function placedRows({ parts, partOf, offsets, computed }: RowHits, reader: TableReader): UnitRows {
  const positions = parts.map(({ fragment }) => reader.positionOf(fragment.id)!)
  const partAt = (i: number) => (partOf === null ? 0 : partOf[i]!)
  return {
    fragments: Uint32Array.from(offsets, (_, i) => positions[partAt(i)]!),
    offsets: offsets.map((offset, i) => parts[partAt(i)]!.first + offset),
    values: computed[0]!.values,
  }
}

/** Merge the rows of several units, and return the best `limit` rows. `name`: the column of the values. */
function* mergedRows(
  answers: readonly UnitRows[],
  name: RowHits['computed'][number]['name'],
  limit: number,
  reader: TableReader,
  pacer: Pacer,
): Task<RowHits> {
  const parts = new Parts()
  const numbers = new Map<Part, number>()
  const sign = name === searchColumns.score ? -1 : 1
  const lists: RankedHits[] = []
  for (const { fragments, offsets, values } of answers) {
    const list = {
      partOf: new Uint32Array(offsets.length),
      offsets: new Uint32Array(offsets.length),
      distances: values.map(value => sign * value),
    }
    for (let i = 0; i < offsets.length; i++) {
      const part = yield* partAt(reader, fragments[i]!, offsets[i]!, pacer)
      let number = numbers.get(part)
      if (number === undefined) {
        number = parts.add(part, yield* wait(reader.rowIds(part.fragment, pacer.signal)))
        numbers.set(part, number)
      }
      list.partOf[i] = number
      list.offsets[i] = offsets[i]! - part.first
    }
    lists.push(list)
  }
  const { partOf, offsets, distances } = yield* mergeHits(parts, lists, limit, pacer)
  const values = sign === 1 ? distances : distances.map(distance => 0 - distance)
  return { parts: parts.all, partOf, offsets, computed: [{ name, values }] }
}

function* partAt(reader: TableReader, position: number, offset: number, pacer: Pacer): Task<Part> {
  const parts = yield* wait(reader.partsOf(reader.layout.fragments[position]!, pacer.signal))
  return parts[partitionPoint(parts.length, i => parts[i]!.first <= offset) - 1]!
}
