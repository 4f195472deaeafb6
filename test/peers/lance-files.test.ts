/** Files of LanceDB have the same values for Sheaf as for LanceDB. */

import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Batch } from '../../src/arrow/column.js'
import { concatBatches } from '../../src/arrow/concat.js'
import { decodeIpc } from '../../src/arrow/decode-ipc.js'
import { concatChunks, encodeIpcFile } from '../../src/arrow/encode-ipc.js'
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

const cases = lanceCases().flatMap(({ name, versions, batch }) =>
  versions.map(version => ({ name, version, batch })),
)

describe.each(releases)('LanceDB $release', ({ lancedb }) => {
  test.each(cases)('$name, file version $version', async of => {
    await compare(lancedb, of)
  })
})
