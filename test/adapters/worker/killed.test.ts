/** Engines that are ended in the middle of writing: what was acknowledged is there, once; what was not, at most once. */
import { Worker } from 'node:worker_threads'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { Team } from '../../../adapters/worker/team.js'
import { ErrorCode, SheafError } from '../../../src/errors.js'
import type * as sheaf from '../../../src/index.js'
import { temporaryRoots } from '../../support/roots.js'
import { shipped } from '../built.js'

const freshRoot = temporaryRoots()
const main = shipped('engine-worker')
const { Namespace } = (await import(shipped('index'))) as typeof sheaf

/** So many writes at once; the worker is ended when so many of them are acknowledged, and the event loop has turned so often. */
const round = fc.record({
  writes: fc.integer({ min: 1, max: 6 }),
  acknowledged: fc.integer({ min: 0, max: 5 }),
  turns: fc.integer({ min: 0, max: 40 }),
})

test('no acknowledged write is lost or doubled, whenever the worker is killed', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(round, { minLength: 2, maxLength: 3 }), async rounds => {
      const path = freshRoot()
      let worker!: Worker
      const team = await Team.open(path, (_seat, again) => {
        worker = new Worker(main, { workerData: { path, options: { create: !again } } })
        return worker
      })
      const ns = new Namespace(team.operations, () => team.close())
      const table = await ns.createTable('t', [{ id: 0 }])
      const acknowledged = new Set([0])
      const doubtful = new Set<number>()
      let last = 0
      for (const { writes, acknowledged: wanted, turns } of rounds) {
        let came = 0
        let ending: Promise<unknown> | null = null
        const kill = async () => {
          for (let turn = 0; turn < turns; turn++) await new Promise(setImmediate)
          await worker.terminate()
        }
        const begin = () => {
          if (came >= wanted && ending === null) ending = kill()
        }
        const adding = Array.from({ length: writes }, async () => {
          const id = ++last
          try {
            await table.add([{ id }])
            acknowledged.add(id)
            came++
          } catch (error) {
            if (!(error instanceof SheafError) || error.code !== ErrorCode.ServiceUnavailable) throw error
            // Whoever waited for a worker that was ended before it was told anything knows that nothing came of it.
            if (error.kind === 'commit-state-unknown') doubtful.add(id)
          }
          begin()
        })
        begin()
        await Promise.all(adding)
        await ending
      }
      const rows = await table.query().select(['id']).limit(1000).toArray()
      const ids = rows.map(({ id }) => Number(id))
      expect(new Set(ids).size).toBe(ids.length)
      for (const id of acknowledged) expect(ids).toContain(id)
      for (const id of ids) expect(acknowledged.has(id) || doubtful.has(id), `row ${id}`).toBe(true)
      await ns.close()
    }),
    { numRuns: 2 },
  )
})

test('a transaction whose worker is killed leaves nothing behind, and a snapshot shows no change', async () => {
  const path = freshRoot()
  let worker!: Worker
  const team = await Team.open(path, (_seat, again) => {
    worker = new Worker(main, { workerData: { path, options: { create: !again } } })
    return worker
  })
  const ns = new Namespace(team.operations, () => team.close(), team.features)
  const table = await ns.createTable('t', [{ id: 0 }])
  const snapshot = await ns.snapshot()
  await table.add([{ id: 1 }])
  expect(await snapshot.table('t').countRows()).toBe(1)
  const done = ns.transaction(async tx => {
    await tx.table('t').add([{ id: 2 }])
    await tx.createTable('u', [{ id: 3 }])
    await worker.terminate()
  })
  const dead = { code: ErrorCode.ServiceUnavailable, kind: 'service-unavailable' }
  await expect(done).rejects.toMatchObject(dead)
  expect([await table.countRows(), await ns.tableNames()]).toEqual([2, ['t']])
  const message = expect.stringContaining('are lost')
  await expect(snapshot.table('t').countRows()).rejects.toMatchObject({ ...dead, message })
  await ns.transaction(async tx => {
    await tx.table('t').add([{ id: 2 }])
  })
  expect(await table.countRows()).toBe(3)
  await ns.close()
})
