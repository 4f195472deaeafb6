/**
 * A segment over rows that hold lists of vectors. It searches an inner segment over the single vectors for neighbours
 * of each query vector, and proposes the rows that hold these neighbours. See ColBERT, section 3.6 (Khattab and Zaharia
 * 2020, arXiv:2004.12832).
 */
import { Bitset } from '../../primitives/bitset.js'
import type { Pacer } from '../../primitives/pacer.js'
import { partitionPoint } from '../../primitives/partition-point.js'
import type { Blur } from './saturation.js'
import type { Candidates, Ending, Probe, SegmentFacts, VectorIndexSegment } from './segment.js'

/** Maximum number of rows that a search proposes. */
const proposedMax = 2 ** 19

/**
 * Minimum blur factor (saturation.ts): a query measures this many times as many proposed rows as it took to find the
 * nearest ones. Measured on 40,000 images with 16 vectors each, with a graph: factor 1.5 reaches recall@10 0.97 in 0.3
 * of the time of an exact search, factor 2 reaches 1 in 0.5 of the time.
 */
const listFactor = 2

/** Vectors that a search may propose. */
interface AllowedVectors {
  readonly bits: Bitset | null
  readonly count: number
}

/** An opened segment over lists of vectors. */
export class ListedSegment implements VectorIndexSegment {
  readonly rows: number
  readonly bytes: number
  readonly facts: SegmentFacts
  readonly vectors: VectorIndexSegment
  readonly #ends: Uint32Array
  /** Cache by set of allowed rows: many queries pass the same bitmap of live rows. */
  readonly #allowed = new WeakMap<Bitset, AllowedVectors>()

  /** `ends`: the end of the vectors of each row. */
  constructor(vectors: VectorIndexSegment, ends: Uint32Array) {
    const { radius: _, ...facts } = vectors.facts
    let filled = 0
    for (let row = 0; row < ends.length; row++) if (ends[row]! > (ends[row - 1] ?? 0)) filled++
    this.rows = ends.length
    this.bytes = vectors.bytes + ends.byteLength
    this.facts = { ...facts, vectors: filled }
    this.vectors = vectors
    this.#ends = ends
  }

  candidatesFor(k: number): number {
    return this.vectors.candidatesFor(k)
  }

  /**
   * At least `listFactor`: a row that is near by all query vectors together may rank low for each single query vector.
   */
  blurFor(isFiltered: boolean): Blur {
    const { factor, more } = this.vectors.blurFor(isFiltered)
    return { factor: Math.max(listFactor, factor), more }
  }

  /**
   * Search `probe.count` vectors near each query vector, and return the rows that hold them. The number of rows may be
   * smaller or greater than `probe.count`.
   */
  async candidates(probe: Probe, pacer: Pacer): Promise<Candidates> {
    const { bits: allowed, count: passing } = this.#allowedVectors(probe.allowed)
    const queries = probe.queries ?? [probe.query]
    for (let wanted = probe.count; ; wanted *= 4) {
      const count = Math.min(passing, wanted)
      const k = Math.min(probe.k, count)
      const lists: Candidates[] = []
      for (const query of queries) {
        lists.push(await this.vectors.candidates({ ...probe, query, k, count, allowed, passing }, pacer))
        await pacer.turn()
      }
      const rows: Uint32Array[] = []
      for (const { ordinals } of lists) {
        rows.push(this.#rowsOf(ordinals))
        await pacer.turn()
      }
      const ordinals = mergeByRank(rows)
      const isAll = lists.every(list => list.ordinals.length >= passing)
      // The inner segment keeps a limited number of candidates, so it may propose fewer vectors than pass.
      const isFull = count === passing || lists.every(list => list.ordinals.length < count)
      if (!isAll && !isFull && ordinals.length < probe.count) continue
      const { ef, mostPartitions } = probe.effort
      const isShort = !isAll && ordinals.length < probe.count && (ef ?? mostPartitions) === undefined
      return {
        ordinals,
        partitions: lists.reduce((sum, { partitions }) => sum + partitions, 0),
        measured: lists.reduce((sum, { measured }) => sum + measured, 0),
        ended: isShort ? 'unsettled' : endingOf(lists.map(({ ended }) => ended)),
      }
    }
  }

  /** Return the rows that hold some vectors, without duplicates, in the order of their first vector in `vectors`. */
  #rowsOf(vectors: Uint32Array): Uint32Array {
    const ends = this.#ends
    const rows = new Set<number>()
    for (const vector of vectors) rows.add(partitionPoint(ends.length, row => ends[row]! <= vector))
    return Uint32Array.from(rows)
  }

  /** Return the vectors of the allowed rows. */
  #allowedVectors(rows: Bitset | null): AllowedVectors {
    if (rows === null) return { bits: null, count: this.vectors.facts.vectors }
    const known = this.#allowed.get(rows)
    if (known !== undefined) return known
    const ends = this.#ends
    const bits = new Bitset(ends.at(-1) ?? 0)
    for (const row of rows.toIndices()) bits.addRange(ends[row - 1] ?? 0, ends[row]!)
    const allowed = { bits, count: Math.min(bits.count(), this.vectors.facts.vectors) }
    this.#allowed.set(rows, allowed)
    return allowed
  }
}

/**
 * Merge ranked lists by rank, without duplicates: the first row of each list, then the second row of each list, and so
 * on.
 */
function mergeByRank(lists: readonly Uint32Array[]): Uint32Array {
  if (lists.length === 1) return lists[0]!
  const rows = new Set<number>()
  const longest = lists.reduce((most, { length }) => Math.max(most, length), 0)
  for (let rank = 0; rank < longest && rows.size < proposedMax; rank++) {
    for (const list of lists) if (rank < list.length) rows.add(list[rank]!)
  }
  return Uint32Array.from(rows)
}

/** Combine the endings of the searches for single vectors. The result is `unsettled` if more than half of them are. */
function endingOf(endings: readonly Ending[]): Ending {
  const unsettled = endings.filter(ending => ending === 'unsettled').length
  if (2 * unsettled > endings.length) return 'unsettled'
  return endings.includes('limited') ? 'limited' : 'saturated'
}
