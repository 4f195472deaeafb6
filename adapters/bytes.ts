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

/** The same for what follows the beginning of an Arrow file, in pieces of 1 MiB; its footer, which is the last chunk, stays one of its own. */
export async function* restInPieces(
  rest: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  let last: Uint8Array | null = null
  async function* before() {
    for await (const chunk of rest) {
      if (last !== null) yield last
      last = chunk
    }
  }
  yield* inPieces(before(), restPieceBytes)
  if (last !== null) yield joined([last])
}
