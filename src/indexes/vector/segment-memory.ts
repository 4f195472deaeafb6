/**
 * Provides the memory of opened segments. One thread owns it, or several threads share it. Each thread has its own
 * scratch memory.
 */
import { type Arena, openArena } from '../../kernels/arena.js'
import type { SharedPlaces } from '../../kernels/graph.js'
import type { Bitset } from '../../primitives/bitset.js'
import type { Load } from '../../primitives/memory.js'
import type { MaybePromise } from '../../primitives/task.js'
import type { StoredList } from './stored-list.js'

/** Returns the list of a partition from the cache. If it is not cached, loads it with `load` and caches it. */
export type KeepList = (partition: number, load: Load<StoredList>) => MaybePromise<StoredList>

/** Opens the memory of segments. */
export interface SegmentMemory {
  /** Number of threads that share the memory. */
  readonly workerCount: number
  /** Worker index of this thread, from 0. */
  readonly workerIndex: number
  /**
   * Return an arena with the data that `fill` writes. If threads share the memory, only one of them calls `fill`.
   * `fill` does not write the scratch memory of threads.
   */
  open(bytes: number, fill: (buffer: ArrayBufferLike) => Promise<void>): Promise<Arena>
  /**
   * Return a cache for single lists if an arena of `bytes` bytes would be too large. Return null if the arena may be
   * opened.
   */
  keeperFor(bytes: number): KeepList | null
}

/** Memory that only this thread uses. */
export const ownMemory: SegmentMemory = {
  workerCount: 1,
  workerIndex: 0,
  async open(bytes, fill) {
    const arena = openArena(bytes)
    await fill(arena.buffer)
    return arena
  },
  keeperFor: () => null,
}

/** The shared addresses of a graph that no thread changes. Such a graph needs no locks. */
export const unchanging: SharedPlaces = { locks: 0, entries: 0 }

/**
 * The filter and the query that are currently in the scratch memory of an arena. A search with the same
 * filter or query need not copy it again.
 */
export interface Laid {
  allowed: Bitset | null
  query: Float32Array | null
}

const laid = new WeakMap<ArrayBufferLike, Laid>()

/** Return the filter and the query in an arena. Segments that were opened over the same memory share this object. */
export function laidIn(buffer: ArrayBufferLike): Laid {
  let known = laid.get(buffer)
  if (known === undefined) {
    known = { allowed: null, query: null }
    laid.set(buffer, known)
  }
  return known
}
