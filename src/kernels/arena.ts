/**
 * Memory of one index segment, in which its kernels work: WebAssembly memory with the SIMD kernel, or where there is none the
 * ordinary heap with plain loops that give the same bits. It never grows or moves: views stay good for its life.
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

export interface Arena {
  readonly buffer: ArrayBufferLike
  /** Null: the plain loops work on `buffer`. */
  readonly kernel: Kernel | null
}

/** An arena in which a graph can lie. */
export interface GraphArena {
  readonly buffer: ArrayBufferLike
  readonly kernel: GraphKernel | null
}

/** Memory that several threads work in at once, each through a kernel of its own. */
export interface SharedArena extends Arena {
  /** What another thread attaches to: can be posted to it. */
  readonly memory: SharedMemory
  readonly kernel: SharedKernel
}

/** Addresses of everything in an arena are multiples of this. */
export const arenaAlignment = 64

/** Zeroed. `plain`: without the SIMD kernel. Throws a `SheafError` of code 17 when there is no memory. */
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

/** The same for several threads; null where none can be had: without SIMD and threads in WebAssembly, or without address space. */
export function openSharedArena(bytes: number): SharedArena | null {
  const memory = openSharedMemory(bytes)
  return memory && attachArena(memory)
}

/** Memory for an arena of several threads, whatever the host has: where there are no kernels for it, plain loops work in it. */
export function openShareable(bytes: number): SharedMemory | SharedArrayBuffer {
  const memory = openSharedMemory(bytes)
  if (memory !== null) return memory
  try {
    return new SharedArrayBuffer(bytes)
  } catch (cause) {
    throw noMemory(bytes, cause)
  }
}

/** The arena of this thread in memory of `openShareable`. */
export function attachShareable(memory: SharedMemory | SharedArrayBuffer): Arena {
  return memory instanceof SharedArrayBuffer ? { buffer: memory, kernel: null } : attachArena(memory)
}

/** An arena that another thread has opened. What lies in it when it comes is there; later, only what is agreed on. */
export function attachArena(memory: SharedMemory): SharedArena {
  return { memory, buffer: memory.buffer, kernel: sharedKernelOn(memory) }
}

/** Gives out addresses one after the other; what it gave out together is what an arena must have. */
export class Places {
  #end = 0

  /** Room for `bytes` bytes. */
  take(bytes: number): number {
    const at = this.#end
    this.#end = at + Math.ceil(bytes / arenaAlignment) * arenaAlignment
    return at
  }

  get end(): number {
    return this.#end
  }
}
