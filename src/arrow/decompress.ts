/**
 * Decompresses buffers of IPC bodies (columnar format, "Compression"). `compress.ts` describes the format of a buffer.
 */
import { invalidInput } from '../errors.js'
import type { Budget } from './budget.js'
import type { BodyHeader, Codec } from './ipc-message.js'
import { decodeLz4Frame } from './lz4.js'
import type { Steps } from './steps.js'
import { decodeZstdFrame } from './zstd.js'

/** Return the decompressed size in bytes of all compressed buffers of a body together, as their length prefixes say. */
export function announcedBytes({ codec, buffers }: BodyHeader, body: Uint8Array): number {
  if (codec === null) return 0
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength)
  let announced = 0
  for (let i = 0; i < buffers.length; i += 2) {
    const [offset, length] = [buffers[i]!, buffers[i + 1]!]
    if (length < 8 || offset < 0 || offset + 8 > body.length) continue
    announced += Math.max(0, Number(view.getBigInt64(offset, true)))
  }
  return announced
}

/**
 * Return the decompressed bytes of one buffer, or a view if the buffer is not compressed. Error messages name `path`,
 * the column of the buffer, and `at`, the offset of the buffer.
 * @throws InvalidInput for a broken frame. The status is 413 if the budget is exceeded.
 */
export function* decompress(
  buffer: Uint8Array,
  codec: Codec,
  budget: Budget,
  path: string,
  at: number,
): Steps<Uint8Array> {
  if (buffer.length === 0) return buffer
  if (buffer.length < 8)
    throw invalidInput(
      `broken arrow body: a compressed buffer needs 8 bytes for its length, got ${buffer.length} (byte ${at})`,
    )
  const length = new DataView(buffer.buffer, buffer.byteOffset, 8).getBigInt64(0, true)
  const frame = buffer.subarray(8)
  if (length === -1n) return frame
  if (length < 0n || length > 0x7fffffffffffn) {
    throw invalidInput(`broken arrow body: a compressed buffer has the invalid length ${length} (byte ${at})`)
  }
  if (length === 0n) return frame.subarray(0, 0)
  budget.charge(Number(length), path)
  if (codec === 'lz4') return yield* decodeLz4Frame(frame, Number(length), at + 8)
  return yield* decodeZstdFrame(frame, Number(length), at + 8)
}
