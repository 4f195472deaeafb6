/** Files of LanceDB have the same values for Sheaf as for LanceDB. */

import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Batch } from '../../src/arrow/column.js'
import { concatBatches } from '../../src/arrow/concat.js'
import { decodeIpc } from '../../src/arrow/decode-ipc.js'
import { concatChunks, encodeIpcFile } from '../../src/arrow/encode-ipc.js'
import { rowsToBatch } from '../../src/arrow/rows.js'
import type { DataType } from '../../src/arrow/types.js'
import { cellValue } from '../support/arrow-generators.js'
import { lanceCases } from '../support/lance-cases.js'
import { comparable, dataFiles, openFile, readColumns } from '../support/lance-files.js'
import { temporaryRoots } from '../support/roots.js'
import { type Lancedb, releases } from './peers.js'

/** A folder to which the test copies the files, to make golden files. */
const goldenFolder = process.env.SHEAF_LANCE_GOLDEN

interface Case {
  readonly name: string
  readonly version: string
  readonly batch: Batch
}

const freshFolder = temporaryRoots()

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
async function compare(lancedb: Lancedb, { name, version, batch }: Case): Promise<void> {
  const folder = freshFolder()
  const answer = await write(lancedb, folder, version, batch)
  const paths = dataFiles(join(folder, 't.lance'))
  expect(paths).toHaveLength(1)
  if (goldenFolder !== undefined) copyFileSync(paths[0]!, join(goldenFolder, `${name}-${version}.lance`))
  const file = await openFile(paths[0]!)
  expect(file.version).toBe(version)
  expect(file.rows).toBe(batch.length)
  const columns = await readColumns(file)
  for (const [i, field] of batch.schema.fields.entries()) {
    const expected = { name: field.name, values: comparable(batch.columns[i]!) }
    expect({ name: field.name, values: comparable(columns[i]!) }).toEqual(expected)
    // LanceDB answers with the positions of blobs.
    if (field.metadata?.['lance-encoding:blob'] !== undefined) continue
    expect({ name: field.name, values: comparable(answer.columns[i]!) }).toEqual(expected)
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

const types: readonly DataType[] = [
  { kind: 'bool' },
  { kind: 'int', bits: 8, signed: true },
  { kind: 'int', bits: 32, signed: true },
  { kind: 'int', bits: 64, signed: false },
  { kind: 'float', bits: 64 },
  { kind: 'utf8', large: false },
  { kind: 'binary', large: true },
]

/** Types that versions 2.1 and 2.2 can both store. */
const randomType: fc.Arbitrary<DataType> = fc.letrec<{ type: DataType; list: DataType; struct: DataType }>(
  tie => ({
    type: fc.oneof(
      { maxDepth: 3, depthSize: 'small' },
      { weight: 3, arbitrary: fc.constantFrom(...types) },
      tie('list'),
      tie('struct'),
    ),
    list: tie('type').map(type => ({
      kind: 'list',
      large: false,
      child: { name: 'item', type, nullable: true },
    })),
    struct: fc.array(tie('type'), { minLength: 1, maxLength: 3 }).map(children => ({
      kind: 'struct',
      children: children.map((type, i) => ({ name: `c${i}`, type, nullable: true })),
    })),
  }),
).type

/** Tables of up to 600 rows. Few different rows repeat, so that runs and dictionaries occur. */
const randomBatch: fc.Arbitrary<Batch> = fc
  .array(randomType, { minLength: 1, maxLength: 3 })
  .chain(columns => {
    const fields = columns.map((type, i) => ({ name: `f${i}`, type, nullable: true }))
    const row = fc.record(
      Object.fromEntries(fields.map(({ name, type }) => [name, fc.option(cellValue(type), { freq: 4 })])),
    )
    return fc
      .tuple(fc.array(row, { minLength: 1, maxLength: 30 }), fc.integer({ min: 1, max: 20 }))
      .map(([rows, times]) => rowsToBatch(Array.from({ length: times }, () => rows).flat(), { fields }))
  })

const cases = lanceCases().flatMap(({ name, versions, batch }) =>
  versions.map(version => ({ name, version, batch })),
)

describe.each(releases)('LanceDB $release', ({ lancedb }) => {
  test.each(cases)('$name, file version $version', async of => {
    await compare(lancedb, of)
  })

  test.each(['2.1', '2.2'])('random tables, file version %s', { timeout: 120_000 }, async version => {
    await fc.assert(
      fc.asyncProperty(randomBatch, batch => compare(lancedb, { name: 'random', version, batch })),
      { numRuns: process.env.SHEAF_SEED === undefined ? 30 : 300 },
    )
  })
})
