import { expect, test } from 'vitest'
import { PriorityBackoff } from '../../src/primitives/priority-backoff.js'
import { SeededClock } from '../support/clock.js'

const never = new Promise<void>(() => {})

test('high-priority callers run first, one after the other; other keys do not wait', async () => {
  const clock = new SeededClock(1)
  const courtesy = new PriorityBackoff(clock)
  const log: string[] = []
  const urgent = (name: string) =>
    courtesy.run('k', async () => {
      await clock.sleep(20)
      log.push(name)
    })
  const calls = [urgent('first'), urgent('second'), courtesy.yield('k').then(() => log.push('yielded'))]
  await courtesy.yield('other')
  log.push('other')
  await Promise.all(calls)
  expect(log).toEqual(['other', 'first', 'second', 'yielded'])
})

test('no wait is unbounded, and a signal ends a wait at once', async () => {
  const clock = new SeededClock(1)
  const courtesy = new PriorityBackoff(clock)
  courtesy.run('k', () => never)
  await courtesy.yield('k')
  expect(clock.elapsed()).toBe(200)
  expect(await courtesy.run('k', async () => 'ran')).toBe('ran')
  const gone = new AbortController()
  const waiting = courtesy.yield('k', gone.signal)
  gone.abort(new Error('gone'))
  await expect(waiting).rejects.toThrow('gone')
})
