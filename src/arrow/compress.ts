/** Compresses the buffers of IPC bodies (columnar format, "Compression"): an int64 length, then a frame; -1 before a buffer that stays as it is. */
import { KeyedMutex } from '../primitives/keyed-mutex.js'
import type { Pacer } from '../primitives/pacer.js'
import { concatChunks } from './encode-ipc.js'
import { encodeLz4Frame } from './encode-lz4.js'
import { type FlatColumns, type Parts, partsBytes } from './flatten.js'
import type { Codec } from './ipc-message.js'
import { Lz4Threads } from './lz4-threads.js'
import { runPaced } from './steps.js'
import { encodeZstd } from './zstd.js'

/** A shorter buffer costs more to unpack than it saves. */
const worthBytes = 64
/** A buffer must lose so much of its length. */
const shareMax = 0.95
/** Of a longer buffer this many bytes are tried first: most columns compress all over or nowhere. */
const sampleBytes = 64 * 1024

/** Compresses one buffer of at least `worthBytes`; null where it would not be shorter than `mostBytes`. */
export type Compress = (plain: Uint8Array, mostBytes: number) => Promise<Uint8Array | null>

/** LZ4 frames are encoded one at a time: otherwise each column of each reply would take a slice of its own between two turns of the event loop. */
const onThisThread = new KeyedMutex()

/** A shorter buffer is encoded in less time than a thread takes to answer. */
const threadBytes = 256 * 1024

const onThreads = new Lz4Threads()

/**
 * Compresses on threads: LZ4 on those of `threads`, short buffers and all where there are none on this one; ZSTD on those of Node's
 * pool. Rejects with the reason of the pacer's signal.
 */
export function compressorOf(codec: Codec, pacer: Pacer, threads: Lz4Threads = onThreads): Compress {
  const { signal } = pacer
  if (codec === 'lz4') {
    return async (plain, mostBytes) => {
      const frame = plain.length < threadBytes ? undefined : await threads.encode(plain, mostBytes, signal)
      if (frame !== undefined) return frame
      return onThisThread.run('lz4', () => runPaced(encodeLz4Frame(plain, mostBytes), pacer), signal)
    }
  }
  return async (plain, mostBytes) => {
    const packed = await encodeZstd(plain)
    return packed.length < mostBytes ? packed : null
  }
}

/** The same nodes, with buffers as a body of a codec has them. */
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
  if (bytes < worthBytes) return stored(parts)
  const plain = concatChunks(parts)
  if (bytes > 4 * sampleBytes) {
    const from = Math.floor((bytes - sampleBytes) / 2)
    const sample = plain.subarray(from, from + sampleBytes)
    if ((await compress(sample, sampleBytes * shareMax)) === null) return stored(parts)
  }
  const frame = await compress(plain, bytes * shareMax)
  return frame === null ? stored(parts) : [lengthPrefix(bytes), frame]
}

function stored(parts: Parts): Parts {
  return [lengthPrefix(-1), ...parts]
}

function lengthPrefix(length: number): Uint8Array {
  return new Uint8Array(BigInt64Array.of(BigInt(length)).buffer)
}
