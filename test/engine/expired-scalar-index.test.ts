/** A version that expires while a scalar index of it is read: the caller is told of the version, not of damage. */
import { expect, test } from 'vitest'
import { connect } from '../../src/index.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { WrappedStore } from '../support/stores.js'

/** Does something before read number `left` of an index file. */
class InterruptedStore extends WrappedStore {
  left = Number.POSITIVE_INFINITY
  interrupt = async () => {}

  protected async around<T>(
    call: string,
    _conditional: boolean,
    run: () => Promise<T>,
    key: string,
  ): Promise<T> {
    const isRead = ['get', 'getRange', 'readInto', 'readRanges'].includes(call) && key.includes('/indexes/')
    if (isRead && --this.left === 0) await this.interrupt()
    return run()
  }
}

test.each([1, 2])('before read %i of its file', async read => {
  const inner = new MemoryStore()
  const maintenance = { compact: false, keepVersionsMs: 0, keepOrphansMs: 0 }
  const writer = await connect('expiring', { store: inner, maintenance })
  const rows = Array.from({ length: 20_000 }, (_, id) => ({ id, text: `text ${id}` }))
  await (await writer.createTable('t', rows)).createIndex('id', { waitTimeoutMs: 60_000 })
  const store = new InterruptedStore(inner)
  const reader = await connect('expiring', { store, cacheBytes: 0 })
  const table = await reader.openTable('t')
  expect(await table.query().where('id = 7').select(['id']).toArray()).toEqual([{ id: 7 }])
  store.left = read
  store.interrupt = async () => {
    await writer.createTable('t', [{ id: 1, text: 'one' }], { mode: 'overwrite' })
    await writer.optimize()
  }
  await expect(table.query().where('id = 9').toArray()).rejects.toMatchObject({ code: 11 })
  await reader.close()
  await writer.close()
})
