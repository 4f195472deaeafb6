/** The interface through which a search accesses the lists of a segment. The lists may be in one arena, or loaded one at a time. */
import type { Arena } from '../../kernels/arena.js'
import type { Scratch } from './list-places.js'

/** Addresses in an arena. */
export interface ListAddress {
  readonly codes: number
  readonly ordinals: number
}

/** The lists of a segment. */
export interface Lists {
  readonly arena: Arena
  readonly places: Scratch
  /** Bytes of memory, including the arena. */
  readonly bytes: number
  /** Return a view for one search. */
  view(): ListView
}

/** The lists of a segment, for one search. Only lists loaded by the last `bring` can be used. */
export interface ListView {
  /**
   * Load the lists of `partitions`, which all have rows. Return null if all are in memory. Otherwise the promise resolves when they are;
   * other searches may use the arena in the meantime. Throws Internal if a list is damaged.
   */
  bring(partitions: Uint32Array): Promise<void> | null
  /** Return the ordinals of a partition's rows, ascending. */
  ordinals(partition: number): Uint32Array
  /** Put a list into the arena and return its address. The address is valid until the next `lay` or until another search runs. */
  lay(partition: number): ListAddress
  /** Report the rows that the search keeps, before it waits for `bring`. */
  keep(ordinals: Uint32Array): void
  /** Return the partitions of rows. The search must have kept the rows continuously since they were scanned. */
  partitionsOf(ordinals: Uint32Array): Uint32Array
}
