import { renameSync } from 'node:fs'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { connect } from '../../src/index.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { idempotencySuite } from '../suites/idempotency.js'
import { SeededClock } from '../support/clock.js'
import { temporaryRoots } from '../support/roots.js'
import { FaultyStore } from '../support/stores.js'
import { doors } from '../support/transports.js'

for (const door of doors(temporaryRoots())) idempotencySuite(door)

/** Two openers send one call three times each, while both also commit other things. */
async function race(seed: number): Promise<void> {
  const clock = new SeededClock(seed)
  const inner = new MemoryStore('shared', clock)
  const openers = []
  for (let i = 0; i < 2; i++) {
    const store = new FaultyStore(inner, clock, {})
    openers.push(await connect('shared', { store, clock }))
    store.faults = { delay: 0.5, duplicate: 0.1, dropReply: 0.1 }
  }
  const calls = openers.flatMap(({ operations: ops }, opener) =>
    Array.from({ length: 3 }, async (_, i) => {
      await clock.sleep(200 * clock.random())
      const other = ops.createNamespace({ id: [`n${opener}${i}`] })
      const reply = await ops.declareTable({ id: ['t'] }, { idempotencyKey: 'k' })
      await other
      return reply
    }),
  )
  const replies = await Promise.all(calls)
  for (const reply of replies) expect(reply).toEqual(replies[0])
  for (const ns of openers) {
    expect((await ns.operations.describeTable({ id: ['t'] })).location).toBe(replies[0]!.location)
    expect(await ns.namespaceNames()).toHaveLength(6)
    await ns.close()
  }
}

test('A-166 equal calls in one slot, in flight, or on either side of it, are one', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(), seed => race(seed)),
    { numRuns: 40 },
  )
})

test('a moved root repeats a reply with its current locations', async () => {
  const [before, after] = [temporaryRoots()(), temporaryRoots()()]
  const sent = { id: ['t'], properties: { location: `${before}/x` } }
  const first = await connect(before)
  const reply = await first.operations.declareTable(sent, { idempotencyKey: 'k' })
  await first.close()
  renameSync(before, after)
  const second = await connect(after)
  const again = await second.operations.declareTable(sent, { idempotencyKey: 'k' })
  expect(again).toEqual({ ...reply, location: `${after}${reply.location.slice(before.length)}` })
  expect(again.location).toBe((await second.operations.describeTable({ id: ['t'] })).location)
  await second.close()
})
