/**
 * Opens arenas: the memory of one index segment, together with the functions that work in it. An arena is WebAssembly
 * memory with a SIMD kernel. On hosts without SIMD it is ordinary memory, and plain TypeScript loops compute the same
 * bits. The memory never grows or moves, so views of it stay valid.
 */
import { ErrorCode, SheafError } from '../errors.js'
import {
  type GraphKernel,
  type Kernel,
  openKernel,
  openSharedMemory,
  type SharedKernel,
  type SharedMemory,
  sharedKernelOn,
} from './kernel.js'

export type { SharedMemory } from './kernel.js'

/** The memory of an index segment. */
export interface Arena {
  readonly buffer: ArrayBufferLike
  /** The SIMD kernel. Null: the plain loops work in `buffer`. */
  readonly kernel: Kernel | null
}

/** The part of an arena that a graph needs. */
export interface GraphArena {
  readonly buffer: ArrayBufferLike
  /** The SIMD kernel. Null: the plain loops work in `buffer`. */
  readonly kernel: GraphKernel | null
}

/**
 * An arena in which several threads work concurrently. Each thread has its own `SharedArena` and kernel for the same
 * memory.
 */
export interface SharedArena extends Arena {
  /** The memory. It can be posted to another thread, which calls `attachArena` with it. */
  readonly memory: SharedMemory
  readonly kernel: SharedKernel
}

/** Alignment of addresses in an arena, in bytes. */
const arenaAlignment = 64

/**
 * Open an arena of at least `bytes` bytes, which are zeros. `plain`: whether to use plain loops instead of the SIMD
 * kernel; default false. Throws `ServiceUnavailable` if the memory cannot be allocated.
 */
export function openArena(bytes: number, plain = false): Arena & { readonly buffer: ArrayBuffer } {
  const memory = plain ? null : openKernel(bytes)
  if (memory !== null) return memory
  try {
    return { buffer: new ArrayBuffer(bytes), kernel: null }
  } catch (cause) {
    throw noMemory(bytes, cause)
  }
}

function noMemory(bytes: number, cause: unknown): SheafError {
  return new SheafError(ErrorCode.ServiceUnavailable, `no memory for ${bytes} bytes of an index`, { cause })
}

/**
 * Open an arena for several threads. Returns null if the host does not support SIMD and threads in WebAssembly, or if
 * the memory cannot be allocated.
 */
export function openSharedArena(bytes: number): SharedArena | null {
  const memory = openSharedMemory(bytes)
  return memory && attachArena(memory)
}

/**
 * Allocate memory for an arena of several threads. On hosts without SIMD and threads in WebAssembly, plain loops work
 * in the memory. Throws `ServiceUnavailable` if the memory cannot be allocated.
 */
export function openShareable(bytes: number): SharedMemory | SharedArrayBuffer {
  const memory = openSharedMemory(bytes)
  if (memory !== null) return memory
  try {
    return new SharedArrayBuffer(bytes)
  } catch (cause) {
    throw noMemory(bytes, cause)
  }
}

/** Create this thread's arena in memory that `openShareable` returned. */
export function attachShareable(memory: SharedMemory | SharedArrayBuffer): Arena {
  return memory instanceof SharedArrayBuffer ? { buffer: memory, kernel: null } : attachArena(memory)
}

/**
 * Create this thread's arena in the memory of an arena that another thread opened. Writes before the memory was posted
 * are visible. For later writes, the threads must synchronize.
 */
export function attachArena(memory: SharedMemory): SharedArena {
  return { memory, buffer: memory.buffer, kernel: sharedKernelOn(memory) }
}

/** Assigns consecutive addresses in an arena. */
export class Places {
  #end = 0

  /** Reserve `bytes` bytes and return their address. */
  take(bytes: number): number {
    const at = this.#end
    this.#end = at + Math.ceil(bytes / arenaAlignment) * arenaAlignment
    return at
  }

  /** The number of bytes that an arena needs for all reserved bytes. */
  get end(): number {
    return this.#end
  }
}
