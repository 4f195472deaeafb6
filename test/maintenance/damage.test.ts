/** What is damaged does not keep maintenance from the rest. */
import { expect, test } from 'vitest'
import { connect } from '../../src/index.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { SeededClock } from '../support/clock.js'
import { keysIn } from '../support/stores.js'

const now = { compact: false, keepVersionsMs: 0, keepOrphansMs: 0, keepLogMs: 0 } as const

test('a damaged slot that nothing needs stays, and checkpoints are still written', async () => {
  const clock = new SeededClock(1)
  const store = new MemoryStore('memory://', clock)
  const made = await connect('memory://', { clock, store, maintenance: now })
  for (let i = 0; i < 8; i++) await made.createNamespace(`n${i}`)
  await made.optimize()
  await made.close()
  const key = '_log/00000000000000000005'
  const bytes = (await store.get(key))!.slice()
  bytes[30]! ^= 1
  await store.delete(key)
  await store.put(key, bytes)
  const warnings: string[] = []
  const ns = await connect('memory://', {
    clock,
    store,
    maintenance: now,
    onWarning: message => warnings.push(message),
  })
  const before = await keysIn(store, '_ckpt/')
  for (let i = 0; i < 3; i++) {
    await ns.createNamespace(`m${i}`)
    await ns.optimize()
  }
  expect((await keysIn(store, '_ckpt/'))[0]).not.toBe(before[0])
  expect(warnings).toContain('old slots of the log could not be packed and stay in the log for now')
  expect(await ns.namespaceNames()).toHaveLength(11)
  await ns.close()
})

test('a lost stored manifest that replaces trimmed slots is named in the error', async () => {
  const clock = new SeededClock(1)
  const store = new MemoryStore('memory://', clock)
  const ns = await connect('memory://', { clock, store, maintenance: now })
  const table = await ns.createTable('t', [{ a: 1 }])
  for (let a = 2; a < 80; a++) await table.add([{ a }])
  for (let i = 0; i < 4; i++) {
    await ns.createNamespace(`n${i}`)
    await ns.optimize()
  }
  await ns.close()
  const bases = (await keysIn(store, 'tables/')).filter(key => key.includes('_versions/'))
  for (const key of bases) await store.delete(key)
  const again = await connect('memory://', { clock, store, readOnly: true })
  const counting = again.openTable('t').then(opened => opened.countRows())
  await expect(counting).rejects.toMatchObject({
    code: 18,
    message: expect.stringContaining(bases.at(-1)!),
    hint: expect.stringContaining('backup'),
  })
  await again.close()
})
