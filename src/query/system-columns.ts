/** Columns that queries compute: names, types, and how they are made. */
import type { Column } from '../arrow/column.js'
import type { Field } from '../arrow/types.js'

/** Stable for a row's life; unique in its table. */
export const rowIdField: Field = {
  name: '_rowid',
  type: { kind: 'int', bits: 64, signed: false },
  nullable: false,
}

/** l2: squared; cosine: 1 - cos; dot: 1 - dot. */
export const distanceField: Field = {
  name: '_distance',
  type: { kind: 'float', bits: 32 },
  nullable: false,
}

export function rowIdColumn(length: number, idOf: (row: number) => number): Column {
  const values = new BigUint64Array(length)
  // Row ids fit 53 bits: two halves are far cheaper than a BigInt each.
  const halves = new Uint32Array(values.buffer)
  for (let row = 0; row < length; row++) {
    const id = idOf(row)
    halves[2 * row] = id
    halves[2 * row + 1] = id / 0x1_0000_0000
  }
  return plain(rowIdField, length, values)
}

export function distanceColumn(distances: Float32Array): Column {
  return plain(distanceField, distances.length, distances)
}

function plain(field: Field, length: number, values: BigUint64Array | Float32Array): Column {
  return {
    type: field.type,
    length,
    nullCount: 0,
    validity: null,
    values,
    offsets: null,
    children: [],
    dictionary: null,
  }
}
