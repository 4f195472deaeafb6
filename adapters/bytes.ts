/** Copies bodies into pieces that can be transferred to another thread. */
import { concatBytes } from '../src/arrow/concat-bytes.js'
import { invalidInput, quote } from '../src/errors.js'

/** Return the bytes in all chunks together. */
export function lengthOf(chunks: readonly Uint8Array[]): number {
  return chunks.reduce((sum, chunk) => sum + chunk.length, 0)
}

/**
 * Copy the bytes into pieces of `pieceBytes` (default 256 KiB). Columns come as buffers of any size, many of a few bytes; one message for
 * each would cost more than a copy.
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
      throw invalidInput(`a chunk of the body is not bytes: ${quote(chunk)}`)
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
 * Size of the pieces of an answer, bytes. It is large because each piece costs the receiving event loop a turn, and a garbage collection.
 */
const restPieceBytes = 1024 * 1024

/** The least bytes of the beginning of an answer: enough to show that it is an Arrow file. */
const beginningBytes = 1024

/** An Arrow file whose end is not produced yet, cut in two. */
interface CutFile {
  /** The beginning of the file, in memory of its own. */
  readonly beginning: Uint8Array<ArrayBuffer>
  /** The following bytes in pieces of 1 MiB, produced on demand; the footer, which is the last chunk, is a piece of its own. */
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
