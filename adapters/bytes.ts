/** Bodies as pieces that can be given away. */
import { concatBytes } from '../src/arrow/concat.js'
import { invalidInput, quote } from '../src/errors.js'

/** Bytes in all chunks together. */
export function lengthOf(chunks: readonly Uint8Array[]): number {
  return chunks.reduce((sum, chunk) => sum + chunk.length, 0)
}

/** The chunks in one array that shares memory with nothing. Throws code 13 where they are too many bytes for that. */
export function joined(chunks: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  return concatBytes(chunks)
}

/**
 * The same bytes in pieces of `pieceBytes` (default 256 KiB) that share memory with nothing: columns come as buffers of any size, many of a few
 * bytes, and a trip each would cost more than a copy.
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
  if (used > 0) yield joined([piece.subarray(0, used)])
}

/** Of an answer: each piece that another thread gives costs its event loop a turn, and a garbage collector a look. */
const restPieceBytes = 1024 * 1024

/** Bytes with which an answer that is begun begins: enough for what tells that it is a file. */
const beginningBytes = 1024

/** An Arrow file that is begun, cut in two. */
export interface CutFile {
  /** Its beginning, which shares memory with nothing. */
  readonly beginning: Uint8Array<ArrayBuffer>
  /** All that follows in pieces of 1 MiB, as they are asked for; the footer, which is the last chunk, in one of its own. */
  readonly pieces: AsyncGenerator<Uint8Array<ArrayBuffer>>
}

export function cutFile(chunks: readonly Uint8Array[], rest: AsyncIterable<Uint8Array>): CutFile {
  let first = 0
  for (let bytes = 0; first < chunks.length && bytes < beginningBytes; first++) bytes += chunks[first]!.length
  return { beginning: joined(chunks.slice(0, first)), pieces: footerApart(chunks.slice(first), rest) }
}

async function* footerApart(
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
  if (last !== null) yield joined([last])
}
