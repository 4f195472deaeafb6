import { describe, expect, test } from 'vitest'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { NotifyingStore } from '../../src/storage/notifying-store.js'
import { blobStoreSuite } from '../suites/blob-store.js'
import { SeededClock } from '../support/clock.js'
import { CountingStore, CrashingStore, FaultyStore } from '../support/stores.js'

blobStoreSuite('MemoryStore', async () => new MemoryStore())
blobStoreSuite('a NotifyingStore', async () => new NotifyingStore(new MemoryStore(), () => {}))
blobStoreSuite('a CountingStore', async () => new CountingStore(new MemoryStore()))
blobStoreSuite('a CrashingStore before its crash', async () => {
  return new CrashingStore(new MemoryStore(), Number.POSITIVE_INFINITY, false)
})
blobStoreSuite('a FaultyStore that only delays', async () => {
  return new FaultyStore(new MemoryStore(), new SeededClock(1), { delay: 0.5 })
})

describe('MemoryStore', () => {
  test('memory:// is a new store for each opener', async () => {
    const one = MemoryStore.open('memory://')
    await one.put('k', Uint8Array.of(1))
    expect(await MemoryStore.open('memory://').get('k')).toBeNull()
  })

  test('memory://name is one store for all openers', async () => {
    const one = MemoryStore.open('memory://shared')
    await one.put('k', Uint8Array.of(1))
    expect(await MemoryStore.open('memory://shared').get('k')).toEqual(Uint8Array.of(1))
    expect(await MemoryStore.open('memory://other').get('k')).toBeNull()
  })

  test('another url is refused', () => {
    expect(() => MemoryStore.open('file:///tmp')).toThrow('does not start with memory://')
  })
})
