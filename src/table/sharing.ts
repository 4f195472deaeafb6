/**
 * Shares loaded data between the engines of one process, each in a thread of its own. One engine reads and checks the
 * data, the others see the same memory.
 *
 * - A key names a stretch of a file. Files are immutable and their names are never reused, so a key always means the
 *   same bytes.
 * - Shared memory is not written to after loading, except the areas of one engine (`workerIndex`).
 * - Each engine counts the shared memory that it uses against its own budget, and may release it at any time. The
 *   memory is freed when no engine uses it.
 */
import type { SharedMemory } from '../kernels/kernel.js'

/** Memory that threads can share. */
export type Shareable = SharedArrayBuffer | SharedMemory

/** How the engines of one process share loaded data. */
export interface Sharing {
  /** The number of engines that share. */
  readonly workerCount: number
  /** The index of this engine among them, from 0 on. */
  readonly workerIndex: number
  /** Whether this engine records its pins, though it writes nothing else: another engine of the process writes. */
  readonly pins: boolean
  /**
   * Return the memory that an engine has under `key`, or load it for all engines. Rejects with the error of `load`; the
   * other engines then load for themselves.
   */
  once<S extends Shareable>(key: string, load: () => Promise<S>): Promise<S>
}

/** Each engine reads smaller stretches for itself, because asking the others takes longer. Bytes. */
export const sharedFrom = 32 * 1024

/**
 * Return `length` bytes that `fill` writes, or wrote in another engine under `key`. Without `sharing` the bytes are
 * private.
 */
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
