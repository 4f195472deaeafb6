/** Files that LanceDB 0.39 wrote have the values of the tables in `test/support/lance-cases.ts`. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { typeName } from '../../src/arrow/type-name.js'
import { arrowSchema } from '../../src/lance/schema.js'
import { lanceCases } from '../support/lance-cases.js'
import { comparable, openFile, readColumns } from '../support/lance-files.js'

const folder = join(import.meta.dirname, '../golden/lance')

const files = lanceCases()
  .flatMap(({ name, versions, batch }) =>
    versions.map(version => ({ version, batch, path: join(folder, `${name}-${version}.lance`) })),
  )
  .filter(({ path }) => existsSync(path))
  .map(of => ({ ...of, name: of.path.slice(folder.length + 1) }))

test('each version has golden files', () => {
  expect(files.length).toBeGreaterThan(20)
  expect([...new Set(files.map(({ version }) => version))].sort()).toEqual(['2.0', '2.1', '2.2'])
})

describe.each(files)('$name', ({ path, version, batch }) => {
  test('has the version, schema and rows that were written', async () => {
    const file = await openFile(path)
    expect(file.version).toBe(version)
    expect(file.rows).toBe(batch.length)
    const { fields } = arrowSchema(file.schema)
    expect(fields.map(({ name, type }) => [name, typeName(type)])).toEqual(
      batch.schema.fields.map(({ name, type }) => [name, typeName(type)]),
    )
  })

  test('has the values that were written', async () => {
    const columns = await readColumns(await openFile(path))
    for (const [i, { name }] of batch.schema.fields.entries()) {
      expect({ name, values: comparable(columns[i]!) }).toEqual({
        name,
        values: comparable(batch.columns[i]!),
      })
    }
  })

  test('has the same values in every range of rows', async () => {
    const file = await openFile(path)
    const rows = batch.length
    for (const [from, to] of [
      [0, 1],
      [1, 3],
      [rows >> 1, (rows >> 1) + 1],
      [rows - 2, rows],
      [rows >> 2, rows],
      [3, 3],
    ] as const) {
      const columns = await readColumns(file, from, to)
      for (const [i, { name }] of batch.schema.fields.entries()) {
        const values = comparable(columns[i]!)
        expect({ name, from, to, values }).toEqual({
          name,
          from,
          to,
          values: comparable(batch.columns[i]!).slice(from, to),
        })
      }
    }
  })
})
