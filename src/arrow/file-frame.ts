/**
 * The frame of a data file: the bytes that no checksum covers. These are all bytes before, between and after the
 * columns, except the block checksums. The footer determines the frame, so a check of the whole file needs only the
 * footer.
 */
import { corrupted } from '../errors.js'
import { fileHead } from './encode-ipc.js'
import type { ColumnRange } from './file-layout.js'
import type { FileLayout } from './file-reader.js'
import { encodeBodyMessage, encodeSchemaMessage, endOfStream } from './ipc-message.js'
import { alignUp, padding, wideAlignment } from './ipc-writer.js'

/** Bytes expected at an offset of the file. */
export interface FramePiece {
  readonly start: number
  readonly bytes: Uint8Array
}

/**
 * Yield the pieces of a file's frame in order. Together with the columns, the block checksums and the footer they are
 * all bytes of the file. Throws `Internal` if a column cannot be where the footer says.
 */
export function* fileFrame({ schema, batches, dictionaries, sums }: FileLayout): Generator<FramePiece> {
  const frame = new Frame()
  yield frame.piece(fileHead())
  yield frame.piece(encodeSchemaMessage(schema, frame.at, wideAlignment))
  for (const { length, columns } of batches) yield* frame.message(length, columns, null)
  for (const { id, range } of dictionaries) yield* frame.message(range.nodes[0]!, [range], id)
  yield frame.piece(endOfStream())
  if (sums.count > 0) yield frame.piece(padding(frame.at, wideAlignment))
  if (sums.count > 0 && frame.at !== sums.start)
    throw corrupted(`checksums begin at byte ${sums.start}, not at ${frame.at}`)
}

class Frame {
  /** Offset of the next piece or column. */
  at = 0

  piece(bytes: Uint8Array): FramePiece {
    const start = this.at
    this.at += bytes.length
    return { start, bytes }
  }

  /** The metadata of a batch, then the zero padding after each of its columns. */
  *message(
    length: number,
    columns: readonly ColumnRange[],
    dictionaryId: number | null,
  ): Generator<FramePiece> {
    const nodes = columns.flatMap(column => column.nodes)
    const buffers: number[] = []
    let bodyBytes = 0
    for (const column of columns) {
      for (let i = 1; i < column.buffers.length; i += 2) {
        const bytes = column.buffers[i]!
        buffers.push(bodyBytes, bytes)
        bodyBytes = alignUp(bodyBytes + bytes, wideAlignment)
      }
    }
    const body = { length, nodes, buffers }
    yield this.piece(encodeBodyMessage(body, bodyBytes, dictionaryId, this.at, wideAlignment))
    const end = this.at + bodyBytes
    for (const { start, bytes } of columns) {
      if (bytes === 0) continue
      if (start < this.at || start + bytes > end)
        throw corrupted(`a column begins at byte ${start}, not at ${this.at}`)
      yield this.piece(new Uint8Array(start - this.at))
      this.at += bytes
    }
    yield this.piece(new Uint8Array(end - this.at))
  }
}
