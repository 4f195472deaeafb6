/** Workers that die, and what becomes of the calls; `client.test.ts` has real engines in them. */
import { Worker } from 'node:worker_threads'
import { afterEach, describe, expect, test } from 'vitest'
import { Team, type TeamOptions } from '../../../adapters/worker/team.js'
import { ErrorCode } from '../../../src/errors.js'
import { built } from '../built.js'

const teams: Team[] = []

afterEach(async () => {
  await Promise.all(teams.splice(0).map(team => team.close()))
})

/** A team of echo workers; `started`: the indexes of the started workers. */
async function start(options: TeamOptions = {}, script = (_hired: number) => 'echo-worker') {
  const workers: Worker[] = []
  const started: { readonly workerIndex: number; readonly again: boolean }[] = []
  const hire = (workerIndex: number, again: boolean) => {
    started.push({ workerIndex, again })
    const worker = new Worker(built(`test/adapters/worker/${script(started.length)}.ts`), {
      workerData: { workerIndex },
    })
    workers.push(worker)
    return worker
  }
  const team = await Team.open('the test', hire, options)
  teams.push(team)
  return { team, operations: team.operations, workers, started }
}

const dead = { code: ErrorCode.ServiceUnavailable, message: expect.stringContaining('stopped') }

describe('a worker that has died', () => {
  test('fails the calls under way; all later calls wait for one replacement', async () => {
    const { operations, started } = await start()
    const read = operations.countTableRows({ id: ['wait'] })
    const write = operations.deleteFromTable({ id: ['wait'], predicate: 'true' })
    const fatal = operations.tableExists({ id: ['exit'] })
    await expect(read).rejects.toMatchObject({ ...dead, kind: 'service-unavailable' })
    await expect(write).rejects.toMatchObject({ ...dead, kind: 'commit-state-unknown' })
    await expect(fatal).rejects.toMatchObject(dead)
    expect(started).toHaveLength(1)
    const next = [1, 2, 3].map(() => operations.tableExists({ id: ['any'] }))
    expect(await Promise.all(next)).toHaveLength(3)
    expect(started).toEqual([
      { workerIndex: 0, again: false },
      { workerIndex: 0, again: true },
    ])
  })

  test('a caller that waits for the replacement can abort, and the others continue', async () => {
    const { operations } = await start()
    await expect(operations.tableExists({ id: ['exit'] })).rejects.toMatchObject(dead)
    const controller = new AbortController()
    const given = operations.tableExists({ id: ['any'] }, { signal: controller.signal })
    const other = operations.tableExists({ id: ['any'] })
    const reason = new Error('enough')
    controller.abort(reason)
    await expect(given).rejects.toBe(reason)
    await other
  })

  test('that cannot be replaced fails waiting calls with the reason, and the next call tries again', async () => {
    const { operations, started } = await start({}, hired => (hired === 2 ? 'no-such-worker' : 'echo-worker'))
    await expect(operations.tableExists({ id: ['exit'] })).rejects.toMatchObject(dead)
    const waiting = [1, 2].map(() => operations.tableExists({ id: ['any'] }))
    const reason = { ...dead, message: expect.stringContaining('no-such-worker') }
    for (const call of waiting) await expect(call).rejects.toMatchObject(reason)
    await operations.tableExists({ id: ['any'] })
    expect(started).toHaveLength(3)
  })

  test('that took its data with it is not replaced', async () => {
    const { operations, started } = await start({ lasting: false })
    await expect(operations.tableExists({ id: ['exit'] })).rejects.toMatchObject(dead)
    await expect(operations.tableExists({ id: ['any'] })).rejects.toMatchObject(dead)
    expect(started).toHaveLength(1)
  })

  test('can be replaced while the team is closed, and close waits for the calls', async () => {
    const { team, operations } = await start()
    await expect(operations.tableExists({ id: ['exit'] })).rejects.toMatchObject(dead)
    const call = operations.tableExists({ id: ['any'] })
    // It goes out a moment after it was made.
    await Promise.resolve()
    await team.close()
    await call
    await expect(operations.tableExists({ id: ['any'] })).rejects.toMatchObject({
      code: ErrorCode.ServiceUnavailable,
      message: expect.stringContaining('is closed'),
    })
  })
})

describe('several workers', () => {
  const seatOf = (reply: unknown) => (reply as { version: number }).version

  test('share the reading of rows by least load; the first does everything else', async () => {
    const { operations, workers } = await start({ workers: 3 })
    const rows = () => operations.queryTable({ id: ['workerIndex'], k: 1, vector: null })
    const busy = [1, 2].map(() => operations.countTableRows({ id: ['wait'] }))
    expect([await rows(), await rows()].map(seatOf)).toEqual([2, 2])
    const write = () => operations.deleteFromTable({ id: ['workerIndex'], predicate: 'true' })
    expect([await write(), await write()].map(seatOf)).toEqual([0, 0])
    await operations.tableExists({ id: ['release'] })
    expect(await busy[0]).toBe(1)
    expect(seatOf(await rows())).toBe(0)
    await workers[1]!.terminate()
    await expect(busy[1]).rejects.toMatchObject(dead)
  })

  test('stand in for one that has died, and it is replaced meanwhile', async () => {
    const { operations, workers, started } = await start({ workers: 2 })
    await workers[0]!.terminate()
    expect(seatOf(await operations.queryTable({ id: ['workerIndex'], k: 1, vector: null }))).toBe(1)
    await operations.tableExists({ id: ['any'] })
    expect(started.slice(2)).toEqual([{ workerIndex: 0, again: true }])
  })

  test('replace a first worker that has died, also if callers only read rows', async () => {
    const { operations, workers, started } = await start({ workers: 2 })
    await workers[0]!.terminate()
    await operations.queryTable({ id: ['workerIndex'], k: 1, vector: null })
    await expect.poll(() => started.slice(2)).toEqual([{ workerIndex: 0, again: true }])
  })

  test('are all closed if one cannot be opened', async () => {
    const opening = start({ workers: 3 }, hired => (hired === 3 ? 'no-such-worker' : 'echo-worker'))
    await expect(opening).rejects.toMatchObject(dead)
  })
})
