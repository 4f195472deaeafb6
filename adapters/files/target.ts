/** Writes the bytes of a file to a path or to a stream. */
import { Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { invalidInput, quote } from '../../src/errors.js'
import { signalShape } from '../../src/protocol/calls.js'
import { options } from '../../src/protocol/shape.js'
import { writeLocalFile } from '../../src/storage/local-file.js'
import { inPieces } from '../bytes.js'
import { isPacked } from './source.js'

/**
 * The target of a file: a path, or a Writable, which is ended after the last byte. An existing file is replaced only
 * when the new file is complete. A failed write leaves no file. A file whose path ends in `.gz` is compressed.
 */
export type FileTarget = string | Writable

export interface WriteOptions {
  readonly signal?: AbortSignal | undefined
}

export const writeShape = options<WriteOptions>()({ signal: signalShape })

export interface Written {
  readonly rows: number
  /** Number of bytes written, after compression. */
  readonly bytes: number
}

/** Counts the rows that an encoder has written so far. */
export interface Progress {
  rows: number
}

/** Write the chunks of `encode` to the target. Waits while the target cannot take more. */
export async function writeChunks(
  target: FileTarget,
  encode: (progress: Progress) => AsyncIterable<Uint8Array>,
  signal: AbortSignal | undefined,
): Promise<Written> {
  signal?.throwIfAborted()
  const progress: Progress = { rows: 0 }
  const pieces = inPieces(encode(progress))
  if (target === '') throw invalidInput('the target must be a path or a Writable, got ""')
  if (typeof target === 'string') {
    const chunks = isPacked(target) ? pack(pieces) : pieces
    const bytes = await writeLocalFile(target, chunks, signal)
    return { rows: progress.rows, bytes }
  }
  if (typeof target !== 'object' || target === null || typeof target.write !== 'function') {
    throw invalidInput(`the target must be a path or a Writable, got ${quote(target)}`)
  }
  const counted = { bytes: 0 }
  try {
    await pipeline(count(pieces, counted), target, signal === undefined ? {} : { signal })
  } catch (error) {
    signal?.throwIfAborted()
    throw error
  }
  return { rows: progress.rows, bytes: counted.bytes }
}

async function* count(chunks: AsyncIterable<Uint8Array>, counted: { bytes: number }) {
  for await (const chunk of chunks) {
    counted.bytes += chunk.length
    yield chunk
  }
}

async function* pack(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const zip = createGzip()
  const fed = pipeline(Readable.from(chunks), zip).catch(() => {})
  try {
    // If the source fails, `pipeline` destroys `zip` with the error, and this loop throws it.
    yield* zip
  } finally {
    zip.destroy()
    await fed
  }
}
