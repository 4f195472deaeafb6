/**
 * Full-text search with BM25. The statistics of BM25 cover all segments of an index and all unindexed rows together. So
 * scores do not depend on the division of the rows into segments.
 *
 * The number of rows and their average length count only live rows. The number of rows with a term also counts rows
 * that were deleted after their segment was built, until segments are merged (STORAGE S21). To exclude them, a search
 * would have to read all postings.
 */
import type { WordPrefix } from '../indexes/text/analysis/analyzer.js'
import type { Postings } from '../indexes/text/postings.js'
import {
  bm25,
  type Corpus,
  inverseFrequency,
  type ScoredRows,
  type SegmentQuery,
  type WeightedTerm,
  type WeightedUnion,
} from '../indexes/text/query.js'
import { bestRows } from '../indexes/text/search/best-rows.js'
import { everyRow } from '../indexes/text/search/every-row.js'
import { type ExpandedTerm, expanded } from '../indexes/text/search/near-terms.js'
import { prefixPostings } from '../indexes/text/search/prefix-postings.js'
import type { TextSegment } from '../indexes/text/segment.js'
import type { Fragment } from '../manifest/layout.js'
import { Bitset } from '../primitives/bitset.js'
import type { Pacer } from '../primitives/pacer.js'
import { partitionPoint } from '../primitives/partition-point.js'
import { RowSet } from '../primitives/row-set.js'
import { type MaybePromise, runTask, type Task, wait } from '../primitives/task.js'
import type { BoundExpression } from '../sql/bound-expression.js'
import type { Part } from '../table/table-reader.js'
import {
  fewHits,
  firstOf,
  mergeHits,
  Parts,
  type RankedHits,
  type RowHits,
  ranked,
  rankInPlace,
  searchColumns,
} from './hits.js'
import { partialCover } from './probed-rows.js'
import { passingParts } from './search-exact.js'
import type { RowSource } from './source.js'
import type { MatchNode, TextNode, TextSearch } from './text-plan.js'
import {
  bestOf,
  fragmentOf,
  joined,
  lowered,
  type Mixing,
  mixed,
  mixings,
  noPlaces,
  offsetOf,
  type ScoredPlaces,
} from './text-rows.js'
import { termsOf } from './text-statistics.js'
import { type Passing, type TextUnit, unitsOf } from './text-units.js'
import type { TextStatistics } from './units.js'
import { distanceFor, type TextLeaf } from './wanted-terms.js'

/** Maximum number of rows for which insertion sort is faster than `sort()`. */
const fewRows = 32
/** Maximum number of terms that are looked up without a pause. */
const fewTerms = 64
/** Number of parts whose rows are listed between two checks whether to let the event loop run. */
const partsAtOnce = 32
/** Number of rows that are ranked between two checks whether to let the event loop run. */
const rankedAtOnce = 8192

/**
 * Return the `limit` live rows with the best scores that match and pass `filter`, sorted by (score, row id). If `limit`
 * is `Infinity`, return all matches in row order. `share`: search only one unit; null: all rows.
 */
export function searchText(
  search: TextSearch,
  filter: BoundExpression | null,
  limit: number,
  source: RowSource,
  pacer: Pacer,
  share: TextShare | null = null,
): MaybePromise<RowHits> {
  return runTask(new TextRun(search, source, pacer, share).hits(filter, limit))
}

/** One unit of a search in one column, with the statistics of all units together. */
interface TextShare {
  /** Unit `i` is segment `i` of the index, and the last unit is the unindexed rows. */
  readonly unit: number
  readonly statistics: TextStatistics
}

const noTexts = { docs: 0, tokens: 0 }

/** A searched column. */
interface Searched {
  readonly units: readonly TextUnit[]
  /** Number of live rows whose text has at least one term. */
  readonly docs: number
  readonly corpus: Corpus
}

class TextRun {
  readonly #search: TextSearch
  readonly #source: RowSource
  readonly #pacer: Pacer
  readonly #share: TextShare | null
  /** With a share: the number of rows with each term of the search. */
  readonly #having: ReadonlyMap<string, number> | null
  readonly #columns: Searched[] = []

  constructor(search: TextSearch, source: RowSource, pacer: Pacer, share: TextShare | null) {
    this.#share = share
    this.#having =
      share === null ? null : new Map(termsOf(search).map((term, i) => [term, share.statistics.having[i]!]))
    this.#search = search
    this.#source = source
    this.#pacer = pacer
  }

  *hits(filter: BoundExpression | null, limit: number): Task<RowHits> {
    if (limit === 0) return yield* this.#ranked(noPlaces, 0)
    const isWhole = filter === null && this.#source.difference === null
    const passing = isWhole ? null : yield* this.#passing(filter)
    const { columns, query, fast } = this.#search
    for (let number = 0; number < columns.length; number++) {
      const wanted = { query, column: number }
      const which = { fast, unit: this.#share?.unit ?? null }
      const units = yield* unitsOf(columns[number]!, wanted, passing, which, this.#source, this.#pacer)
      let { docs, tokens } = this.#share?.statistics ?? noTexts
      if (this.#share === null) {
        for (const { live } of units) {
          docs += live.docs
          tokens += live.tokens
        }
      }
      this.#columns.push({ units, docs, corpus: { averageLength: Math.max(1, tokens) / Math.max(1, docs) } })
    }
    const rows = limit === Number.POSITIVE_INFINITY ? this.#all(query) : this.#best(query, limit)
    return yield* this.#ranked(yield* rows, limit)
  }

  /** Return the rows that pass the filter and are not in the version to compare with. */
  *#passing(filter: BoundExpression | null): Task<Passing> {
    const bits = new Map<Fragment, Bitset>()
    const fragments = yield* this.#fragments()
    for (const each of passingParts(this.#source, { filter, fragments }, [], this.#pacer)) {
      if (each instanceof Promise) {
        yield each
        continue
      }
      const { fragment, first } = each.part
      const known = bits.get(fragment) ?? new Bitset(fragment.rows)
      each.rows.addTo(known, first)
      bits.set(fragment, known)
    }
    return new Map(Array.from(bits, ([fragment, own]) => [fragment, RowSet.ofBits(own)]))
  }

  /** Return the fragments with rows of the unit to search. Undefined: all units are searched. */
  *#fragments(): Task<readonly Fragment[] | undefined> {
    if (this.#share === null) return undefined
    const { reader } = this.#source
    const { index: name } = this.#search.columns[0]!
    const index = reader.textIndexes.find(known => known.name === name)!
    const segment = index.segments[this.#share.unit]
    return segment?.fragments ?? [...(yield* partialCover(index, reader, this.#pacer)).keys()]
  }

  /**
   * Return a superset of the best `limit` matches of a node. It includes all rows with the same score as the last of
   * them, because the caller sorts these by row id.
   */
  #best(node: TextNode, limit: number): Task<ScoredPlaces> {
    switch (node.kind) {
      case 'match':
      case 'phrase':
        return this.#found(node, limit)
      case 'best':
        // A row's score is the best score of all nodes. So one of the best rows is also among the best rows of the node
        // with its score.
        return this.#bestOf(node.of, each => this.#best(each, limit))
      default:
        return this.#all(node)
    }
  }

  /** Return all matches of a node. */
  #all(node: TextNode): Task<ScoredPlaces> {
    switch (node.kind) {
      case 'match':
      case 'phrase':
        return this.#found(node, null)
      case 'best':
        return this.#bestOf(node.of, each => this.#all(each))
      default:
        return this.#combined(node)
    }
  }

  *#bestOf(nodes: readonly TextNode[], rowsOf: (node: TextNode) => Task<ScoredPlaces>): Task<ScoredPlaces> {
    let rows = noPlaces
    for (const each of nodes) rows = yield* this.#mixed(rows, yield* rowsOf(each), mixings.best)
    return rows
  }

  *#combined(node: Extract<TextNode, { kind: 'boost' | 'boolean' }>): Task<ScoredPlaces> {
    if (node.kind === 'boost') {
      const positive = yield* this.#all(node.positive)
      return yield* this.#mixed(positive, yield* this.#all(node.negative), lowered(node.negativeBoost))
    }
    const { must, mustNot, should } = node
    let rows = must.length > 0 ? yield* this.#all(must[0]!) : noPlaces
    for (const each of must.slice(1)) rows = yield* this.#mixed(rows, yield* this.#all(each), mixings.all)
    const added = must.length > 0 ? mixings.raised : mixings.any
    for (const each of should) rows = yield* this.#mixed(rows, yield* this.#all(each), added)
    for (const each of mustNot) rows = yield* this.#mixed(rows, yield* this.#all(each), mixings.without)
    return rows
  }

  *#mixed(a: ScoredPlaces, b: ScoredPlaces, mixing: Mixing): Task<ScoredPlaces> {
    const rows = mixed(a, b, mixing)
    if (this.#pacer.due()) yield this.#pacer.pause()
    return rows
  }

  /** Return the best `limit` matches of a leaf and rows with the same score. Null: all matches. */
  *#found(leaf: TextLeaf, limit: number | null): Task<ScoredPlaces> {
    const { units, corpus } = this.#columns[leaf.column]!
    if (leaf.terms.length === 0 && (leaf.kind === 'phrase' || leaf.prefix === null)) return noPlaces
    const query = isExact(leaf) ? this.#exact(leaf) : yield* this.#expanded(leaf as MatchNode)
    const lists: ScoredPlaces[] = []
    let floor = -Infinity
    for (const unit of units) {
      const { segment, allowed } = unit
      const found = yield* unit.on(
        limit === null
          ? everyRow(segment, query, corpus, allowed, this.#pacer)
          : bestRows(segment, query, corpus, { k: limit, allowed, floor }, this.#pacer),
      )
      if (found.ordinals.length === 0) continue
      // `limit` rows have at least this score, so rows of later units with a lower score are not needed.
      if (limit !== null && found.scores.length >= limit) floor = Math.max(floor, found.scores[limit - 1]!)
      const { ordinals, scores } = limit === null ? found : byOrdinal(found, unit.isById ? limit : Infinity)
      const places = unit.places(ordinals)
      lists.push({ places: places instanceof Promise ? yield* wait(places) : places, scores })
    }
    return lists.length === 0 ? noPlaces : joined(lists)
  }

  /** Return the terms of a leaf that stand only for themselves, with their weights. */
  #exact(leaf: TextLeaf): SegmentQuery {
    if (leaf.kind === 'phrase') {
      const terms = leaf.terms.map(({ term, offset }) => ({
        term,
        offset,
        weight: this.#maxScore(leaf, term),
      }))
      return { kind: 'phrase', terms, slop: leaf.slop }
    }
    const { all, boost } = leaf
    const groups = leaf.terms.map(({ term, count }) => [
      { term, weight: count * boost * this.#maxScore(leaf, term) },
    ])
    return { kind: 'terms', groups, all }
  }

  /** Return the terms of a leaf, and the terms for which fuzzy words and a prefix stand, with their weights. */
  *#expanded(leaf: MatchNode): Task<SegmentQuery> {
    const { all, boost, prefix } = leaf
    const groups: (WeightedTerm | WeightedUnion)[][] = []
    for (const { term, count } of leaf.terms) {
      const near = yield* this.#similarTerms(leaf, term)
      groups.push(
        near.map(({ term: each }) => ({ term: each, weight: count * boost * this.#maxScore(leaf, each) })),
      )
      if (this.#pacer.due()) yield this.#pacer.pause()
    }
    if (prefix !== null) groups.push([yield* this.#prefixed(leaf, prefix)])
    return { kind: 'terms', groups, all }
  }

  /**
   * The terms that begin with a prefix, as one term: rare terms would otherwise get the highest scores, and a search
   * takes too long with thousands of terms. The complete word matches too, because the term of a word may be shorter
   * than the word.
   */
  *#prefixed(leaf: MatchNode, { start, term }: WordPrefix): Task<WeightedUnion> {
    const similar = term === null ? [] : yield* this.#similarTerms(leaf, term)
    const others = similar.map(({ term }) => term)
    const postings = new Map<TextSegment, Postings>()
    let having = 0
    for (const unit of this.#columns[leaf.column]!.units) {
      const { segment } = unit
      const own = yield* unit.on(prefixPostings(segment, start, others, this.#pacer))
      if (own === null) continue
      postings.set(segment, own)
      having += own.docs
    }
    return { postings, weight: leaf.boost * this.#maxScoreOf(leaf, having) }
  }

  *#similarTerms(leaf: MatchNode, term: string): Task<readonly ExpandedTerm[]> {
    const distance = distanceFor(leaf, term)
    if (distance === 0) return [{ term, distance }]
    const segments = this.#columns[leaf.column]!.units.map(({ segment }) => segment)
    return yield* expanded(segments, term, distance, leaf.prefixLength, leaf.mostExpansions, this.#pacer)
  }

  /** Return the maximum score that a row can get for one term. */
  #maxScore(leaf: TextLeaf, term: string): number {
    let having = this.#having?.get(term) ?? 0
    if (this.#having === null) {
      for (const { segment } of this.#columns[leaf.column]!.units) having += segment.find(term)?.docs ?? 0
    }
    return this.#maxScoreOf(leaf, having)
  }

  /** Return the maximum score that a row can get for a term that `having` rows contain. */
  #maxScoreOf({ column }: TextLeaf, having: number): number {
    const { docs } = this.#columns[column]!
    // `having` counts deleted rows too, so it may exceed the number of live rows.
    return (bm25.k1 + 1) * inverseFrequency(Math.min(having, docs), docs)
  }

  /**
   * Return the best `limit` rows, sorted by (score, row id). If `limit` is `Infinity`, return all rows in row order.
   */
  *#ranked(rows: ScoredPlaces, limit: number): Task<RowHits> {
    const { reader } = this.#source
    const isAll = limit === Number.POSITIVE_INFINITY
    const { places, scores } = isAll ? rows : bestOf(rows, limit)
    const parts = new Parts()
    // Rank the rows in chunks, because the limit or the number of rows with equal scores may be large.
    const lists: RankedHits[] = []
    const capacity = isAll ? places.length : Math.min(places.length, rankedAtOnce)
    const partOf = new Uint32Array(capacity)
    const offsets = new Uint32Array(capacity)
    const distances = new Float32Array(capacity)
    let count = 0
    let [first, end, number] = [0, 0, 0]
    for (let from = 0; from < places.length; ) {
      if (places[from]! >= end) {
        const fragment = reader.layout.fragments[fragmentOf(places[from]!)]!
        const ids = reader.rowIds(fragment, this.#pacer.signal)
        const known = ids instanceof Promise ? yield* wait(ids) : ids
        const all = reader.partsOf(fragment, this.#pacer.signal)
        const offset = offsetOf(places[from]!)
        const part = partWith(offset, all instanceof Promise ? yield* wait(all) : all)
        number = parts.add(part, known)
        first = places[from]! - offset + part.first
        end = first + part.rows
      }
      for (; from < places.length && places[from]! < end && count < capacity; from++, count++) {
        partOf[count] = number
        offsets[count] = places[from]! - first
        distances[count] = -scores[from]!
      }
      if (count === capacity && from < places.length) {
        lists.push(ranked({ partOf, offsets, distances }, limit, parts))
        count = 0
      }
      if (parts.all.length % partsAtOnce === 0 && this.#pacer.due()) yield this.#pacer.pause()
    }
    let best: RankedHits = { partOf, offsets, distances }
    if (!isAll && places.length <= fewHits) {
      rankInPlace(best, parts)
      best = firstOf(best, limit)
    } else if (!isAll) {
      best = ranked(best, limit, parts, count)
      if (lists.length > 0) best = yield* mergeHits(parts, [...lists, best], limit, this.#pacer)
    }
    const values = best.distances
    for (let i = 0; i < values.length; i++) values[i] = 0 - values[i]!
    const computed = [{ name: searchColumns.score, values }]
    return { parts: parts.all, partOf: best.partOf, offsets: best.offsets, computed }
  }
}

/** Return the part of a fragment that has the row at `offset` of the fragment. */
function partWith(offset: number, parts: readonly Part[]): Part {
  return parts[partitionPoint(parts.length, i => parts[i]!.first <= offset) - 1]!
}

/** Return whether the terms of a leaf stand only for themselves, and are few enough to be looked up without a pause. */
function isExact(leaf: TextLeaf): boolean {
  return (
    leaf.kind === 'phrase' || (leaf.fuzziness === 0 && leaf.prefix === null && leaf.terms.length <= fewTerms)
  )
}

/** Return the first rows, at most `most`, sorted by ordinal. Changes the order of `found`. */
function byOrdinal(found: ScoredRows, most: number): ScoredRows {
  const { ordinals, scores } = found
  const count = Math.min(most, ordinals.length)
  if (count > fewRows) return manyByOrdinal(ordinals, scores, count)
  for (let i = 1; i < count; i++) {
    const [ordinal, score] = [ordinals[i]!, scores[i]!]
    let hole = i
    for (; hole > 0 && ordinals[hole - 1]! > ordinal; hole--) {
      ordinals[hole] = ordinals[hole - 1]!
      scores[hole] = scores[hole - 1]!
    }
    ordinals[hole] = ordinal
    scores[hole] = score
  }
  return count === ordinals.length
    ? found
    : { ordinals: ordinals.slice(0, count), scores: scores.slice(0, count) }
}

/** Sort many rows by ordinal. Sorts a typed array of integers, because this needs no calls of a comparison function. */
function manyByOrdinal(ordinals: Uint32Array, scores: Float32Array, count: number): ScoredRows {
  const keys = new BigUint64Array(count)
  const halves = new Uint32Array(keys.buffer)
  const bits = new Uint32Array(scores.buffer, scores.byteOffset, count)
  for (let i = 0; i < count; i++) {
    halves[2 * i] = bits[i]!
    halves[2 * i + 1] = ordinals[i]!
  }
  keys.sort()
  const sorted = { ordinals: new Uint32Array(count), scores: new Float32Array(count) }
  const sortedBits = new Uint32Array(sorted.scores.buffer)
  for (let i = 0; i < count; i++) {
    sorted.ordinals[i] = halves[2 * i + 1]!
    sortedBits[i] = halves[2 * i]!
  }
  return sorted
}
