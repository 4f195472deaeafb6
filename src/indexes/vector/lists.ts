/** Where a search finds the lists of a segment: all of them in one arena, or some of them at a time. */
import type { Arena } from '../../kernels/arena.js'
import type { Scratch } from './list-places.js'

/** Addresses in an arena. */
export interface ListAddress {
  readonly codes: number
  readonly ordinals: number
}

export interface Lists {
  readonly arena: Arena
  readonly places: Scratch
  /** Memory that they take, the arena included. */
  readonly bytes: number
  /** The lists for one search. */
  view(): ListView
}

/** The lists of a segment, as one search sees them. Only lists that were brought can be used, and only until others are brought. */
export interface ListView {
  /**
   * Null: the lists of `partitions`, which all have rows, are in memory. Otherwise resolves once they are; until then other searches may use
   * the arena. Throws corrupted (code 18).
   */
  bring(partitions: Uint32Array): Promise<void> | null
  /** The rows of a partition, ascending. */
  ordinals(partition: number): Uint32Array
  /** Puts a list into the arena. It is there until another one is put, or another search runs. */
  lay(partition: number): ListAddress
  /** Tells which rows the search has kept, before it waits for `bring`. */
  keep(ordinals: Uint32Array): void
  /** The partitions of some rows, which the search has kept all the time since they were scanned. */
  partitionsOf(ordinals: Uint32Array): Uint32Array
}
