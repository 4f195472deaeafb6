/**
 * Memory of one index segment, in which its kernels work: WebAssembly memory with the SIMD kernel, or where there is none the
 * ordinary heap with plain loops that give the same bits. It never grows or moves: views stay good for its life.
 */
import { ErrorCode, SheafError } from '../errors.js'
import { type Kernel, openKernel } from './kernel.js'

export interface Arena {
  readonly buffer: ArrayBuffer
  /** Null: the plain loops work on `buffer`. */
  readonly kernel: Kernel | null
}

/** Addresses of everything in an arena are multiples of this. */
export const arenaAlignment = 64

/** Zeroed. `plain`: without the SIMD kernel. Throws a `SheafError` of code 17 when there is no memory. */
export function openArena(bytes: number, plain = false): Arena {
  const memory = plain ? null : openKernel(bytes)
  if (memory !== null) return memory
  try {
    return { buffer: new ArrayBuffer(bytes), kernel: null }
  } catch (cause) {
    throw new SheafError(ErrorCode.ServiceUnavailable, `no memory for ${bytes} bytes of an index`, { cause })
  }
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
