/**
 * Compresses the buffers of IPC bodies (columnar format, "Compression"). A compressed buffer is an int64 with the
 * length of the original, and a frame. An uncompressed buffer is the int64 -1, and the original bytes.
 */
import { KeyedMutex } from '../primitives/keyed-mutex.js'
import type { Pacer } from '../primitives/pacer.js'
import { concatChunks } from './encode-ipc.js'
import { encodeLz4Frame } from './encode-lz4.js'
import { type FlatColumns, type Parts, partsBytes } from './flatten.js'
import type { Codec } from './ipc-message.js'
import { Lz4Threads } from './lz4-threads.js'
import { runPaced } from './steps.js'
import { encodeZstd } from './zstd.js'

/**
 * Minimum size in bytes of a buffer that is compressed. For shorter buffers, decompression takes more time than it
 * saves.
 */
const minBytes = 64
/** Maximum size of a compressed buffer, as a share of the original. A larger result is discarded. */
const maxShare = 0.95
/**
 * Size in bytes of the sample that is compressed first if a buffer is more than four times as long. If the sample is
 * not compressed to less than `maxShare`, the buffer is not compressed, because the parts of a column usually compress
 * about equally well.
 */
const sampleBytes = 64 * 1024

/**
 * Compress one buffer into a frame. Resolves to null if the frame would not be shorter than `mostBytes`.
 */
export type Compress = (plain: Uint8Array, mostBytes: number) => Promise<Uint8Array | null>

/**
 * A mutex, so that this thread encodes only one LZ4 frame at a time. Each concurrent encoding would run for a time
 * slice before the event loop continues. So several replies with many columns would cause a long event-loop delay.
 */
const encodeMutex = new KeyedMutex()

/** Minimum size in bytes of a buffer that another thread encodes. For shorter buffers the round trip takes longer. */
const threadBytes = 256 * 1024

const defaultThreads = new Lz4Threads()

/**
 * Return a function that compresses buffers on other threads: LZ4 on `threads`, ZSTD on Node's thread pool. LZ4 buffers
 * below 256 KiB, and all LZ4 buffers if no thread is available, are encoded on this thread. With LZ4 the function
 * rejects with the reason of the pacer's signal.
 */
export function compressorOf(codec: Codec, pacer: Pacer, threads: Lz4Threads = defaultThreads): Compress {
  const { signal } = pacer
  if (codec === 'lz4') {
    return async (plain, mostBytes) => {
      const frame = plain.length < threadBytes ? undefined : await threads.encode(plain, mostBytes, signal)
      if (frame !== undefined) return frame
      return encodeMutex.run('lz4', () => runPaced(encodeLz4Frame(plain, mostBytes), pacer), signal)
    }
  }
  return async (plain, mostBytes) => {
    const packed = await encodeZstd(plain)
    return packed.length < mostBytes ? packed : null
  }
}

/** Return the columns with the same nodes and compressed buffers. */
export async function compressBuffers(
  { nodes, buffers }: FlatColumns,
  compress: Compress,
): Promise<FlatColumns> {
  const packed = await Promise.all(buffers.map(buffer => compressed(buffer, compress)))
  return { nodes, buffers: packed }
}

async function compressed(parts: Parts, compress: Compress): Promise<Parts> {
  const bytes = partsBytes(parts)
  if (bytes === 0) return parts
  if (bytes < minBytes) return stored(parts)
  const plain = concatChunks(parts)
  if (bytes > 4 * sampleBytes) {
    const from = Math.floor((bytes - sampleBytes) / 2)
    const sample = plain.subarray(from, from + sampleBytes)
    if ((await compress(sample, sampleBytes * maxShare)) === null) return stored(parts)
  }
  const frame = await compress(plain, bytes * maxShare)
  return frame === null ? stored(parts) : [lengthPrefix(bytes), frame]
}

function stored(parts: Parts): Parts {
  return [lengthPrefix(-1), ...parts]
}

function lengthPrefix(length: number): Uint8Array {
  return new Uint8Array(BigInt64Array.of(BigInt(length)).buffer)
}
