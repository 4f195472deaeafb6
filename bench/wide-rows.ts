/** Rows as a table of embeddings has them: a vector, an id, a text. The same from one seed on every machine. */
import type { Batch, Column } from '../src/arrow/column.js'
import type { DataType, Schema } from '../src/arrow/types.js'
import { fillFloats, seededRandom } from './random.js'

export const dim = 128
const float32: DataType = { kind: 'float', bits: 32 }
const item = { name: 'item', type: float32, nullable: true }

export const wideSchema: Schema = {
  fields: [
    { name: 'vector', type: { kind: 'fixed_size_list', size: dim, child: item }, nullable: true },
    { name: 'id', type: { kind: 'int', bits: 64, signed: true }, nullable: true },
    { name: 'text', type: { kind: 'utf8', large: false }, nullable: true },
  ],
}

/** Rows `first` to `first + rows - 1`; `idOf`: their ids. */
export function wideBatch(rows: number, first: number, idOf = (row: number) => row): Batch {
  const random = seededRandom(first + 1)
  const cells = fillFloats(new Float32Array(rows * dim), random)
  const ids = BigInt64Array.from({ length: rows }, (_, row) => BigInt(idOf(first + row)))
  const texts: string[] = []
  for (let row = 0; row < rows; row++)
    texts.push(`row ${first + row} says ${random().toString(36).repeat(2)}`)
  const bytes = new TextEncoder().encode(texts.join(''))
  const offsets = new Int32Array(rows + 1)
  for (let row = 0; row < rows; row++) offsets[row + 1] = offsets[row]! + texts[row]!.length
  const [vector, id, text] = wideSchema.fields
  return {
    schema: wideSchema,
    length: rows,
    columns: [
      plain(vector!.type, rows, { children: [plain(float32, rows * dim, { values: cells })] }),
      plain(id!.type, rows, { values: ids }),
      plain(text!.type, rows, { values: bytes, offsets }),
    ],
  }
}

function plain(type: DataType, length: number, parts: Partial<Column>): Column {
  const none = { nullCount: 0, validity: null, values: null, offsets: null, children: [], dictionary: null }
  return { type, length, ...none, ...parts }
}
