/**
 * A segment over rows that hold lists of vectors. It asks another segment, which numbers the vectors, for those near each vector of the
 * query, and proposes the rows that hold them, as in section 3.6 of ColBERT (Khattab and Zaharia 2020, arXiv:2004.12832).
 */
import { Bitset } from '../../primitives/bitset.js'
import type { Pacer } from '../../primitives/pacer.js'
import { partitionPoint } from '../../primitives/partition-point.js'
import type { Blur } from './saturation.js'
import type { Candidates, Ending, Probe, SegmentFacts, VectorIndexSegment } from './segment.js'

/** Rows that a search proposes at most. */
const proposedMax = 2 ** 19

/**
 * So many times as many rows are measured as it took to find the nearest of them, in the order in which they are proposed. Of 40,000 images of 16 parts a
 * graph finds 0.97 of the ten nearest by 1.5, all by 2, in 0.3 and 0.5 of the time that measuring all takes.
 */
const listFactor = 2

/** Vectors that a search may propose. */
interface AllowedVectors {
  readonly bits: Bitset | null
  readonly count: number
}

export class ListedSegment implements VectorIndexSegment {
  readonly rows: number
  readonly bytes: number
  readonly facts: SegmentFacts
  readonly vectors: VectorIndexSegment
  readonly #ends: Uint32Array
  /** Of rows that were allowed before: those that live are the same for many queries. */
  readonly #allowed = new WeakMap<Bitset, AllowedVectors>()

  /** `ends`: for each row, where its vectors end. */
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

  /** A row that is near by all vectors of the query may be far down the list of each. */
  blurFor(isFiltered: boolean): Blur {
    const { factor, more } = this.vectors.blurFor(isFiltered)
    return { factor: Math.max(listFactor, factor), more }
  }

  /** As many vectors as are asked for, near each vector of the query; the rows of all of them, of which there may be more or fewer. */
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
      const ordinals = merged(rows)
      const isAll = lists.every(list => list.ordinals.length >= passing)
      // The other segment keeps a limited number of candidates: it may propose fewer vectors than there are.
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

  /** The rows that hold some vectors, each once, by their first. */
  #rowsOf(vectors: Uint32Array): Uint32Array {
    const ends = this.#ends
    const rows = new Set<number>()
    for (const vector of vectors) rows.add(partitionPoint(ends.length, row => ends[row]! <= vector))
    return Uint32Array.from(rows)
  }

  /** The vectors of rows. */
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

/** All rows of some lists, each once: the first of each list before the second of any. */
function merged(lists: readonly Uint32Array[]): Uint32Array {
  if (lists.length === 1) return lists[0]!
  const rows = new Set<number>()
  const longest = lists.reduce((most, { length }) => Math.max(most, length), 0)
  for (let rank = 0; rank < longest && rows.size < proposedMax; rank++) {
    for (const list of lists) if (rank < list.length) rows.add(list[rank]!)
  }
  return Uint32Array.from(rows)
}

/** How the whole search ends. It is settled when at least half of the searches for single vectors are. */
function endingOf(endings: readonly Ending[]): Ending {
  const unsettled = endings.filter(ending => ending === 'unsettled').length
  if (2 * unsettled > endings.length) return 'unsettled'
  return endings.includes('limited') ? 'limited' : 'saturated'
}
