/** Slow reads are sent twice, within limits. The time is simulated. */
import { describe, expect, test } from 'vitest'
import { Hedging } from '../../../adapters/object-store/hedging.js'
import { seededRandom } from '../../../bench/random.js'
import { type Clock, systemClock } from '../../../src/primitives/clock.js'

/** A clock whose timers end in the order of their times, when nothing else is to do. */
class Time implements Pick<Clock, 'elapsed' | 'sleep'> {
  #now = 0
  #timers: { readonly at: number; readonly wake: () => void }[] = []
  #isRunning = false

  elapsed(): number {
    return this.#now
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      const timer = { at: this.#now + ms, wake: resolve }
      signal?.addEventListener('abort', () => {
        this.#timers = this.#timers.filter(each => each !== timer)
        reject(signal.reason)
      })
      this.#timers.push(timer)
      this.#timers.sort((a, b) => a.at - b.at)
      if (!this.#isRunning) this.#run()
    })
  }

  #run(): void {
    this.#isRunning = true
    setImmediate(() => {
      this.#isRunning = false
      const next = this.#timers.shift()
      if (next === undefined) return
      this.#now = next.at
      next.wake()
      this.#run()
    })
  }
}

function opened() {
  const time = new Time()
  const clock: Clock = {
    ...systemClock,
    elapsed: () => time.elapsed(),
    sleep: (ms, signal) => time.sleep(ms, signal),
  }
  return { time, hedging: new Hedging(clock) }
}

async function warm(hedging: Hedging, time: Time, count = 64, ms = 20): Promise<void> {
  for (let i = 0; i < count; i++) await hedging.first(undefined, () => time.sleep(ms))
}

describe('a slow read', () => {
  test('is sent twice, and the first answer wins', async () => {
    const { time, hedging } = opened()
    await warm(hedging, time)
    const aborted: boolean[] = []
    let sent = 0
    const begun = time.elapsed()
    const answer = await hedging.first(undefined, async signal => {
      const number = sent++
      signal!.addEventListener('abort', () => (aborted[number] = true))
      await time.sleep(number === 0 ? 1000 : 20, signal)
      return number
    })
    expect([answer, sent, time.elapsed() - begun]).toEqual([1, 2, 40])
    expect(aborted).toEqual([true, true])
    expect([hedging.sent, hedging.won]).toEqual([1, 1])
  })

  test('is not sent if its signal was aborted before', async () => {
    const { time, hedging } = opened()
    await warm(hedging, time)
    let sent = 0
    const read = hedging.first(AbortSignal.abort('too late'), async () => sent++)
    await expect(read).rejects.toBe('too late')
    expect(sent).toBe(0)
  })

  test('takes the first request if that is answered first', async () => {
    const { time, hedging } = opened()
    await warm(hedging, time)
    let sent = 0
    const answer = await hedging.first(undefined, async signal => {
      const number = sent++
      await time.sleep(number === 0 ? 30 : 1000, signal)
      return number
    })
    expect([answer, sent, hedging.sent, hedging.won]).toEqual([0, 2, 1, 0])
  })

  test('is answered if one of its two requests fails, in any order', async () => {
    for (const failing of [0, 1]) {
      const { time, hedging } = opened()
      await warm(hedging, time)
      let sent = 0
      const answer = await hedging.first(undefined, async signal => {
        const number = sent++
        await time.sleep(number === failing ? 25 : 500, signal)
        if (number === failing) throw new Error('failed')
        return number
      })
      expect(answer).toBe(1 - failing)
    }
  })

  test('fails with the error of its first request if both fail', async () => {
    const { time, hedging } = opened()
    await warm(hedging, time)
    let sent = 0
    const failed = hedging.first(undefined, async () => {
      const number = sent++
      await time.sleep(100)
      throw new Error(`request ${number}`)
    })
    await expect(failed).rejects.toThrow('request 0')
    expect(sent).toBe(2)
  })

  test('stops when its caller aborts', async () => {
    const { time, hedging } = opened()
    await warm(hedging, time)
    const controller = new AbortController()
    const reason = new Error('enough')
    let sent = 0
    const failed = hedging.first(controller.signal, async signal => {
      if (sent++ === 1) controller.abort(reason)
      await time.sleep(1000, signal)
    })
    await expect(failed).rejects.toBe(reason)
    expect(sent).toBe(2)
  })

  test('that fails before its limit is not sent again', async () => {
    const { time, hedging } = opened()
    await warm(hedging, time)
    let sent = 0
    const failed = hedging.first(undefined, async () => {
      sent++
      await time.sleep(5)
      throw new Error('refused')
    })
    await expect(failed).rejects.toThrow('refused')
    expect(sent).toBe(1)
  })
})

test('nothing is sent twice before enough reads were measured, or when all reads take some milliseconds', async () => {
  const { time, hedging } = opened()
  await warm(hedging, time, 31)
  await hedging.first(undefined, () => time.sleep(10_000))
  expect(hedging.sent).toBe(0)
  const fast = opened()
  await warm(fast.hedging, fast.time, 200, 1)
  await fast.hedging.first(undefined, () => fast.time.sleep(9))
  expect(fast.hedging.sent).toBe(0)
})

test('a store that becomes slow as a whole gets at most 5 % more reads', async () => {
  const { time, hedging } = opened()
  await warm(hedging, time, 200)
  let sent = 0
  const count = 2000
  const random = seededRandom(3)
  for (let i = 0; i < count; i++) {
    await hedging.first(undefined, async signal => {
      sent++
      await time.sleep(20 * (1 + i / 20) * (0.5 + random()), signal)
    })
  }
  expect(sent).toBeLessThanOrEqual(count * 1.05 + 5)
})

test('a tail of 2 % slow reads is cut', async () => {
  const { time, hedging } = opened()
  const random = seededRandom(7)
  const times: number[] = []
  for (let i = 0; i < 3000; i++) {
    const begun = time.elapsed()
    await hedging.first(undefined, signal => time.sleep(random() < 0.02 ? 1000 : 20 + 10 * random(), signal))
    if (i >= 200) times.push(time.elapsed() - begun)
  }
  times.sort((a, b) => a - b)
  expect(times[Math.floor(times.length * 0.99)]).toBeLessThan(100)
  expect(hedging.sent / 3000).toBeLessThan(0.06)
})
