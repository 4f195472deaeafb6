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

test('work that fails lets the next begin', async () => {
  const mutex = new KeyedMutex()
  const failing = mutex.run('k', async () => {
    throw new Error('no')
  })
  const next = mutex.run('k', async () => 'yes')
  await expect(failing).rejects.toThrow('no')
  expect(await next).toBe('yes')
})
