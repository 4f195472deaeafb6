import { describe, expect, test } from 'vitest'
import { systemClock } from '../../src/primitives/clock.js'

const timersThatHoldTheProcess = (): number =>
  process.getActiveResourcesInfo().filter(resource => resource === 'Timeout').length

describe('the system clock', () => {
  test('sleeps without keeping the process alive, unless somebody waits for it', async () => {
    const controller = new AbortController()
    const before = timersThatHoldTheProcess()
    const upkeep = systemClock.sleep(60_000, controller.signal)
    expect(timersThatHoldTheProcess()).toBe(before)
    const awaited = systemClock.sleep(60_000, controller.signal, true)
    expect(timersThatHoldTheProcess()).toBe(before + 1)
    const reason = new Error('enough')
    controller.abort(reason)
    await expect(upkeep).rejects.toBe(reason)
    await expect(awaited).rejects.toBe(reason)
    expect(timersThatHoldTheProcess()).toBe(before)
  })
})

test('of many who yield one goes on in each turn of the event loop, in the order in which they came', async () => {
  const seen: string[] = []
  let over = false
  const watch = () => {
    seen.push('loop')
    if (!over) setImmediate(watch)
  }
  setImmediate(watch)
  const worker = async (name: string) => {
    for (let i = 0; i < 3; i++) {
      await systemClock.yield()
      seen.push(name)
    }
  }
  await Promise.all(['a', 'b', 'c'].map(worker))
  over = true
  expect(seen.filter(each => each !== 'loop').join('')).toBe('abcabcabc')
  const runs = seen
    .join(' ')
    .split('loop')
    .map(run => run.trim())
  expect(runs.every(run => run.length <= 1)).toBe(true)
})
