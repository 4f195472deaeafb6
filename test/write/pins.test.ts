import { expect, test, vi } from 'vitest'
import { MemoryStore } from '../../src/storage/memory-store.js'
import {
  type Liveness,
  type Processes,
  type ProcessMark,
  systemProcesses,
} from '../../src/storage/processes.js'
import { Pins } from '../../src/write/pins.js'
import { SeededClock } from '../support/clock.js'

const minute = 60_000

async function keysOf(store: MemoryStore): Promise<string[]> {
  const keys: string[] = []
  for await (const { key } of store.list('_pins/')) keys.push(key)
  return keys
}

test('every process sees the oldest pinned slot, and forgets it when it is released', async () => {
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

test('a pin is honoured as long as its process lives', async () => {
  const clock = new SeededClock(1)
  const store = new MemoryStore('memory://', clock)
  const [one, other] = [new Pins(store, clock, false), new Pins(store, clock, false)]
  await one.hold(7)
  for (let i = 0; i < 40; i++) {
    await clock.sleep(minute)
    expect(await other.oldest()).toBe(7)
  }
  expect((await keysOf(store)).length).toBeLessThanOrEqual(3)
  await one.close()
  await other.close()
  expect(await keysOf(store)).toEqual([])
})

test('a pin of a process that died is honoured for ten minutes, and then deleted', async () => {
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

test('an unreadable pin pins everything', async () => {
  const clock = new SeededClock(1)
  const store = new MemoryStore('memory://', clock)
  await store.put('_pins/torn-0', Buffer.from('{"slot"'))
  expect(await new Pins(store, clock, false).oldest()).toBe(0)
})

test('in a read-only root a pin counts in this process alone', async () => {
  const clock = new SeededClock(1)
  const store = new MemoryStore('memory://', clock)
  const pins = new Pins(store, clock, true)
  const release = await pins.hold(5)
  expect(await pins.oldest()).toBe(5)
  expect(await keysOf(store)).toEqual([])
  await release()
  expect(await pins.oldest()).toBe(Number.POSITIVE_INFINITY)
})

class MachineStore extends MemoryStore {
  processes?: Processes
}

const mark: ProcessMark = { boot: 'b', space: 'pid:[1]', pid: 7, start: '1' }

test('a pin of a dead process is deleted at once, a pin of a stopped process is honoured while it lives', async () => {
  const clock = new SeededClock(1)
  const store = new MachineStore('memory://', clock)
  await store.put('_pins/stopped-5', Buffer.from(JSON.stringify({ slot: 7, by: mark })))
  let state: Liveness = 'alive'
  store.processes = { own: { ...mark, pid: 8 }, livenessOf: () => state }
  const pins = new Pins(store, clock, false)
  for (let i = 0; i < 60; i++) {
    expect(await pins.all()).toMatchObject([{ slot: 7, process: 7, stillMs: 0 }])
    await clock.sleep(minute)
  }
  state = 'dead'
  expect(await pins.oldest()).toBe(Number.POSITIVE_INFINITY)
  expect(await keysOf(store)).toEqual([])
})

test('a pin of another process namespace is honoured though no process here has its id', async () => {
  const clock = new SeededClock(1)
  const store = new MachineStore('memory://', clock)
  const space = `${systemProcesses.own?.space} of a container`
  const elsewhere = { boot: systemProcesses.own?.boot ?? '', space, pid: 2 ** 30, start: '1' }
  store.processes = { own: elsewhere, livenessOf: () => 'unknown' }
  await new Pins(store, clock, false).hold(7)
  store.processes = systemProcesses
  const pins = new Pins(store, clock, false)
  for (let i = 0; i < 40; i++) {
    expect(await pins.all()).toMatchObject([{ slot: 7, process: null }])
    await clock.sleep(minute)
  }
})

test('short-lived processes together delete the pin of one that died elsewhere', async () => {
  const store = new MemoryStore()
  await store.put('_pins/gone-3', Buffer.from('{"slot":7}'))
  let runs = 0
  for (; runs < 100; runs++) {
    const clock = new SeededClock(runs)
    const pins = new Pins(store, clock, false)
    if ((await pins.oldest()) > 7) break
    await clock.sleep(20_000)
    // Some are killed.
    if (runs % 3 > 0) await pins.close()
    else clock.stop()
  }
  expect(runs).toBeGreaterThanOrEqual(30)
  expect(runs).toBeLessThan(40)
})

test('concurrent observers do not count time twice', async () => {
  const clock = new SeededClock(1)
  const store = new MemoryStore('memory://', clock)
  await store.put('_pins/gone-3', Buffer.from('{"slot":7}'))
  const all = Array.from({ length: 4 }, () => new Pins(store, clock, false))
  for (const pins of all) await pins.oldest()
  await clock.sleep(9 * minute)
  for (const pins of all) expect(await pins.oldest()).toBe(7)
  await clock.sleep(2 * minute)
  expect(await all[3]!.oldest()).toBe(Number.POSITIVE_INFINITY)
})

test('time while the machine sleeps does not count', async () => {
  const clock = new SeededClock(1)
  const store = new MemoryStore('memory://', clock)
  const [holder, pins] = [new Pins(store, clock, false), new Pins(store, clock, false)]
  await holder.hold(7)
  expect(await pins.oldest()).toBe(7)
  clock.advance(60 * minute)
  expect(await pins.oldest()).toBe(7)
})

test('a pin that is renewed during its first read does not pin everything', async () => {
  const clock = new SeededClock(1)
  const store = new MemoryStore('memory://', clock)
  await store.put('_pins/x-1', Buffer.from('{"slot":7}'))
  const get = vi.spyOn(store, 'get').mockResolvedValueOnce(null)
  const pins = new Pins(store, clock, false)
  expect(await pins.oldest()).toBe(0)
  expect(await pins.oldest()).toBe(7)
  get.mockRestore()
})
