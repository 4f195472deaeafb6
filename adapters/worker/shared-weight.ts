/**
 * Makes the garbage collector of this thread count shared memory. The collector counts the bytes of all other buffers, but none of shared
 * ones. Without this, a thread that reads through a large table would keep 35 times its cache budget (measured).
 */
import type { Shareable } from '../../src/table/sharing.js'

/** For each shared buffer that this thread references: counted memory of the same size. It is never touched, so it takes only addresses. */
const weights = new WeakMap<SharedArrayBuffer, ArrayBuffer>()

export function weigh(memory: Shareable): void {
  const buffer = bufferOf(memory)
  const { byteLength } = buffer
  // A buffer that could grow is mapped, and not cleared.
  if (!weights.has(buffer)) weights.set(buffer, new Mapped(byteLength, { maxByteLength: byteLength }))
}

/** Return the shared buffer of a memory. */
export function bufferOf(memory: Shareable): SharedArrayBuffer {
  return 'buffer' in memory ? memory.buffer : memory
}

/** The types of the oldest supported Node lack resizable buffers. */
const Mapped = ArrayBuffer as unknown as new (
  bytes: number,
  options: { readonly maxByteLength: number },
) => ArrayBuffer
