/** Queries as rows to write. */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { readParquet, writeCsv, writeLance, writeParquet } from '../../adapters/files/public.js'
import { connect, schema, type Table } from '../../src/index.js'
import { failure } from '../support/failure.js'
import { temporaryRoots } from '../support/roots.js'

const freshFolder = temporaryRoots()
const columns = schema({ id: 'int64!', n: 'int8', day: 'date', price: 'decimal(10, 2)', v: 'vector(2)' })
const rows = [{ id: 1n, n: 2, day: '2024-02-29', price: '1.50', v: [1, 2] }]

const typesOf = async (table: Table) => (await table.schema()).fields.map(({ name, type }) => [name, type])

test('a table that is created from a query has the types of the columns, also without rows', async () => {
  await using ns = await connect('memory://')
  const table = await ns.createTable('t', rows, { schema: columns })
  const copy = await ns.createTable('copy', table.query())
  expect(await typesOf(copy)).toEqual(await typesOf(table))
  await copy.add(table.query().where('id = 1'))
  expect(await copy.query().toArray()).toEqual([...Array(2).fill((await table.query().toArray())[0])])
  const empty = await ns.createTable('empty', table.query().where('false'))
  expect(await typesOf(empty)).toEqual(await typesOf(table))
  expect(await empty.countRows()).toBe(0)
})

test('a file that is written from a query has the types of the columns', async () => {
  await using ns = await connect('memory://')
  const table = await ns.createTable('t', rows, { schema: columns })
  const folder = freshFolder()
  await using root = await connect(folder)
  await writeParquet(join(folder, 't.parquet'), table.query())
  const read = await root.createTable('read', readParquet(join(folder, 't.parquet')))
  expect(await typesOf(read)).toEqual(await typesOf(table))
  await writeLance(join(folder, 't.lance'), table.query())
  await using lance = await connect(`lance+${pathToFileURL(folder)}`)
  expect(await typesOf(await lance.openTable('t'))).toEqual(await typesOf(table))
})

test('a table as rows is refused with the query to pass', async () => {
  await using ns = await connect('memory://')
  const table = await ns.createTable('t', rows, { schema: columns })
  for (const call of [ns.createTable('u', table as never), writeCsv('never.csv', table as never)])
    expect(await failure(call)).toMatchObject({ hint: 'pass the rows of the table: table.query()' })
})
