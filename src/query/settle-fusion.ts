/** How rows found by vector and by text become one list, and how many of each are looked at (rule A-070). */
import { invalidInput } from '../errors.js'
import type { QueryRequest } from '../protocol/query-shapes.js'
import type { Fusion } from './text-plan.js'

const defaultRrf = 60

/** Rows that each search gives where the caller does not say: so many at least, and so many times the limit. */
const fewestCandidates = 200
const candidatesPerRow = 4

/**
 * By reciprocal ranks where nothing is said; null for a query that is not hybrid. `isOfAll`: whether the answer is made of all rows
 * that the search finds (groups, distinct rows, an order).
 */
export function settleFusion(
  { fusion, vector, full_text_query, k, offset = 0 }: QueryRequest,
  isOfAll: boolean,
): Fusion | null {
  if (vector == null || full_text_query === undefined) {
    if (fusion === undefined) return null
    throw invalidInput(
      'it is said how rows are joined, but there are not both a vector and a text whose rows could be',
    )
  }
  const { rrf, weighted, candidates: given } = fusion ?? {}
  if (isOfAll && given === undefined) {
    throw invalidInput(
      'aggregates, groups, distinct rows and an order read all rows that a search finds, and a hybrid search finds as many as its candidates',
      { hint: 'say how many each of its searches may find: fuse({ candidates: 1000 })' },
    )
  }
  const candidates = isOfAll ? given! : candidatesFor(given, k, offset)
  if (weighted !== undefined) {
    const { vector_weight: weight } = weighted
    if (weight >= 0 && weight <= 1) return { kind: 'weighted', weight, candidates }
    throw invalidInput(`the weight of the vector must be from 0 to 1, got ${weight}`)
  }
  const { k: constant = defaultRrf } = rrf ?? {}
  if (constant > 0) return { kind: 'rrf', k: constant, candidates }
  throw invalidInput(`k of the reciprocal ranks must be above 0, got ${constant}`)
}

/**
 * Rows that each search gives for a page of `limit` rows. It does not depend on the offset, so the pages of one limit are pages of
 * one list. Throws code 13 for a page that ends beyond the candidates.
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
