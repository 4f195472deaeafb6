/**
 * Searches a segment for rows that match all clauses of a query, and the positions of a phrase.
 *
 * - The rarest clause leads: the search reads its rows in order, and looks up each row in the other clauses by galloping
 *   search.
 * - If the second clause has only a few times as many rows, a table is faster. The search enters each row of a block of the
 *   leading term in the table, and looks up all rows of the second term in the range of the block.
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
import { mostRangeBits, tableRows } from './scratch.js'

/** Blocks of the leading term that are read between two checks of the clock. */
const blocksAtOnce = 32
/** The second term is scanned if it has less than this many times the rows of the leading term. */
const scannedRows = 24
const tableMask = tableRows - 1
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
   * For rows of a block of the leading term: the index of the row in the block, plus 1. All other numbers are 0. All
   * numbers are 0 between two calls.
   */
  readonly #table: Uint8Array
  /** In a search by ranges: a bit for each row of the range. All bits are 0 between two calls. */
  readonly #touched: Uint32Array
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
    this.#table = query.scratch.table
    this.#touched = query.scratch.touched
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
    for (let i = 0; i < count; ) {
      if (this.#second !== null) i = this.#visitRows(lead, this.#second, i, others)
      else {
        lead.at = i
        if (this.#isWanted(lead, docs[i]!, others)) this.#check(docs[i]!, 1)
        i++
      }
    }
  }

  /**
   * Offer the matching rows of the loaded block of the leading term, from index `from` on, as many as the table has space
   * for. The second term must be scanned. Return the index of the next row.
   */
  #visitRows(lead: Leaf, second: Leaf, from: number, others: number): number {
    const table = this.#table
    const { docs, count } = lead
    const first = docs[from]!
    let to = from
    if (others === Infinity && this.#allowed === null) {
      for (; to < count && docs[to]! - first < tableRows; to++) table[docs[to]! & tableMask] = to + 1
    } else {
      for (; to < count && docs[to]! - first < tableRows; to++) {
        lead.at = to
        if (this.#isWanted(lead, docs[to]!, others)) table[docs[to]! & tableMask] = to + 1
      }
    }
    this.#offerEntered(lead, second, first, docs[to - 1]!)
    for (let i = from; i < to; i++) table[docs[i]! & tableMask] = 0
    return to
  }

  /** Offer the rows from `first` to `last` of the second term that are in the table. */
  #offerEntered(lead: Leaf, second: Leaf, first: number, last: number): void {
    const table = this.#table
    for (let block = second.reach(first); block < second.blocks; block++) {
      second.load(block)
      const { docs, count } = second
      const isLast = second.last(block) >= last
      const to = isLast ? lowerBound(docs, count, last + 1) : count
      const from = docs[0]! >= first ? 0 : lowerBound(docs, count, first)
      // Most rows are not in the table. One test for four rows takes less time than four tests.
      for (let i = from & ~3; i < to; i += 4) {
        const entries =
          table[docs[i]! & tableMask]! |
          table[docs[i + 1]! & tableMask]! |
          table[docs[i + 2]! & tableMask]! |
          table[docs[i + 3]! & tableMask]!
        if (entries !== 0) this.#offerEntries(lead, second, Math.max(from, i), Math.min(to, i + 4))
      }
      if (isLast) return
    }
  }

  /** Offer those rows of the loaded block of the second term, from index `from` to `to - 1`, that are in the table. */
  #offerEntries(lead: Leaf, second: Leaf, from: number, to: number): void {
    for (let i = from; i < to; i++) {
      const row = second.docs[i]!
      const entry = this.#table[row & tableMask]!
      if (entry === 0) continue
      lead.at = entry - 1
      second.at = i
      this.#check(row, 2)
    }
  }

  /**
   * Return whether a row may be returned and may reach the required score. `lead.at` must be the index of the row.
   * `others`: upper bound of the score of the row for all other terms.
   */
  #isWanted(lead: Leaf, row: number, others: number): boolean {
    const allowed = this.#allowed
    if (allowed !== null && ((allowed[row >>> 5]! >>> (row & 31)) & 1) === 0) return false
    return (
      others === Infinity || others + lead.share(this.#norms.of(this.#lengths[row]!)) >= this.#found.least
    )
  }

  /**
   * Offer the matching rows of the range that begins at `start`, if several terms lead. Calls must have ascending
   * ranges.
   */
  visitRange(start: number): void {
    const touched = this.#touched
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
    const phrase = this.#phrase
    // The positions are checked last if the score can exclude the row.
    const isChecked = phrase !== null && !found.hasThreshold
    if (isChecked && !phrase.matches()) return
    const norm = this.#norms.of(this.#lengths[row]!)
    let score = 0
    for (let i = 0; i < leaves.length; i++) {
      const leaf = leaves[i]!
      if (this.#isPlain || leaf.has(row, leaf.reach(row))) score += leaf.share(norm)
    }
    if (score < found.least) return
    if (phrase === null || isChecked || phrase.matches()) found.offer(row, Math.fround(score))
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
