/**
 * A call that found a table by its name works for that table. When another one gets the name meanwhile, rows that were made
 * for the first, and expressions bound to its columns, must not land in the second.
 */
import { expect, test } from 'vitest'
import { encodeIpcStream } from '../../src/arrow/encode-ipc.js'
import { rowsToBatch } from '../../src/arrow/rows.js'
import { connect } from '../../src/index.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { failure } from '../support/failure.js'

test('a merge whose table is replaced while its rows are read is refused', async () => {
  const ns = await connect('memory://')
  await ns.createTable('t', [{ id: 1, s: 'a' }])
  const batch = rowsToBatch(Array.from({ length: 9000 }, (_, i) => ({ id: i + 10, s: `row ${i}` })))
  async function* body() {
    for (const chunk of encodeIpcStream(batch.schema, [batch])) yield chunk
    await ns.transaction(async tx => {
      await tx.dropTable('t')
      await tx.createTable('t', [{ id: 1, s: 'b' }])
    })
  }
  const request = { id: ['t'], on: ['id'], when_matched_update_all: true, when_not_matched_insert_all: true }
  const error = await failure(ns.operations.mergeInsertIntoTable(request, body()))
  expect(error).toMatchObject({ code: 4 })
  expect(await ns.table('t').query().toArray()).toEqual([{ id: 1, s: 'b' }])
  await ns.close()
})

test('a call on the namespace inside a transaction that runs again is refused each time', async () => {
  const store = new MemoryStore()
  const [ns, other] = [await connect('memory://', { store }), await connect('memory://', { store })]
  const table = await ns.createTable('t', [{ id: 1 }])
  let runs = 0
  await ns.transaction(async tx => {
    runs++
    await tx.table('t').countRows()
    expect(await failure(table.add([{ id: 2 }]))).toMatchObject({ code: 13 })
    // It changes what the transaction looked at.
    if (runs <= 2) await other.table('t').add([{ id: 2 }])
    await tx.table('t').add([{ id: 3 }])
  })
  expect(runs).toBe(3)
  expect(await table.countRows()).toBe(4)
  await ns.close()
  await other.close()
})
