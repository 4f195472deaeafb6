/**
 * Workers in processes of their own that build an index of many units. With `SHEAF_CRASH_SECONDS`, some are killed (SIGKILL)
 * meanwhile. A unit of a killed worker that has run for less than a second waits for a minute.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { connect } from '../../src/index.js'
import { shipped } from '../adapters/built.js'
import { temporaryRoots } from '../support/roots.js'

const freshRoot = temporaryRoots()
const rows = 60_000
const segmentRows = 5000
const kills = process.env.SHEAF_CRASH_SECONDS === undefined ? 0 : 4

interface Worker {
  readonly child: ChildProcess
  said: string
}

function startWorker(root: string, ...more: readonly string[]): Worker {
  const args = [shipped('cli'), 'work', root, '--segment-rows', String(segmentRows), ...more]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const worker: Worker = { child, said: '' }
  const hear = (text: Buffer) => {
    worker.said += text
  }
  child.stdout!.on('data', hear)
  child.stderr!.on('data', hear)
  return worker
}

async function ended({ child }: Worker, signal?: NodeJS.Signals): Promise<number | null> {
  if (child.exitCode !== null) return child.exitCode
  const exit = once(child, 'exit')
  if (signal !== undefined) child.kill(signal)
  return (await exit)[0] as number | null
}

const unitsIn = ({ said }: Worker) => said.split('a unit has ended').length - 1

test(`every unit of an index build lands once (${kills} workers are killed)`, async () => {
  const root = freshRoot()
  const ns = await connect(root, { maintenance: 'elsewhere' })
  const data = Array.from({ length: rows }, (_, i) => ({ id: i, text: `row ${i} of group ${i % 97}` }))
  const table = await ns.createTable('t', data)
  await table.createIndex('text', { type: 'FTS', name: 'i' })
  const [job] = await ns.listJobs()
  const killed: Worker[] = []
  for (let kill = 0; kill < kills; kill++) {
    const worker = startWorker(root)
    killed.push(worker)
    while (unitsIn(worker) === 0 && worker.child.exitCode === null) await pause(10)
    await pause(30 * kill)
    await ended(worker, 'SIGKILL')
  }
  const left = [startWorker(root), startWorker(root)]
  await table.waitForIndex('i', { timeoutMs: 100_000 })
  expect(await ended(left[0]!, 'SIGTERM')).toBe(0)
  expect(await ended(left[1]!, 'SIGTERM')).toBe(0)
  const stats = (await table.indexStats('i'))!
  expect(stats).toMatchObject({ indexedRows: rows, unindexedRows: 0, segments: rows / segmentRows })
  expect(await table.search('row').select(['id']).limit(rows).count()).toBe(rows)
  const versions = await table.versions()
  expect(versions).toHaveLength(2)
  expect((await ns.verify()).problems).toEqual([])
  // A worker may have ended a unit and been killed before it said so.
  expect([...killed, ...left].reduce((sum, each) => sum + unitsIn(each), 0)).toBeLessThanOrEqual(
    rows / segmentRows,
  )

  const once = startWorker(root, '--job', job!.id)
  expect(await ended(once)).toBe(0)
  expect(once.said).toMatch(/: finished before\n/)
  const unknown = startWorker(root, '--job', 'x')
  expect(await ended(unknown)).toBe(1)
  await ns.close()
}, 180_000)
