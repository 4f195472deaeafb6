/** A log that is not what was written: reported by slot, and nothing is built on it. */
import { describe, expect, test } from 'vitest'
import { BlobLog } from '../../src/commit/blob-log.js'
import { Committer, type CommitterOptions } from '../../src/commit/committer.js'
import type { SlotHeader } from '../../src/commit/machine.js'
import { decodeSlot, encodeSlot } from '../../src/commit/slot.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { SeededClock } from '../support/clock.js'
import { add, gate, steered, tally } from './tally.js'

const options: CommitterOptions = { clock: new SeededClock(1), create: true, readOnly: false }
const keyOf = (slot: number): string => `_log/${String(slot).padStart(20, '0')}`

/** A store with a root of `slots` slots, and its committer. */
async function rootOf(slots: number) {
  const store = new MemoryStore()
  const log = new BlobLog(store)
  const committer = await Committer.open(log, tally, options)
  for (let slot = 1; slot <= slots; slot++) await committer.commit(add(1, `${slot}`))
  return { store, log, committer }
}

const reopen = (store: MemoryStore) => Committer.open(new BlobLog(store), tally, options)

async function replace(store: MemoryStore, slot: number, bytes: Uint8Array): Promise<void> {
  await store.delete(keyOf(slot))
  await store.put(keyOf(slot), bytes)
}

/** Slot `number` of a store, written again with another header. */
async function rewritten(
  store: MemoryStore,
  number: number,
  change: Partial<SlotHeader>,
): Promise<Uint8Array> {
  const { header } = decodeSlot((await store.get(keyOf(number)))!, number, new Set(['tally', 'moon']))
  const changed = { ...header, ...change }
  return encodeSlot(
    changed,
    changed.entries.map(entry => JSON.stringify(entry)),
    [],
  ).bytes
}

describe('opening a log', () => {
  test.each([
    [0, 'slot 0 is missing, although slot 5 exists'],
    [1, 'slot 1 is missing, although slot 2 exists'],
    [4, 'slot 4 is missing, although slot 5 exists'],
  ])('without its slot %i is refused', async (gap, message) => {
    const { store } = await rootOf(5)
    await store.delete(keyOf(gap))
    await expect(reopen(store)).rejects.toMatchObject({ code: 18, message })
  })

  test('with a slot far beyond its end is refused', async () => {
    const { store } = await rootOf(5)
    await store.put(keyOf(1000), Uint8Array.of(1))
    const message = 'slot 6 is missing, although slot 1000 exists'
    await expect(reopen(store)).rejects.toMatchObject({ code: 18, message })
  })

  test('with a damaged slot is refused by its number', async () => {
    const { store } = await rootOf(5)
    const bytes = (await store.get(keyOf(3)))!
    bytes[30]! ^= 1
    await replace(store, 3, bytes)
    const message = expect.stringMatching(/^slot 3 is damaged/)
    await expect(reopen(store)).rejects.toMatchObject({ code: 18, message })
    await replace(store, 3, bytes.subarray(0, 50))
    await expect(reopen(store)).rejects.toMatchObject({
      code: 18,
      message: expect.stringMatching(/^slot 3 is torn/),
    })
  })

  test('with a slot that follows another predecessor is refused, naming both', async () => {
    const { store } = await rootOf(5)
    const other = await rootOf(5)
    await replace(store, 4, (await other.store.get(keyOf(4)))!)
    const message = expect.stringMatching(/^slot 4 does not follow slot 3: /)
    await expect(reopen(store)).rejects.toMatchObject({ code: 18, message })
  })

  test('of another root is refused', async () => {
    const { store } = await rootOf(2)
    const other = await rootOf(0)
    await replace(store, 0, (await other.store.get(keyOf(0)))!)
    const message = expect.stringMatching(/^slot 1 does not follow slot 0: /)
    await expect(reopen(store)).rejects.toMatchObject({ code: 18, message })
  })

  test('whose time goes back is refused', async () => {
    const { store } = await rootOf(3)
    await replace(store, 3, await rewritten(store, 3, { ts: 1 }))
    const message = expect.stringMatching(/^slot 3 has the time 1, which is before the time \d+ of slot 2$/)
    await expect(reopen(store)).rejects.toMatchObject({ code: 18, message })
  })

  test('with an entry that cannot be applied is refused, naming it', async () => {
    const { store } = await rootOf(3)
    const entries = [{ txn: 'a', req: [], ops: [{ from: 77, add: 1, note: 'x' }] }]
    await replace(store, 3, await rewritten(store, 3, { entries }))
    const message = expect.stringMatching(/^slot 3, entry 0 cannot be applied: .*decided on 77, not 2/)
    await expect(reopen(store)).rejects.toMatchObject({ code: 18, message })
  })

  test('a newer Sheaf has written to is refused, not read halfway', async () => {
    const { store } = await rootOf(3)
    await replace(store, 3, await rewritten(store, 3, { need: ['tally', 'moon'] }))
    const message = expect.stringContaining('slot 3 was written by a newer Sheaf')
    await expect(reopen(store)).rejects.toMatchObject({ code: 0, message })
    await replace(store, 3, await rewritten(store, 3, { need: ['tally'] }))
    expect((await reopen(store)).head).toBe(3)
  })
})

describe('an open committer', () => {
  async function expectStopped<S>(committer: Committer<S>, error: object): Promise<void> {
    const head = committer.head
    await expect(committer.refresh()).rejects.toMatchObject(error)
    await expect(committer.refresh()).rejects.toMatchObject(error)
    await expect(committer.commit(() => ({ ops: [1] }))).rejects.toMatchObject(error)
    expect(committer.head).toBe(head)
    await committer.close()
  }

  test('that meets a damaged slot stops for good', async () => {
    const { store, committer } = await rootOf(3)
    await store.put(keyOf(4), Uint8Array.of(1, 2, 3))
    await expectStopped(committer, { code: 18, message: expect.stringMatching(/^slot 4 is torn/) })
  })

  test('that meets a fork stops for good', async () => {
    const { store, committer } = await rootOf(3)
    const other = await rootOf(4)
    await store.put(keyOf(4), (await other.store.get(keyOf(4)))!)
    await expectStopped(committer, {
      code: 18,
      message: expect.stringMatching(/^slot 4 does not follow slot 3/),
    })
  })

  test('that meets a newer Sheaf stops for good', async () => {
    const { store, log, committer } = await rootOf(3)
    const writer = await Committer.open(log, tally, options)
    await writer.commit(add(1, '4'))
    await replace(store, 4, await rewritten(store, 4, { need: ['moon'] }))
    await expectStopped(committer, { code: 0, message: expect.stringContaining('newer Sheaf') })
  })

  test('that meets a gap stops for good', async () => {
    const { store, log, committer } = await rootOf(3)
    const writer = await Committer.open(log, tally, options)
    for (let slot = 4; slot <= 9; slot++) await writer.commit(add(1, `${slot}`))
    await store.delete(keyOf(5))
    await expect(committer.refresh()).rejects.toMatchObject({
      code: 18,
      message: 'slot 5 is missing, although slot 6 exists',
    })
    expect(committer.head).toBe(4)
    await expectStopped(committer, { code: 18 })
  })

  test('whose log is gone stops for good', async () => {
    const { store, committer } = await rootOf(3)
    for (let slot = 0; slot <= 3; slot++) await store.delete(keyOf(slot))
    await expectStopped(committer, { code: 18, message: expect.stringMatching(/^slot 3 no longer exists/) })
  })

  test('that finds the damage while committing fails what is queued with it', async () => {
    const { store, log } = await rootOf(3)
    const started = gate()
    const release = gate()
    const slow = steered(log, {
      async append(slot, bytes) {
        started.open()
        await release.opened
        return log.append(slot, bytes)
      },
    })
    const committer = await Committer.open(slow, tally, options)
    const commits = [committer.commit(add(1, 'on its way'))]
    await started.opened
    commits.push(committer.commit(add(1, 'queued')))
    await store.put(keyOf(4), Uint8Array.of(1, 2, 3))
    release.open()
    for (const commit of commits) {
      await expect(commit).rejects.toMatchObject({
        code: 18,
        message: expect.stringMatching(/^slot 4 is torn/),
      })
    }
    await expectStopped(committer, { code: 18 })
  })

  test('whose append reported success for a slot of another writer stops for good', async () => {
    const { log } = await rootOf(0)
    const writer = await Committer.open(log, tally, options)
    const lying = steered(log, {
      async append(slot) {
        if (slot > 0) {
          await writer.commit(add(1, 'theirs'))
          await committer.refresh()
        }
        return 'won'
      },
    })
    const committer = await Committer.open(lying, tally, options)
    const error = {
      code: 18,
      message: "slot 1 has another writer's entries, although the store reported that this process wrote it",
    }
    await expect(committer.commit(add(1, 'ours'))).rejects.toMatchObject(error)
    await expectStopped(committer, error)
  })
})
