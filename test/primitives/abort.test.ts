import { getEventListeners } from 'node:events'
import { describe, expect, test } from 'vitest'
import { eachOrAborted, orAborted, within } from '../../src/primitives/abort.js'
import { SeededClock } from '../support/clock.js'

const reason = new Error('enough')

describe('waiting that can be aborted', () => {
  test('gives the result of the promise', async () => {
    const { signal } = new AbortController()
    expect(await orAborted(Promise.resolve(1), undefined)).toBe(1)
    expect(await orAborted(Promise.resolve(1), signal)).toBe(1)
    await expect(orAborted(Promise.reject(reason), signal)).rejects.toBe(reason)
  })

  test('rejects with the reason while the promise is still pending', async () => {
    const controller = new AbortController()
    const waiting = orAborted(new Promise(() => {}), controller.signal)
    controller.abort(reason)
    await expect(waiting).rejects.toBe(reason)
    await expect(orAborted(new Promise(() => {}), controller.signal)).rejects.toBe(reason)
  })
})

describe('waiting for a limited time', () => {
  const pending = new Promise(() => {})

  /** Counts the timers that still run. */
  class CountingClock extends SeededClock {
    running = 0

    override async sleep(ms: number, signal?: AbortSignal): Promise<void> {
      this.running++
      await super.sleep(ms, signal).finally(() => this.running--)
    }
  }

  test('ends with the work, or after the time', async () => {
    const clock = new CountingClock(1)
    const began = clock.elapsed()
    await within(clock, 1000, Promise.resolve(1))
    expect(clock.elapsed() - began).toBeLessThan(1000)
    await within(clock, 1000, pending)
    expect(clock.elapsed() - began).toBeGreaterThanOrEqual(1000)
    expect(clock.running).toBe(0)
  })

  test('rejects with the error of the work, or the reason of the signal', async () => {
    const clock = new CountingClock(1)
    await expect(within(clock, 1000, Promise.reject(reason))).rejects.toBe(reason)
    const controller = new AbortController()
    const waiting = within(clock, 1000, pending, controller.signal)
    controller.abort(reason)
    await expect(waiting).rejects.toBe(reason)
    await new Promise(resolve => setImmediate(resolve))
    expect(clock.running).toBe(0)
  })
})

test('many waits on one signal add one listener, and none after they end', async () => {
  const controller = new AbortController()
  const { signal } = controller
  const listeners = () => getEventListeners(signal, 'abort').length
  const came = Array.from({ length: 20 }, (_, i) => orAborted(Promise.resolve(i), signal))
  const hanging = Array.from({ length: 20 }, () => orAborted(new Promise(() => {}), signal))
  expect(listeners()).toBe(1)
  await Promise.all(came)
  expect(listeners()).toBe(1)
  controller.abort(reason)
  for (const each of hanging) await expect(each).rejects.toBe(reason)

  const other = new AbortController().signal
  await Promise.all([1, 2].map(i => orAborted(Promise.resolve(i), other)))
  await new Promise(resolve => setImmediate(resolve))
  expect(getEventListeners(other, 'abort')).toEqual([])
})

describe('items that can be aborted', () => {
  async function collect<T>(source: AsyncIterable<T> | Iterable<T>, signal?: AbortSignal): Promise<T[]> {
    const items: T[] = []
    for await (const item of eachOrAborted(source, signal)) items.push(item)
    return items
  }

  test('are those of the source', async () => {
    const { signal } = new AbortController()
    async function* source() {
      yield 1
      yield 2
    }
    expect(await collect(source(), signal)).toEqual([1, 2])
    expect(await collect([1, 2])).toEqual([1, 2])
  })

  test('end with the reason even if the source hangs', async () => {
    const controller = new AbortController()
    async function* source() {
      yield 1
      controller.abort(reason)
      await new Promise(() => {})
    }
    await expect(collect(source(), controller.signal)).rejects.toBe(reason)
  })

  test('that are not consumed to the end close the source', async () => {
    let closed = false
    async function* source() {
      try {
        yield 1
        yield 2
      } finally {
        closed = true
      }
    }
    for await (const _ of eachOrAborted(source(), undefined)) break
    expect(closed).toBe(true)
  })
})
