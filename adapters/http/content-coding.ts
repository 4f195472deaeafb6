/**
 * Decodes and encodes bodies (content codings, RFC 9110, 8.4). Node implements gzip; src/arrow/zstd.ts decodes zstd.
 */
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

/**
 * Return the coding that the header field Content-Encoding names, or undefined if the body is not coded. Throws
 * InvalidInput with status 415 for an unknown coding.
 */
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
 * Decode a body. Throws any error of `chunks`. Throws InvalidInput if the bytes are truncated or do not have this
 * coding, and with status 413 if more than `mostBytes` bytes are decoded.
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
      throw invalidInput(`the decoded body is larger than the limit of ${mostBytes} bytes`, {
        status: 413,
      })
    }
    yield chunk
  }
}

async function* unzipped(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const unzip = zlib.createGunzip({ chunkSize })
  // An error of `chunks` destroys `unzip`, so the loop below throws it.
  pipeline(Readable.from(chunks), unzip, () => {})
  try {
    yield* unzip as AsyncIterable<Uint8Array>
  } catch (cause) {
    if (cause instanceof SheafError || !isZlibError(cause)) throw cause
    throw invalidInput(`the content encoding is gzip, but the body is not valid gzip: ${cause.message}`, {
      cause,
    })
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

/** Encode a body, on threads of Node's pool. Use `zstd` only if this Node version can write it. */
export function encoded(chunks: AsyncIterable<Uint8Array>, coding: ContentCoding): AsyncIterable<Uint8Array> {
  const coder =
    coding === 'gzip'
      ? zlib.createGzip({ level: zlib.constants.Z_BEST_SPEED, chunkSize })
      : (zlib as NodeZstd).createZstdCompress!({ chunkSize })
  pipeline(Readable.from(chunks), coder, () => {})
  return coder
}
