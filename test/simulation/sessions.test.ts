/**
 * Read sessions on machines that die, over a network that loses and repeats, while versions expire and files are swept: a slice of a
 * session that a living machine holds has all its rows, and no session shows rows of another version.
 */
import { expect, test } from 'vitest'
import type { Namespace, TableSlice } from '../../src/index.js'
import { loadAll } from '../../src/lazy-import.js'
import { systemClock } from '../../src/primitives/clock.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { selfTest } from '../../src/storage/self-test.js'
import { Machine } from './machine.js'
import { ProcessClock, SimulatedTime, stopSystemClock } from './time.js'
import { Disk } from './world.js'

const diskName = 'memory://sessions-simulation'
const minute = 60_000
const keepIdleMs = 5 * minute
const maintenance = { keepOrphansMs: 20_000, keepVersionsMs: 20_000, keepLogMs: 20_000, keepIdleMs }

/** Rows that one write brings: all of a stamp are in a version, or none. */
interface Stamped {
  readonly stamp: number
  readonly place: number
}

function stamped(stamp: number): Stamped[] {
  return Array.from({ length: 20 + (stamp % 7) }, (_, place) => ({ stamp, place }))
}

async function rowsOf(slice: TableSlice): Promise<string[]> {
  const found: string[] = []
  for await (const batch of slice.batches()) {
    for (const { stamp, place } of batch.toArray()) found.push(`${Number(stamp)}/${Number(place)}`)
  }
  return found
}

async function world(seed: number): Promise<Record<string, number>> {
  const time = new SimulatedTime(seed)
  const disk = new Disk(diskName, new ProcessClock(time))
  const draw = (n: number) => Math.floor(time.random() * n)
  const founder = new Machine('founder', time, disk, maintenance, [])
  await founder.call(ns => ns.createTable('t', stamped(0)))
  const machines = [0, 1, 2].map(i => {
    const deaths = Array.from({ length: draw(4) }, () => 20 + draw(400))
    return new Machine('ABC'[i]!, time, disk, maintenance, deaths)
  })
  const any = () => machines[draw(3)]!
  const tally = { read: 0, lost: 0, expired: 0 }
  let isOver = false
  let stamp = 0
  const writer = (async () => {
    while (!isOver) {
      await time.sleep(draw(40_000))
      const rows = stamped(++stamp)
      const mode = draw(3) === 0 ? 'overwrite' : 'append'
      await any().call(async ns => (await ns.openTable('t')).add(rows, { mode }))
    }
  })()
  const tidier = (async () => {
    while (!isOver) {
      await time.sleep(draw(40_000))
      await any().call(ns => ns.optimize())
    }
  })()
  /** What each version was found to hold. */
  const contents = new Map<number, string>()

  const readers = async (session: number) => {
    await time.sleep(draw(10 * minute))
    const first = any()
    const begun = await first.call(async ns => (await ns.openTable('t')).scan({ slices: 3 }))
    if (typeof begun === 'string' || 'code' in begun) return
    const { slices, version } = begun.done
    /** Processes that served the session, and when. */
    const holders = new Map([[first.process, time.elapsed]])
    const isHeld = () => {
      return [...holders].some(([{ alive }, last]) => alive && time.elapsed - last < keepIdleMs - 10_000)
    }
    /** Whether there was a time when no machine held it. */
    let isLapsed = false
    for (let round = 0; round < 12; round++) {
      await time.sleep(draw(8) === 0 ? 20 * minute : draw(3 * minute))
      const found: string[] = []
      let isWhole = true
      for (const { token } of slices) {
        const machine = any()
        const { process: served } = machine
        isLapsed ||= !isHeld()
        const since = time.elapsed
        const read = await machine.call(async (ns: Namespace) =>
          rowsOf((await ns.openTable('t')).slice(token)),
        )
        const where = `seed ${seed}, session ${session} of version ${version} at ${since}`
        if (typeof read === 'string') {
          isWhole = false
        } else if ('code' in read) {
          expect(read.code, `${where}: ${read.message}`).toBe(11)
          expect(isLapsed || !isHeld(), `${where}: a session that is held was lost`).toBe(true)
          tally.lost++
          return
        } else {
          found.push(...read.done)
          if (machine.process === served) holders.set(served, time.elapsed)
        }
      }
      if (!isWhole) continue
      tally.read++
      const known = contents.get(version)
      const content = found.join()
      contents.set(version, known ?? content)
      expect(content, `seed ${seed}: version ${version} has other rows`).toBe(known ?? content)
      const stamps = new Set(found.map(row => Number(row.split('/')[0])))
      const wanted = [...stamps].flatMap(each => stamped(each).map(row => `${row.stamp}/${row.place}`))
      expect([...found].sort(), `seed ${seed}: version ${version} has half a write`).toEqual(wanted.sort())
      const versions = await any().call(async ns => (await ns.openTable('t')).versions())
      if (typeof versions === 'object' && 'done' in versions) {
        if (versions.done.every(each => each.version !== version)) tally.expired++
      }
    }
  }
  try {
    await Promise.all([0, 1, 2, 3, 4].map(readers))
    isOver = true
    await Promise.all([writer, tidier])
  } finally {
    // What still sleeps would keep the clock running.
    time.end()
  }
  return tally
}

test('no world loses a held session, or shows it other rows', async () => {
  await selfTest(new MemoryStore(diskName), systemClock)
  await loadAll()
  await Promise.all([import('p-queue'), import('apache-arrow')])
  const start = stopSystemClock()
  const all: Record<string, number> = {}
  try {
    const first = (Number(process.env.SHEAF_SEED ?? 1) - 1) * 10_000
    const worlds = process.env.SHEAF_SEED === undefined ? 3 : 20
    for (let seed = first; seed < first + worlds; seed++) {
      for (const [kind, n] of Object.entries(await world(seed))) all[kind] = (all[kind] ?? 0) + n
    }
  } finally {
    start()
  }
  // Sessions outlived their versions, and some were let go of.
  expect(all.expired).toBeGreaterThan(0)
  expect(all.lost).toBeGreaterThan(0)
}, 300_000)
