/**
 * Uploads in parts through processes that die, over a network that loses and repeats: none is lost, doubled or seen by half.
 */
import { expect, test } from 'vitest'
import type { Namespace } from '../../src/index.js'
import { loadAll } from '../../src/lazy-import.js'
import { systemClock } from '../../src/primitives/clock.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { selfTest } from '../../src/storage/self-test.js'
import { Machine } from './machine.js'
import { ProcessClock, SimulatedTime, stopSystemClock } from './time.js'
import { Disk } from './world.js'

const diskName = 'memory://uploads-simulation'
const maintenance = { keepOrphansMs: 20_000, keepVersionsMs: 20_000, keepLogMs: 20_000, keepIdleMs: 30_000 }

async function world(seed: number): Promise<Record<string, number>> {
  const time = new SimulatedTime(seed)
  const disk = new Disk(diskName, new ProcessClock(time))
  const draw = (n: number) => Math.floor(time.random() * n)
  const founder = new Machine('founder', time, disk, maintenance, [])
  const made = await founder.call(ns => ns.createTable('t', [{ id: -1 }]))
  expect(made).toHaveProperty('done')
  const machines = [0, 1, 2].map(i => {
    return new Machine(
      'ABC'[i]!,
      time,
      disk,
      maintenance,
      Array.from({ length: draw(3) }, () => 20 + draw(200)),
    )
  })
  const any = () => machines[draw(3)]!
  const tally: Record<string, number> = { completed: 0, aborted: 0, lost: 0, unknown: 0 }
  /** Rows of each upload that a reader found, at each reading. */
  const readings: number[][] = []
  const idsIn = async (ns: Namespace) => {
    return (await (await ns.openTable('t')).query().limit(100_000).toArray()).map(({ id }) => Number(id))
  }
  let isOver = false
  const reader = (async () => {
    while (!isOver) {
      const read = await any().call(idsIn)
      if (typeof read === 'object' && 'done' in read) readings.push(read.done)
      await time.sleep(draw(500))
    }
  })()
  const tidier = (async () => {
    while (!isOver) {
      await time.sleep(2000 + draw(8000))
      await any().call(ns => ns.optimize())
    }
  })()

  const live = async (u: number) => {
    const base = 10_000 * (u + 1)
    let id: string | null = null
    while (id === null) {
      const begun = await any().call(async ns => (await (await ns.openTable('t')).upload()).id)
      if (typeof begun === 'object' && 'done' in begun) id = begun.done
      await time.sleep(draw(200))
    }
    const upload = { id: ['t'], upload_id: id }
    let lost = false
    /** For each part: the rows that may be it, and the ones acknowledged last. */
    const sent = new Map<string, { acknowledged: number[] | null; maybe: number[][] }>()
    const add = async (part: string, ids: number[]) => {
      const known = sent.get(part) ?? { acknowledged: null, maybe: [] }
      sent.set(part, known)
      known.maybe.push(ids)
      for (let tries = 0; tries < 30 && !lost; tries++) {
        const machine = any()
        const twins = draw(4) === 0 ? [machine, any()] : [machine]
        const outcomes = await Promise.all(
          twins.map(each =>
            each.call(async ns => {
              const table = await ns.openTable('t')
              const resumed = await table.resumeUpload(id!)
              return resumed.add(
                ids.map(id => ({ id })),
                { part },
              )
            }),
          ),
        )
        const refused = outcomes.find(each => typeof each === 'object' && 'code' in each)
        if (refused !== undefined && (refused as { code: number }).code === 10) lost = true
        if (refused !== undefined && (refused as { code: number }).code === 13) return
        if (outcomes.every(each => typeof each === 'object' && 'done' in each)) {
          known.acknowledged = ids
          known.maybe = [ids]
          return
        }
        await time.sleep(draw(1000))
      }
    }
    await Promise.all(
      [0, 1, 2].map(async p => {
        const part = `p${p}`
        await add(
          part,
          [0, 1].map(j => base + p * 100 + j),
        )
        if (draw(2) === 0)
          await add(
            part,
            [2, 3, 4].map(j => base + p * 100 + j),
          )
      }),
    )
    const complete = async (): Promise<'completed' | 'refused' | 'unknown'> => {
      for (let tries = 0; tries < 30; tries++) {
        const done = await any().call(ns => ns.operations.completeTableUpload(upload))
        if (done !== 'unknown') {
          if ('done' in done) return 'completed'
          if (done.code === 10 || done.code === 13) return 'refused'
        }
        await time.sleep(draw(1000))
      }
      return 'unknown'
    }
    const abort = async (): Promise<'aborted' | 'refused' | 'unknown'> => {
      await time.sleep(draw(60))
      const done = await any().call(ns => ns.operations.abortTableUpload(upload))
      if (done === 'unknown') return 'unknown'
      return 'done' in done ? 'aborted' : 'refused'
    }
    const [one, two, aborted] = await Promise.all([
      complete(),
      complete(),
      draw(2) === 0 ? abort() : ('refused' as const),
      draw(2) === 0
        ? add(
            'p0',
            [5, 6].map(j => base + j),
          )
        : undefined,
    ])
    return { base, lost, sent, completions: [one, two], aborted }
  }
  const uploads = await Promise.all([0, 1, 2, 3].map(live))
  isOver = true
  await Promise.all([reader, tidier])
  for (const machine of machines) machine.calm()
  await time.sleep(100_000)
  const end = await founder.call(idsIn)
  const there = (end as { done: number[] }).done
  expect(there.length, `seed ${seed}: rows doubled`).toBe(new Set(there).size)
  for (const { base, lost, sent, completions, aborted } of uploads) {
    const where = `seed ${seed}, upload ${base}`
    const mine = (ids: readonly number[]) =>
      ids.filter(id => id >= base && id < base + 10_000).sort((a, b) => a - b)
    const rows = mine(there)
    const isThere = rows.length > 0
    if (completions.includes('completed')) expect(isThere, `${where}: completed, and lost`).toBe(true)
    if (aborted === 'aborted') expect(isThere, `${where}: aborted, and there`).toBe(false)
    if (aborted === 'aborted') expect(completions, `${where}: both ways`).not.toContain('completed')
    if (completions.includes('completed') && completions.includes('refused'))
      throw new Error(`${where}: told two things`)
    if (isThere) {
      for (const [part, { acknowledged, maybe }] of sent) {
        const p = Number(part.slice(1))
        const found = rows.filter(id => Math.floor((id - base) / 100) === p)
        const fits = maybe.some(each => each.join() === found.join())
        const mayBeAbsent = acknowledged === null && found.length === 0
        expect(fits || mayBeAbsent, `${where}: part ${part} has ${found}, of ${JSON.stringify(maybe)}`).toBe(
          true,
        )
      }
    }
    for (const seen of readings) {
      const some = mine(seen)
      if (some.length > 0) expect(some, `${where}: half visible`).toEqual(rows)
    }
    const kind = isThere ? 'completed' : aborted === 'aborted' ? 'aborted' : lost ? 'lost' : 'unknown'
    tally[kind]!++
  }
  tally.readings = readings.length
  time.end()
  return tally
}

test('no world loses, doubles or half shows an upload', async () => {
  await selfTest(new MemoryStore(diskName), systemClock)
  await loadAll()
  await import('p-queue')
  const start = stopSystemClock()
  const all: Record<string, number> = {}
  try {
    const first = (Number(process.env.SHEAF_SEED ?? 1) - 1) * 10_000
    for (let seed = first; seed < first + 20; seed++) {
      for (const [kind, n] of Object.entries(await world(seed))) all[kind] = (all[kind] ?? 0) + n
    }
  } finally {
    start()
  }
  expect(all.completed).toBeGreaterThan(0)
  expect(all.aborted).toBeGreaterThan(0)
}, 300_000)
