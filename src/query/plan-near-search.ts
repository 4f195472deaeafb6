/** Chooses the vector index of a query and its search effort. Gives a reason for each index that is not used. */
import { invalidInput, quote, unsupported } from '../errors.js'
import type { Effort } from '../indexes/vector/segment.js'
import type { Metric } from '../kernels/metric.js'
import type { QueryRequest } from '../protocol/query-shapes.js'
import { holdsVectorLists, type VectorField } from '../table/vector-column.js'
import type { IndexSearch, VectorSearch } from './plan.js'

/** The properties of a vector index that decide whether a query can use it. */
export interface NearIndex {
  readonly name: string
  /** Null: the metric is unknown. */
  readonly metric: Metric | null
  /** Id of the indexed field: a column, or a field inside a struct. */
  readonly field: number
  /** The reason why no query can use the index. Absent: queries can use it. */
  readonly unusable?: string
}

/**
 * Some clients send this value for `nprobes`, `minimum_nprobes` and `maximum_nprobes` if their caller sets none of
 * them.
 */
const clientDefault = 20

/**
 * Choose the index and the metric of a vector search. `indexes`: all vector indexes of the version. The default metric
 * is the metric of the first index on the field. Without an index it is l2, for lists of vectors cosine (rule A-044).
 */
export function planNearSearch(
  request: QueryRequest,
  field: VectorField,
  indexes: readonly NearIndex[],
): Pick<VectorSearch, 'metric' | 'index' | 'fast' | 'unused'> {
  const own = indexes.filter(index => index.field === field.id)
  const usual = holdsVectorLists(field.type) ? 'cosine' : 'l2'
  const metric = request.distance_type ?? own.find(each => each.metric !== null)?.metric ?? usual
  const asked = effortOf(request)
  // With bypass_vector_index the search is exact (rule A-051) and includes unindexed rows.
  const fast = request.fast_search === true && request.bypass_vector_index !== true
  const obstacle =
    obstacleIn(request) ?? (holdsVectorLists(field.type) && !isEffortGiven(asked) ? recallUnknown : null)
  const unused: { index: string; reason: string }[] = []
  let index: IndexSearch | null = null
  for (const each of own) {
    const reason =
      each.unusable ??
      (each.metric !== metric
        ? `its metric is ${each.metric}`
        : (obstacle ?? (index === null ? null : `${index.name} is used`)))
    if (reason === null) index = { name: each.name, ...asked }
    else unused.push({ index: each.name, reason })
  }
  const lost = index === null && fast ? own.find(each => each.unusable !== undefined) : undefined
  if (lost !== undefined)
    throw unsupported(`fastSearch needs the index ${quote(lost.name)}, but ${lost.unusable}`, {
      hint: 'leave out fastSearch: the query then measures all rows',
    })
  return { metric, index, fast, unused }
}

/** Reason why an index on lists of vectors is not used by default. */
const recallUnknown =
  'the recall of an index on lists of vectors is not known, so all rows are measured (to use the index, set nprobes, ef or refineFactor)'

/** Return whether the caller set a search effort. Then an index is used even if its recall is low. */
export function isEffortGiven({
  effort,
  refineFactor,
}: Pick<IndexSearch, 'effort' | 'refineFactor'>): boolean {
  return refineFactor !== undefined || Object.values(effort).some(each => each !== undefined)
}

/** Return the reason why no index can answer the query. Return null if an index can. */
function obstacleIn({ bypass_vector_index, lower_bound, differs_from }: QueryRequest): string | null {
  if (bypass_vector_index === true) return 'bypassVectorIndex (bypass_vector_index) is given'
  if (lower_bound !== undefined)
    return 'an index finds only the nearest rows, so it cannot answer a lower bound of the distance'
  return differs_from === undefined ? null : 'only rows that differ from another version are wanted'
}

/** Return the search effort of a request. An option that is 0 counts as absent (rule A-049). */
function effortOf(request: QueryRequest): Pick<IndexSearch, 'effort' | 'refineFactor'> {
  const { nprobes, minimum_nprobes, maximum_nprobes, ef, refine_factor, k, offset = 0 } = request
  const isClientDefault =
    nprobes === clientDefault && minimum_nprobes === clientDefault && maximum_nprobes === clientDefault
  const most = isClientDefault ? undefined : maximum_nprobes || undefined
  let least = isClientDefault ? undefined : minimum_nprobes || undefined
  if (least !== undefined && most !== undefined && least > most) {
    throw invalidInput(
      `nprobes: min (minimum_nprobes) must be at most max (maximum_nprobes), got ${least} and ${most}`,
    )
  }
  if (!isClientDefault && nprobes && least === undefined && most === undefined) least = nprobes
  const effort: { -readonly [F in keyof Effort]: Effort[F] } = {}
  if (ef !== undefined) effort.ef = Math.max(ef, offset + k)
  if (least !== undefined) effort.leastPartitions = least
  if (most !== undefined) effort.mostPartitions = most
  return { effort, refineFactor: refine_factor || undefined }
}
