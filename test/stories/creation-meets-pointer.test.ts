/**
 * While the rows of a new table were being uploaded, somebody made a table of versions that point elsewhere under its name.
 * The upload then looked for rows there, and failed as if Sheaf were broken (found by the simulation).
 */
import { expect, test } from 'vitest'
import { connect } from '../../src/index.js'

test('creating a table whose name a pointer table just took reports the name as taken', async () => {
  const ns = await connect('memory://')
  const source = await ns.createTable('source', [{ id: 1 }])
  const bytes = await source.query().toIpc()
  async function* slowly() {
    yield bytes.slice(0, 100)
    await ns.operations.declareTable({ id: ['t'] })
    await ns.operations.createTableVersion({ id: ['t'], version: 1, manifest_path: 'elsewhere' })
    yield bytes.slice(100)
  }
  await expect(ns.operations.createTable({ id: ['t'] }, slowly())).rejects.toMatchObject({ code: 5 })
  await ns.close()
})
