/**
 * Calls on one table take turns. An overwrite whose rows came slowly once held the turn while it waited for them, so
 * that a client which stopped sending stopped every delete of the table, and giving up on that delete did nothing.
 */
import { expect, test } from 'vitest'
import { connect } from '../../src/index.js'

test('a stalled upload blocks no other call', async () => {
  const ns = await connect('memory://')
  const table = await ns.createTable('t', [{ id: 1 }, { id: 2 }])
  const sent = await table.query().toIpc()
  let finish!: () => void
  const stalled = new Promise<void>(resolve => {
    finish = resolve
  })
  async function* slowly() {
    yield sent.slice(0, 100)
    await stalled
    yield sent.slice(100)
  }
  const overwriting = ns.operations.createTable({ id: ['t'], mode: 'Overwrite' }, slowly())
  const creating = ns.operations.createTable({ id: ['new'] }, slowly())
  await new Promise(resolve => setImmediate(resolve))
  expect(await table.delete('id = 1')).toEqual({ version: 2, rows: 1 })
  const controller = new AbortController()
  const waiting = ns.createTable('new', [{ id: 1 }], { mode: 'exist_ok', signal: controller.signal })
  const reason = new Error('enough')
  setImmediate(() => controller.abort(reason))
  await expect(waiting).rejects.toBe(reason)
  finish()
  await Promise.all([overwriting, creating])
  expect([await table.countRows(), await table.version()]).toEqual([2, 3])
  await ns.close()
})
