/** What goes on over several calls, and what becomes of it when the worker dies; that it does what it should is told by its suites. */
import { Worker } from 'node:worker_threads'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { Team } from '../../../adapters/worker/team.js'
import { ErrorCode, SheafError } from '../../../src/errors.js'
import { Namespace } from '../../../src/index.js'
import type { Operations } from '../../../src/protocol/calls.js'
import { failure } from '../../support/failure.js'
import { built } from '../built.js'

const opened: Namespace[] = []
let common: Namespace | undefined

afterEach(async () => {
  await Promise.all(opened.splice(0).map(ns => ns.close()))
})
afterAll(() => common?.close())

/** One for all tests that leave its worker alive. */
async function sharedOne(): Promise<Namespace> {
  common ??= await open()
  return common
}

async function start(): Promise<Namespace> {
  const ns = await open()
  opened.push(ns)
  return ns
}

/** The operations of each, to be called inside of its transactions too. */
const operationsOf = new WeakMap<Namespace, Operations>()

async function open(): Promise<Namespace> {
  const team = await Team.open('the test', () => new Worker(built('test/adapters/worker/echo-worker.ts')))
  const ns = new Namespace(team.operations, () => team.close(), team.features)
  operationsOf.set(ns, team.operations)
  return ns
}

const stopped = { code: ErrorCode.ServiceUnavailable, message: expect.stringContaining('stopped') }
const plain = { ...stopped, kind: 'service-unavailable' }
const gone = { ...plain, message: expect.stringContaining('are lost') }
const closed = { code: ErrorCode.ServiceUnavailable, message: expect.stringContaining('is closed') }

const kill = (ns: Namespace) => failure(operationsOf.get(ns)!.tableExists({ id: ['exit'] }))

describe('a worker that dies', () => {
  test('loses its snapshots for good, and nothing else', async () => {
    const ns = await start()
    const [one, two] = [await ns.snapshot(), await ns.snapshot()]
    const waiting = failure(one.operations.countTableRows({ id: ['wait'] }))
    await kill(ns)
    expect(await waiting).toMatchObject(gone)
    await ns.operations.tableExists({ id: ['any'] })
    expect(await failure(two.operations.tableExists({ id: ['any'] }))).toMatchObject(gone)
    await one.close()
    expect(await failure(one.operations.tableExists({ id: ['any'] }))).toMatchObject(closed)
    await (await ns.snapshot()).operations.tableExists({ id: ['any'] })
  })

  test('undoes a transaction, and its calls and later writes say so', async () => {
    const ns = await start()
    let runs = 0
    const inside: unknown[] = []
    const done = ns.transaction(async tx => {
      runs++
      await kill(ns)
      inside.push(await failure(tx.operations.deleteFromTable({ id: ['any'], predicate: 'true' })))
    })
    expect(await failure(done)).toMatchObject(plain)
    expect(inside).toEqual([expect.objectContaining(gone)])
    const mine = new Error('mine')
    const failed = ns.transaction(async () => {
      await kill(ns)
      throw mine
    })
    expect(await failure(failed)).toBe(mine)
    expect(runs).toBe(1)
  })

  test.each([
    [
      'leaves it unknown what became of a commit that had begun',
      true,
      { ...stopped, kind: 'commit-state-unknown' },
    ],
    ['leaves nothing unknown where nothing was to be committed', false, plain],
  ])('%s', async (_, writes, error) => {
    const ns = await start()
    const done = ns.transaction(async ({ operations }) => {
      await operations.tableExists({ id: ['exit-at-commit'] })
      if (writes) await operations.deleteFromTable({ id: ['any'], predicate: 'true' })
    })
    expect(await failure(done)).toMatchObject(error)
  })

  test('fails a wait for commits, and the next wait works', async () => {
    const ns = await start()
    const events = ns.watch()[Symbol.asyncIterator]()
    expect(await events.next()).toEqual({ done: false, value: 7 })
    const waiting = failure(events.next())
    await kill(ns)
    expect(await waiting).toMatchObject(plain)
    for await (const head of ns.watch()) {
      expect(head).toBe(7)
      break
    }
  })
})

describe('a verification', () => {
  test('reports its progress, and answers like any call', async () => {
    const ns = await sharedOne()
    const told: number[] = []
    const { ok, checked } = await ns.verify({ onProgress: ({ done }) => told.push(done) })
    expect([ok, checked.slots, told]).toEqual([true, 3, [0, 1, 2]])
    expect(await ns.verify()).toMatchObject({ ok: true })
  })

  test('ends with an error thrown by its progress callback, which is not called again', async () => {
    const ns = await sharedOne()
    const mine = new Error('mine')
    let told = 0
    const onProgress = () => {
      told++
      throw mine
    }
    expect(await failure(ns.verify({ onProgress }))).toBe(mine)
    expect(told).toBe(1)
  })
})

test('maintenance can be aborted', async () => {
  const ns = await sharedOne()
  const ending = new AbortController()
  const reason = new Error('enough')
  const done = failure(ns.optimize({ signal: ending.signal }))
  await ns.operations.tableExists({ id: ['any'] })
  ending.abort(reason)
  expect(await done).toBe(reason)
  expect(await failure(ns.optimize({ signal: ending.signal }))).toBe(reason)
})

test('what another thread has in memory is not available synchronously', async () => {
  const ns = await sharedOne()
  expect(() => ns.stats()).toThrow(expect.objectContaining({ code: ErrorCode.Unsupported }))
})

test('closing does not wait for watchers nor for a transaction, which commits nothing', async () => {
  const ns = await start()
  const events = ns.watch()[Symbol.asyncIterator]()
  await events.next()
  const waiting = failure(events.next())
  const snapshot = await ns.snapshot()
  const inside: unknown[] = []
  const done = ns.transaction(async tx => {
    await ns.close()
    inside.push(await failure(tx.operations.tableExists({ id: ['any'] })))
  })
  expect(await failure(done)).toMatchObject(closed)
  expect(inside).toEqual([expect.objectContaining(closed)])
  expect(await waiting).toMatchObject(closed)
  for (const call of [ns.snapshot(), ns.transaction(async () => {}), ns.optimize(), ns.verify()]) {
    expect(await failure(call)).toMatchObject(closed)
  }
  expect(await failure(ns.watch()[Symbol.asyncIterator]().next())).toMatchObject(closed)
  await snapshot.close()
})

test('an error thrown in a transaction keeps its code', async () => {
  const ns = await sharedOne()
  const conflict = new SheafError(ErrorCode.ConcurrentModification, 'mine')
  for (const mine of [conflict, undefined, Symbol('mine')]) {
    expect(await failure(ns.transaction(() => Promise.reject(mine)))).toBe(mine)
  }
})
