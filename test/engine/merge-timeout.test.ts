/** A merge that is given a time ends with it, and changes nothing then. */
import { expect, test } from 'vitest'
import { connect } from '../../src/index.js'
import { failure } from '../support/failure.js'

test('a merge after its timeout is refused as late, and changes nothing', async () => {
  const ns = await connect('memory://')
  const table = await ns.createTable('t', [{ id: 1, n: 0 }])
  const rows = Array.from({ length: 300_000 }, (_, id) => ({ id, n: 1 }))
  const merge = table.mergeInsert('id').whenMatchedUpdateAll().whenNotMatchedInsertAll()
  expect(await failure(merge.execute(rows, { timeoutMs: 1 }))).toMatchObject({
    code: 17,
    status: 408,
    message: 'merge insert timed out after 1ms',
  })
  expect(await table.query().toArray()).toEqual([{ id: 1, n: 0 }])
  expect(await merge.execute([{ id: 1, n: 2 }], { timeoutMs: 60_000 })).toMatchObject({ updated: 1 })
  await ns.close()
})
