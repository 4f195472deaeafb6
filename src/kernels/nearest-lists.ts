/**
 * Finds the nearest rows of several lists, scanned one after the other in one arena (wasm/lists.ts): open, any number
 * of scans, close.
 */
import { assert } from '../errors.js'
import type { Arena } from './arena.js'
import { type Hits, Nearest, readHits, readKeys } from './nearest.js'

/** The state of an open arena. */
interface Open {
  readonly heap: number
  readonly allowed: Uint32Array | null
  /** Null: the kernel keeps the rows. */
  readonly nearest: Nearest | null
}

const opened = new WeakMap<ArrayBufferLike, Open>()

/** Return the bytes of a heap of `k` rows. */
export function nearestBytes(k: number): number {
  return k * 8
}

/**
 * Start without rows, and drop any open state of the arena. `heap`: address of `nearestBytes(k)` bytes, k at least 1.
 * `allowed`: address of a bit per ordinal, as in `Bitset.words`; 0 (not a valid address): all rows are allowed.
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
 * Offer `count` float32s at `distances`, each with `base` added. The arena must be readable up to a multiple of four.
 * The rows' ordinals are u32s at `ordinals`, in any order. NaN counts as Infinity.
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

/** Return the nearest of all rows offered since `openNearest`, in any order. More rows may be offered afterwards. */
export function heldNearest(arena: Arena): Hits {
  const { heap, nearest } = openIn(arena)
  return arena.kernel === null ? nearest!.held() : readKeys(arena.buffer, heap, arena.kernel.heldNearest())
}

/** Return the nearest of all rows offered since `openNearest`, ascending by (distance, ordinal). */
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
