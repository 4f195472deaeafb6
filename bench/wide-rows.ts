/** Generates rows like those of a table of embeddings: id, text, vector. They are the same on every machine. */
import type { Batch, Column } from '../src/arrow/column.js'
import { rowsToBatch } from '../src/arrow/rows.js'
import type { Schema } from '../src/arrow/types.js'
import { fillFloats, seededRandom } from './random.js'

export interface WideRows {
  readonly rows: number
  readonly dim: number
  readonly batchRows: number
  /** Returns the id of a row. Default: the row number, from 0 on. */
  readonly idOf?: (row: number) => number
}

function schemaOf(dim: number): Schema {
  const item = { name: 'item', type: { kind: 'float', bits: 32 }, nullable: false } as const
  return {
    fields: [
      { name: 'id', type: { kind: 'int', bits: 64, signed: true }, nullable: false },
      { name: 'text', type: { kind: 'utf8', large: false }, nullable: true },
      { name: 'vector', type: { kind: 'fixed_size_list', size: dim, child: item }, nullable: true },
    ],
  }
}

/** Return a text of about 40 bytes. */
export function textOf(id: number): string {
  return `the text of the row that has the id ${id}`
}

/** Generate rows in batches. Ids are unique. Vectors repeat after ten batches. */
export function makeBatches({ rows, dim, batchRows, idOf = row => row }: WideRows): {
  readonly schema: Schema
  readonly batches: readonly Batch[]
  readonly pool: Float32Array
} {
  const schema = schemaOf(dim)
  const [id, text, vector] = schema.fields
  const pool = fillFloats(new Float32Array(Math.min(rows, 10 * batchRows) * dim), seededRandom(1))
  const batches: Batch[] = []
  for (let first = 0; first < rows; first += batchRows) {
    const length = Math.min(batchRows, rows - first)
    const plain = rowsToBatch(
      Array.from({ length }, (_, i) => ({ id: idOf(first + i), text: textOf(first + i) })),
      { fields: [id!, text!] },
    )
    const from = (first * dim) % pool.length
    const vectors = vectorColumn(vector!.type, pool.subarray(from, from + length * dim), length)
    batches.push({ schema, length, columns: [...plain.columns, vectors] })
  }
  return { schema, batches, pool }
}

export function vectorColumn(type: Column['type'], values: Float32Array, length: number): Column {
  const none = { nullCount: 0, validity: null, offsets: null, dictionary: null }
  const child = { kind: 'float', bits: 32 } as const
  const elements: Column = { ...none, type: child, length: values.length, values, children: [] }
  return { ...none, type, length, values: null, children: [elements] }
}
