/**
 * The first rows of a table that is only declared. Callers wait for each other, and the name may come to mean another table
 * meanwhile: rows went into a table their caller had never seen, and all but one of several callers failed.
 */
import { expect, test } from 'vitest'
import { connect, type Namespace } from '../../src/index.js'

async function declared(): Promise<{
  ns: Namespace
  bytes: Uint8Array
  slowly: (during: () => Promise<unknown>) => AsyncGenerator<Uint8Array>
}> {
  const ns = await connect('memory://')
  const source = await ns.createTable('source', [{ id: 1 }])
  const bytes = await source.query().toIpc()
  async function* slowly(during: () => Promise<unknown>) {
    yield bytes.slice(0, 100)
    await during()
    yield bytes.slice(100)
  }
  await ns.operations.declareTable({ id: ['t'] })
  return { ns, bytes, slowly }
}

test('several concurrent callers write first rows: one creates the columns, the others append', async () => {
  const { ns, bytes } = await declared()
  const inserts = Array.from({ length: 5 }, () => ns.operations.insertIntoTable({ id: ['t'] }, bytes))
  expect((await Promise.all(inserts)).map(({ version }) => version).sort()).toEqual([1, 2, 3, 4, 5])
  expect(await (await ns.openTable('t')).countRows()).toBe(5)
  await ns.close()
})

test('first rows do not create a table that was dropped meanwhile', async () => {
  const { ns, bytes, slowly } = await declared()
  let second: Promise<unknown> | undefined
  const first = ns.operations.insertIntoTable(
    { id: ['t'] },
    slowly(async () => {
      second = ns.operations.insertIntoTable({ id: ['t'] }, bytes)
      second.catch(() => {})
      await ns.dropTable('t')
    }),
  )
  await expect(first).rejects.toMatchObject({ code: 14 })
  await expect(second).rejects.toMatchObject({ code: 4 })
  expect(await ns.tableNames()).toEqual(['source'])
  await ns.close()
})

test('first rows do not go into another table that has the name now', async () => {
  const { ns, slowly } = await declared()
  const { uuid } = await ns.operations.describeTable({ id: ['t'] })
  const renamed = ns.operations.insertIntoTable(
    { id: ['t'] },
    slowly(async () => {
      await ns.renameTable('t', 'was_t')
      await ns.operations.declareTable({ id: ['t'] })
    }),
    { table: uuid },
  )
  await expect(renamed).rejects.toMatchObject({ code: 14 })
  expect(await ns.operations.describeTable({ id: ['t'] })).toMatchObject({ is_only_declared: true })
  await ns.close()
})

test('all concurrent callers of a creation in mode ExistOk get the table', async () => {
  const { ns, bytes } = await declared()
  const create = () => ns.operations.createTable({ id: ['t'], mode: 'ExistOk' }, bytes)
  expect((await Promise.all([create(), create(), create()])).map(({ version }) => version)).toEqual([1, 1, 1])
  await ns.close()
})
