/** Ten thousand sparse versions, and ten thousand ranges of them: comparing all with all ended the process. */
import { expect, test } from 'vitest'
import { connect } from '../../src/index.js'

test('deleting many sparse versions by many ranges is linear in their number', async () => {
  const ns = await connect('memory://')
  const { operations } = ns
  await operations.declareTable({ id: ['t'] })
  const entries = Array.from({ length: 5000 }, (_, i) => {
    return { id: ['t'], version: 2 * (i + 1), manifest_path: 'elsewhere' }
  })
  await operations.batchCreateTableVersions({ entries })
  const ranges = Array.from({ length: 5000 }, () => ({ start_version: 0, end_version: -1 }))
  const begun = performance.now()
  expect(await operations.batchDeleteTableVersions({ id: ['t'], ranges })).toMatchObject({
    deleted_count: 5000,
  })
  expect(performance.now() - begun).toBeLessThan(3000)
  await ns.close()
})
