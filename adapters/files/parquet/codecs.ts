/** Compresses and decompresses pages. */
import { promisify } from 'node:util'
import zlib from 'node:zlib'
import { decodeLz4Block } from '../../../src/arrow/lz4.js'
import { runPaced } from '../../../src/arrow/steps.js'
import { decodeZstdFrame, encodeZstd } from '../../../src/arrow/zstd.js'
import { unsupported } from '../../../src/errors.js'
import type { Pacer } from '../../../src/primitives/pacer.js'
import { brokenParquet } from './fault.js'
import { decodeSnappy, encodeSnappy } from './snappy.js'

/** The compression of pages that a writer offers. */
export type ParquetCompression = 'none' | 'snappy' | 'gzip' | 'brotli' | 'zstd'

/** The number of each compression in the format. */
export const codecNumbers: Readonly<Record<ParquetCompression, number>> = {
  none: 0,
  snappy: 1,
  gzip: 2,
  brotli: 4,
  zstd: 6,
}

/** The other compressions that a reader knows: LZ4 in the framing of Hadoop, and plain blocks of LZ4. */
const Lz4 = { hadoop: 5, raw: 7 } as const

const gunzip = promisify<Uint8Array, zlib.ZlibOptions, Uint8Array>(zlib.gunzip)
const gzip = promisify<Uint8Array, Uint8Array>(zlib.gzip)
const unbrotli = promisify<Uint8Array, zlib.BrotliOptions, Uint8Array>(zlib.brotliDecompress)
const brotli = promisify<Uint8Array, zlib.BrotliOptions, Uint8Array>(zlib.brotliCompress)

/**
 * Decompress the bytes of a page. `length`: bytes of the result, which the header of the page announces. `at`: the byte
 * of the file, for messages.
 * @throws InvalidInput for broken bytes; Unsupported for LZO and unknown compressions.
 */
export async function decompressPage(
  codec: number,
  bytes: Uint8Array,
  length: number,
  at: number,
  pacer: Pacer,
): Promise<Uint8Array> {
  let plain: Uint8Array
  // Some writers compress no bytes to no bytes.
  if (length === 0) return new Uint8Array(0)
  switch (codec) {
    case codecNumbers.none:
      plain = bytes
      break
    case codecNumbers.snappy:
      plain = await runPaced(decodeSnappy(bytes, length, at), pacer)
      break
    case codecNumbers.gzip:
      plain = await inflated(gunzip(bytes, { maxOutputLength: length }), 'gzip', at)
      break
    case codecNumbers.brotli:
      plain = await inflated(unbrotli(bytes, { maxOutputLength: length }), 'brotli', at)
      break
    case codecNumbers.zstd:
      plain = await runPaced(decodeZstdFrame(bytes, length, at), pacer)
      break
    case Lz4.raw:
      plain = decodeLz4Block(bytes, length, at)
      break
    case Lz4.hadoop:
      plain = decodeHadoop(bytes, length, at)
      break
    default:
      throw unsupported(
        `Sheaf does not read Parquet files with the compression ${codec === 3 ? 'LZO' : codec}`,
      )
  }
  if (plain.length !== length)
    throw brokenParquet(`a page has ${plain.length} bytes, but its header announces ${length}`, at)
  return plain
}

async function inflated(plain: Promise<Uint8Array>, name: string, at: number): Promise<Uint8Array> {
  try {
    return await plain
  } catch (cause) {
    throw brokenParquet(`a page cannot be decompressed by ${name}: ${(cause as Error).message}`, at, cause)
  }
}

/** Decode blocks of LZ4, each after its decompressed and its compressed length, in big-endian byte order. */
function decodeHadoop(bytes: Uint8Array, length: number, at: number): Uint8Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const parts: Uint8Array[] = []
  let done = 0
  for (let position = 0; position < bytes.length; ) {
    const plain = position + 8 > bytes.length ? -1 : view.getUint32(position)
    const packed = plain === -1 ? 0 : view.getUint32(position + 4)
    const end = position + 8 + packed
    // Some writers wrote plain blocks under this name.
    if (plain === -1 || done + plain > length || end > bytes.length) return decodeLz4Block(bytes, length, at)
    parts.push(decodeLz4Block(bytes.subarray(position + 8, end), plain, at))
    done += plain
    position = end
  }
  return parts.length === 1 ? parts[0]! : Buffer.concat(parts)
}

/** Compress the bytes of a page. Throws Unsupported if this version of Node cannot encode ZSTD. */
export async function compressPage(compression: ParquetCompression, plain: Uint8Array): Promise<Uint8Array> {
  switch (compression) {
    case 'none':
      return plain
    case 'snappy':
      return encodeSnappy(plain)
    case 'gzip':
      return gzip(plain)
    case 'brotli':
      return brotli(plain, {
        params: {
          [zlib.constants.BROTLI_PARAM_QUALITY]: 5,
          [zlib.constants.BROTLI_PARAM_SIZE_HINT]: plain.length,
        },
      })
    case 'zstd':
      return encodeZstd(plain)
  }
}
