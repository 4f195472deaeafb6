import { expect, test } from 'vitest'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { isStillnessRecord, Stillness } from '../../src/storage/stillness.js'
import { SeededClock } from '../support/clock.js'
import { keysIn } from '../support/stores.js'

const second = 1000

/** Processes that look at the blobs of one folder, each with a clock that began at another time. */
function world() {
  const clock = new SeededClock(1)
  const store = new MemoryStore('memory://', clock)
  const observer = (startedAt = 0) => {
    const own: SeededClock = Object.create(clock, { elapsed: { value: () => clock.elapsed() - startedAt } })
    const stillness = new Stillness(store, own, 10 * second)
    const look = async (key = '_x/a-1') => {
      const began = own.elapsed()
      const records = (await keysIn(store, '_x/')).filter(isStillnessRecord)
      return stillness.look([key], records, began).get(key)! / second
    }
    return { look, save: () => stillness.save(), stillness }
  }
  return { clock, store, observer, pass: (seconds: number) => clock.advance(seconds * second) }
}

test('observation times add up over observers, with any clocks', async () => {
  const { store, observer, pass } = world()
  for (const [i, startedAt] of [0, 777_777, -123_456, 5].entries()) {
    const { look, save } = observer(startedAt)
    expect(await look()).toBe(8 * i)
    pass(8)
    expect(await look()).toBe(8 * i + 8)
    await save()
    // No observer looks.
    pass(3600)
  }
  expect(await keysIn(store, '_x/')).toEqual(['_x/a-1.32000'])
})

test('time that several observers saw counts once', async () => {
  const { observer, pass } = world()
  const all = [observer(), observer(99_999), observer()]
  for (const { look } of all) await look()
  for (let i = 1; i <= 6; i++) {
    pass(8)
    for (const { look, save } of all) {
      expect(await look()).toBe(8 * i)
      await save()
    }
  }
})

test('an observer that begins in the middle adds nothing that another one observes meanwhile', async () => {
  const { observer, pass } = world()
  const [one, other] = [observer(), observer()]
  await one.look()
  pass(4)
  await other.look()
  pass(4)
  await one.look()
  await one.save()
  expect(await other.look()).toBe(8)
  pass(4)
  expect(await other.look()).toBe(12)
})

test('time without observers counts up to a maximum', async () => {
  const { observer, pass } = world()
  const { look } = observer()
  await look()
  pass(3600)
  expect(await look()).toBe(10)
  pass(3600)
  expect(await look()).toBe(20)
})

test('another blob begins at 0, and the record of the one before is deleted', async () => {
  const { store, observer, pass } = world()
  const { look, save } = observer()
  await look()
  pass(8)
  await look()
  await save()
  expect(await look('_x/a-2')).toBe(0)
  pass(8)
  expect(await look('_x/a-2')).toBe(8)
  await save()
  expect(await keysIn(store, '_x/')).toEqual(['_x/a-2.8000'])
})

test('looks are frequent at first, then at the maximum interval', async () => {
  const { observer, pass } = world()
  const { look, stillness } = observer()
  const pauses: number[] = []
  for (let i = 0; i < 6; i++) {
    await look()
    pauses.push(stillness.pauseMs / second)
    pass(1)
  }
  expect(pauses).toEqual([1, 2, 4, 8, 10, 10])
})
