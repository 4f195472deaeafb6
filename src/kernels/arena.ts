/**
 * Memory of one index segment, in which its kernels work: WebAssembly memory with the SIMD kernel or, without SIMD, the
 * ordinary heap with plain loops that return the same bits. The memory never grows or moves, so views stay valid.
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

/** Memory for kernels. */
export interface Arena {
  readonly buffer: ArrayBufferLike
  /** Null: the plain loops work on `buffer`. */
  readonly kernel: Kernel | null
}

/** An arena that can contain a graph. */
export interface GraphArena {
  readonly buffer: ArrayBufferLike
  readonly kernel: GraphKernel | null
}

/** Memory in which several threads work at once, each through a kernel of its own. */
export interface SharedArena extends Arena {
  /** The memory to which another thread attaches. It can be posted to the thread. */
  readonly memory: SharedMemory
  readonly kernel: SharedKernel
}

/** Alignment of everything in an arena, in bytes. */
const arenaAlignment = 64

/** Open a zeroed arena. `plain`: without the SIMD kernel. Throws `ServiceUnavailable` if there is no memory. */
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
 * Open an arena for several threads. Returns null without SIMD and threads in WebAssembly, or without address space.
 */
export function openSharedArena(bytes: number): SharedArena | null {
  const memory = openSharedMemory(bytes)
  return memory && attachArena(memory)
}

/**
 * Allocate memory for an arena of several threads on any host. If the host has no kernels for it, plain loops work in
 * the memory.
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

/** Create this thread's arena in memory of `openShareable`. */
export function attachShareable(memory: SharedMemory | SharedArrayBuffer): Arena {
  return memory instanceof SharedArrayBuffer ? { buffer: memory, kernel: null } : attachArena(memory)
}

/**
 * Attach to an arena that another thread opened. Data written before the memory was posted is visible. Later writes
 * need synchronization between the threads.
 */
export function attachArena(memory: SharedMemory): SharedArena {
  return { memory, buffer: memory.buffer, kernel: sharedKernelOn(memory) }
}

/** Assigns consecutive addresses. `end` is the size of an arena for all of them. */
export class Places {
  #end = 0

  /** Reserve `bytes` bytes and return their address. */
  take(bytes: number): number {
    const at = this.#end
    this.#end = at + Math.ceil(bytes / arenaAlignment) * arenaAlignment
    return at
  }

  get end(): number {
    return this.#end
  }
}
