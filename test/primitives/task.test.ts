import { expect, test } from 'vitest'
import {
  runAll,
  runTask,
  streamTask,
  type Task,
  type TaskStream,
  wait,
  whenResolved,
} from '../../src/primitives/task.js'

function* sumOf(...terms: readonly (number | Promise<number>)[]): Task<number> {
  let sum = 0
  for (const term of terms) sum += yield* wait(term)
  return sum
}

test('a task that never waits returns its result at once', () => {
  expect(runTask(sumOf(1, 2, 3))).toBe(6)
  expect(whenResolved(2, value => value + 1)).toBe(3)
})

test('a task continues with the result of its promise', async () => {
  const late = runTask(sumOf(1, Promise.resolve(2), 3, Promise.resolve(4)))
  expect(late).toBeInstanceOf(Promise)
  expect(await late).toBe(10)
  expect(await whenResolved(Promise.resolve(2), value => value + 1)).toBe(3)
})

test('several tasks begin at once, and return their results in order', async () => {
  expect(runTask(runAll([() => 1, () => 2]))).toEqual([1, 2])
  const begins: number[] = []
  const work = (number: number) => async () => {
    begins.push(number)
    return number
  }
  const late = runTask(runAll([work(1), () => 2, work(3)]))
  expect(begins).toEqual([1, 3])
  expect(await late).toEqual([1, 2, 3])
})

test('if one of several tasks fails, the failures of the others are handled', async () => {
  const lost = () => Promise.reject(new Error('lost'))
  await expect(runTask(runAll([lost, lost, () => 1]))).rejects.toThrow('lost')
  const failing = (): number => {
    throw new Error('at once')
  }
  expect(() => runTask(runAll([lost, failing]))).toThrow('at once')
  await new Promise(setImmediate)
})

test('a failure is thrown where it is awaited, and the task is closed', async () => {
  let closed = 0
  function* failing(): Task<number> {
    try {
      return yield* wait(Promise.reject<number>(new Error('lost')))
    } finally {
      closed++
    }
  }
  await expect(runTask(failing())).rejects.toThrow('lost')
  expect(closed).toBe(1)

  function* flow(): TaskStream<object> {
    try {
      yield { first: true }
      yield* wait(Promise.reject<number>(new Error('lost')))
    } finally {
      closed++
    }
  }
  const values = streamTask(flow())
  expect((await values.next()).value).toEqual({ first: true })
  await expect(values.next()).rejects.toThrow('lost')
  expect(closed).toBe(2)
})

test('a consumer that stops closes the stream', async () => {
  let isClosed = false
  function* endless(): TaskStream<object> {
    try {
      for (;;) {
        yield Promise.resolve()
        yield {}
      }
    } finally {
      isClosed = true
    }
  }
  for await (const _ of streamTask(endless())) break
  expect(isClosed).toBe(true)
})
