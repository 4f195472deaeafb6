import { expect, test } from 'vitest'
import { connect } from '../../src/index.js'
import { MemoryStore } from '../../src/storage/memory-store.js'

test('offsets of deleted rows that do not fit into the slot together go into files', async () => {
  const store = new MemoryStore()
  const ns = await connect('memory://', { store })
  const rows = (from: number) => Array.from({ length: 20_000 }, (_, i) => ({ id: from + i }))
  const table = await ns.createTable('t', rows(0))
  for (const from of [20_000, 40_000]) await table.add(rows(from))
  expect((await table.delete('id % 2 = 0')).rows).toBe(30_000)
  const files: string[] = []
  for await (const { key } of store.list('tables/')) if (key.includes('/rows/')) files.push(key)
  expect(files).toHaveLength(2)
  expect(await table.countRows('id % 2 = 0')).toBe(0)
  expect(await table.countRows()).toBe(30_000)
  await ns.close()
})
