import fc from 'fast-check'
import { expect, test } from 'vitest'
import { PersistentQueue } from '../../src/primitives/persistent-queue.js'

test('a queue holds what an array would, and older ones stay as they were', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -5, max: 9 })), steps => {
      let queue = PersistentQueue.empty<number>()
      let list: readonly number[] = []
      const seen: (readonly [PersistentQueue<number>, readonly number[]])[] = []
      for (const n of steps) {
        if (n >= 0) {
          queue = queue.push(n)
          list = [...list, n]
        } else {
          const first = list.findIndex(each => each >= -n)
          queue = queue.dropWhile(each => each < -n)
          list = first < 0 ? [] : list.slice(first)
        }
        seen.push([queue, list])
      }
      for (const [queue, list] of seen) {
        expect([...queue]).toEqual(list)
        expect(queue.size).toBe(list.length)
      }
    }),
  )
})

test('the newest items that pass a test are found from the end', () => {
  const queue = [1, 5, 2, 7, 8].reduce((q, n) => q.push(n), PersistentQueue.empty<number>())
  expect(queue.newestWhile(n => n > 4)).toEqual([7, 8])
  expect(queue.newestWhile(() => true)).toEqual([1, 5, 2, 7, 8])
  expect(queue.dropWhile(n => n < 6).newestWhile(n => n > 0)).toEqual([7, 8])
  expect(queue.newestWhile(() => false)).toEqual([])
})
