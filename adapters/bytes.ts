/** Copies the bytes of Arrow bodies into pieces of one size, which can be transferred to another thread. */
import { concatBytes } from '../src/arrow/concat-bytes.js'
import { invalidInput, quote } from '../src/errors.js'

/** Return the sum of the lengths of the chunks, in bytes. */
export function lengthOf(chunks: readonly Uint8Array[]): number {
  return chunks.reduce((sum, chunk) => sum + chunk.length, 0)
}

/**
 * Copy the bytes into pieces of `pieceBytes` (default 256 KiB). The chunks are the buffers of columns, and many of them
 * have only a few bytes. Copying them costs less than sending one message per chunk.
 */
export async function* inPieces(
  chunks: AsyncIterable<Uint8Array>,
  pieceBytes = 256 * 1024,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const fresh = (): Uint8Array<ArrayBuffer> => Buffer.allocUnsafeSlow(pieceBytes)
  let piece = fresh()
  let used = 0
  for await (const chunk of chunks) {
    if (!(chunk instanceof Uint8Array))
      throw invalidInput(`each chunk of a body must be a Uint8Array, got ${quote(chunk)}`)
    for (let from = 0; from < chunk.length; ) {
      const part = chunk.subarray(from, from + pieceBytes - used)
      piece.set(part, used)
      from += part.length
      used += part.length
      if (used < pieceBytes) continue
      yield piece
      piece = fresh()
      used = 0
    }
  }
  if (used > 0) yield concatBytes([piece.subarray(0, used)])
}

/**
 * Bytes per piece of an answer. Pieces are large because each piece costs the receiver one turn of its event loop and
 * some garbage collection.
 */
const restPieceBytes = 1024 * 1024

/** Minimum bytes of the beginning of an answer. From the beginning, the receiver recognizes an Arrow file. */
const beginningBytes = 1024

/** An Arrow file in two parts: its beginning, and the rest, which may not be written yet. */
interface CutFile {
  /** The first bytes of the file, copied to a buffer of their own. */
  readonly beginning: Uint8Array<ArrayBuffer>
  /** The remaining bytes, in pieces of 1 MiB that are produced on demand. The last piece holds only the footer. */
  readonly pieces: AsyncGenerator<Uint8Array<ArrayBuffer>>
}

export function cutFile(chunks: readonly Uint8Array[], rest: AsyncIterable<Uint8Array>): CutFile {
  let first = 0
  for (let bytes = 0; first < chunks.length && bytes < beginningBytes; first++) bytes += chunks[first]!.length
  return {
    beginning: concatBytes(chunks.slice(0, first)),
    pieces: withFooterApart(chunks.slice(first), rest),
  }
}

async function* withFooterApart(
  chunks: readonly Uint8Array[],
  rest: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  let last: Uint8Array | null = null
  async function* before() {
    yield* chunks
    for await (const chunk of rest) {
      if (last !== null) yield last
      last = chunk
    }
  }
  yield* inPieces(before(), restPieceBytes)
  if (last !== null) yield concatBytes([last])
}
