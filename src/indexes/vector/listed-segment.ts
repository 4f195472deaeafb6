/**
 * Searches a segment over rows that hold lists of vectors. For each query vector, it searches the nearest single
 * vectors in an inner segment. It proposes the rows that hold these vectors, as in ColBERT, section 3.6 (Khattab and
 * Zaharia 2020, arXiv:2004.12832).
 */
import { Bitset } from '../../primitives/bitset.js'
import type { Pacer } from '../../primitives/pacer.js'
import { partitionPoint } from '../../primitives/partition-point.js'
import type { Blur } from './saturation.js'
import type { Candidates, Ending, Probe, SegmentFacts, VectorIndexSegment } from './segment.js'

/** Maximum number of rows that a search proposes. */
const proposedMax = 2 ** 19

/**
 * Minimum factor of the rule for measuring candidates (`Blur` in saturation.ts). It was measured with a graph over
 * 40,000 images with 16 vectors each. Factor 1.5 reaches recall@10 0.97 in 30 % of the time of an exact search. Factor
 * 2 reaches recall@10 1.0 in 50 % of the time.
 */
const listFactor = 2

/** The vectors of the inner segment that a search may propose, and their number. `bits` null: all vectors. */
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
  /** The allowed vectors by set of allowed rows. Cached, because many queries pass the same bitmap of live rows. */
  readonly #allowed = new WeakMap<Bitset, AllowedVectors>()

  /** `vectors`: the inner segment. `ends`: for each row, the ordinal after its last vector in the inner segment. */
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
   * Return the rule of the inner segment, but with a factor of at least `listFactor`. A row that is near to all query
   * vectors together may have a low rank for each single query vector.
   */
  blurFor(isFiltered: boolean): Blur {
    const { factor, more } = this.vectors.blurFor(isFiltered)
    return { factor: Math.max(listFactor, factor), more }
  }

  /**
   * Search the `probe.count` nearest vectors of each query vector, and return the rows that hold them. The number of
   * rows may be smaller or greater than `probe.count`.
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
      // The inner segment keeps a limited number of candidates. So it may return fewer vectors than requested, also if
      // more pass.
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

  /** Return the rows that hold `vectors`, without duplicates, in the order of their first vectors in `vectors`. */
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
 * Merge ranked lists without duplicates. The result has the first row of each list, then the second row of each list,
 * and so on.
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

/**
 * Combine the endings of the searches for single query vectors. The result is `unsettled` if more than half of the
 * endings are.
 */
function endingOf(endings: readonly Ending[]): Ending {
  const unsettled = endings.filter(ending => ending === 'unsettled').length
  if (2 * unsettled > endings.length) return 'unsettled'
  return endings.includes('limited') ? 'limited' : 'saturated'
}
