/** Reads UTF-8 text in blocks of whole lines, so that error messages can contain line numbers. */
import { isUtf8 } from 'node:buffer'
import { concatBytes } from '../../src/arrow/concat-bytes.js'
import { invalidInput, type SheafError } from '../../src/errors.js'
import { type FileSource, lineOf, readChunks } from './source.js'

/**
 * Bytes that are taken from a chunk for one block. Parsing a block takes about a millisecond, or ten before the code is
 * compiled.
 */
const blockBytes = 16 * 1024

/** Maximum bytes of a line, and of a CSV record. */
export const longestLine = 64 * 2 ** 20

interface TextBlock {
  /** The text in UTF-8. It ends with a line feed, except at the end of the file. */
  readonly bytes: Uint8Array
  /** Number of the first line of the block, from 1. */
  readonly line: number
}

const lineFeed = 10

/**
 * Read the text of a source, without a byte order mark. Throws InvalidInput for text that is not UTF-8; the message
 * contains the line number.
 */
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
    hint: 'convert the file to UTF-8, or read it as a stream through a TextDecoderStream for its encoding',
  })
}
