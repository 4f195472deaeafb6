/** Reads the texts of rows. They are the input of a text segment build. */
import type { Column } from '../arrow/column.js'
import { sliceColumn } from '../arrow/slice.js'
import type { TextInput, TextPiece } from '../indexes/text/input.js'
import type { FieldNode } from '../manifest/field-node.js'
import type { Pacer } from '../primitives/pacer.js'
import { partitionPoint } from '../primitives/partition-point.js'
import type { TableReader } from '../table/table-reader.js'
import { bytesBefore, onlyRows, plainTexts } from '../table/text-column.js'
import { columnPieces } from './column-pieces.js'
import { rowsIn, type Stretch } from './stretch.js'

/** Maximum rows of a piece. */
const pieceRows = 2048
/** Maximum bytes of the texts of a piece. A piece of a single row may have more. */
const pieceBytes = 4 * 1024 * 1024

/** A text column to read. */
interface TextColumn {
  readonly reader: TableReader
  /** Fields from the column down to the text field. */
  readonly chain: readonly FieldNode[]
}

/**
 * Return the texts of stretches as input of a segment build. Deleted rows are null. The build may read the texts
 * several times.
 */
export function textInput(column: TextColumn, stretches: readonly Stretch[], pacer: Pacer): TextInput {
  return { rows: rowsIn(stretches), pieces: () => pieces(column, stretches, pacer) }
}

async function* pieces(
  { reader, chain }: TextColumn,
  stretches: readonly Stretch[],
  pacer: Pacer,
): AsyncGenerator<TextPiece> {
  let first = 0
  for (const stretch of stretches) {
    for await (const { part, at, values } of columnPieces(reader, chain, stretch, pacer)) {
      const live = await reader.live(part, pacer.signal)
      for (let start = 0; start < values.length; start += pieceRows) {
        const some = sliceColumn(values, start, Math.min(pieceRows, values.length - start))
        const texts = plainTexts(live === null ? some : onlyRows(some, live, at + start - part.first))
        for (let from = 0, to: number; from < texts.length; from = to) {
          to = rowAfter(texts, from, pieceBytes)
          yield { first, column: sliceColumn(texts, from, to - from) }
          first += to - from
        }
        await pacer.turn()
      }
    }
  }
}

/**
 * Return the end of the longest range of rows that starts at `from` and has at most `bytes` bytes. The range has at
 * least one row.
 */
function rowAfter(texts: Column, from: number, bytes: number): number {
  const end = bytesBefore(texts, from) + bytes
  const fit = partitionPoint(texts.length - from, i => bytesBefore(texts, from + i + 1) <= end)
  return from + Math.max(1, fit)
}

/** Count the live rows of stretches. */
export async function countLiveRows(
  { reader }: TextColumn,
  stretches: readonly Stretch[],
  pacer: Pacer,
): Promise<number> {
  let live = 0
  for (const { fragment, from, to } of stretches) {
    live += (await reader.liveIn(fragment, pacer)).slice(from, to).count
    await pacer.turn()
  }
  return live
}
