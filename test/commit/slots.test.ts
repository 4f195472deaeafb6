import { describe, expect, test } from 'vitest'
import { BlobLog } from '../../src/commit/blob-log.js'
import { Packs } from '../../src/commit/packs.js'
import { encodeSlot } from '../../src/commit/slot.js'
import { Slots } from '../../src/commit/slots.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { CountingStore } from '../support/stores.js'

function slotOf(slot: number, blobBytes: number) {
  const entry = { txn: 'a', req: [], ops: [] }
  const header = { need: [], slot, prev: '00000000', by: 'w', ts: 1, entries: [entry] }
  return encodeSlot(header, [JSON.stringify(entry)], [new Uint8Array(blobBytes).fill(slot)])
}

async function logOf(sizes: readonly number[]) {
  const store = new CountingStore(new MemoryStore())
  const log = new BlobLog(store)
  for (const [slot, size] of sizes.entries()) await log.append(slot, slotOf(slot, size).bytes)
  return { store, slots: new Slots(log, new Set()) }
}

describe('old slots', () => {
  test('are read once while they are recent', async () => {
    const { store, slots } = await logOf([10, 20])
    for (let i = 0; i < 3; i++) {
      expect((await slots.get(1)).blob(0)).toEqual(new Uint8Array(20).fill(1))
    }
    await Promise.all([slots.get(0), slots.get(0)])
    expect(store.calls.get('get')).toBe(2)
  })

  test('just written are not read at all', async () => {
    const { store, slots } = await logOf([])
    const { slot } = slotOf(5, 10)
    slots.keep(slot)
    expect(await slots.get(5)).toBe(slot)
    expect(store.calls.get('get')).toBeUndefined()
  })

  test('are evicted for newer ones beyond 32 MB', async () => {
    const megabyte = 1024 * 1024
    const { store, slots } = await logOf(Array(6).fill(7 * megabyte))
    for (let slot = 0; slot < 6; slot++) await slots.get(slot)
    store.reset()
    for (let slot = 5; slot >= 2; slot--) await slots.get(slot)
    expect(store.calls.get('get')).toBeUndefined()
    await slots.get(1)
    expect(store.calls.get('get')).toBe(1)
  })

  test('missing or damaged are errors that name them, and are read again next time', async () => {
    const { store, slots } = await logOf([10])
    await expect(slots.get(1)).rejects.toMatchObject({ code: 18, message: 'slot 1 is missing' })
    await store.put(`_log/${'1'.padStart(20, '0')}`, new Uint8Array(40))
    await expect(slots.get(1)).rejects.toMatchObject({
      code: 18,
      message: expect.stringMatching(/^slot 1 is torn/),
    })
  })

  test('damaged in a pack are errors that name the pack', async () => {
    const store = new MemoryStore()
    const packs = new Packs(store)
    const { bytes, slot } = slotOf(1, 10)
    const broken = bytes.map((byte, at) => (at === 20 ? byte ^ 1 : byte))
    const info = await packs.write(1, [{ crc: slot.crc, bytes: broken }], 2)
    packs.adopt([info])
    const slots = new Slots(new BlobLog(store), new Set(), undefined, { packs, lookAgain: async () => {} })
    const message = expect.stringMatching(`^slot 1 is damaged: .*, in _hist/${info.name}$`)
    await expect(slots.get(1)).rejects.toMatchObject({ code: 18, message })
  })

  test('can be aborted', async () => {
    const { slots } = await logOf([10])
    const reason = new Error('enough')
    await expect(slots.get(0, AbortSignal.abort(reason))).rejects.toBe(reason)
    expect((await slots.get(0)).header.slot).toBe(0)
  })
})
