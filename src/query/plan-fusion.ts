/** Plans how a hybrid search merges its two results, and how many candidates each search returns (rule A-070). */
import { invalidInput } from '../errors.js'
import type { QueryRequest } from '../protocol/query-shapes.js'
import type { Fusion } from './text-plan.js'

const defaultRrf = 60

/** Minimum of the default number of candidates. */
const fewestCandidates = 200
/** Default number of candidates per row of the limit. */
const candidatesPerRow = 4

/**
 * Plan the fusion of a hybrid search. The default is reciprocal rank fusion. Returns null for a query that is not
 * hybrid. `isOfAll`: whether the answer needs all rows that the search returns (groups, distinct rows, an order).
 */
export function planFusion(
  { fusion, vector, full_text_query, k, offset = 0 }: QueryRequest,
  isOfAll: boolean,
): Fusion | null {
  if (vector == null || full_text_query === undefined) {
    if (fusion === undefined) return null
    throw invalidInput('fusion is given, but the query does not have both a vector and a text')
  }
  const { rrf, weighted, candidates: given } = fusion ?? {}
  if (isOfAll && given === undefined) {
    throw invalidInput(
      'a hybrid search with aggregates, groups, distinct rows or an order needs the number of candidates, because they use all candidates',
      { hint: 'set the number of candidates of each search: fuse({ candidates: 1000 })' },
    )
  }
  const candidates = isOfAll ? given! : candidatesFor(given, k, offset)
  if (weighted !== undefined) {
    const { vector_weight: weight } = weighted
    if (weight >= 0 && weight <= 1) return { kind: 'weighted', weight, candidates }
    throw invalidInput(`the weight of the vector search must be from 0 to 1, got ${weight}`)
  }
  const { k: constant = defaultRrf } = rrf ?? {}
  if (constant > 0) return { kind: 'rrf', k: constant, candidates }
  throw invalidInput(`k of reciprocal rank fusion must be above 0, got ${constant}`)
}

/**
 * Return the number of candidates of each search. `given`: the number in the request; undefined: the default for pages
 * of `limit` rows. The result does not depend on the offset, so that pages with the same limit are pages of the same
 * list. Throws `InvalidInput` if the page ends after the last candidate.
 */
export function candidatesFor(given: number | undefined, limit: number, offset: number): number {
  const candidates = given ?? Math.max(fewestCandidates, candidatesPerRow * limit)
  const end = offset + limit
  if (end <= candidates) return candidates
  const page = offset === 0 ? `limit ${limit} asks` : `limit ${limit} with offset ${offset} asks`
  throw invalidInput(`${page} for rows beyond the ${candidates} candidates of a hybrid search`, {
    hint: `give the same candidates with every page, ${end} or more: fuse({ candidates: ${end} })`,
  })
}
