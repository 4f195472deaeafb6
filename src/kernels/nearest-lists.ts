/** The nearest rows of several lists, scanned one after the other in one arena (wasm/nearest.ts): open, any number of scans, close. */
import type { Arena } from './arena.js'
import type { Hits } from './nearest.js'

/** Bytes that `k` rows take. */
export declare function nearestBytes(k: number): number

/** Begins with none. `heap`: address of `nearestBytes(k)`; `allowed`: address of a bit for each ordinal, 0 (no address of those): all. */
export declare function openNearest(arena: Arena, heap: number, k: number, allowed: number): void

/** The nearest of all that were offered since `openNearest`, in ascending order of (distance, ordinal). */
export declare function closeNearest(arena: Arena): Hits
