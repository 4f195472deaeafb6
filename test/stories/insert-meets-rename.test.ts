/**
 * A table was renamed while rows for its old name were being uploaded. They went into it under its new name, although in the
 * order of the log nothing had that name any more (found by the simulation). A handle, which means the table, gets them in.
 */
import { expect, test } from 'vitest'
import { connect } from '../../src/index.js'

test('rows for a name that is dropped before the commit are refused, rows for a table handle are not', async () => {
  const ns = await connect('memory://')
  const table = await ns.createTable('t', [{ id: 1 }])
  const bytes = await table.query().toIpc()
  async function* slowly(from: string, to: string) {
    yield bytes.slice(0, 100)
    await ns.renameTable(from, to)
    yield bytes.slice(100)
  }
  const byName = ns.operations.insertIntoTable({ id: ['t'] }, slowly('t', 'u'))
  await expect(byName).rejects.toMatchObject({ code: 4 })
  const { uuid } = await ns.operations.describeTable({ id: ['u'] })
  await ns.operations.insertIntoTable({ id: ['u'] }, slowly('u', 'v'), { table: uuid })
  expect(await table.countRows()).toBe(2)
  await ns.close()
})
