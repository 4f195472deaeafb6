/**
 * The frame of a data file: all bytes that no checksum covers. The frame consists of the bytes before, between and
 * after the columns, except the block checksums and the footer. The frame can be computed from the footer, so a check
 * of the whole file can compare it.
 */
import { corrupted } from '../errors.js'
import { fileHead } from './encode-ipc.js'
import type { ColumnRange } from './file-layout.js'
import type { FileLayout } from './file-reader.js'
import { encodeBodyMessage, encodeSchemaMessage, endOfStream } from './ipc-message.js'
import { alignUp, padding, wideAlignment } from './ipc-writer.js'

/** A part of the frame: its offset in the file, and the bytes that must be there. */
export interface FramePiece {
  readonly start: number
  readonly bytes: Uint8Array
}

/**
 * Yield the pieces of a file's frame in order. The pieces, the columns, the block checksums and the footer together are
 * all bytes of the file. Throws `Internal` if the footer gives a column an impossible offset.
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
    throw corrupted(
      `the footer says that the checksums begin at byte ${sums.start}, but they must begin at ${frame.at}`,
    )
}

class Frame {
  /** Offset of the next piece or column. */
  at = 0

  piece(bytes: Uint8Array): FramePiece {
    const start = this.at
    this.at += bytes.length
    return { start, bytes }
  }

  /** Yield the metadata of a batch, then the zero padding between and after its columns. */
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
        throw corrupted(
          `the footer says that a column begins at byte ${start}, but it must be between ${this.at} and ${end}`,
        )
      yield this.piece(new Uint8Array(start - this.at))
      this.at += bytes
    }
    yield this.piece(new Uint8Array(end - this.at))
  }
}
