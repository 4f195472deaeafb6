/** By which index rows near a vector are found, how hard it looks, and why one is not asked. */
import { invalidInput } from '../errors.js'
import type { Effort } from '../indexes/vector/segment.js'
import type { Metric } from '../kernels/metric.js'
import type { QueryRequest } from '../protocol/query-shapes.js'
import { holdsVectorLists, type VectorField } from '../table/vector-column.js'
import type { IndexSearch, VectorSearch } from './plan.js'

/** What of a vector index decides whether a query asks it. */
export interface NearIndex {
  readonly name: string
  readonly metric: Metric
  /** Id of its column, or of the field inside of structs. */
  readonly field: number
}

/** Partitions that one family of clients names in every request, whether their callers have said anything or not. */
const unsaid = 20

/** `indexes`: all there are. Without a distance type that of the index counts, or l2 (rule A-044); for lists of vectors cosine. */
export function settleNear(
  request: QueryRequest,
  field: VectorField,
  indexes: readonly NearIndex[],
): Pick<VectorSearch, 'metric' | 'index' | 'fast' | 'unused'> {
  const own = indexes.filter(index => index.field === field.id)
  const usual = holdsVectorLists(field.type) ? 'cosine' : 'l2'
  const metric = request.distance_type ?? own[0]?.metric ?? usual
  const asked = effortOf(request)
  // Without an index the answer is exact (rule A-051), whatever is covered.
  const fast = request.fast_search === true && request.bypass_vector_index !== true
  const obstacle = obstacleIn(request) ?? (holdsVectorLists(field.type) && !isTold(asked) ? untold : null)
  const unused: { index: string; reason: string }[] = []
  let index: IndexSearch | null = null
  for (const each of own) {
    const reason =
      each.metric !== metric
        ? `it tells distances by ${each.metric}`
        : (obstacle ?? (index === null ? null : `${index.name} is asked`))
    if (reason === null) index = { name: each.name, ...asked }
    else unused.push({ index: each.name, reason })
  }
  return { metric, index, fast, unused }
}

/** Why an index of lists of vectors is not asked unless the caller says how hard to look. */
const untold =
  'how many of the nearest rows an index of lists finds is not known: all rows measured (to ask it, say how hard to look: nprobes, ef, refineFactor)'

/** Whether the caller said how hard to look: then an index that finds too few of the nearest rows is asked all the same. */
export function isTold({ effort, refineFactor }: Pick<IndexSearch, 'effort' | 'refineFactor'>): boolean {
  return refineFactor !== undefined || Object.values(effort).some(each => each !== undefined)
}

/** Why no index can answer, whichever there is. */
function obstacleIn({ bypass_vector_index, lower_bound, differs_from }: QueryRequest): string | null {
  if (bypass_vector_index === true) return 'bypass_vector_index is given'
  if (lower_bound !== undefined)
    return 'of rows that are not the nearest, as lower_bound wants them, it knows nothing'
  return differs_from === undefined ? null : 'only rows that differ from another version are wanted'
}

/** What is 0 is as good as absent (rule A-049). */
function effortOf(request: QueryRequest): Pick<IndexSearch, 'effort' | 'refineFactor'> {
  const { nprobes, minimum_nprobes, maximum_nprobes, ef, refine_factor, k, offset = 0 } = request
  const isUnsaid = nprobes === unsaid && minimum_nprobes === unsaid && maximum_nprobes === unsaid
  const most = isUnsaid ? undefined : maximum_nprobes || undefined
  let least = isUnsaid ? undefined : minimum_nprobes || undefined
  if (least !== undefined && most !== undefined && least > most) {
    throw invalidInput(`minimum_nprobes is ${least}, more than maximum_nprobes, which is ${most}`)
  }
  if (!isUnsaid && nprobes && least === undefined && most === undefined) least = nprobes
  const effort: { -readonly [F in keyof Effort]: Effort[F] } = {}
  if (ef !== undefined) effort.ef = Math.max(ef, offset + k)
  if (least !== undefined) effort.leastPartitions = least
  if (most !== undefined) effort.mostPartitions = most
  return { effort, refineFactor: refine_factor || undefined }
}
