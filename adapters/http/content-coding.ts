/** Content codings (RFC 9110, 8.4) of bodies: gzip by Node, zstd by src/arrow/zstd.ts. */
import { pipeline, Readable, type Transform } from 'node:stream'
import { types } from 'node:util'
import zlib from 'node:zlib'
import { brokenZstd, ZstdBlocks } from '../../src/arrow/zstd.js'
import { invalidInput, quote, SheafError } from '../../src/errors.js'

export type ContentCoding = 'gzip' | 'zstd'

const chunkSize = 64 * 1024

interface NodeZstd {
  createZstdCompress?(options: { chunkSize: number }): Transform
}

/** Return the coding that a request names; undefined: its body is not coded. Throws InvalidInput with status 415 for any other coding. */
export function codingIn(field: string | undefined): ContentCoding | undefined {
  const name = (field ?? '').trim().toLowerCase()
  if (name === '' || name === 'identity') return undefined
  if (name === 'gzip' || name === 'x-gzip') return 'gzip'
  if (name === 'zstd') return name
  throw invalidInput(`the content encoding ${quote(field)} is not supported`, {
    status: 415,
    hint: 'send the body uncompressed, or as gzip or zstd',
  })
}

/**
 * Decode a body. Throws the error of the chunks; InvalidInput for bytes that are not of this coding or are cut off; and InvalidInput with
 * status 413 if they decode to more than `mostBytes`.
 */
export async function* decoded(
  chunks: AsyncIterable<Uint8Array>,
  coding: ContentCoding,
  mostBytes: number,
): AsyncGenerator<Uint8Array> {
  let bytes = 0
  for await (const chunk of coding === 'gzip' ? unzipped(chunks) : zstdDecoded(chunks)) {
    bytes += chunk.length
    if (bytes > mostBytes) {
      throw invalidInput(`the body holds more than the limit of ${mostBytes} bytes when it is decoded`, {
        status: 413,
      })
    }
    yield chunk
  }
}

async function* unzipped(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const unzip = zlib.createGunzip({ chunkSize })
  // An error of the chunks comes out of `unzip`, which the loop below reads.
  pipeline(Readable.from(chunks), unzip, () => {})
  try {
    yield* unzip as AsyncIterable<Uint8Array>
  } catch (cause) {
    if (cause instanceof SheafError || !isZlibError(cause)) throw cause
    throw invalidInput(`the body is not gzip, as its content encoding says: ${cause.message}`, { cause })
  } finally {
    unzip.destroy()
  }
}

function isZlibError(cause: unknown): cause is NodeJS.ErrnoException {
  return types.isNativeError(cause) && /^Z_/.test((cause as NodeJS.ErrnoException).code ?? '')
}

async function* zstdDecoded(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const blocks = new ZstdBlocks()
  let bytes = 0
  for await (const chunk of chunks) {
    try {
      yield* blocks.push(chunk)
    } catch (cause) {
      throw brokenZstd(cause, bytes)
    }
    bytes += chunk.length
  }
  try {
    blocks.finish()
  } catch (cause) {
    throw brokenZstd(cause, bytes)
  }
}

/** Encode a body on threads of Node's pool. `zstd` only if Node has it. */
export function encoded(chunks: AsyncIterable<Uint8Array>, coding: ContentCoding): AsyncIterable<Uint8Array> {
  const coder =
    coding === 'gzip'
      ? zlib.createGzip({ level: zlib.constants.Z_BEST_SPEED, chunkSize })
      : (zlib as NodeZstd).createZstdCompress!({ chunkSize })
  pipeline(Readable.from(chunks), coder, () => {})
  return coder
}
