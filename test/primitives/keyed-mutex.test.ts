import { expect, test } from 'vitest'
import { KeyedMutex } from '../../src/primitives/keyed-mutex.js'

test('work of one key runs one at a time and in order, other keys do not wait', async () => {
  const mutex = new KeyedMutex()
  const log: string[] = []
  const work = (name: string) => async () => {
    log.push(`${name} begins`)
    await new Promise(resolve => setImmediate(resolve))
    log.push(`${name} ends`)
    return name
  }
  const results = await Promise.all([
    mutex.run('k', work('a')),
    mutex.run('k', work('b')),
    mutex.run('other', work('c')),
  ])
  expect(results).toEqual(['a', 'b', 'c'])
  const ofKey = log.filter(entry => !entry.startsWith('c'))
  expect(ofKey).toEqual(['a begins', 'a ends', 'b begins', 'b ends'])
  expect(log.indexOf('c begins')).toBeLessThan(log.indexOf('a ends'))
})

test('a caller that aborts its wait leaves the queue in order', async () => {
  const mutex = new KeyedMutex()
  let finish!: () => void
  const log: string[] = []
  const first = mutex.run(
    'k',
    () =>
      new Promise<void>(resolve => {
        finish = resolve
      }),
  )
  const controller = new AbortController()
  const second = mutex.run('k', async () => log.push('second'), controller.signal)
  const third = mutex.run('k', async () => log.push('third'))
  controller.abort(new Error('enough'))
  await expect(second).rejects.toThrow('enough')
  await new Promise(resolve => setImmediate(resolve))
  expect(log).toEqual([])
  finish()
  await Promise.all([first, third])
  expect(log).toEqual(['third'])
})

test('work that fails lets the next begin', async () => {
  const mutex = new KeyedMutex()
  const failing = mutex.run('k', async () => {
    throw new Error('no')
  })
  const next = mutex.run('k', async () => 'yes')
  await expect(failing).rejects.toThrow('no')
  expect(await next).toBe('yes')
})

test('work under several keys waits for all of them, in any order of names', async () => {
  const mutex = new KeyedMutex()
  let running = 0
  const work = async () => {
    expect(++running).toBe(1)
    await new Promise(resolve => setImmediate(resolve))
    running--
  }
  await Promise.all([
    mutex.runAll(['a', 'b', 'a'], work),
    mutex.runAll(['b', 'a'], work),
    mutex.runAll(['c', 'b'], work),
    mutex.run('b', work),
  ])
  let isFree = false
  await mutex.runAll([], async () => {
    isFree = true
  })
  expect(isFree).toBe(true)
})
