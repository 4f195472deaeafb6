import { expect, test } from 'vitest'
import { SeededClock, stopClocks } from './clock.js'

test.each([
  ['by itself', (clock: SeededClock) => clock.stop()],
  ['with all others', stopClocks],
])('a clock that is stopped %s wakes nobody any more', async (_, stop) => {
  const clock = new SeededClock(1)
  let hours = 0
  const maintenance = async () => {
    for (; ; hours++) await clock.sleep(60 * 60 * 1000)
  }
  maintenance()
  const turn = () => new Promise(resolve => setImmediate(resolve))
  for (let i = 0; i < 10; i++) await turn()
  expect(hours).toBeGreaterThan(5)
  stop(clock)
  // Who was woken before that goes on.
  await turn()
  const before = hours
  clock.sleep(1).then(() => hours++)
  for (let i = 0; i < 10; i++) await turn()
  expect(hours).toBe(before)
})
