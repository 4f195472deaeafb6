/**
 * An insert takes as long as its rows take to arrive. Whoever changes the table meanwhile must not have it refused without
 * need, nor read rows by a schema they were not written for.
 */
import { describe, expect, test } from 'vitest'
import { connect, type Namespace, type Table } from '../../src/index.js'
import { failure } from '../support/failure.js'

const rows = [{ id: 1n, name: 'one', price: 1.5 }]
const columns = ['id', 'name', 'price'] as const

/** Inserts `count` rows, of which the bytes arrive when `meanwhile` is done. */
async function insertDuring(
  ns: Namespace,
  meanwhile: () => Promise<unknown>,
  { count = 1, mode = 'Append' as 'Append' | 'Overwrite' } = {},
): Promise<{ readonly version: number }> {
  const more = Array.from({ length: count }, (_, i) => ({ id: BigInt(i + 2), name: `n${i}`, price: i }))
  const source = await ns.createTable(`source${await ns.tableNames().then(names => names.length)}`, more)
  const bytes = await source.query().select(columns).toIpc()
  async function* body() {
    await meanwhile()
    yield bytes
  }
  return ns.operations.insertIntoTable({ id: ['t'], mode }, body())
}

async function opened(): Promise<{ readonly ns: Namespace; readonly table: Table }> {
  const ns = await connect('memory://')
  return { ns, table: await ns.createTable('t', rows) }
}

describe.each([
  ['in the slot', 1],
  ['in a file', 20_000],
])('rows %s', (_, count) => {
  test.each<[string, (table: Table) => Promise<unknown>, string]>([
    [
      'columns are added',
      t => t.addColumns({ a: 'price * 2', b: { type: 'string' } }),
      'a IS NULL AND b IS NULL',
    ],
    ['a column is renamed', t => t.alterColumns({ name: { rename: 'title' } }), "title LIKE 'n%'"],
    ['nulls become allowed', t => t.alterColumns({ id: { nullable: true } }), "name LIKE 'n%'"],
    ['metadata change', t => t.updateFieldMetadata('name', { a: 'b' }), "name LIKE 'n%'"],
    ['the version is restored', t => t.restore(1), "name LIKE 'n%'"],
    [
      'a type changes and comes back',
      async t => {
        await t.alterColumns({ price: { type: 'float32' } })
        await t.alterColumns({ price: { type: 'float64' } })
      },
      'price >= 0',
    ],
  ])('they land when %s', async (_, change, expected) => {
    const { ns, table } = await opened()
    const { version } = await insertDuring(ns, () => change(table), { count })
    expect(await table.version()).toBe(version)
    expect(await table.countRows(`id > 1 AND ${expected}`)).toBe(count)
    await table.alterColumns({ id: { type: 'int32' } })
    expect(await table.countRows(`id > 1 AND ${expected}`)).toBe(count)
    expect(await (await table.checkout(version)).countRows(`id > 1 AND ${expected}`)).toBe(count)
    await ns.close()
  })

  test.each<[string, (table: Table) => Promise<unknown>]>([
    ['a type changes', t => t.alterColumns({ price: { type: 'float32' } })],
    ['a column is dropped', t => t.dropColumns(['price'])],
    [
      'a column is another of the same name',
      async t => {
        await t.dropColumns(['price'])
        await t.addColumns({ price: { type: 'float64' } })
      },
    ],
    ['nulls are not allowed any more', t => t.alterColumns({ price: { nullable: false } })],
    [
      'a column is added that may not be null',
      async t => {
        await t.addColumns({ a: '1' })
        await t.alterColumns({ a: { nullable: false } })
      },
    ],
  ])('the call is told to try again when %s', async (_, change) => {
    const { ns, table } = await opened()
    const error = await failure(insertDuring(ns, () => change(table), { count }))
    expect(error).toMatchObject({ code: 14, status: 409, hint: 'try again' })
    expect(await table.countRows()).toBe(1)
    await ns.close()
  })

  test('rows that replace all others commit as if they came after them', async () => {
    const { ns, table } = await opened()
    await insertDuring(ns, () => table.addColumns({ a: 'id' }), { count, mode: 'Overwrite' })
    expect(await table.countRows('a IS NULL')).toBe(count)
    const change = () => table.alterColumns({ price: { type: 'float32' } })
    expect(await failure(insertDuring(ns, change, { count, mode: 'Overwrite' }))).toMatchObject({ code: 14 })
    await ns.close()
  })
})
