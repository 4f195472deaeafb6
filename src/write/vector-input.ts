/**
 * Reads the vectors of rows, including deleted rows. They are the input of a vector segment build. A row has one vector
 * or a list.
 */
import type { Column } from '../arrow/column.js'
import { sliceColumn } from '../arrow/slice.js'
import { assert } from '../errors.js'
import type { VectorInput, VectorPiece } from '../indexes/vector/input.js'
import { type FieldNode, typeOf } from '../manifest/field-node.js'
import { Bitset } from '../primitives/bitset.js'
import type { Pacer } from '../primitives/pacer.js'
import type { TableReader } from '../table/table-reader.js'
import { copyElements, elementKind, presentVectors, vectorLists, vectorType } from '../table/vector-column.js'
import { columnPieces } from './column-pieces.js'
import { rowsIn, type Stretch } from './stretch.js'

/** Maximum rows of a piece. A piece is converted without a pause, and its rows share the fixed cost of a request. */
const pieceRows = 4096

/**
 * Return the vectors of stretches as input of a segment build, one vector per row. `chain`: fields from the column down
 * to the vector field. `first`: ordinal of the first row. Each iteration over the pieces reads the column again.
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

/**
 * Return the vectors of a column of lists as input of a segment build. Each vector has an ordinal. `ends`: for each
 * row, the number of vectors up to and including the row. A vector of a null list has an ordinal too, but is marked as
 * absent.
 */
export function listedInput(
  reader: TableReader,
  chain: readonly FieldNode[],
  stretches: readonly Stretch[],
  ends: Uint32Array,
  pacer: Pacer,
): VectorInput {
  const type = vectorType(typeOf(chain.at(-1)!))!
  return {
    first: 0,
    rows: ends.at(-1) ?? 0,
    dim: type.size,
    kind: elementKind(type) ?? 'f32',
    ends,
    pieces: () => listedPieces(reader, chain, stretches, pacer),
  }
}

/** Return, for each row, the number of vectors up to and including the row. Reads the whole column. */
export async function endsOfLists(
  reader: TableReader,
  chain: readonly FieldNode[],
  stretches: readonly Stretch[],
  pacer: Pacer,
): Promise<Float64Array> {
  const ends = new Float64Array(rowsIn(stretches))
  let row = 0
  let end = 0
  for (const stretch of stretches) {
    for await (const { values } of columnPieces(reader, chain, stretch, pacer)) {
      const { offsets } = vectorLists(values)!
      for (let i = 0; i < values.length; i++) {
        end += offsets[i + 1]! - offsets[i]!
        ends[row++] = end
      }
      await pacer.turn()
    }
  }
  return ends
}

async function* listedPieces(
  reader: TableReader,
  chain: readonly FieldNode[],
  stretches: readonly Stretch[],
  pacer: Pacer,
): AsyncGenerator<VectorPiece> {
  let ordinal = 0
  for (const stretch of stretches) {
    for await (const { values } of columnPieces(reader, chain, stretch, pacer)) {
      const { offsets, valid } = vectorLists(values)!
      const all = values.children[0]!
      const [start, end] = [offsets[0]!, offsets[values.length]!]
      const absent = valid === null ? null : vectorsOfNulls(offsets, valid, values.length)
      for (let at = start; at < end; at += pieceRows) {
        const rows = Math.min(pieceRows, end - at)
        const piece = vectorsOf(sliceColumn(all, at, rows))
        yield { first: ordinal, rows, ...(absent === null ? piece : without(piece, absent, at, rows)) }
        ordinal += rows
        await pacer.turn()
      }
    }
  }
}

/** Return the vectors that belong to null lists. Returns null if there are none. */
function vectorsOfNulls(offsets: Int32Array, valid: Bitset, rows: number): Bitset | null {
  const absent = new Bitset(offsets[rows]!)
  for (let row = 0; row < rows; row++) if (!valid.has(row)) absent.addRange(offsets[row]!, offsets[row + 1]!)
  return absent.isEmpty() ? null : absent
}

function without(
  { values, present }: Pick<VectorPiece, 'values' | 'present'>,
  absent: Bitset,
  at: number,
  rows: number,
): Pick<VectorPiece, 'values' | 'present'> {
  const left = present?.clone() ?? Bitset.full(rows)
  return { values, present: left.andNot(absent.slice(at, at + rows)) }
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
