/**
 * Defines the interface through which a search accesses the lists of a segment. The lists are all in one arena
 * (arena-lists.ts), or are loaded one at a time (framed-lists.ts).
 */
import type { Arena } from '../../kernels/arena.js'
import type { Scratch } from './list-places.js'

/** The addresses of a list's codes and ordinals in an arena. */
export interface ListAddress {
  readonly codes: number
  readonly ordinals: number
}

/** The lists of a segment. */
export interface Lists {
  readonly arena: Arena
  readonly places: Scratch
  /** Bytes of memory that the lists take, including the arena. */
  readonly bytes: number
  /** Return a view for one search. */
  view(): ListView
}

/** Access of one search to the lists of a segment. The search may use only lists that the last `bring` loaded. */
export interface ListView {
  /**
   * Load the lists of `partitions`, which must all have rows. Return null if all lists are in memory. Otherwise return
   * a promise that resolves when they are loaded. Other searches may use the arena until then. Throws Internal if a
   * list is damaged.
   */
  bring(partitions: Uint32Array): Promise<void> | null
  /** Return the ordinals of a partition's rows, ascending. */
  ordinals(partition: number): Uint32Array
  /**
   * Put a list into the arena, and return its address. The address is valid until the next `lay`, or until another
   * search runs.
   */
  lay(partition: number): ListAddress
  /** Report the best rows so far (`ordinals`). A search must call this before it waits for `bring`. */
  keep(ordinals: Uint32Array): void
  /**
   * Return the partitions of rows. The rows must have been among the best rows of the search since they were scanned.
   */
  partitionsOf(ordinals: Uint32Array): Uint32Array
}
