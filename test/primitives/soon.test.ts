import { expect, test } from 'vitest'
import {
  arrival,
  awaited,
  begun,
  type Flow,
  together,
  type Waits,
  whenThere,
} from '../../src/primitives/soon.js'

function* sumOf(...terms: readonly (number | Promise<number>)[]): Waits<number> {
  let sum = 0
  for (const term of terms) sum += yield* arrival(term)
  return sum
}

test('work without anything to wait for has its result at once', () => {
  expect(begun(sumOf(1, 2, 3))).toBe(6)
  expect(whenThere(2, value => value + 1)).toBe(3)
})

test('work goes on with what it waited for', async () => {
  const late = begun(sumOf(1, Promise.resolve(2), 3, Promise.resolve(4)))
  expect(late).toBeInstanceOf(Promise)
  expect(await late).toBe(10)
  expect(await whenThere(Promise.resolve(2), value => value + 1)).toBe(3)
})

test('several pieces of work begin at once, and give their results in order', async () => {
  expect(begun(together([() => 1, () => 2]))).toEqual([1, 2])
  const begins: number[] = []
  const work = (number: number) => async () => {
    begins.push(number)
    return number
  }
  const late = begun(together([work(1), () => 2, work(3)]))
  expect(begins).toEqual([1, 3])
  expect(await late).toEqual([1, 2, 3])
})

test('where one of several pieces of work fails, the failures of the others are not left unhandled', async () => {
  const lost = () => Promise.reject(new Error('lost'))
  await expect(begun(together([lost, lost, () => 1]))).rejects.toThrow('lost')
  const failing = (): number => {
    throw new Error('at once')
  }
  expect(() => begun(together([lost, failing]))).toThrow('at once')
  await new Promise(setImmediate)
})

test('what fails, fails where it is awaited, and the work is closed', async () => {
  let closed = 0
  function* failing(): Waits<number> {
    try {
      return yield* arrival(Promise.reject<number>(new Error('lost')))
    } finally {
      closed++
    }
  }
  await expect(begun(failing())).rejects.toThrow('lost')
  expect(closed).toBe(1)

  function* flow(): Flow<object> {
    try {
      yield { first: true }
      yield* arrival(Promise.reject<number>(new Error('lost')))
    } finally {
      closed++
    }
  }
  const values = awaited(flow())
  expect((await values.next()).value).toEqual({ first: true })
  await expect(values.next()).rejects.toThrow('lost')
  expect(closed).toBe(2)
})

test('who wants no more of a flow closes it', async () => {
  let isClosed = false
  function* endless(): Flow<object> {
    try {
      for (;;) {
        yield Promise.resolve()
        yield {}
      }
    } finally {
      isClosed = true
    }
  }
  for await (const _ of awaited(endless())) break
  expect(isClosed).toBe(true)
})
