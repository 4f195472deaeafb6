/**
 * Searches a segment by ranges of rows. The algorithm is MaxScore (Turtle & Flood 1995) with block maxima (Ding & Suel, "Faster top-k
 * document retrieval using block-max indexes", SIGIR 2011), as in Lucene's MaxScoreBulkScorer (Grand et al., "From MaxScore to
 * Block-Max WAND", ECIR 2020):
 *
 * - The search skips a range if the bounds of its blocks show that no row can reach the required score.
 * - In other ranges, the clauses are divided into leading and other clauses. The other clauses are those with the lowest bounds, which
 *   together cannot reach the required score. The search sums the scores of the leading clauses in an array. It looks up a row in the
 *   other clauses only if the row may still reach the required score. If all clauses must match, only the rarest clause leads.
 * - The ranges with the highest bounds come first, because they raise the required score early.
 *
 * Sums may have rounding errors. The score of a row that stays is computed again, term by term in query order, as `ScoredRows` requires.
 */
import type { Bitset } from '../../../primitives/bitset.js'
import type { Pacer } from '../../../primitives/pacer.js'
import { lowerBound } from '../../../primitives/partition-point.js'
import type { Task } from '../../../primitives/task.js'
import type { TextSegment } from '../segment.js'
import type { Clause, Clauses } from './clauses.js'
import type { Found } from './found.js'
import type { Leaf } from './leaf.js'
import { type Norms, tableLengths } from './norms.js'
import type { Phrase } from './phrase.js'
import { mostRangeBits, type Scratch } from './scratch.js'

/** A range has at least two to the power of this many rows. The scores of a range stay in the L1 cache. */
const leastRangeBits = 10
/** Average number of postings that a range should have, if the largest range size allows it. */
const rangePostings = 256
/** Number of ranges with the highest bounds that are searched first. */
const firstRanges = 2

/** A search of one segment. */
interface SegmentSearch {
  readonly segment: TextSegment
  readonly query: Clauses
  readonly norms: Norms
  /** The rows that may match; null: all. */
  readonly allowed: Bitset | null
  readonly found: Found
}

/** Offer all matching rows of a segment to `found`. `wantsBest`: only the best rows are needed; they come in no particular order. */
export function* sweep(input: SegmentSearch, wantsBest: boolean, pacer: Pacer): Task<void> {
  const { query, found } = input
  const search = new Search(input)
  const { ranges } = search
  for (const clause of query.clauses) {
    search.add(clause)
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
  query.scratch.giveBack()
}

class Search {
  readonly ranges: number
  /** The upper bound of scores in range `i` is at index `firstBound + i`; -Infinity: no matching row is left in the range. */
  readonly #bounds: Float64Array
  readonly #firstBound: number
  readonly #bits: number
  readonly #lengths: TextSegment['lengths']
  readonly #leaves: readonly Leaf[]
  readonly #clauses: readonly Clause[]
  readonly #all: boolean
  readonly #phrase: Phrase | null
  readonly #norms: Norms
  readonly #allowed: Uint32Array | null
  readonly #found: Found
  readonly #scratch: Scratch
  /** By clause: upper bound of a row's score, in the current range, for this clause and all later ones together. */
  readonly #rest: Float64Array
  /** Number of leading clauses. */
  #leading = 0
  /** Whether the sum has no rounding difference from the score in query order. */
  #isExact = false

  constructor({ segment, query, norms, allowed, found }: SegmentSearch) {
    this.#lengths = segment.lengths
    this.#leaves = query.leaves
    this.#clauses = query.clauses
    this.#all = query.all
    this.#phrase = query.phrase
    this.#norms = norms
    this.#allowed = allowed === null ? null : allowed.words
    this.#found = found
    this.#rest = new Float64Array(query.clauses.length + 1)
    this.#scratch = query.scratch
    let postings = 0
    for (const clause of query.all ? query.clauses.slice(0, 1) : query.clauses) postings += clause.rows
    const rows = endOf(query)
    let bits = leastRangeBits
    while (bits < mostRangeBits && rows >>> bits > postings / rangePostings) bits++
    this.#bits = bits
    this.ranges = ((rows - 1) >>> bits) + 1
    const { array: bounds, from } = query.scratch.numbers(this.ranges)
    this.#bounds = bounds.fill(0, from, from + this.ranges)
    this.#firstBound = from
  }

  /** Return the upper bound of scores in a range; -Infinity: no matching row is left in the range. */
  bound(range: number): number {
    return this.#bounds[this.#firstBound + range]!
  }

  /** Return the range with the greatest bound. */
  best(): number {
    let best = 0
    for (let range = 1; range < this.ranges; range++) if (this.bound(range) > this.bound(best)) best = range
    return best
  }

  /** Search a range for the first time. */
  visit(range: number): void {
    const bound = this.bound(range)
    this.#bounds[this.#firstBound + range] = -Infinity
    const start = range << this.#bits
    const end = start + (1 << this.#bits)
    this.#chooseLeading(range, end)
    const leaves = this.#leaves
    for (let i = 0; i < leaves.length; i++) leaves[i]!.restart(range)
    const first = this.#clauses[0]!
    if (this.#leading === 1 && first.leaves.length === 1) {
      this.#offerLeading(first.leaves[0]!, range, start, end)
      return
    }
    for (let i = 0; i < leaves.length; i++) {
      const leaf = leaves[i]!
      if (leaf.clause < this.#leading) this.#addScores(leaf, range, start, end, bound - leaf.top)
    }
    for (let i = 0; i < leaves.length; i++) leaves[i]!.restart(range)
    this.#offerSums(start)
  }

  /** Add the bounds of a clause to the ranges, and set the first block of each range in its leaves. Call before the first `visit`. */
  add({ leaves }: Clause): void {
    const scratch = this.#scratch
    const bounds = this.#bounds
    const first = this.#firstBound
    const { ranges } = this
    const bits = this.#bits
    /** End of the ranges that have rows of the clause. */
    let end = 0
    for (let l = 0; l < leaves.length; l++) {
      const leaf = leaves[l]!
      const { last, blocks, bounds: own, firstBound } = leaf
      const { array: starts, from } = scratch.integers(ranges)
      leaf.starts = starts
      leaf.firstStart = from
      let block = 0
      let range = 0
      for (; range < ranges; range++) {
        const start = range << bits
        const behind = start + (1 << bits) - 1
        while (block < blocks && last[block]! < start) block++
        if (block === blocks) break
        starts[from + range] = block
        let top = own[firstBound + block]!
        while (last[block]! < behind && block + 1 < blocks) {
          block++
          if (own[firstBound + block]! > top) top = own[firstBound + block]!
        }
        bounds[first + range]! += top
      }
      starts.fill(blocks, from + range, from + ranges)
      if (range > end) end = range
    }
    if (this.#all) bounds.fill(-Infinity, first + end, first + ranges)
  }

  /** Determine the leading clauses of a range. */
  #chooseLeading(range: number, end: number): void {
    const [clauses, rest, { least }] = [this.#clauses, this.#rest, this.#found]
    let sum = 0
    let leading = clauses.length
    rest[leading] = 0
    for (let c = clauses.length - 1; c >= 0; c--) {
      const { leaves } = clauses[c]!
      for (let i = 0; i < leaves.length; i++) {
        const leaf = leaves[i]!
        leaf.top = boundOf(leaf, range, end)
        sum += leaf.top
      }
      rest[c] = sum
      if (sum < least) leading = c
    }
    this.#leading = this.#all ? 1 : leading
    this.#isExact = this.#leading === clauses.length || this.#leaves.length <= 2
  }

  /** Add the scores of a term to the sums of its rows. `others`: upper bound of the scores of all other terms. */
  #addScores(leaf: Leaf, range: number, start: number, end: number, others: number): void {
    const { weight, last, bounds, firstBound, blocks } = leaf
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
      if (last[block]! >= end - 1) return
    }
  }

  /** Offer the rows of the only leading term. */
  #offerLeading(leaf: Leaf, range: number, start: number, end: number): void {
    const { weight, last, bounds, firstBound, blocks } = leaf
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
      if (last[block]! >= end - 1) return
    }
  }

  /** Offer the rows with sums, and reset the sums to 0. */
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
   * Look up a row in the other clauses while it may reach the required score, and offer the row if it does. If a single leaf leads, its
   * `at` must be at the row.
   */
  #lookUp(row: number, sum: number): void {
    const clauses = this.#clauses
    const rest = this.#rest
    const found = this.#found
    const norm = this.#norms.of(this.#lengths[row]!)
    for (let c = this.#leading; c < clauses.length; c++) {
      if (sum + rest[c]! < found.least) return
      const { leaves } = clauses[c]!
      let has = false
      for (let i = 0; i < leaves.length; i++) {
        const leaf = leaves[i]!
        const block = leaf.reach(row)
        if (block === leaf.blocks) continue
        // Computing the upper bound for a row of this length is faster than unpacking a block.
        if (leaves.length === 1 && block !== leaf.block) {
          const frequency = leaf.mostFrequent[block]!
          if (sum + leaf.weight * (frequency / (frequency + norm)) + rest[c + 1]! < found.least) return
        }
        if (!leaf.has(row, block)) continue
        has = true
        sum += leaf.share(norm)
      }
      if (!has && this.#all) return
    }
    if (sum < found.least) return
    const score = Math.fround(this.#isExact ? sum : this.#score(row, norm))
    if (this.#phrase === null || this.#phrase.matches()) found.offer(row, score)
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

/** Return the exclusive end of the rows that can match. */
function endOf({ clauses, all }: Clauses): number {
  let end = all ? Infinity : 0
  for (const { leaves } of clauses) {
    let last = 0
    for (const leaf of leaves) last = Math.max(last, leaf.last[leaf.blocks - 1]!)
    end = all ? Math.min(end, last + 1) : Math.max(end, last + 1)
  }
  return end
}

/** Return the upper bound of scores for a term in a range. */
function boundOf(leaf: Leaf, range: number, end: number): number {
  const { bounds, firstBound, last, blocks } = leaf
  let top = 0
  for (let block = leaf.starts[leaf.firstStart + range]!; block < blocks; block++) {
    if (bounds[firstBound + block]! > top) top = bounds[firstBound + block]!
    if (last[block]! >= end - 1) break
  }
  return top
}
