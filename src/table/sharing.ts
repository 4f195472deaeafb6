/**
 * Shares loaded data between the engines of one process. Each engine runs in its own thread. One engine reads and
 * checks the data; the others use the same memory.
 *
 * - A key identifies a byte range of a file. Files are immutable and their names are never reused, so a key always
 *   identifies the same bytes.
 * - After loading, no engine writes to the shared data. Each engine writes only to its own scratch area
 *   (`workerIndex`).
 * - Each engine counts the shared memory that it uses against its own budget, and may release it at any time. The
 *   memory is freed when no engine uses it.
 */
import type { SharedMemory } from '../kernels/kernel.js'

/** Memory that threads can share. */
export type Shareable = SharedArrayBuffer | SharedMemory

/** The access of one engine to the data that the engines of its process share. */
export interface Sharing {
  /** The number of engines that share data. */
  readonly workerCount: number
  /** The index of this engine among these engines, from 0 on. */
  readonly workerIndex: number
  /** True if this engine records its own pins. It writes nothing else, because another engine of the process writes. */
  readonly pins: boolean
  /**
   * Return the memory that an engine loaded under `key`. If there is none, load it for all engines. Rejects with the
   * error of `load`. After such an error the other engines load the data themselves.
   */
  once<S extends Shareable>(key: string, load: () => Promise<S>): Promise<S>
}

/**
 * Minimum size in bytes of shared data. Each engine reads smaller ranges itself, because this is faster than sharing
 * them.
 */
export const sharedFrom = 32 * 1024

/**
 * Return `length` bytes that `fill` writes. If another engine has already filled bytes under `key`, return those bytes.
 * Without `sharing`, and below `sharedFrom` bytes, the bytes are private to this engine.
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
