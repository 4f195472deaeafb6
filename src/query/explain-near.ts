/**
 * Describes a vector search as text. Some clients parse the words before the first comma, so these words must not
 * change.
 */
import { quote } from '../errors.js'
import { isPoor, leastRecall, poorKept, poorRecall, poorShare } from '../indexes/vector/recalls.js'
import type { Effort } from '../indexes/vector/segment.js'
import type { Pacer } from '../primitives/pacer.js'
import { runTask } from '../primitives/task.js'
import type { TableReader } from '../table/table-reader.js'
import type { VectorField } from '../table/vector-column.js'
import type { VectorIndexReader } from '../table/vector-index.js'
import type { VectorSearch } from './plan.js'
import { isEffortGiven } from './plan-near-search.js'
import { partialCover } from './probed-rows.js'
import { coversOf } from './search-exact.js'

/**
 * Describe a vector search. `k`: maximum number of rows, `Infinity` for no limit. `isFiltered`: whether a filter
 * selects the rows to search. Opens the index, and reads no rows.
 */
export async function describeVectorSearch(
  search: VectorSearch,
  k: number,
  isFiltered: boolean,
  reader: TableReader,
  pacer: Pacer,
): Promise<string> {
  const { field, metric, lower, upper, batch, multi, index, fast } = search
  const bounds = [
    ...(lower === undefined ? [] : [`from ${lower}`]),
    ...(upper === undefined ? [] : [`below ${upper}`]),
  ]
  const within = bounds.length === 0 ? '' : `, _distance ${bounds.join(' ')}`
  const each = batch === null ? '' : `, for each of ${batch.length} vectors`
  const sum =
    multi === null ? '' : `, max-sim of ${multi.length} ${multi.length === 1 ? 'vector' : 'vectors'}`
  if (index === null) {
    return `KNNVectorDistance: exact, ${quote(field.name)}, ${metric}, k = ${countText(k)}${within}${each}${sum}${fast ? skippedText(field, reader) : ''}`
  }
  const { name, effort, refineFactor } = index
  const own = reader.vectorIndexes.find(known => known.name === name)!
  const asked = `name=${name}, k=${countText(k)}, deltas=${own.segments.length}, metric=${metric.toUpperCase()}, ${quote(field.name)}`
  const refined = refineFactor === undefined ? '' : `, refine_factor = ${refineFactor}`
  const few = isFiltered ? ', or exact if few rows pass the filter' : ''
  const poor = isEffortGiven(index) ? '' : await poorText(own, isFiltered, pacer)
  const left = await uncoveredText(own, fast, reader, pacer)
  return `ANNSubIndex: ${asked}${effortText(effort)}${refined}${within}${each}${sum}, candidates measured${few}${poor}${left}`
}

/** Describe how many segments are not used because of their low recall. Return '' if all segments are used. */
async function poorText({ segments }: VectorIndexReader, isFiltered: boolean, pacer: Pacer): Promise<string> {
  let poor = 0
  let least = 1
  let share = 0
  for (const segment of segments) {
    const { facts } = await segment.open(pacer.signal)
    if (!isPoor(facts, isFiltered)) continue
    poor++
    least = Math.min(least, leastRecall(facts, isFiltered))
    share = Math.max(share, poorShare(facts, isFiltered))
  }
  if (poor === 0) return ''
  const where = segments.length === 1 ? '' : ` of ${poor} of ${segments.length} segments`
  const few =
    share > poorKept
      ? `, and for ${(100 * share).toFixed(0)} % of queries less than ${poorRecall} of them`
      : ''
  return `, exact: all rows${where} measured, because the index finds only ${least.toFixed(2)} of the ten nearest rows${few} (rebuild it with other parameters, or set nprobes, ef or refineFactor)`
}

/** Print the maximum number of rows of a search. */
export function countText(k: number): string {
  return k === Number.POSITIVE_INFINITY ? 'all that match' : `${k}`
}

function effortText({ ef, leastPartitions, mostPartitions }: Effort): string {
  const partitions =
    leastPartitions === undefined && mostPartitions === undefined
      ? ''
      : `, partitions = ${leastPartitions ?? 'automatic'}..${mostPartitions ?? 'all'}`
  return `${partitions}${ef === undefined ? '' : `, ef = ${ef}`}`
}

function skippedText(field: VectorField, reader: TableReader): string {
  const hasCover = coversOf(field, reader).length > 0
  return hasCover ? ', unindexed rows skipped' : ', all rows skipped: the column has no index'
}

async function uncoveredText(
  index: VectorIndexReader,
  fast: boolean,
  reader: TableReader,
  pacer: Pacer,
): Promise<string> {
  let rows = 0
  for (const [fragment, covered] of await runTask(partialCover(index, reader, pacer)))
    rows += fragment.rows - covered.count
  if (rows === 0) return ''
  return `, ${rows} unindexed rows ${fast ? 'skipped' : 'measured'}`
}
