import { describe, expect, test } from 'vitest'
import { systemClock } from '../../src/primitives/clock.js'

const timersThatHoldTheProcess = (): number =>
  process.getActiveResourcesInfo().filter(resource => resource === 'Timeout').length

describe('the system clock', () => {
  test('sleeps without keeping the process alive, unless a caller waits', async () => {
    const controller = new AbortController()
    const before = timersThatHoldTheProcess()
    const maintenance = systemClock.sleep(60_000, controller.signal)
    expect(timersThatHoldTheProcess()).toBe(before)
    const awaited = systemClock.sleep(60_000, controller.signal, true)
    expect(timersThatHoldTheProcess()).toBe(before + 1)
    const reason = new Error('enough')
    controller.abort(reason)
    await expect(maintenance).rejects.toBe(reason)
    await expect(awaited).rejects.toBe(reason)
    expect(timersThatHoldTheProcess()).toBe(before)
  })
})
