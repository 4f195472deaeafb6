/**
 * Searches a segment for rows that have at least one of several terms, range by range. A range is a set of consecutive rows. The algorithm is MaxScore (Turtle & Flood
 * 1995) with block maxima (Ding & Suel, "Faster top-k document retrieval using block-max indexes", SIGIR 2011).
 * Lucene's MaxScoreBulkScorer is similar (Grand et al., "From MaxScore to Block-Max WAND", ECIR 2020).
 *
 * - The required score is the minimum score of a row that can still be among the best rows (`Found.least`). It
 *   increases during the search.
 * - Each block of postings has an upper bound of scores. The search skips a range if these bounds show that no row of
 *   the range can reach the required score.
 * - In other ranges, the search divides the terms into leading and other terms. The other terms have the lowest bounds,
 *   and together they cannot reach the required score. The search sums the scores of the leading terms in an array. It
 *   looks up a row in the other terms only if the row may still reach the required score.
 * - The search begins with the ranges with the highest bounds, because they raise the required score early.
 *
 * A sum may have a rounding error. Therefore the score of each returned row is computed again, term by term in query
 * order, as `ScoredRows` requires.
 */
import type { Pacer } from '../../../primitives/pacer.js'
import { lowerBound } from '../../../primitives/partition-point.js'
import type { Task } from '../../../primitives/task.js'
import { directoryNumbers } from '../postings.js'
import type { TextSegment } from '../segment.js'
import type { SegmentSearch } from './clauses.js'
import type { Found } from './found.js'
import type { Leaf } from './leaf.js'
import { type Norms, tableLengths } from './norms.js'
import { mostRangeBits, type Scratch } from './scratch.js'

/** Binary logarithm of the minimum number of rows in a range. The scores of a range fit into the L1 cache. */
const leastRangeBits = 10
/** Desired average number of postings in a range. Ranges have fewer postings if they reach their maximum size. */
const rangePostings = 256
/** Number of ranges with the highest bounds that are searched first. */
const firstRanges = 2

/**
 * Offer the matching rows of a segment to `found`. Rows that cannot reach the required score may be omitted.
 * `wantsBest`: search the ranges with the highest bounds first, so that rows do not come in the order of ordinals.
 */
export function* sweep(input: SegmentSearch, wantsBest: boolean, pacer: Pacer): Task<void> {
  const { query, found } = input
  const search = new Search(input)
  const { ranges } = search
  for (const leaf of query.leaves) {
    search.add(leaf)
    if (pacer.due()) yield pacer.pause()
  }
  for (let i = wantsBest && ranges > 2 * firstRanges ? firstRanges : 0; i > 0; i--) {
    const range = search.best()
    if (search.bound(range) < found.least) break
    search.visit(range)
  }
  for (let range = 0; range < ranges; range++) {
    if (search.bound(range) < found.least) continue
    search.visit(range)
    if (pacer.due()) yield pacer.pause()
  }
}

class Search {
  readonly ranges: number
  /**
   * The upper bound of scores in range `i` is at index `#firstBound + i`. It is -Infinity if the range was searched or
   * no row of it can match.
   */
  readonly #bounds: Float64Array
  readonly #firstBound: number
  /** Binary logarithm of the number of rows in a range. */
  readonly #bits: number
  readonly #lengths: TextSegment['lengths']
  /** All terms, in query order, and by descending greatest bound. */
  readonly #leaves: readonly Leaf[]
  readonly #ranked: readonly Leaf[]
  readonly #norms: Norms
  readonly #allowed: Uint32Array | null
  readonly #found: Found
  readonly #scratch: Scratch
  /** By rank of a term: upper bound of the score of a row in the current range, for this and all later terms together. */
  readonly #rest: Float64Array
  /** Number of leading terms: those with the highest bounds. */
  #leading = 0
  /** True if a sum equals the score in query order, without rounding differences. */
  #isExact = false

  constructor({ segment, query: { leaves, scratch }, norms, allowed, found }: SegmentSearch) {
    this.#lengths = segment.lengths
    this.#leaves = leaves
    this.#norms = norms
    this.#allowed = allowed === null ? null : allowed.words
    this.#found = found
    this.#scratch = scratch
    let postings = 0
    let rows = 0
    for (const leaf of leaves) {
      leaf.addBounds(norms, scratch)
      postings += leaf.rows
      rows = Math.max(rows, leaf.last(leaf.blocks - 1) + 1)
    }
    this.#ranked = [...leaves].sort((a, b) => b.most - a.most)
    this.#rest = new Float64Array(leaves.length + 1)
    let bits = leastRangeBits
    while (bits < mostRangeBits && rows >>> bits > postings / rangePostings) bits++
    this.#bits = bits
    this.ranges = ((rows - 1) >>> bits) + 1
    const { array: bounds, from } = scratch.numbers(this.ranges)
    this.#bounds = bounds.fill(0, from, from + this.ranges)
    this.#firstBound = from
  }

  /**
   * Return the upper bound of scores in a range. Return -Infinity if the range was searched or no row of it can match.
   */
  bound(range: number): number {
    return this.#bounds[this.#firstBound + range]!
  }

  /** Return the range with the greatest bound. */
  best(): number {
    let best = 0
    for (let range = 1; range < this.ranges; range++) if (this.bound(range) > this.bound(best)) best = range
    return best
  }

  /** Search a range, and mark it as searched. */
  visit(range: number): void {
    const bound = this.bound(range)
    this.#bounds[this.#firstBound + range] = -Infinity
    const start = range << this.#bits
    const end = start + (1 << this.#bits)
    this.#chooseLeading(range, end)
    const ranked = this.#ranked
    this.#restart(range)
    if (this.#leading === 1) {
      this.#offerLeading(ranked[0]!, range, start, end)
      return
    }
    for (let i = 0; i < this.#leading; i++) {
      const leaf = ranked[i]!
      this.#addScores(leaf, range, start, end, bound - leaf.top)
    }
    this.#restart(range)
    this.#offerSums(start)
  }

  /** Move all terms to the start of a range. */
  #restart(range: number): void {
    const leaves = this.#leaves
    for (let i = 0; i < leaves.length; i++) {
      const leaf = leaves[i]!
      leaf.restart(leaf.starts[leaf.firstStart + range]!)
    }
  }

  /**
   * Add the bounds of a term to the bounds of the ranges. Also set the first block of the term in each range. Call this
   * for every term before the first `visit`.
   */
  add(leaf: Leaf): void {
    const bounds = this.#bounds
    const first = this.#firstBound
    const { ranges } = this
    const bits = this.#bits
    const { directory, blocks, bounds: own, firstBound } = leaf
    const { array: starts, from } = this.#scratch.integers(ranges)
    leaf.starts = starts
    leaf.firstStart = from
    let block = 0
    let range = 0
    for (; range < ranges; range++) {
      const start = range << bits
      const behind = start + (1 << bits) - 1
      while (block < blocks && directory[directoryNumbers * block]! < start) block++
      if (block === blocks) break
      starts[from + range] = block
      let top = own[firstBound + block]!
      while (directory[directoryNumbers * block]! < behind && block + 1 < blocks) {
        block++
        if (own[firstBound + block]! > top) top = own[firstBound + block]!
      }
      bounds[first + range]! += top
    }
    starts.fill(blocks, from + range, from + ranges)
  }

  /** Determine the leading terms of a range. */
  #chooseLeading(range: number, end: number): void {
    const [ranked, rest, { least }] = [this.#ranked, this.#rest, this.#found]
    let sum = 0
    let leading = ranked.length
    rest[leading] = 0
    for (let i = ranked.length - 1; i >= 0; i--) {
      const leaf = ranked[i]!
      leaf.top = boundOf(leaf, range, end)
      sum += leaf.top
      rest[i] = sum
      if (sum < least) leading = i
    }
    this.#leading = leading
    this.#isExact = leading === ranked.length || ranked.length <= 2
  }

  /**
   * Add the scores of a term to the sums of its rows. `others`: upper bound of the score of a row for all other terms.
   */
  #addScores(leaf: Leaf, range: number, start: number, end: number, others: number): void {
    const { weight, directory, bounds, firstBound, blocks } = leaf
    const { least } = this.#found
    const lengths = this.#lengths
    const norms = this.#norms
    const { table } = norms
    const { sums, touched } = this.#scratch
    for (let block = leaf.starts[leaf.firstStart + range]!; block < blocks; block++) {
      if (!(others + bounds[firstBound + block]! < least)) {
        if (block !== leaf.block) leaf.load(block)
        const { docs, frequencies, count } = leaf
        for (let i = docs[0]! >= start ? 0 : lowerBound(docs, count, start); i < count; i++) {
          const row = docs[i]!
          if (row >= end) return
          const frequency = frequencies[i]!
          const length = lengths[row]!
          const norm = length < tableLengths ? table[length]! : norms.of(length)
          const at = row - start
          sums[at]! += weight * (frequency / (frequency + norm))
          touched[at >>> 5]! |= 1 << (at & 31)
        }
      }
      if (directory[directoryNumbers * block]! >= end - 1) return
    }
  }

  /** Offer the rows of a range if a single term leads. */
  #offerLeading(leaf: Leaf, range: number, start: number, end: number): void {
    const { weight, directory, bounds, firstBound, blocks } = leaf
    const found = this.#found
    const allowed = this.#allowed
    const rest = this.#rest[1]!
    const lengths = this.#lengths
    const norms = this.#norms
    const { table } = norms
    for (let block = leaf.starts[leaf.firstStart + range]!; block < blocks; block++) {
      if (!(rest + bounds[firstBound + block]! < found.least)) {
        if (block !== leaf.block) leaf.load(block)
        const { docs, frequencies, count } = leaf
        for (let i = docs[0]! >= start ? 0 : lowerBound(docs, count, start); i < count; i++) {
          const row = docs[i]!
          if (row >= end) return
          const frequency = frequencies[i]!
          const length = lengths[row]!
          const norm = length < tableLengths ? table[length]! : norms.of(length)
          const sum = weight * (frequency / (frequency + norm))
          if (sum + rest < found.least) continue
          if (allowed !== null && ((allowed[row >>> 5]! >>> (row & 31)) & 1) === 0) continue
          leaf.at = i
          this.#lookUp(row, sum)
        }
      }
      if (directory[directoryNumbers * block]! >= end - 1) return
    }
  }

  /** Offer the rows of a range to which scores were added, and reset their sums to 0. */
  #offerSums(start: number): void {
    const { sums, touched } = this.#scratch
    const found = this.#found
    const allowed = this.#allowed
    const rest = this.#rest[this.#leading]!
    const words = 1 << (this.#bits - 5)
    const firstWord = start >>> 5
    for (let w = 0; w < words; w++) {
      let word = touched[w]! | 0
      if (word === 0) continue
      touched[w] = 0
      const permitted = allowed === null ? -1 : (allowed[firstWord + w] ?? 0)
      while (word !== 0) {
        const low = word & -word
        word ^= low
        const at = (w << 5) + 31 - Math.clz32(low)
        const sum = sums[at]!
        sums[at] = 0
        if (sum + rest >= found.least && (permitted & low) !== 0) this.#lookUp(start + at, sum)
      }
    }
  }

  /**
   * Look up a row in the other terms. Stop when the row can no longer reach the required score. If it reaches this
   * score, offer the row. `sum`: the score for the leading terms. If a single term leads, its `at` must be the index of
   * the row.
   */
  #lookUp(row: number, sum: number): void {
    const ranked = this.#ranked
    const rest = this.#rest
    const found = this.#found
    const norm = this.#norms.of(this.#lengths[row]!)
    for (let i = this.#leading; i < ranked.length; i++) {
      if (sum + rest[i]! < found.least) return
      const leaf = ranked[i]!
      const block = leaf.reach(row)
      if (block === leaf.blocks) continue
      // Compute the upper bound for a row of this length first, because this is faster than unpacking a block.
      if (block !== leaf.block) {
        const frequency = leaf.mostFrequent(block)
        if (sum + leaf.weight * (frequency / (frequency + norm)) + rest[i + 1]! < found.least) return
      }
      if (leaf.has(row, block)) sum += leaf.share(norm)
    }
    if (sum >= found.least) found.offer(row, Math.fround(this.#isExact ? sum : this.#score(row, norm)))
  }

  /** Return the score of a row, summed in query order. */
  #score(row: number, norm: number): number {
    const leaves = this.#leaves
    let score = 0
    for (let i = 0; i < leaves.length; i++) {
      const leaf = leaves[i]!
      if (leaf.has(row, leaf.reach(row))) score += leaf.share(norm)
    }
    return score
  }
}

/** Return the upper bound of scores for a term in a range. */
function boundOf(leaf: Leaf, range: number, end: number): number {
  const { bounds, firstBound, directory, blocks } = leaf
  let top = 0
  for (let block = leaf.starts[leaf.firstStart + range]!; block < blocks; block++) {
    if (bounds[firstBound + block]! > top) top = bounds[firstBound + block]!
    if (directory[directoryNumbers * block]! >= end - 1) break
  }
  return top
}
