/** Which rows of an index live is found out once for all who wait for it. */
import { expect, test } from 'vitest'
import { connect } from '../../src/index.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { WrappedStore } from '../support/stores.js'

/** Holds back what is read of dead rows until it is let go. */
class HoldingStore extends WrappedStore {
  release = () => {}
  /** Called when it is asked for. */
  onAsked = () => {}
  readonly #released = new Promise<void>(resolve => {
    this.release = resolve
  })

  protected async around<T>(
    _call: string,
    _conditional: boolean,
    run: () => Promise<T>,
    key: string,
  ): Promise<T> {
    if (key.includes('/rows/')) {
      this.onAsked()
      await this.#released
    }
    return run()
  }
}

test('an aborted text search does not fail searches that share its load', async () => {
  const store = new MemoryStore('living')
  const writer = await connect('living', { store, maintenance: { compact: false } })
  const rows = Array.from({ length: 40_000 }, (_, i) => ({ id: i, text: i % 100 === 1 ? 'fox' : 'hen' }))
  const table = await writer.createTable('t', rows)
  await table.createIndex('text', { type: 'FTS' })
  await table.waitForIndex('text_idx')
  // More than ride in a slot.
  await table.delete('id % 2 = 0')
  await writer.close()
  const holding = new HoldingStore(store)
  const asked = new Promise<void>(resolve => {
    holding.onAsked = resolve
  })
  const ns = await connect('living', { store: holding, maintenance: { compact: false } })
  const t = await ns.openTable('t')
  const controller = new AbortController()
  const ask = (options = {}) => t.query().fullText('fox').limit(1000).toArray(options)
  const one = ask({ signal: controller.signal })
  await asked
  const both = Promise.allSettled([one, ask()])
  // The other one comes to where it waits, too.
  for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate)
  controller.abort()
  holding.release()
  const [first, second] = await both
  expect(first).toMatchObject({ status: 'rejected', reason: { name: 'AbortError' } })
  expect(second).toMatchObject({ status: 'fulfilled' })
  expect((second as PromiseFulfilledResult<unknown[]>).value).toHaveLength(400)
  await ns.close()
})
