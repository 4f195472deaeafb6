/**
 * Loaded data that several engines of one process have together, each in a thread of its own: one of them reads and checks it,
 * the others see the same memory.
 *
 * - A key names a stretch of a file. Files are immutable, and their names are never used again, so a key means the same bytes for ever.
 * - What was shared is not written to any more, but for places that belong to one engine alone (`seat`).
 * - Every engine counts what it sees against its own budget, and lets go when it likes: the memory is freed when nobody sees it.
 */
import type { SharedMemory } from '../kernels/kernel.js'

/** Memory that threads can have in common. */
export type Shareable = SharedArrayBuffer | SharedMemory

export interface Sharing {
  /** How many engines share, */
  readonly seats: number
  /** and which of them this is, from 0 on. */
  readonly seat: number
  /** Whether it writes down what it pins, though it may write nothing else: another of them writes. */
  readonly pins: boolean
  /** What somebody has under `key`, or what `load` gives, for all. Rejects with what `load` throws; others then load for themselves. */
  once<S extends Shareable>(key: string, load: () => Promise<S>): Promise<S>
}

/** Smaller stretches every engine reads for itself: to ask for them takes longer. */
export const sharedFrom = 32 * 1024

/** `length` bytes that `fill` writes, or has written in another engine under `key`. `sharing` undefined: they are nobody else's. */
export async function sharedBytes(
  sharing: Sharing | undefined,
  key: string,
  length: number,
  fill: (bytes: Uint8Array) => Promise<void>,
): Promise<Uint8Array> {
  if (sharing === undefined || length < sharedFrom) {
    const bytes = new Uint8Array(length)
    await fill(bytes)
    return bytes
  }
  const buffer = await sharing.once(key, async () => {
    const memory = new SharedArrayBuffer(length)
    await fill(new Uint8Array(memory))
    return memory
  })
  return new Uint8Array(buffer)
}
