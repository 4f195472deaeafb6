import { describe, expect, test } from 'vitest'
import { UploadMemory } from '../../adapters/upload-memory.js'

describe('memory that uploads share', () => {
  test('is given in turn to calls that hold none', async () => {
    const memory = new UploadMemory(100)
    const [a, b, c] = [memory.account(), memory.account(), memory.account()]
    await a.take(70, undefined)
    const entered: string[] = []
    const waiting = [
      b.take(60, undefined).then(() => entered.push('b')),
      c.take(10, undefined).then(() => entered.push('c')),
    ]
    await Promise.resolve()
    expect([memory.used, entered]).toEqual([70, []])
    a.give(70)
    await Promise.all(waiting)
    expect([memory.used, entered]).toEqual([70, ['b', 'c']])
    for (const each of [a, b, c]) each.close()
    expect(memory.used).toBe(0)
  })

  test('is given to a single message larger than all of it', async () => {
    const memory = new UploadMemory(100)
    const account = memory.account()
    await account.take(1000, undefined)
    expect(memory.used).toBe(100)
    account.give(1000)
    expect(memory.used).toBe(0)
  })

  test('is never awaited by calls that hold some: two would wait for each other', async () => {
    const memory = new UploadMemory(100)
    const [a, b] = [memory.account(), memory.account()]
    await a.take(50, undefined)
    await b.take(40, undefined)
    await expect(a.take(20, undefined)).rejects.toMatchObject({ code: 17, status: 503 })
    await expect(a.take(60, undefined)).rejects.toMatchObject({ code: 13, status: 413 })
    b.close()
    await a.take(20, undefined)
    expect(memory.used).toBe(70)
  })

  test('is released at the abort signal, and waiting calls get their turn', async () => {
    const memory = new UploadMemory(100)
    const [a, b, c] = [memory.account(), memory.account(), memory.account()]
    await a.take(60, undefined)
    const controller = new AbortController()
    const given = b.take(80, controller.signal)
    const behind = c.take(40, undefined)
    controller.abort(new Error('enough'))
    await expect(given).rejects.toThrow('enough')
    await behind
    expect(memory.used).toBe(100)
    await expect(a.take(1, AbortSignal.abort(new Error('gone')))).rejects.toMatchObject({ status: 503 })
  })
})
