/**
 * Tells the collector of this thread what shared memory weighs. It counts the bytes of all other buffers, and collects as they come;
 * shared ones it takes for nothing, so that a thread which reads through a large table would keep 35 times its budget (measured).
 */
import type { Shareable } from '../../src/table/sharing.js'

/** As long as a shared buffer is seen here, memory of the same size that is counted, and never touched: it takes addresses, no more. */
const weights = new WeakMap<SharedArrayBuffer, ArrayBuffer>()

export function weigh(memory: Shareable): void {
  const buffer = bufferOf(memory)
  const { byteLength } = buffer
  // One that could grow is mapped, not cleared.
  if (!weights.has(buffer)) weights.set(buffer, new Mapped(byteLength, { maxByteLength: byteLength }))
}

/** What is seen of it by who reads it. */
export function bufferOf(memory: Shareable): SharedArrayBuffer {
  return memory instanceof SharedArrayBuffer ? memory : memory.buffer
}

/** The types of our oldest Node do not know it yet. */
const Mapped = ArrayBuffer as unknown as new (
  bytes: number,
  options: { readonly maxByteLength: number },
) => ArrayBuffer
