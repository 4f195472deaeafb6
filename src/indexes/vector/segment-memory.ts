/** The memory that opened segments lie in: of one thread, or of several that ask the same segment, each in a part of its own. */
import { type Arena, openArena } from '../../kernels/arena.js'
import type { SharedPlaces } from '../../kernels/graph.js'
import type { Bitset } from '../../primitives/bitset.js'
import type { Load } from '../../primitives/memory.js'
import type { MaybePromise } from '../../primitives/task.js'
import type { StoredList } from './stored-list.js'

/** The list of a partition that is kept, or what `load` gives. */
export type KeepList = (partition: number, load: Load<StoredList>) => MaybePromise<StoredList>

export interface SegmentMemory {
  /** Threads that share it, */
  readonly seats: number
  /** and which of them this is, from 0 on. */
  readonly seat: number
  /** An arena with what `fill` puts into it, or has put into it in another thread. What belongs to a seat is not filled. */
  open(bytes: number, fill: (buffer: ArrayBufferLike) => Promise<void>): Promise<Arena>
  /** What keeps the lists of a segment one by one that would be too large for an arena of `bytes` bytes. Null: the arena is not too large. */
  keeperFor(bytes: number): KeepList | null
}

/** Known to this thread alone. */
export const ownMemory: SegmentMemory = {
  seats: 1,
  seat: 0,
  async open(bytes, fill) {
    const arena = openArena(bytes)
    await fill(arena.buffer)
    return arena
  },
  keeperFor: () => null,
}

/** Of a graph that nobody changes: there is nothing to lock. */
export const unchanging: SharedPlaces = { locks: 0, entries: 0 }

/** What queries have laid into their part of an arena, and need not lay there again. */
export interface Laid {
  allowed: Bitset | null
  query: Float32Array | null
}

const laid = new WeakMap<ArrayBufferLike, Laid>()

/** One for each memory: a segment that is opened again while the first is still asked may lie in the same. */
export function laidIn(buffer: ArrayBufferLike): Laid {
  let known = laid.get(buffer)
  if (known === undefined) {
    known = { allowed: null, query: null }
    laid.set(buffer, known)
  }
  return known
}
