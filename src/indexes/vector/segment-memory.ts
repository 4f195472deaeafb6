/** Memory of opened segments. It belongs to one thread, or several threads share it, each with its own scratch memory. */
import { type Arena, openArena } from '../../kernels/arena.js'
import type { SharedPlaces } from '../../kernels/graph.js'
import type { Bitset } from '../../primitives/bitset.js'
import type { Load } from '../../primitives/memory.js'
import type { MaybePromise } from '../../primitives/task.js'
import type { StoredList } from './stored-list.js'

/** Return the list of a partition from the cache, or load and cache it with `load`. */
export type KeepList = (partition: number, load: Load<StoredList>) => MaybePromise<StoredList>

/** Opens the memory of segments. */
export interface SegmentMemory {
  /** Number of threads that share the memory. */
  readonly workerCount: number
  /** Worker index of this thread, from 0. */
  readonly workerIndex: number
  /** Open an arena that `fill` fills, in this thread or in another one. Scratch memory of threads is not filled. */
  open(bytes: number, fill: (buffer: ArrayBufferLike) => Promise<void>): Promise<Arena>
  /** Return a cache for single lists if an arena of `bytes` bytes would be too large; null if the arena may be opened. */
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

/** For graphs that no thread changes: no locks are needed. */
export const unchanging: SharedPlaces = { locks: 0, entries: 0 }

/** The filter and the query that are in an arena's scratch memory at present, so that the next query need not copy equal ones. */
export interface Laid {
  allowed: Bitset | null
  query: Float32Array | null
}

const laid = new WeakMap<ArrayBufferLike, Laid>()

/** Return the record of an arena. Segments that were opened over the same memory share one record. */
export function laidIn(buffer: ArrayBufferLike): Laid {
  let known = laid.get(buffer)
  if (known === undefined) {
    known = { allowed: null, query: null }
    laid.set(buffer, known)
  }
  return known
}
