/**
 * A process decides on what it knows of the log. What it had not heard of once did not exist for it: it refused calls for want
 * of a table that another process had made, acknowledged, long before (found by the simulation).
 */
import { expect, test } from 'vitest'
import { connect } from '../../src/index.js'
import { MemoryStore } from '../../src/storage/memory-store.js'

async function twoProcesses() {
  const store = new MemoryStore('memory://story')
  return [await connect('memory://', { store }), await connect('memory://', { store })] as const
}

test('a table that another process has created can be tagged, renamed, dropped', async () => {
  const [one, two] = await twoProcesses()
  await one.createNamespace('a')
  await two.operations.declareTable({ id: ['a', 't'] })
  await one.operations.renameTable({ id: ['a', 't'], new_table_name: 'u' })
  await two.operations.dropTable({ id: ['a', 'u'] })
  await one.dropNamespace('a')
  expect(await two.namespaceNames()).toEqual([])
})

test('a table that another process has dropped can be created again', async () => {
  const [one, two] = await twoProcesses()
  await one.createNamespace('a')
  await two.dropNamespace('a')
  await one.createNamespace('a', { mode: 'exist_ok' })
  expect(await two.namespaceNames()).toEqual(['a'])
})
