/** Cuts the IPC stream out of an IPC file. A file is: magic, padding, a stream, the footer, its length, and magic again. */
import { lengthOf } from '../bytes.js'

const headBytes = 8
/** Length of the footer and magic. */
const tailBytes = 10

/** A file. If it has a rest, the last chunk of the rest is the footer. */
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

/** Return bytes `from` to `to` of the chunks, without copying. */
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
