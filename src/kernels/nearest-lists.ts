/**
 * Finds the nearest rows of several lists in one arena (wasm/lists.ts). The caller first calls `openNearest`, then
 * scans lists one after the other, and at the end calls `closeNearest`. A scan offers each row of a list with its
 * distance. The kernel or a `Nearest` keeps the nearest rows.
 */
import { assert } from '../errors.js'
import type { Arena } from './arena.js'
import { type Hits, Nearest, readHits, readKeys } from './nearest.js'

/** The state of an arena between `openNearest` and `closeNearest`. */
interface Open {
  /** Address of the heap of the kernel. */
  readonly heap: number
  /** The allowed rows: one bit per ordinal. Null: all rows are allowed. */
  readonly allowed: Uint32Array | null
  /** The nearest rows so far. Null: the kernel keeps them in `heap`. */
  readonly nearest: Nearest | null
}

/** State by the buffer of the arena. */
const opened = new WeakMap<ArrayBufferLike, Open>()

/** Return the bytes of a heap for `k` rows. */
export function nearestBytes(k: number): number {
  return k * 8
}

/**
 * Begin to collect the `k` nearest rows; `k` must be at least 1. Drops rows that this arena collected before. `heap`:
 * address of `nearestBytes(k)` bytes. `allowed`: address of a bit per ordinal, as in `Bitset.words`; 0: all rows are
 * allowed.
 */
export function openNearest(arena: Arena, heap: number, k: number, allowed: number): void {
  assert(k >= 1, `k must be at least 1, got ${k}`)
  const { buffer, kernel } = arena
  kernel?.openNearest(heap, k, allowed)
  opened.set(buffer, {
    heap,
    allowed: allowed === 0 ? null : new Uint32Array(buffer, allowed, (buffer.byteLength - allowed) >>> 2),
    nearest: kernel === null ? new Nearest(k) : null,
  })
}

/**
 * Offer `count` rows. `distances`: address of their distances, which are float32s; the kernel reads up to a multiple of
 * four. `ordinals`: address of their ordinals, which are u32s in any order. `base`: number to add to every distance. A
 * distance that is NaN counts as Infinity.
 */
export function offerNearest(
  arena: Arena,
  distances: number,
  ordinals: number,
  count: number,
  base: number,
): void {
  const { buffer, kernel } = arena
  if (kernel !== null) {
    kernel.offerNearest(distances, ordinals, count, base)
    return
  }
  const { nearest, allowed } = openIn(arena)
  const floats = new Float32Array(buffer, distances, count)
  const numbers = new Uint32Array(buffer, ordinals, count)
  const added = Math.fround(base)
  for (let i = 0; i < count; i++) {
    const ordinal = numbers[i]!
    if (allowed !== null && ((allowed[ordinal >>> 5]! >>> (ordinal & 31)) & 1) === 0) continue
    const distance = Math.fround(floats[i]! + added)
    nearest!.offer(Number.isNaN(distance) ? Infinity : distance, ordinal)
  }
}

/**
 * Return the nearest of all rows that were offered since `openNearest`, in any order. More rows may be offered
 * afterwards.
 */
export function heldNearest(arena: Arena): Hits {
  const { heap, nearest } = openIn(arena)
  return arena.kernel === null ? nearest!.held() : readKeys(arena.buffer, heap, arena.kernel.heldNearest())
}

/**
 * Return the nearest of all rows that were offered since `openNearest`, sorted by (distance, ordinal). Ends the
 * collection.
 */
export function closeNearest(arena: Arena): Hits {
  const { heap, nearest } = openIn(arena)
  opened.delete(arena.buffer)
  return arena.kernel === null ? nearest!.take() : readHits(arena.buffer, heap, arena.kernel.closeNearest())
}

function openIn({ buffer }: Arena): Open {
  const open = opened.get(buffer)
  assert(open !== undefined, 'no nearest rows are open in this arena')
  return open
}
