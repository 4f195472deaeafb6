/**
 * Extracts the IPC stream from an IPC file. A file consists of a magic text, padding, the stream, a footer, the length
 * of the footer, and the magic text again.
 */
import { lengthOf } from '../bytes.js'

const headBytes = 8
/** Bytes of the footer length and of the magic text at the end. */
const tailBytes = 10

/**
 * The bytes of a file or of a stream. `rest`: the chunks after `chunks`, produced on demand. The last chunk of a file
 * with `rest` is its footer.
 */
interface Pieces {
  readonly chunks: readonly Uint8Array[]
  readonly rest?: AsyncIterable<Uint8Array> | undefined
}

export function streamOfFile({ chunks, rest }: Pieces): Pieces {
  const length = lengthOf(chunks)
  if (rest !== undefined) return { chunks: range(chunks, headBytes, length), rest: withoutLast(rest) }
  const tail = Buffer.concat(range(chunks, length - tailBytes, length))
  return { chunks: range(chunks, headBytes, length - tailBytes - tail.readInt32LE(0)) }
}

/** Return the bytes from position `from` up to position `to`, without copying them. */
function range(chunks: readonly Uint8Array[], from: number, to: number): Uint8Array[] {
  const parts: Uint8Array[] = []
  let start = 0
  for (const chunk of chunks) {
    const part = chunk.subarray(Math.max(0, from - start), Math.max(0, to - start))
    if (part.length > 0) parts.push(part)
    start += chunk.length
  }
  return parts
}

async function* withoutLast(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let before: Uint8Array | undefined
  for await (const chunk of chunks) {
    if (before !== undefined) yield before
    before = chunk
  }
}
