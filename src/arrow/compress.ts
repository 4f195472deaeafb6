/**
 * Compresses the buffers of IPC bodies (columnar format, "Compression"): each buffer is an int64 length and a frame. A
 * length of -1 precedes a buffer that is not compressed.
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

/** Shorter buffers are not compressed: unpacking costs more than the saved bytes are worth. */
const minBytes = 64
/** A compressed buffer must be shorter than this share of the original. */
const maxShare = 0.95
/** For longer buffers this many bytes are compressed first as a sample: most columns compress everywhere or nowhere. */
const sampleBytes = 64 * 1024

/**
 * Compress one buffer of at least `worthBytes`. Resolves to null if the result would not be shorter than `mostBytes`.
 */
export type Compress = (plain: Uint8Array, mostBytes: number) => Promise<Uint8Array | null>

/**
 * LZ4 frames are encoded one at a time. Otherwise each column of each reply would run for a slice of its own between
 * two turns of the event loop.
 */
const encodeMutex = new KeyedMutex()

/** Shorter buffers are encoded faster on this thread than another thread can answer. */
const threadBytes = 256 * 1024

const defaultThreads = new Lz4Threads()

/**
 * Return a function that compresses on other threads: LZ4 on `threads`, ZSTD on Node's pool. Short LZ4 buffers, and all
 * if no thread is available, are encoded on this thread. The function rejects with the reason of the pacer's signal.
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

/** Return the same nodes with compressed buffers. */
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
