import { expect, test } from 'vitest'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { Pins } from '../../src/write/pins.js'
import { SeededClock } from '../support/clock.js'

const minute = 60_000

async function keysOf(store: MemoryStore): Promise<string[]> {
  const keys: string[] = []
  for await (const { key } of store.list('_pins/')) keys.push(key)
  return keys
}

test('the oldest pinned slot is seen by every process, and forgotten when it is let go', async () => {
  const clock = new SeededClock(1)
  const store = new MemoryStore('memory://', clock)
  const [one, other] = [new Pins(store, clock, false), new Pins(store, clock, false)]
  expect(await other.oldest()).toBe(Number.POSITIVE_INFINITY)
  const release = await one.hold(7)
  const later = await one.hold(9)
  expect([await one.oldest(), await other.oldest()]).toEqual([7, 7])
  await release()
  expect([await one.oldest(), await other.oldest()]).toEqual([9, 9])
  await later()
  expect(await other.oldest()).toBe(Number.POSITIVE_INFINITY)
  expect(await keysOf(store)).toEqual([])
})

test('a pin is honoured for as long as its process lives, however long that is', async () => {
  const clock = new SeededClock(1)
  const store = new MemoryStore('memory://', clock)
  const [one, other] = [new Pins(store, clock, false), new Pins(store, clock, false)]
  await one.hold(7)
  for (let i = 0; i < 40; i++) {
    await clock.sleep(minute)
    expect(await other.oldest()).toBe(7)
  }
  expect((await keysOf(store)).length).toBeLessThanOrEqual(2)
  await one.close()
  expect(await keysOf(store)).toEqual([])
})

test('a pin of a process that died is honoured for ten minutes, and then taken away', async () => {
  const clock = new SeededClock(1)
  const store = new MemoryStore('memory://', clock)
  await store.put('_pins/gone-3', Buffer.from('{"slot":7}'))
  const pins = new Pins(store, clock, false)
  expect(await pins.oldest()).toBe(7)
  await clock.sleep(9 * minute)
  expect(await pins.oldest()).toBe(7)
  await clock.sleep(2 * minute)
  expect(await pins.oldest()).toBe(Number.POSITIVE_INFINITY)
  expect(await keysOf(store)).toEqual([])
})

test('a pin that cannot be read pins everything', async () => {
  const clock = new SeededClock(1)
  const store = new MemoryStore('memory://', clock)
  await store.put('_pins/torn-0', Buffer.from('{"slot"'))
  expect(await new Pins(store, clock, false).oldest()).toBe(0)
})

test('where nothing may be written a pin holds in this process alone', async () => {
  const clock = new SeededClock(1)
  const store = new MemoryStore('memory://', clock)
  const pins = new Pins(store, clock, true)
  const release = await pins.hold(5)
  expect(await pins.oldest()).toBe(5)
  expect(await keysOf(store)).toEqual([])
  await release()
  expect(await pins.oldest()).toBe(Number.POSITIVE_INFINITY)
})
