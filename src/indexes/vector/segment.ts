/**
 * A segment of a vector index: an immutable file over some rows, which are numbered from 0 (ordinals). It proposes rows that are
 * likely to be the nearest; how far they really are is measured in the column by whoever asked. What table rows these are, and
 * which of them are alive, is for others to know (table/vector-index).
 */
import type { Bitset } from '../../primitives/bitset.js'
import type { Pacer } from '../../primitives/pacer.js'
import type { MaybePromise } from '../../primitives/task.js'
import type { Blur } from './saturation.js'

/** How hard to look. Absent: as the segment found out when it was built. */
export interface Effort {
  /** Candidates of a walk through a graph; at least as many are kept as are asked for. */
  readonly ef?: number
  /** Partitions that are looked at in any case. */
  readonly leastPartitions?: number
  /** Partitions that are looked at when rows are missing, at most. */
  readonly mostPartitions?: number
}

export interface Probe {
  /** Finite, of the segment's dimension; as the user gave it. */
  readonly query: Float32Array
  /** Where rows hold lists of vectors: all vectors of the query, of which `query` is the first. */
  readonly queries?: readonly Float32Array[]
  /** Rows wanted in the end, at least 1. */
  readonly k: number
  /** Candidates wanted, at least `k`: fewer come only where there are not so many, or `effort` forbids to look for them. */
  readonly count: number
  /** The only rows to propose, by ordinal; null: every row that has a vector. */
  readonly allowed: Bitset | null
  /** How many rows `allowed` has, or how many have a vector. */
  readonly passing: number
  readonly effort: Effort
}

/**
 * Why a search ended. `saturated`: to look further no longer changed the candidates (saturation.ts), or nothing was left. `limited`: `effort`
 * forbade to look further. `unsettled`: neither, and to measure all allowed rows costs no more than to go on.
 */
export type Ending = 'saturated' | 'limited' | 'unsettled'

export interface Candidates {
  /** Distinct, the likely nearest first. Where there are more than were asked for, some could not be guessed at all, and stand before the others. */
  readonly ordinals: Uint32Array
  /** Partitions that were looked at. */
  readonly partitions: number
  /** Rows whose distance was guessed or measured on the way. */
  readonly measured: number
  readonly ended: Ending
}

/** Recall of a search without tuning, by kind of query: of the ten nearest, how many are found. Null: there are too few rows to ask. */
export interface Recalls {
  /** Rows of the segment, asked for their neighbours. */
  readonly rows: number | null
  /** Points between rows and away from them. */
  readonly between: number | null
  /** Rows, where a filter excludes the rows near them. */
  readonly excluded: number | null
}

/** Of the queries of the worst kind, the part that finds less than 0.8 of its ten nearest without tuning. */
export interface PoorShares {
  /** Of queries without a filter. */
  readonly all: number
  /** Of those with one. Null: none was asked. */
  readonly filtered: number | null
}

/** What is known of a segment since it was built. */
export interface SegmentFacts {
  /** Rows that have a vector. */
  readonly vectors: number
  readonly partitions: number
  /** Of the ten nearest of sampled rows, how many are found without tuning; null where every row is looked at, or there are too few. */
  readonly recall: number | null
  /** Recall for queries that are no rows, and under filters. Absent: the segment was built before this was measured. */
  readonly recalls?: Recalls
  /** Absent: the segment was built before this was measured. */
  readonly poor?: PoorShares
  /** By l2: how far most rows lie from their middle (radius.ts). Absent: the segment was built before this was measured. */
  readonly radius?: number
  /** Part of the searches that do not settle: all rows are measured after them. Absent: the segment was built before this was measured. */
  readonly unsettled?: number
  /** Rows measured by a search without tuning: what it costs. */
  readonly measured: number
  /** Bytes of what is read to guess the distance of a row. */
  readonly rowBytes: number
}

export interface VectorIndexSegment {
  /** How many rows it numbers. */
  readonly rows: number
  /** Memory it takes. */
  readonly bytes: number
  readonly facts: SegmentFacts
  /** Where rows hold lists of vectors: the segment that numbers those. */
  readonly vectors?: VectorIndexSegment
  /** How many candidates to ask for and measure first when `k` rows are wanted. */
  candidatesFor(k: number): number
  /** How far the order of the guessed distances can be trusted, with a filter or without; decides how many more candidates are measured. */
  blurFor(isFiltered: boolean): Blur
  /** At once where it is little work. */
  candidates(probe: Probe, pacer: Pacer): MaybePromise<Candidates>
}
