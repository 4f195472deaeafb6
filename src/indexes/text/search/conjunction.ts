/**
 * Searches a segment for rows that match all clauses of a query, and the positions of a phrase.
 *
 * - The rarest clause leads: the search reads its rows in order, and looks up each row in the other clauses by galloping
 *   search.
 * - If the second clause has only a few times as many rows, a filter is faster. The search sets a bit for each row of a
 *   block of the leading term, and tests all rows of the second term in the range of the block.
 * - As soon as enough rows are found, the search uses the upper bounds of the blocks of postings (Ding & Suel, "Faster
 *   top-k document retrieval using block-max indexes", SIGIR 2011). It skips blocks and rows of the leading clause that
 *   cannot reach the required score (`Found.least`).
 *
 * The score of a returned row is computed term by term in query order, as `ScoredRows` requires.
 */
import type { Pacer } from '../../../primitives/pacer.js'
import { lowerBound } from '../../../primitives/partition-point.js'
import type { Task } from '../../../primitives/task.js'
import type { Clause, SegmentSearch } from './clauses.js'
import type { Leaf } from './leaf.js'
import { mostRangeBits } from './scratch.js'

/** Blocks of the leading term that are read between two checks of the clock. */
const blocksAtOnce = 32
/** The second term is scanned if it has less than this many times the rows of the leading term. */
const scannedRows = 12
const filterMask = (1 << (mostRangeBits - 5)) - 1
/** Number of blocks of the leading term with the highest bounds that are read first. */
const firstBlocks = 2
/** Minimum number of blocks of the leading term for which this pays. */
const manyBlocks = 16

/**
 * Offer the matching rows of a segment to `found`. Rows that cannot reach the required score may be omitted. `clauses`:
 * the clauses of the query, the rarest first.
 */
export function* conjunction(
  input: SegmentSearch,
  clauses: readonly Clause[],
  wantsBest: boolean,
  pacer: Pacer,
): Task<void> {
  const search = new Conjunction(input, clauses)
  const { leaves } = clauses[0]!
  if (leaves.length > 1) {
    for (let start = 0; start < input.segment.rows; start += 1 << mostRangeBits) {
      search.visitRange(start)
      if (pacer.due()) yield pacer.pause()
    }
    return
  }
  const { blocks } = leaves[0]!
  const first = wantsBest && blocks >= manyBlocks ? search.bestBlocks(firstBlocks) : []
  for (const block of first) search.visitBlock(block)
  if (first.length > 0) search.restart()
  for (let block = 0; block < blocks; block++) {
    if (!first.includes(block)) search.visitBlock(block)
    if (block % blocksAtOnce === blocksAtOnce - 1 && pacer.due()) yield pacer.pause()
  }
}

class Conjunction {
  readonly #lengths: SegmentSearch['segment']['lengths']
  readonly #leaves: readonly Leaf[]
  readonly #clauses: readonly Clause[]
  /** Whether every clause has one term. */
  readonly #isPlain: boolean
  readonly #phrase: SegmentSearch['query']['phrase']
  readonly #norms: SegmentSearch['norms']
  readonly #allowed: Uint32Array | null
  readonly #found: SegmentSearch['found']
  /**
   * A bit for each row of a block of the leading term. All bits are 0 between two calls. In a search by ranges: a bit for
   * each row of the range.
   */
  readonly #filter: Uint32Array
  /** The second term, if it is scanned and not looked up row by row. */
  readonly #second: Leaf | null

  constructor({ segment, query, norms, allowed, found }: SegmentSearch, clauses: readonly Clause[]) {
    this.#lengths = segment.lengths
    this.#leaves = query.leaves
    this.#clauses = clauses
    this.#isPlain = query.leaves.length === clauses.length
    this.#phrase = query.phrase
    this.#norms = norms
    this.#allowed = allowed === null ? null : allowed.words
    this.#found = found
    this.#filter = query.scratch.touched
    const [lead, second] = clauses
    const isScanned = second!.leaves.length === 1 && second!.rows < scannedRows * lead!.rows
    this.#second = isScanned ? second!.leaves[0]! : null
  }

  /** Return the blocks of the only leading term with the highest bounds, ascending. */
  bestBlocks(count: number): readonly number[] {
    const lead = this.#clauses[0]!.leaves[0]!
    const best: number[] = []
    const bounds: number[] = []
    for (let block = 0; block < lead.blocks; block++) {
      const bound = lead.bound(block, this.#norms)
      let at = best.length
      while (at > 0 && bounds[at - 1]! < bound) at--
      if (at === count) continue
      best.splice(at, 0, block)
      bounds.splice(at, 0, bound)
      if (best.length > count) {
        best.pop()
        bounds.pop()
      }
    }
    return best.sort((a, b) => a - b)
  }

  /** Begin again at the first row. */
  restart(): void {
    for (const leaf of this.#leaves) leaf.restart(0)
  }

  /** Offer the matching rows of a block of the only leading term. Calls must have ascending blocks. */
  visitBlock(block: number): void {
    const lead = this.#clauses[0]!.leaves[0]!
    const lengths = this.#lengths
    const norms = this.#norms
    const found = this.#found
    /** Upper bound of the score of a row for all other terms. Infinity: it is not needed. */
    let others = Infinity
    if (found.hasThreshold) {
      others = this.#boundOf(1, block === 0 ? 0 : lead.last(block - 1) + 1, lead.last(block))
      if (others + lead.bound(block, norms) < found.least) return
    }
    lead.load(block)
    const { docs, count } = lead
    const second = this.#second
    const filter = this.#filter
    for (let i = 0; i < count; i++) {
      const row = docs[i]!
      if (!this.#isAllowed(row)) continue
      lead.at = i
      if (others !== Infinity && others + lead.share(norms.of(lengths[row]!)) < found.least) continue
      if (second === null) this.#check(row, 1)
      else filter[(row >>> 5) & filterMask]! |= 1 << (row & 31)
    }
    if (second === null) return
    lead.at = 0
    this.#offerFiltered(lead, second)
    for (let i = 0; i < count; i++) filter[(docs[i]! >>> 5) & filterMask] = 0
  }

  /** Offer the rows of the second term that are in the filter and in the loaded block of the leading term. */
  #offerFiltered(lead: Leaf, second: Leaf): void {
    const filter = this.#filter
    const from = lead.docs[0]!
    const to = lead.docs[lead.count - 1]!
    for (let block = second.reach(from); block < second.blocks; block++) {
      second.load(block)
      const { docs, count } = second
      for (let i = docs[0]! >= from ? 0 : lowerBound(docs, count, from); i < count; i++) {
        const row = docs[i]!
        if ((filter[(row >>> 5) & filterMask]! & (1 << (row & 31))) === 0) continue
        if (row > to) return
        // Other rows have the same bit.
        if (!lead.has(row, lead.block) || !this.#isAllowed(row)) continue
        second.at = i
        this.#check(row, 2)
      }
      if (second.last(block) >= to) return
    }
  }

  /**
   * Offer the matching rows of the range that begins at `start`, if several terms lead. Calls must have ascending
   * ranges.
   */
  visitRange(start: number): void {
    const touched = this.#filter
    const end = start + (1 << mostRangeBits)
    const found = this.#found
    if (found.hasThreshold && this.#boundOf(0, start, end - 1) < found.least) return
    for (const leaf of this.#clauses[0]!.leaves) {
      for (let block = leaf.reach(start); block < leaf.blocks; block++) {
        leaf.load(block)
        const { docs, count } = leaf
        for (let i = lowerBound(docs, count, start); i < count && docs[i]! < end; i++) {
          const at = docs[i]! - start
          touched[at >>> 5]! |= 1 << (at & 31)
        }
        if (leaf.last(block) >= end - 1) break
      }
    }
    const allowed = this.#allowed
    const firstWord = start >>> 5
    for (let w = 0; w < touched.length; w++) {
      let word = touched[w]! & (allowed === null ? -1 : (allowed[firstWord + w] ?? 0))
      touched[w] = 0
      while (word !== 0) {
        const low = word & -word
        word ^= low
        this.#check(start + (w << 5) + 31 - Math.clz32(low), 0)
      }
    }
  }

  #isAllowed(row: number): boolean {
    const allowed = this.#allowed
    return allowed === null || ((allowed[row >>> 5]! >>> (row & 31)) & 1) === 1
  }

  /**
   * Look up a row in the clauses from `first` on, which must be the clauses that did not lead. If it is in all of them,
   * offer it.
   */
  #check(row: number, first: number): void {
    const clauses = this.#clauses
    for (let c = first; c < clauses.length; c++) {
      const { leaves } = clauses[c]!
      let has = false
      for (let i = 0; i < leaves.length; i++) {
        const leaf = leaves[i]!
        if (leaf.has(row, leaf.reach(row))) has = true
      }
      if (!has) return
    }
    const leaves = this.#leaves
    const found = this.#found
    const norm = this.#norms.of(this.#lengths[row]!)
    let score = 0
    for (let i = 0; i < leaves.length; i++) {
      const leaf = leaves[i]!
      if (this.#isPlain || leaf.has(row, leaf.reach(row))) score += leaf.share(norm)
    }
    if (score < found.least) return
    if (this.#phrase === null || this.#phrase.matches()) found.offer(row, Math.fround(score))
  }

  /**
   * Return an upper bound of the score of the rows `from` to `to` for the clauses from `first` on. Return -Infinity if
   * none of these rows can match. `from` must not be less than the rows looked up before.
   */
  #boundOf(first: number, from: number, to: number): number {
    const clauses = this.#clauses
    let sum = 0
    for (let c = first; c < clauses.length; c++) {
      const { leaves } = clauses[c]!
      let canMatch = false
      for (let i = 0; i < leaves.length; i++) {
        const leaf = leaves[i]!
        let top = 0
        for (let block = leaf.reach(from); block < leaf.blocks; block++) {
          canMatch = true
          const bound = leaf.bound(block, this.#norms)
          if (bound > top) top = bound
          if (leaf.last(block) >= to) break
        }
        sum += top
      }
      if (!canMatch) return -Infinity
    }
    return sum
  }
}
