/** Generates a table with the columns id, category, text (20 words) and vector, as files with Arrow IPC messages. */
import { appendFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { IpcStreamWriter } from '../src/arrow/encode-ipc.js'
import { rowsToBatch } from '../src/arrow/rows.js'
import type { Schema } from '../src/arrow/types.js'
import { fillFloats, seededRandom } from './random.js'
import { zipfText } from './text-data.js'
import { vectorColumn } from './wide-rows.js'

export interface BulkFiles {
  /**
   * The files with the schema message and with the end of a stream. A valid stream is `head`, any of the `parts`,
   * `end`.
   */
  readonly head: string
  readonly end: string
  /** The files with messages of rows. A stream may contain any of them in any order. */
  readonly parts: readonly string[]
  readonly bytes: number
}

export interface BulkShape {
  readonly rows: number
  readonly dim: number
  readonly batchRows: number
}

export const categories = 100
const wordsOfText = 20

function schemaOf(dim: number): Schema {
  const item = { name: 'item', type: { kind: 'float', bits: 32 }, nullable: false } as const
  return {
    fields: [
      { name: 'id', type: { kind: 'int', bits: 64, signed: true }, nullable: false },
      { name: 'category', type: { kind: 'utf8', large: false }, nullable: true },
      { name: 'text', type: { kind: 'utf8', large: false }, nullable: true },
      { name: 'vector', type: { kind: 'fixed_size_list', size: dim, child: item }, nullable: true },
    ],
  }
}

/**
 * Return the category of a row, `c00` to `c99`. Consecutive rows have different categories, so every fragment has all
 * categories.
 */
export function categoryOf(id: number): string {
  return `c${String(id % categories).padStart(2, '0')}`
}

/** Write the rows to files. `parts`: the number of files, each with about the same number of rows. */
export function writeBulk(folder: string, { rows, dim, batchRows }: BulkShape, parts: number): BulkFiles {
  const schema = schemaOf(dim)
  const [id, category, text, vector] = schema.fields
  const random = seededRandom(1)
  const pool = fillFloats(new Float32Array(11 * batchRows * dim), random)
  const writer = new IpcStreamWriter(schema)
  const [head, end] = [join(folder, 'head'), join(folder, 'end')]
  const files = Array.from({ length: parts }, (_, part) => join(folder, `part-${part}`))
  let bytes = 0
  const batchOf = (first: number, length: number) => {
    const plain = rowsToBatch(
      Array.from({ length }, (_, i) => ({
        id: first + i,
        category: categoryOf(first + i),
        text: zipfText(wordsOfText, random),
      })),
      { fields: [id!, category!, text!] },
    )
    const from = (first * dim) % (pool.length - batchRows * dim)
    const vectors = vectorColumn(vector!.type, pool.subarray(from, from + length * dim), length)
    return { schema, length, columns: [...plain.columns, vectors] }
  }
  // The writer writes the schema together with the first batch, which is empty here.
  writeFileSync(head, Buffer.concat(writer.write(batchOf(0, 0))))
  files.forEach((file, part) => {
    const last = Math.floor(((part + 1) * rows) / parts)
    for (let first = Math.floor((part * rows) / parts); first < last; first += batchRows) {
      const message = Buffer.concat(writer.write(batchOf(first, Math.min(batchRows, last - first))))
      appendFileSync(file, message)
      bytes += message.length
    }
  })
  writeFileSync(end, Buffer.concat(writer.finish()))
  return { head, end, parts: files, bytes }
}
