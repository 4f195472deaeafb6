/** Reads the bytes of a file: from a path, or from chunks that the caller provides. */
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { types } from 'node:util'
import { createGunzip } from 'node:zlib'
import { ErrorCode, invalidInput, quote, SheafError } from '../../src/errors.js'
import { eachOrAborted } from '../../src/primitives/abort.js'
import { signalShape } from '../../src/protocol/calls.js'
import { options } from '../../src/protocol/shape.js'
import { LocalFile } from '../../src/storage/local-file.js'

/**
 * The source of a file: a path, or the content in chunks, for example a Readable. A file whose path ends in `.gz` is
 * decompressed. Chunks of text are encoded as UTF-8. The caller must not change a chunk until the reader has ended.
 */
export type FileSource = string | AsyncIterable<Uint8Array | string>

/** The bytes of a file that the caller opened. Messages name its path. */
export class NamedChunks implements AsyncIterable<Uint8Array> {
  readonly path: string
  readonly #chunks: AsyncIterable<Uint8Array>

  constructor(path: string, chunks: AsyncIterable<Uint8Array>) {
    this.path = path
    this.#chunks = chunks
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return this.#chunks[Symbol.asyncIterator]()
  }
}

export interface ReadOptions {
  readonly signal?: AbortSignal | undefined
}

export const readShape = options<ReadOptions>()({ signal: signalShape })

/** Read the bytes of a source, decompressed. A file is opened at the first read, and closed when the iteration ends. */
export async function* readChunks(source: FileSource, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
  signal?.throwIfAborted()
  if (typeof source !== 'string') {
    if (typeof source !== 'object' || source === null || !(Symbol.asyncIterator in source)) {
      throw invalidInput(`the source must be a path or an async iterable of bytes, got ${quote(source)}`)
    }
    yield* eachOrAborted(asBytes(source), signal)
    return
  }
  const file = await LocalFile.open(source)
  try {
    const chunks = file.chunks(signal)
    yield* isPacked(source) ? unpack(chunks, source) : chunks
  } finally {
    await file.close()
  }
}

export function isPacked(path: string): boolean {
  return path.endsWith('.gz')
}

/** Return the name of a line for error messages: the path, if there is one, and the line number. */
export function lineOf(source: FileSource, line: number): string {
  const path = source instanceof NamedChunks ? source.path : source
  return typeof path === 'string' ? `${quote(path)} line ${line}` : `line ${line}`
}

async function* asBytes(chunks: AsyncIterable<Uint8Array | string>): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    if (chunk instanceof Uint8Array) yield chunk
    else if (typeof chunk !== 'string') {
      throw invalidInput(`a chunk of a file must be bytes or text, got ${quote(chunk)}`)
    } else if (!chunk.isWellFormed()) {
      throw invalidInput(`a chunk of text contains half of a surrogate pair: ${quote(chunk)}`)
    } else yield Buffer.from(chunk)
  }
}

/** Decompress the bytes of a gzip file. `path`: its name for messages. */
export async function* unpack(chunks: AsyncIterable<Uint8Array>, path: string): AsyncGenerator<Uint8Array> {
  const unzip = createGunzip()
  // Ignore the error here: `pipeline` destroys `unzip` with it, so the loop below throws it.
  const fed = pipeline(Readable.from(chunks), unzip).catch(() => {})
  try {
    yield* unzip
  } catch (error) {
    const code = types.isNativeError(error) && 'code' in error ? String(error.code) : ''
    if (!code.startsWith('Z_')) throw error
    throw invalidInput(`${quote(path)} is not a complete gzip file: ${(error as Error).message}`, {
      cause: error,
    })
  } finally {
    unzip.destroy()
    await fed
  }
}

/** Return an error of the content of a file, with the path or the URL of the file in its message. */
export function inFile(error: unknown, source: unknown): unknown {
  const isNamed = typeof source === 'string' || source instanceof URL
  if (!isNamed || !(error instanceof SheafError) || error.code !== ErrorCode.InvalidInput) return error
  const { message, hint, cause } = error
  // A URL may have secrets after its path.
  const name = quote(
    source instanceof URL ? `${source.origin}${source.pathname}` : source.replace(/[?#].*$/, ''),
  )
  return message.includes(name) ? error : invalidInput(`${name}: ${message}`, { hint, cause })
}
