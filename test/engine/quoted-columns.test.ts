/** Columns whose names need quotes, as clients that always quote name them. */
import { expect, test } from 'vitest'
import { connect } from '../../src/index.js'

test('columns are indexed, altered and dropped by names in backticks', async () => {
  const ns = await connect('memory://')
  const table = await ns.createTable('t', [{ 'row-id': 1, 'x.y': 'a', n: 1 }])
  await table.createIndex('`row-id`', { waitTimeoutMs: 60_000 })
  expect(await table.listIndices()).toMatchObject([{ name: 'row-id_idx', columns: ['`row-id`'] }])
  await ns.operations.alterTableAlterColumns({ id: ['t'], alterations: [{ path: '`x.y`', rename: 'z' }] })
  await table.dropColumns(['`row-id`'])
  expect((await table.schema()).fields.map(({ name }) => name)).toEqual(['z', 'n'])
  await ns.close()
})
