/** The texts of rows of a table, as segments of a text index are built over them. */
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

/** Rows of a piece, */
const pieceRows = 2048
/** and bytes of its texts, as long as it has more than one row. */
const pieceBytes = 4 * 1024 * 1024

/** Texts as they are read from the table. */
export interface TextColumn {
  readonly reader: TableReader
  /** From the column down to the field. */
  readonly chain: readonly FieldNode[]
}

/** The rows of stretches, dead ones as if they were null, of which there may be as many passes as a builder likes. */
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

/** The row until which rows from `from` on have as many bytes as there is room for: one at least. */
function rowAfter(texts: Column, from: number, room: number): number {
  const end = bytesBefore(texts, from) + room
  const fit = partitionPoint(texts.length - from, i => bytesBefore(texts, from + i + 1) <= end)
  return from + Math.max(1, fit)
}

/** How many rows of stretches live. */
export async function rowsRead(
  { reader }: TextColumn,
  stretches: readonly Stretch[],
  pacer: Pacer,
): Promise<number> {
  let living = 0
  for (const { fragment, from, to } of stretches) {
    living += (await reader.liveIn(fragment, pacer)).slice(from, to).count
    await pacer.turn()
  }
  return living
}
