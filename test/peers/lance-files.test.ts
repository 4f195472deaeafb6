/** Files of LanceDB have the same values for Sheaf as for LanceDB. */

import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Batch } from '../../src/arrow/column.js'
import { concatBatches } from '../../src/arrow/concat.js'
import { decodeIpc } from '../../src/arrow/decode-ipc.js'
import { concatChunks, encodeIpcFile } from '../../src/arrow/encode-ipc.js'
import { rowsToBatch } from '../../src/arrow/rows.js'
import type { DataType, Field } from '../../src/arrow/types.js'
import { comparable, dataFiles, openFile, readColumns } from '../support/lance-files.js'
import { temporaryRoots } from '../support/roots.js'
import { type Lancedb, releases } from './peers.js'

const freshFolder = temporaryRoots()

function field(name: string, type: DataType, options: Partial<Field> = {}): Field {
  return { name, type, nullable: true, ...options }
}

const int32: DataType = { kind: 'int', bits: 32, signed: true }
const text: DataType = { kind: 'utf8', large: false }

/** The parts of the clients below their classes of apache-arrow, which do not have all types. */
interface Inner {
  createTable(name: string, ipc: Buffer, mode: string, path: string[], options: object): Promise<InnerTable>
}
interface InnerTable {
  query(): { execute(): Promise<{ next(): Promise<Buffer | null> }> }
}

/** Write a batch with LanceDB. Returns LanceDB's own answer. */
async function write(lancedb: Lancedb, folder: string, version: string, batch: Batch): Promise<Batch> {
  const { inner } = (await lancedb.connect(folder)) as unknown as { readonly inner: Inner }
  const ipc = Buffer.from(concatChunks(encodeIpcFile(batch.schema, [batch])))
  const table = await inner.createTable('t', ipc, 'create', [], { new_table_data_storage_version: version })
  const results = await table.query().execute()
  const batches: Batch[] = []
  for (let bytes = await results.next(); bytes !== null; bytes = await results.next()) {
    batches.push(...decodeIpc(new Uint8Array(bytes)).batches)
  }
  return concatBatches(batches)
}

/** Write a batch with LanceDB, and compare all values. */
async function compare(lancedb: Lancedb, version: string, batch: Batch): Promise<void> {
  const folder = freshFolder()
  const answer = await write(lancedb, folder, version, batch)
  const paths = dataFiles(join(folder, 't.lance'))
  expect(paths).toHaveLength(1)
  const file = await openFile(paths[0]!)
  expect(file.version).toBe(version)
  expect(file.rows).toBe(batch.length)
  const columns = await readColumns(file)
  for (const [i, column] of columns.entries()) {
    const values = comparable(column)
    const { name } = batch.schema.fields[i]!
    expect({ name, values: comparable(answer.columns[i]!) }).toEqual({
      name,
      values: comparable(batch.columns[i]!),
    })
    expect({ name, values }).toEqual({ name, values: comparable(batch.columns[i]!) })
  }
  // Every part of the rows is the same as the whole.
  for (const [from, to] of [
    [1, 2],
    [0, 1],
    [Math.floor(batch.length / 3), Math.floor(batch.length / 2)],
  ] as const) {
    if (to > batch.length) continue
    for (const [i, column] of (await readColumns(file, from, to)).entries()) {
      expect(comparable(column)).toEqual(comparable(columns[i]!).slice(from, to))
    }
  }
}

const every = (n: number, make: (i: number) => unknown, nulls = 5) =>
  Array.from({ length: n }, (_, i) => (nulls > 0 && i % nulls === 3 ? null : make(i)))

function columnsToBatch(fields: readonly Field[], values: readonly unknown[][]): Batch {
  const rows = values[0]!.map((_, i) => Object.fromEntries(fields.map((f, j) => [f.name, values[j]![i]])))
  return rowsToBatch(rows, { fields })
}

describe.each(releases)('LanceDB $release', ({ lancedb }) => {
  test.each(['2.1', '2.2'])('flat types, file version %s', async version => {
    const n = 3000
    const units = ['s', 'ms', 'us', 'ns'] as const
    const fields: Field[] = [
      field('bool', { kind: 'bool' }),
      ...([8, 16, 32, 64] as const).flatMap(bits =>
        [true, false].map(signed => field(`${signed ? '' : 'u'}int${bits}`, { kind: 'int', bits, signed })),
      ),
      ...([16, 32, 64] as const).map(bits => field(`float${bits}`, { kind: 'float', bits })),
      field('utf8', text),
      field('large', { kind: 'utf8', large: true }),
      field('binary', { kind: 'binary', large: false }),
      field('large_binary', { kind: 'binary', large: true }),
      field('fixed', { kind: 'fixed_size_binary', width: 5 }),
      field('decimal', { kind: 'decimal', bits: 128, precision: 30, scale: 2 }),
      field('day', { kind: 'date', unit: 'day' }),
      ...units.map(unit => field(`timestamp_${unit}`, { kind: 'timestamp', unit, timezone: null })),
      field('zoned', { kind: 'timestamp', unit: 'us', timezone: 'UTC' }),
      ...units.map(unit => field(`duration_${unit}`, { kind: 'duration', unit })),
      ...units.map(unit => field(`time_${unit}`, { kind: 'time', unit })),
      field('null', { kind: 'null' }),
    ]
    const make =
      (type: DataType) =>
      (i: number): unknown => {
        switch (type.kind) {
          case 'bool':
            return i % 3 === 0
          case 'int':
            return type.bits === 64 ? BigInt(i) * 10_000_000_007n : (i * 7) % 2 ** Math.min(type.bits - 1, 20)
          case 'float':
            return (i % 100) / 4
          case 'utf8':
            return `text of row ${i} ${'é'.repeat(i % 7)}`
          case 'binary':
            return new Uint8Array(i % 17).fill(i)
          case 'fixed_size_binary':
            return new Uint8Array(5).fill(i)
          case 'decimal':
            return `${i}.25`
          case 'date':
            return new Date(86_400_000 * i)
          case 'timestamp':
            return new Date(1000 * i)
          case 'duration':
          case 'time':
            return i
          default:
            return null
        }
      }
    const values = fields.map((f, i) => every(n, make(f.type), i % 4 === 0 ? 0 : 3 + (i % 5)))
    await compare(lancedb, version, columnsToBatch(fields, values))
  })

  test.each(['2.1', '2.2'])('nested types, file version %s', async version => {
    const n = 2500
    const list = (child: Field): DataType => ({ kind: 'list', large: false, child })
    const struct = (...children: Field[]): DataType => ({ kind: 'struct', children })
    const vector = (size: number, nullable: boolean): DataType => ({
      kind: 'fixed_size_list',
      size,
      child: { name: 'item', type: { kind: 'float', bits: 32 }, nullable },
    })
    const fields = [
      field('list', list(field('item', int32))),
      field('texts', list(field('item', text))),
      field('nested', list(field('item', list(field('item', list(field('item', int32))))))),
      field(
        'struct',
        struct(
          field('a', int32),
          field('b', struct(field('c', text), field('d', list(field('item', int32))))),
        ),
      ),
      field('structs', list(field('item', struct(field('x', int32), field('y', list(field('item', text))))))),
      field('vector', vector(8, false)),
      field('wide', vector(100, false)),
      field('gaps', vector(3, true)),
      field('widegaps', vector(90, true)),
      field('vectors', list(field('item', vector(4, false)))),
    ]
    const numbers = (size: number, seed: number) => Array.from({ length: size }, (_, j) => (seed + j) % 7)
    const some = (size: number, make: (j: number) => unknown) =>
      Array.from({ length: size }, (_, j) => (j % 4 === 2 ? null : make(j)))
    const values = [
      every(n, i => some(i % 6, j => i + j)),
      every(n, i => some(i % 4, j => `t${i}-${j}`)),
      every(n, i => some(i % 3, j => some((i + j) % 4, k => some(k, l => i + l)))),
      every(n, i => ({
        a: i % 7 === 0 ? null : i,
        b: i % 11 === 0 ? null : { c: `c${i}`, d: i % 2 ? null : numbers(i % 5, i) },
      })),
      every(n, i => some(i % 4, j => ({ x: i, y: j === 1 ? null : some(j, k => `${i}/${k}`) }))),
      every(n, i => numbers(8, i)),
      every(n, i => numbers(100, i), 0),
      every(n, i => [i, i % 2 ? null : 2, 3]),
      every(n, i => numbers(90, i).map((v, j) => (j % 9 === i % 9 ? null : v))),
      every(n, i => some(i % 3, () => numbers(4, i))),
    ]
    await compare(lancedb, version, columnsToBatch(fields, values))
  })
})
