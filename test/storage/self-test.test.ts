import { describe, expect, test } from 'vitest'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { selfTest } from '../../src/storage/self-test.js'
import { SeededClock } from '../support/clock.js'
import { CountingStore, FaultyStore } from '../support/stores.js'

const clock = new SeededClock(1)

/** Accepts the second conditional put silently, as some servers do. */
class CarelessStore extends MemoryStore {
  override async putIfAbsent(key: string, bytes: Uint8Array): Promise<'won' | 'taken'> {
    await this.delete(key)
    return super.putIfAbsent(key, bytes)
  }
}

/** Answers as it should, but keeps the second content. */
class LyingStore extends CarelessStore {
  override async putIfAbsent(key: string, bytes: Uint8Array): Promise<'won' | 'taken'> {
    const there = (await this.get(key)) !== null
    await super.putIfAbsent(key, bytes)
    return there ? 'taken' : 'won'
  }
}

describe('the self-test of a store', () => {
  test('accepts a store with the guarantee, tests it once, and leaves nothing', async () => {
    const store = new CountingStore(new MemoryStore('memory://self-test-passes'))
    await selfTest(store, clock)
    expect(store.calls.get('putIfAbsent')).toBe(2)
    await selfTest(store, clock)
    expect(store.calls.get('putIfAbsent')).toBe(2)
    for await (const { key } of store.list('')) expect.unreachable(key)
  })

  test.each([
    ['accepts a second conditional put', new CarelessStore('memory://careless')],
    ['replaces the first content', new LyingStore('memory://lying')],
  ])('refuses a store that %s', async (_, store) => {
    const refused = { code: 0, message: expect.stringContaining(`${store.name} cannot store a root`) }
    await expect(selfTest(store, clock)).rejects.toMatchObject(refused)
    await expect(selfTest(store, clock)).rejects.toMatchObject(refused)
    for await (const { key } of store.list('')) expect.unreachable(key)
  })

  test('refuses a store that does not answer', async () => {
    const store = new FaultyStore(new MemoryStore('memory://silent'), clock, { dropReply: 1 })
    await expect(selfTest(store, clock)).rejects.toMatchObject({ code: 17 })
  })
})
