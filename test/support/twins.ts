/** The same memory with the SIMD kernel and without. */
import { expect } from 'vitest'
import { type Arena, openArena } from '../../src/kernels/arena.js'

/** Runs `work` on an arena of `bytes` bytes with the kernel and on one without; what it returns must be the same, and is returned. */
export function onTwins<T>(bytes: number, work: (arena: Arena) => T): T {
  const arena = openArena(bytes)
  expect(arena.kernel).not.toBeNull()
  const result = work(arena)
  expect(result).toEqual(work(openArena(bytes, true)))
  return result
}
