/** The vectors of rows of a table, dead ones included, as a segment is built over them. */
import type { Column } from '../arrow/column.js'
import { sliceColumn } from '../arrow/slice.js'
import { assert } from '../errors.js'
import type { VectorInput, VectorPiece } from '../indexes/vector/input.js'
import { type FieldNode, typeOf } from '../manifest/field-node.js'
import type { Pacer } from '../primitives/pacer.js'
import type { TableReader } from '../table/table-reader.js'
import { copyElements, elementKind, presentVectors } from '../table/vector-column.js'
import { columnPieces } from './column-pieces.js'
import { rowsIn, type Stretch } from './stretch.js'

/** Rows of a piece: few enough that converting them is no pause, enough that the work on one is more than asking for it. */
const pieceRows = 4096

/**
 * `chain`: from the column down to the field of vectors. `first`: ordinal of the first row. Each pass over the pieces reads the
 * column again.
 */
export function vectorInput(
  reader: TableReader,
  chain: readonly FieldNode[],
  stretches: readonly Stretch[],
  first: number,
  pacer: Pacer,
): VectorInput {
  const type = typeOf(chain.at(-1)!)
  assert(type.kind === 'fixed_size_list', 'a vector column is a fixed_size_list')
  return {
    first,
    rows: rowsIn(stretches),
    dim: type.size,
    kind: elementKind(type) ?? 'f32',
    pieces: () => pieces(reader, chain, stretches, first, pacer),
  }
}

async function* pieces(
  reader: TableReader,
  chain: readonly FieldNode[],
  stretches: readonly Stretch[],
  first: number,
  pacer: Pacer,
): AsyncGenerator<VectorPiece> {
  let ordinal = first
  for (const stretch of stretches) {
    for await (const { values } of columnPieces(reader, chain, stretch, pacer)) {
      for (let at = 0; at < values.length; at += pieceRows) {
        const rows = Math.min(pieceRows, values.length - at)
        yield { first: ordinal, rows, ...vectorsOf(sliceColumn(values, at, rows)) }
        ordinal += rows
        await pacer.turn()
      }
    }
  }
}

function vectorsOf(column: Column): Pick<VectorPiece, 'values' | 'present'> {
  const { type } = column
  assert(type.kind === 'fixed_size_list', 'a vector column is a fixed_size_list')
  const count = column.length * type.size
  const child = column.children[0]!
  if (elementKind(type) !== null) {
    const values = (child.values as Float32Array | Uint8Array).subarray(0, count)
    return { values, present: presentVectors(column) }
  }
  const values = new Float32Array(count)
  copyElements(child, count, values)
  return { values, present: presentVectors(column) }
}
