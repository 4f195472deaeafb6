/** Divides a stream into parts for an upload. */

export interface Part {
  readonly bytes: Uint8Array
  readonly isLast: boolean
}

/**
 * Yield the bytes of a stream in parts of `partBytes` bytes. Only the last part may be smaller. It is empty only if the
 * stream is.
 */
export async function* partsOf(chunks: AsyncIterable<Uint8Array>, partBytes: number): AsyncGenerator<Part> {
  let gathered: Uint8Array[] = []
  let left = partBytes
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.length; ) {
      if (left === 0) {
        yield { bytes: Buffer.concat(gathered), isLast: false }
        gathered = []
        left = partBytes
      }
      const piece = chunk.subarray(at, at + left)
      gathered.push(piece)
      left -= piece.length
      at += piece.length
    }
  }
  yield { bytes: Buffer.concat(gathered), isLast: true }
}
