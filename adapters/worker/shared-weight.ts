/**
 * Makes the garbage collector of this thread count shared memory. The collector counts the bytes of other buffers, but
 * not of shared buffers, so it would run too rarely. Without this file, a thread that scans a large table used memory
 * of 35 times its cache budget (measured).
 */
import type { Shareable } from '../../src/table/sharing.js'

/**
 * For each shared buffer that this thread references, a buffer of the same size that the collector counts. It is never
 * written, so it takes address space but no memory.
 */
const weights = new WeakMap<SharedArrayBuffer, ArrayBuffer>()

export function weigh(memory: Shareable): void {
  const buffer = bufferOf(memory)
  const { byteLength } = buffer
  // A resizable buffer is only mapped. Another buffer would be filled with zeros, which takes memory.
  if (!weights.has(buffer)) weights.set(buffer, new Mapped(byteLength, { maxByteLength: byteLength }))
}

/** Return the `SharedArrayBuffer` of a shared memory. */
export function bufferOf(memory: Shareable): SharedArrayBuffer {
  return 'buffer' in memory ? memory.buffer : memory
}

/** Cast, because the type definitions of the oldest supported Node have no resizable buffers. */
const Mapped = ArrayBuffer as unknown as new (
  bytes: number,
  options: { readonly maxByteLength: number },
) => ArrayBuffer
