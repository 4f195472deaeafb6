import { expect, test } from 'vitest'
import { connect } from '../../src/index.js'

test('the answer to many queries comes in few batches, the rows of each query together and in order', async () => {
  const ns = await connect('memory://')
  const table = await ns.createTable(
    't',
    Array.from({ length: 40 }, (_, id) => ({ id, vector: [id, 0] })),
  )
  const queries = Array.from({ length: 600 }, (_, i) => [i % 40, 0])
  const arrow = await table.search(queries).select(['id']).limit(2).toArrow()
  expect(arrow.batches.length).toBeLessThan(5)
  const rows = await table.search(queries).select(['id']).limit(2).toArray()
  expect(rows.map(row => (row as { query_index?: number }).query_index)).toEqual(
    queries.flatMap((_, i) => [i, i]),
  )
  for (const [i, row] of rows.entries()) if (i % 2 === 0) expect(row.id).toBe((i / 2) % 40)
  await ns.close()
})
