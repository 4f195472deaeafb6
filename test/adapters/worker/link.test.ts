import { getEventListeners } from 'node:events'
import { Worker } from 'node:worker_threads'
import { afterEach, describe, expect, test } from 'vitest'
import { lengthOf } from '../../../adapters/bytes.js'
import { remoteOperations } from '../../../adapters/calls.js'
import { WorkerLink } from '../../../adapters/worker/link.js'
import { packError } from '../../../adapters/worker/messages.js'
import { ErrorCode, invalidInput, SheafError } from '../../../src/errors.js'
import type { ArrowReply, Operations } from '../../../src/protocol/calls.js'
import { operationNames } from '../../../src/protocol/operations.js'
import { built } from '../built.js'
import { callOf, sampleReply, samplesOf, uncut } from '../samples.js'

interface Linked {
  readonly operations: Operations
  close(): Promise<void>
}

const links: Linked[] = []

afterEach(async () => {
  await Promise.all(links.splice(0).map(link => link.close()))
})

async function startLink(): Promise<Linked> {
  const worker = new Worker(built('test/adapters/worker/echo-worker.ts'))
  const link = await WorkerLink.open(worker, 'the test')
  const { operations, drain } = remoteOperations('the test', call => link.send(call))
  const linked = { operations, close: () => drain().then(() => link.close()) }
  links.push(linked)
  return linked
}

async function start(): Promise<Operations> {
  return (await startLink()).operations
}

function openPorts(): number {
  return process.getActiveResourcesInfo().filter(resource => resource === 'MessagePort').length
}

/** Bytes in chunks of all sizes, with how many were made so far. */
function counted(chunkBytes: number, count: number) {
  const state = { made: 0, ended: false }
  async function* chunks() {
    try {
      for (let i = 0; i < count; i++) {
        state.made++
        yield new Uint8Array(chunkBytes).fill(1)
      }
    } finally {
      state.ended = true
    }
  }
  return { state, chunks: chunks() }
}

describe('a worker that ends by itself', () => {
  test('is not terminated before it has exited when it refuses to open', async () => {
    const refusal = JSON.stringify({ kind: 'refused', error: packError(invalidInput('no such root')) })
    const worker = new Worker(`require('node:worker_threads').parentPort.postMessage(${refusal})`, {
      eval: true,
    })
    const events = recorded(worker)
    await expect(WorkerLink.open(worker, 'the test')).rejects.toThrow('no such root')
    expect(events).toEqual(['exit', 'terminate'])
  })

  test('is not terminated before it has exited when it is closed', async () => {
    const worker = new Worker(built('test/adapters/worker/echo-worker.ts'))
    const events = recorded(worker)
    const link = await WorkerLink.open(worker, 'the test')
    await link.close()
    expect(events).toEqual(['exit', 'terminate'])
  })

  /** The order in which the worker exits and is terminated. */
  function recorded(worker: Worker): string[] {
    const events: string[] = []
    worker.once('exit', () => events.push('exit'))
    const terminate = worker.terminate.bind(worker)
    worker.terminate = () => {
      events.push('terminate')
      return terminate()
    }
    return events
  }
})

describe('calls', () => {
  test('every operation is answered', async () => {
    const operations = await start()
    for (const name of operationNames) {
      const [{ request, body }] = samplesOf(name, 1) as [ReturnType<typeof samplesOf>[number]]
      const call = { request: 'id' in request ? { ...request, id: ['any'] } : request, body }
      expect(uncut(await callOf(operations, name, call)), name).toEqual(uncut(sampleReply({ name })))
    }
  })

  test('requests and options arrive as they were sent', async () => {
    const operations = await start()
    const options = {
      identity: { api_key: 'k' },
      context: { A: 'é\n' },
      idempotencyKey: 'once',
      dialect: 'lance',
    }
    const call = { request: { id: ['echo', 'a$b'], identity: { auth_token: 't' } }, body: undefined }
    const reply = await callOf(operations, 'describeNamespace', call, options)
    expect(JSON.parse((reply as { properties: { heard: string } }).properties.heard)).toEqual({
      name: 'describeNamespace',
      request: call.request,
      options,
      closed: 0,
    })
  })

  test('a vector is copied without the rest of its buffer, and stays with the caller', async () => {
    const operations = await start()
    const all = new Float32Array(1000).fill(1)
    const vector = { single_vector: all.subarray(10, 12) }
    await operations.queryTable({ id: ['rows'], k: 1, vector })
    expect([all.length, vector.single_vector.length]).toEqual([1000, 2])
  })

  test('rows are copied out of the memory of the engine, which keeps it', async () => {
    const operations = await start()
    for (let i = 0; i < 2; i++) {
      const reply = await operations.queryTable({ id: ['rows'], k: 1, vector: null })
      expect(reply.version).toBe(7)
      expect(Buffer.concat(reply.chunks).equals(Buffer.alloc(2010, 7))).toBe(true)
    }
  })

  test('a bad request is refused in the calling thread', async () => {
    const operations = await start()
    const call = operations.queryTable({ id: ['rows'], k: -1, vector: null })
    await expect(call).rejects.toMatchObject({ code: ErrorCode.InvalidInput })
  })

  test('options that are not plain data are InvalidInput, and leave nothing behind', async () => {
    const operations = await start()
    const context = { call: (() => {}) as unknown as string }
    const { chunks } = counted(1, 1)
    const ports = openPorts()
    const call = operations.insertIntoTable({ id: ['take', '1'] }, chunks, { context })
    await expect(call).rejects.toMatchObject({ code: ErrorCode.InvalidInput })
    await expect.poll(openPorts).toBe(ports)
  })
})

describe('a streamed reply', () => {
  async function ask(operations: Operations, id: string[], signal?: AbortSignal) {
    const call = { request: { id, k: 1, vector: null }, body: undefined }
    const options = { signal, streamAfter: 1 }
    const { rest, ...reply } = (await callOf(operations, 'queryTable', call, options)) as ArrowReply
    return { ...reply, rest: rest! }
  }

  const query = (operations: Operations, count: number, signal?: AbortSignal) =>
    ask(operations, ['begun', String(count)], signal)

  async function all(rest: AsyncIterable<Uint8Array>): Promise<Uint8Array[]> {
    const pieces: Uint8Array[] = []
    for await (const piece of rest) pieces.push(piece)
    return pieces
  }

  test('has the chunks of the engine, and its footer separately', async () => {
    const operations = await start()
    for (const count of [0, 1, 3000]) {
      const { version, chunks, rest } = await query(operations, count)
      expect([version, lengthOf(chunks)]).toEqual([7, 2010])
      const pieces = await all(rest)
      expect(pieces.at(-1)).toEqual(new Uint8Array([7, 7]))
      expect(Buffer.concat(pieces).equals(Buffer.alloc(1000 * count + 2, 7))).toBe(true)
    }
  })

  test('ends in the engine when the caller stops reading', async () => {
    const operations = await start()
    const { rest } = await query(operations, 1_000_000)
    for await (const _ of rest) break
    await expect.poll(() => operations.countTableRows({ id: ['rest-ended'] })).toBe(1)
  })

  test('ends a search in the engine when the caller stops reading', async () => {
    const operations = await start()
    const { rest } = await ask(operations, ['stalled'])
    for await (const _ of rest) break
    await expect.poll(() => operations.countTableRows({ id: ['rest-ended'] })).toBe(1)
  })

  test('leaves nothing behind when the caller reads nothing, and then counts as no load', async () => {
    const worker = new Worker(built('test/adapters/worker/echo-worker.ts'))
    const link = await WorkerLink.open(worker, 'the test')
    const { operations, drain } = remoteOperations('the test', call => link.send(call))
    const ports = openPorts()
    const controller = new AbortController()
    for (let i = 0; i < 3; i++) {
      const { rest } = await query(operations, 1_000_000)
      await rest[Symbol.asyncIterator]().return!()
      const given = await query(operations, 1_000_000, controller.signal)
      await given.rest[Symbol.asyncIterator]().next()
    }
    expect(link.load).toBe(3)
    controller.abort()
    expect(link.load).toBe(0)
    await expect.poll(openPorts).toBe(ports)
    await drain()
    await link.close()
  })

  test('many calls add one listener to a signal', async () => {
    const operations = await start()
    const { signal } = new AbortController()
    const calls = Array.from({ length: 30 }, () => operations.countTableRows({ id: ['wait'] }, { signal }))
    const begun = await Promise.all(Array.from({ length: 15 }, () => query(operations, 1_000_000, signal)))
    expect(getEventListeners(signal, 'abort')).toHaveLength(1)
    for (const { rest } of begun) await rest[Symbol.asyncIterator]().return!()
    await operations.tableExists({ id: ['release'] })
    await Promise.all(calls)
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
  })

  test('rejects with an error that the engine throws in the middle', async () => {
    const operations = await start()
    const { rest } = await query(operations, -1)
    const gone = { code: ErrorCode.TableNotFound, message: 'the file is gone' }
    await expect(all(rest)).rejects.toMatchObject(gone)
  })

  test('rejects with the reason of the signal, and ends in the engine, also before it is read', async () => {
    const operations = await start()
    const reason = new Error('enough')
    for (const isDrawn of [true, false]) {
      const controller = new AbortController()
      const { rest } = await query(operations, 1_000_000, controller.signal)
      const drawn = isDrawn ? all(rest) : null
      controller.abort(reason)
      await expect(drawn ?? all(rest)).rejects.toBe(reason)
    }
    await expect.poll(() => operations.countTableRows({ id: ['rest-ended'] })).toBe(1)
  })

  test('fails where the worker stops', async () => {
    const operations = await start()
    const { rest } = await query(operations, 1_000_000)
    const stopped = { code: ErrorCode.ServiceUnavailable }
    await expect(operations.tableExists({ id: ['exit'] })).rejects.toMatchObject(stopped)
    await expect(all(rest)).rejects.toMatchObject(stopped)
  })
})

describe('errors', () => {
  test('an error arrives with all its fields', async () => {
    const operations = await start()
    const error = await operations.tableExists({ id: ['fail'] }).catch(cause => cause)
    expect(error).toBeInstanceOf(SheafError)
    expect(error).toMatchObject({
      code: ErrorCode.ServiceUnavailable,
      message: 'who knows',
      status: 503,
      kind: 'commit-state-unknown',
      hint: 'look',
      at: { offset: 3, length: 2 },
      transactionId: 'a-b',
    })
  })

  test.each([
    ['break', 'TypeError: broken'],
    ['unclonable', 'DataCloneError'],
  ])('a fault of the engine is Internal and says what it was: %s', async (behaviour, message) => {
    const operations = await start()
    await expect(operations.describeNamespace({ id: [behaviour] })).rejects.toMatchObject({
      code: ErrorCode.Internal,
      message: expect.stringContaining(message),
    })
  })
})

describe('aborting', () => {
  test('a call is aborted in the worker, and rejects with the reason of its own signal', async () => {
    const operations = await start()
    const controller = new AbortController()
    const call = operations.countTableRows({ id: ['until-aborted'] }, { signal: controller.signal })
    const reason = new Error('enough')
    controller.abort(reason)
    await expect(call).rejects.toBe(reason)
  })

  test('the outcome of a call that finished anyway is reported', async () => {
    const operations = await start()
    const controller = new AbortController()
    const request = { id: ['despite-abort'], predicate: 'true' }
    const call = operations.deleteFromTable(request, { signal: controller.signal })
    controller.abort()
    expect(await call).toEqual({ num_deleted_rows: 1, version: 1 })
  })

  test('a call aborted before it began is not sent', async () => {
    const operations = await start()
    const call = operations.tableExists({ id: ['exit'] }, { signal: AbortSignal.abort() })
    await expect(call).rejects.toMatchObject({ name: 'AbortError' })
    await operations.tableExists({ id: ['any'] })
  })
})

describe('bodies', () => {
  test('bytes are copied once, and stay with the caller', async () => {
    const operations = await start()
    const bytes = new Uint8Array(100).fill(9)
    const reply = await operations.insertIntoTable({ id: ['take', '0'] }, bytes.subarray(10, 40))
    expect(reply).toMatchObject({ num_inserted_rows: 30, version: 9 })
    expect(bytes.length).toBe(100)
  })

  test('a stream arrives whole', async () => {
    const operations = await start()
    const { chunks } = counted(100_000, 20)
    const reply = await operations.insertIntoTable({ id: ['take', 'Infinity'] }, chunks)
    expect(reply).toMatchObject({ num_inserted_rows: 2_000_000, version: 2_000_000 })
  })

  test('a stream is read no faster than the worker reads it, and ended when the worker has enough', async () => {
    const operations = await start()
    const { chunks, state } = counted(256 * 1024, 1000)
    const reply = await operations.insertIntoTable({ id: ['take', String(512 * 1024)] }, chunks)
    expect(reply.num_inserted_rows).toBe(512 * 1024)
    expect(state.made).toBeLessThanOrEqual(3)
    await expect.poll(() => state.ended).toBe(true)
  })

  test('a stream that the worker does not read is not read', async () => {
    const operations = await start()
    const { chunks, state } = counted(1, 10)
    const failed = operations.insertIntoTable({ id: ['fail'] }, chunks)
    await expect(failed).rejects.toMatchObject({ code: ErrorCode.ServiceUnavailable })
    expect(state.made).toBe(0)
  })

  test('a stream that throws fails the call with its own error', async () => {
    const operations = await start()
    const mine = new Error('no more rows')
    async function* rows() {
      yield new Uint8Array(300_000)
      throw mine
    }
    await expect(operations.insertIntoTable({ id: ['take', 'Infinity'] }, rows())).rejects.toBe(mine)
  })
})

describe('the end of the worker', () => {
  test.each([
    ['exit', 'exited with code 3'],
    ['throw', 'Error: uncaught'],
  ])('its death fails all calls, for writes with an unknown outcome: %s', async (behaviour, reason) => {
    const operations = await start()
    const read = operations.countTableRows({ id: ['wait'] })
    const write = operations.deleteFromTable({ id: ['wait'], predicate: 'true' })
    const fatal = operations.tableExists({ id: [behaviour] })
    const dead = { code: ErrorCode.ServiceUnavailable, message: expect.stringContaining(reason) }
    await expect(read).rejects.toMatchObject({ ...dead, kind: 'service-unavailable' })
    await expect(write).rejects.toMatchObject({ ...dead, kind: 'commit-state-unknown' })
    await expect(fatal).rejects.toMatchObject(dead)
    await expect(operations.tableExists({ id: ['any'] })).rejects.toMatchObject(dead)
  })

  test('close waits for calls that have begun, and refuses others', async () => {
    const link = await startLink()
    const { operations } = link
    const call = operations.countTableRows({ id: ['wait'] })
    await operations.tableExists({ id: ['any'] })
    const release = operations.tableExists({ id: ['release'] })
    const closed = link.close()
    await expect(operations.tableExists({ id: ['any'] })).rejects.toMatchObject({
      code: ErrorCode.ServiceUnavailable,
      message: expect.stringContaining('is closed'),
    })
    await closed
    expect(await call).toBe(1)
    await release
    await link.close()
  })

  test('a worker that cannot start is an error of its own', async () => {
    const worker = new Worker(built('test/adapters/worker/no-such-worker.ts'))
    await expect(WorkerLink.open(worker, 'nothing')).rejects.toMatchObject({
      code: ErrorCode.ServiceUnavailable,
      message: expect.stringContaining('the worker of nothing stopped'),
    })
  })

  test('opening can be aborted', async () => {
    const reason = new Error('enough')
    const controller = new AbortController()
    const worker = new Worker('setInterval(() => {}, 1000)', { eval: true })
    const opening = WorkerLink.open(worker, 'silence', controller.signal)
    controller.abort(reason)
    await expect(opening).rejects.toBe(reason)
    const late = new Worker('setInterval(() => {}, 1000)', { eval: true })
    await expect(WorkerLink.open(late, 'silence', controller.signal)).rejects.toBe(reason)
  })
})
