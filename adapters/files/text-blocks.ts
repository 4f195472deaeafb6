/** UTF-8 text, a few whole lines at a time: what is told line by line is read this way. */
import { isUtf8 } from 'node:buffer'
import { concatBytes } from '../../src/arrow/concat.js'
import { invalidInput, type SheafError } from '../../src/errors.js'
import { type FileSource, lineOf, readChunks } from './source.js'

/** Bytes of a block: what is made of them takes a millisecond, ten before the code is warm. */
const blockBytes = 16 * 1024

/** Longest line, and longest record, in bytes. */
export const longestLine = 64 * 2 ** 20

export interface TextBlock {
  /** UTF-8. Ends with a line feed, unless the file ends with it. */
  readonly bytes: Uint8Array
  /** Number of its first line, from 1. */
  readonly line: number
}

const lineFeed = 10

/** The text of a source, without the mark of order it may begin with. Throws code 13 for what is no UTF-8, naming the line. */
export async function* textBlocks(source: FileSource, signal?: AbortSignal): AsyncGenerator<TextBlock> {
  let pending: Uint8Array[] = []
  let pendingBytes = 0
  let line = 1
  let isFirst = true
  const next = (): TextBlock => {
    const joined = pending.length === 1 ? pending[0]! : concatBytes(pending)
    const bytes = isFirst && hasMark(joined) ? joined.subarray(3) : joined
    if (!isUtf8(bytes)) throw notUtf8(bytes, source, line)
    const block = { bytes, line }
    for (let at = bytes.indexOf(lineFeed); at !== -1; at = bytes.indexOf(lineFeed, at + 1)) line++
    isFirst = false
    pending = []
    pendingBytes = 0
    return block
  }
  for await (const chunk of readChunks(source, signal)) {
    for (let from = 0; from < chunk.length; from += blockBytes) {
      const piece = chunk.subarray(from, from + blockBytes)
      const end = piece.lastIndexOf(lineFeed) + 1
      if (end > 0) {
        pending.push(piece.subarray(0, end))
        yield next()
      }
      if (end === piece.length) continue
      pending.push(piece.subarray(end))
      pendingBytes += piece.length - end
      if (pendingBytes > longestLine) {
        throw invalidInput(`${lineOf(source, line)} is longer than ${longestLine} bytes`)
      }
    }
  }
  if (pending.length > 0) yield next()
}

function hasMark(bytes: Uint8Array): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
}

function notUtf8(bytes: Uint8Array, source: FileSource, firstLine: number): SheafError {
  let line = firstLine
  for (let from = 0; ; line++) {
    const end = bytes.indexOf(lineFeed, from) + 1
    if (end === 0 || !isUtf8(bytes.subarray(from, end))) break
    from = end
  }
  return invalidInput(`${lineOf(source, line)} is not UTF-8`, {
    hint: 'convert the file to UTF-8, or pass it through a TextDecoderStream of its encoding',
  })
}
