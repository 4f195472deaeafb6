/** Files of LanceDB have the same values for Sheaf as for LanceDB. */

import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Batch } from '../../src/arrow/column.js'
import { rowsToBatch } from '../../src/arrow/rows.js'
import type { DataType, Field } from '../../src/arrow/types.js'
import { cellValue } from '../support/arrow-generators.js'
import { failure } from '../support/failure.js'
import { lanceCases } from '../support/lance-cases.js'
import { comparable, dataFiles, openFile, readColumns } from '../support/lance-files.js'
import { temporaryRoots } from '../support/roots.js'
import { allRows, createFromIpc, type FileRelease, fileReleases, toIpc } from './peers.js'

/** A folder to which the test copies the files, to make golden files. */
const goldenFolder = process.env.SHEAF_LANCE_GOLDEN

interface Case {
  readonly name: string
  readonly version: string
  readonly batch: Batch
}

const freshFolder = temporaryRoots()

/** Write a batch with LanceDB, and compare all values. */
async function compare(release: FileRelease, { name, version, batch }: Case): Promise<void> {
  const folder = freshFolder()
  await createFromIpc(release, folder, toIpc(batch), version)
  const answer = await allRows(release.reader, folder)
  const paths = dataFiles(join(folder, 't.lance'))
  expect(paths).toHaveLength(1)
  if (goldenFolder !== undefined && release === fileReleases[0])
    copyFileSync(paths[0]!, join(goldenFolder, `${name}-${version}.lance`))
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

const vector = (size: number, nullable: boolean): DataType => ({
  kind: 'fixed_size_list',
  size,
  child: { name: 'item', type: { kind: 'float', bits: 32 }, nullable },
})

const types: readonly DataType[] = [
  { kind: 'bool' },
  { kind: 'int', bits: 8, signed: true },
  { kind: 'int', bits: 32, signed: true },
  { kind: 'int', bits: 64, signed: false },
  { kind: 'float', bits: 64 },
  { kind: 'decimal', bits: 128, precision: 20, scale: 2 },
  { kind: 'timestamp', unit: 'us', timezone: null },
  { kind: 'utf8', large: false },
  { kind: 'binary', large: true },
]

/** Types that a version can store. Version 2.0 does not store the nulls of structs. */
function randomType(version: string): fc.Arbitrary<DataType> {
  const isNewer = version !== '2.0'
  const isNullable = (type: DataType) => isNewer || type.kind !== 'struct'
  const withVectors = isNewer ? [...types, vector(3, true)] : types
  return fc.letrec<{ type: DataType; list: DataType; struct: DataType }>(tie => ({
    type: fc.oneof(
      { maxDepth: 3, depthSize: 'small' },
      { weight: 3, arbitrary: fc.constantFrom(...withVectors, vector(3, false)) },
      tie('list'),
      tie('struct'),
    ),
    list: tie('type').map(type => ({
      kind: 'list',
      large: false,
      child: { name: 'item', type, nullable: isNullable(type) },
    })),
    struct: fc.array(tie('type'), { minLength: 1, maxLength: 3 }).map(children => ({
      kind: 'struct',
      children: children.map((type, i) => ({ name: `c${i}`, type, nullable: isNullable(type) })),
    })),
  })).type
}

/** Values of a column. Some texts are long, so that all layouts for texts occur. */
function randomCell({ type, nullable }: Field): fc.Arbitrary<unknown> {
  const value =
    type.kind === 'utf8'
      ? fc
          .tuple(cellValue(type), fc.constantFrom(1, 1, 1, 30, 5000))
          .map(([text, times]) => String(text).repeat(times))
      : cellValue(type)
  return nullable ? fc.option(value, { freq: 4 }) : value
}

/** Tables of up to 600 rows. Few different rows repeat, so that runs and dictionaries occur. */
function randomBatch(version: string): fc.Arbitrary<Batch> {
  return fc.array(randomType(version), { minLength: 1, maxLength: 3 }).chain(columns => {
    const fields = columns.map((type, i) => ({
      name: `f${i}`,
      type,
      nullable: version !== '2.0' || type.kind !== 'struct',
    }))
    const row = fc.record(Object.fromEntries(fields.map(field => [field.name, randomCell(field)])))
    return fc
      .tuple(fc.array(row, { minLength: 1, maxLength: 30 }), fc.integer({ min: 1, max: 20 }))
      .map(([rows, times]) => rowsToBatch(Array.from({ length: times }, () => rows).flat(), { fields }))
  })
}

describe.each(fileReleases)('LanceDB $release', release => {
  const { fileVersions } = release
  const cases = lanceCases().flatMap(({ name, versions, batch }) =>
    versions
      .filter(version => fileVersions.includes(version))
      // 0.10 does not know the metadata of packed structs, and no release reads the dictionaries that it wrote.
      .filter(() => release.release !== '0.10' || !['packed', 'dictionaries'].includes(name))
      .map(version => ({ name, version, batch })),
  )

  test.each(cases)('$name, file version $version', async of => {
    await compare(release, of)
  })

  test.each(fileVersions)('random tables, file version %s', { timeout: 120_000 }, async version => {
    await fc.assert(
      fc.asyncProperty(randomBatch(version), batch => compare(release, { name: 'random', version, batch })),
      { numRuns: process.env.SHEAF_SEED === undefined ? 30 : 300 },
    )
  })
  test('version 0.1, and an unfinished version 2.1, are refused', async () => {
    const { batch } = lanceCases().find(({ name }) => name === 'texts')!
    const versions = fileVersions.includes('2.1') ? ['legacy'] : ['legacy', '2.1']
    for (const version of versions) {
      const folder = freshFolder()
      await createFromIpc(release, folder, toIpc(batch), version)
      const [path] = dataFiles(join(folder, 't.lance'))
      const refused = await failure(openFile(path!).then(readColumns))
      expect(refused).toMatchObject({
        name: 'Unsupported',
        message: expect.stringContaining(version === 'legacy' ? 'version 0.1' : 'unknown description'),
      })
    }
  })
})
