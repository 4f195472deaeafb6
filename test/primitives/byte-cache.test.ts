import { expect, test } from 'vitest'
import { ByteCache } from '../../src/primitives/byte-cache.js'

const sized = (budget: number) => new ByteCache<Uint8Array>(budget, bytes => bytes.length)
const load = (n: number) => async () => new Uint8Array(n)

test('the least recently used leaves first, and the budget holds', async () => {
  const cache = sized(100)
  await cache.get('a', load(40))
  await cache.get('b', load(40))
  await cache.get('a', load(40))
  await cache.get('c', load(40))
  expect(cache.stats()).toMatchObject({ entries: 2, bytes: 80, hits: 1, misses: 3 })
  let reloaded = false
  await cache.get('b', async () => {
    reloaded = true
    return new Uint8Array(1)
  })
  expect(reloaded).toBe(true)
})

test('callers of one moment share one load', async () => {
  const cache = sized(100)
  let loads = 0
  const slow = async () => {
    loads++
    return new Uint8Array(8)
  }
  const [x, y] = await Promise.all([cache.get('a', slow), cache.get('a', slow)])
  expect(x).toBe(y)
  expect(loads).toBe(1)
})

test('a failed load is forgotten', async () => {
  const cache = sized(100)
  await expect(cache.get('a', () => Promise.reject(new Error('no')))).rejects.toThrow('no')
  expect((await cache.get('a', load(3))).length).toBe(3)
})

test('a value larger than the budget is handed out, not kept', async () => {
  const cache = sized(10)
  expect((await cache.get('big', load(50))).length).toBe(50)
  expect(cache.stats()).toMatchObject({ entries: 0, bytes: 0 })
})
