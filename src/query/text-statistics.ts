/**
 * Computes the statistics of BM25 for one unit of a text search. The sums over all units are the statistics of the
 * table, so that each unit can be searched separately with the scores of the whole search.
 */
import type { Pacer } from '../primitives/pacer.js'
import type { Task } from '../primitives/task.js'
import type { RowSource } from './source.js'
import type { TextNode, TextSearch } from './text-plan.js'
import { unitsOf } from './text-units.js'
import type { TextStatistics } from './units.js'
import type { TextLeaf } from './wanted-terms.js'

/** Return the matches and phrases of a query. */
function leavesOf(node: TextNode): readonly TextLeaf[] {
  switch (node.kind) {
    case 'match':
    case 'phrase':
      return [node]
    case 'best':
      return node.of.flatMap(leavesOf)
    case 'boost':
      return [node.positive, node.negative].flatMap(leavesOf)
    case 'boolean':
      return [...node.must, ...node.mustNot, ...node.should].flatMap(leavesOf)
  }
}

/** Return the distinct terms of a query. The order depends only on the query. */
export function termsOf({ query }: TextSearch): readonly string[] {
  return [...new Set(leavesOf(query).flatMap(({ terms }) => terms.map(({ term }) => term)))]
}

/** Return why the units of a text search cannot be searched separately. Null: they can. */
export function undividedText({ columns, query }: TextSearch): string | null {
  if (columns.length > 1) return 'it searches several text columns'
  if (columns[0]!.index === null) return 'the text column has no index'
  const isExact = (leaf: TextLeaf) => leaf.kind === 'phrase' || (leaf.fuzziness === 0 && leaf.prefix === null)
  return leavesOf(query).every(isExact) ? null : 'fuzzy words and prefixes need the terms of all segments'
}

/** Return the statistics of unit `unit` of a search in one column. */
export function* textStatistics(
  search: TextSearch,
  unit: number,
  source: RowSource,
  pacer: Pacer,
): Task<TextStatistics> {
  const { columns, query, fast } = search
  const units = yield* unitsOf(columns[0]!, { query, column: 0 }, null, { fast, unit }, source, pacer)
  const all = units.map(({ segment, live }) => ({
    ...live,
    having: termsOf(search).map(term => segment.find(term)?.docs ?? 0),
  }))
  return all.reduce(addStatistics, noStatistics(search))
}

/** Return the statistics of no rows. */
export function noStatistics(search: TextSearch): TextStatistics {
  return { docs: 0, tokens: 0, having: termsOf(search).map(() => 0) }
}

/** Return the statistics of two disjoint sets of rows together. */
export function addStatistics(a: TextStatistics, b: TextStatistics): TextStatistics {
  return {
    docs: a.docs + b.docs,
    tokens: a.tokens + b.tokens,
    having: a.having.map((count, i) => count + b.having[i]!),
  }
}
