/** Owners that die at any moment, or sleep and wake: no job is lost, none lands twice. */
import { afterEach, describe, expect, test } from 'vitest'
import { ErrorCode, SheafError } from '../../src/errors.js'
import type { JobRun } from '../../src/jobs/job-kind.js'
import { gate } from '../commit/tally.js'
import { CountingStore, CrashingStore } from '../support/stores.js'
import {
  countingKinds,
  losing,
  type Process,
  type State,
  storeWith,
  suspendable,
  World,
} from './processes.js'

const worlds: World[] = []

function newWorld(seed = 1): World {
  const world = new World(seed)
  worlds.push(world)
  return world
}

afterEach(async () => {
  for (const world of worlds.splice(0)) await world.end()
})

describe('an owner that is suspended', () => {
  test.each([
    ['requeue', 'while it works', 100],
    ['once', 'while it works', 100],
    ['requeue', 'and has done its work', 5],
    ['once', 'and has done its work', 5],
  ])('and overtaken lands nothing when it wakes (%s, %s)', async (kind, _when, steps) => {
    const world = newWorld()
    const { clock } = world
    const { store, suspend, wake } = suspendable(world.store)
    const stopped = gate<unknown>()
    const onRun = ({ signal }: JobRun<State>) =>
      signal.addEventListener('abort', () => stopped.open(signal.reason))
    const owner = await world.open({ store, kinds: countingKinds(clock, onRun) })
    const id = await owner.runner.queue(kind, { steps })
    await clock.sleep(1500)
    suspend()
    const other = await world.open()
    const began = clock.elapsed()
    const state = await other.runner.settled(id)
    const took = clock.elapsed() - began
    expect(took).toBeGreaterThanOrEqual(60_000)
    expect(took).toBeLessThan(75_000 + steps * 1000)
    const succeeded = kind === 'requeue'
    expect(state.ended.get(id)).toEqual(
      succeeded ? { state: 'Succeeded' } : { state: 'Failed', reason: 'owner lost' },
    )
    wake()
    if (steps > 5 && !succeeded) expect(await stopped.opened).toMatchObject({ why: 'ended' })
    await clock.sleep(200_000)
    expect(await world.history(id)).toEqual(
      succeeded
        ? ['Queued', 'Running 1', 'Queued', 'Running 2', 'Succeeded']
        : ['Queued', 'Running 1', 'Failed'],
    )
    expect((await owner.committer.refresh()).counts.get(id) ?? 0).toBe(succeeded ? 1 : 0)
    expect(await world.leases()).toEqual([])
  })

  test('stops its run when it wakes and another process runs the job', async () => {
    const world = newWorld()
    const { clock } = world
    const { store, suspend, wake } = suspendable(world.store)
    const stopped = gate<unknown>()
    const onRun = ({ signal }: JobRun<State>) =>
      signal.addEventListener('abort', () => stopped.open(signal.reason))
    const owner = await world.open({ store, kinds: countingKinds(clock, onRun) })
    const id = await owner.runner.queue('requeue', { steps: 200 })
    await clock.sleep(1500)
    suspend()
    const other = await world.open()
    await clock.sleep(100_000)
    expect((await other.committer.refresh()).jobs.get(id)).toMatchObject({ status: 'Running', epoch: 2 })
    wake()
    expect(await stopped.opened).toMatchObject({ why: 'taken over' })
    const state = await other.runner.settled(id)
    expect(state.counts.get(id)).toBe(1)
  })

  test('commits nothing when it wakes with a finished run and another process runs the job', async () => {
    const world = newWorld()
    const { clock } = world
    const { store, suspend, wake } = suspendable(world.store)
    /** Takes longer than the one of the owner. */
    const slow = countingKinds(clock).map(kind => ({
      ...kind,
      run: (job: JobRun<State>) => kind.run!({ ...job, spec: { steps: 500 } }),
    }))
    const owner = await world.open({ store })
    const id = await owner.runner.queue('requeue', { steps: 5 })
    await clock.sleep(1500)
    suspend()
    const other = await world.open({ kinds: slow })
    await clock.sleep(100_000)
    wake()
    await clock.sleep(100_000)
    const { jobs, counts, stale } = await owner.committer.refresh()
    expect(jobs.get(id)).toMatchObject({ status: 'Running', epoch: 2 })
    expect(counts.size).toBe(0)
    expect(stale).toEqual([])
    expect((await other.runner.settled(id)).counts.get(id)).toBe(1)
  })

  test('starts its job again when it wakes and no other process has', async () => {
    const world = newWorld()
    const { clock } = world
    const { store, suspend, wake } = suspendable(world.store)
    const owner = await world.open({ store })
    const id = await owner.runner.queue('requeue', { steps: 150 })
    await clock.sleep(1500)
    suspend()
    const other = await world.open()
    await clock.sleep(100_000)
    await other.runner.close()
    expect((await other.committer.refresh()).jobs.get(id)).toMatchObject({ status: 'Queued', epoch: 2 })
    wake()
    const began = clock.elapsed()
    const state = await owner.runner.settled(id)
    expect(clock.elapsed() - began).toBeLessThan(160_000)
    expect(state.counts.get(id)).toBe(1)
    const twice = ['Queued', 'Running 1', 'Queued', 'Running 2']
    expect(await world.history(id)).toEqual([...twice, 'Queued', 'Running 3', 'Succeeded'])
  })

  test('for less than a minute keeps its job', async () => {
    const world = newWorld()
    const { clock } = world
    const { store, suspend, wake } = suspendable(world.store)
    const owner = await world.open({ store })
    const other = await world.open()
    const id = await owner.runner.queue('once', { steps: 200 })
    for (let round = 0; round < 3; round++) {
      await clock.sleep(15_000)
      suspend()
      await clock.sleep(40_000)
      wake()
    }
    expect((await other.runner.settled(id)).ended.get(id)).toEqual({ state: 'Succeeded' })
    expect(await world.history(id)).toEqual(['Queued', 'Running 1', 'Succeeded'])
  })
})

describe('an owner that is lost', () => {
  test('is noticed by a process that is busy itself', async () => {
    const world = newWorld()
    const { clock } = world
    const busy = await world.open()
    await busy.runner.queue('once', { steps: 1000 })
    await clock.sleep(5000)
    await busy.runner.queue('once', { steps: 1 })
    const { store, suspend, wake } = suspendable(world.store)
    const owner = await world.open({ store, concurrency: 2 })
    // Before its poll, so that it is another job that is waiting when this one is claimed.
    const id = await owner.runner.queue('once', { steps: 1000 })
    await clock.sleep(1500)
    suspend()
    await clock.sleep(80_000)
    expect((await busy.committer.refresh()).ended.get(id)).toEqual({ state: 'Failed', reason: 'owner lost' })
    wake()
  })

  test('is noticed by a process that was about to stop looking', async () => {
    const world = newWorld()
    const { clock } = world
    const id = '1-00000000-0000-4000-8000-000000000000'
    await world.store.put(`_jobs/${id}-1-0`, new Uint8Array())
    const clearing = gate()
    const go = gate()
    const other = await world.open({
      store: storeWith(world.store, {
        async delete(key, signal) {
          clearing.open()
          await go.opened
          return world.store.delete(key, signal)
        },
      }),
    })
    const short = await other.runner.queue('once', {})
    await clearing.opened
    const { store, suspend, wake } = suspendable(world.store)
    const owner = await world.open({ store })
    const long = await owner.runner.queue('once', { steps: 1000 })
    await clock.sleep(1500)
    suspend()
    await other.committer.refresh()
    go.open()
    expect((await other.runner.settled(short)).ended.get(short)).toEqual({ state: 'Succeeded' })
    expect((await other.runner.settled(long)).ended.get(long)).toEqual({
      state: 'Failed',
      reason: 'owner lost',
    })
    wake()
  })
})

describe('an owner that only short-lived processes observe', () => {
  const mark = { boot: 'b', space: 'pid:[1]', pid: 7, start: '1' }

  test.each([
    ['dead', 0, 15_000],
    ['unknown', 50_000, 80_000],
    // A thread of it may have ended, or be held up for ever.
    ['alive', 50_000, 80_000],
  ] as const)('loses its job soon where its process is told to be %s', async (liveness, least, most) => {
    const world = newWorld()
    const { clock } = world
    const { store, suspend, wake } = suspendable(world.store)
    const owner = await world.open({
      store: { ...store, processes: { own: mark, livenessOf: () => 'unknown' } },
    })
    const id = await owner.runner.queue('once', { steps: 1000 })
    await clock.sleep(1500)
    suspend()
    const other = await world.open({
      store: storeWith(world.store, {
        processes: { own: { ...mark, pid: 8 }, livenessOf: ({ pid }) => (pid === 7 ? liveness : 'alive') },
      }),
    })
    const began = clock.elapsed()
    expect((await other.runner.settled(id)).ended.get(id)).toEqual({ state: 'Failed', reason: 'owner lost' })
    expect(clock.elapsed() - began).toBeGreaterThanOrEqual(least)
    expect(clock.elapsed() - began).toBeLessThan(most)
    wake()
  })

  test('loses its job to their added observation times', async () => {
    const world = newWorld()
    const { clock } = world
    const { store, suspend, wake } = suspendable(world.store)
    const owner = await world.open({ store })
    const id = await owner.runner.queue('once', { steps: 1000 })
    await clock.sleep(1500)
    suspend()
    let runs = 0
    for (let isOpen = true; isOpen; runs++) {
      const other = await world.open()
      await clock.sleep(6000)
      await other.runner.close()
      isOpen = (await other.committer.refresh()).jobs.has(id)
      await clock.sleep(100_000)
      expect(runs).toBeLessThan(13)
    }
    expect(runs).toBeGreaterThanOrEqual(10)
    wake()
  })
})

test('an owner whose leases cannot be written keeps its job', async () => {
  const world = newWorld()
  const { clock } = world
  const store = storeWith(world.store, {
    put: async () => {
      throw new SheafError(ErrorCode.ServiceUnavailable, 'no space left')
    },
  })
  const foreign = countingKinds(clock).map(kind => ({ ...kind, name: `foreign ${kind.name}` }))
  const other = await world.open({ kinds: foreign })
  await other.runner.queue('foreign once', { steps: 300 })
  await clock.sleep(1500)
  const { runner } = await world.open({ store, kinds: [...foreign, ...countingKinds(clock)] })
  const id = await runner.queue('once', { steps: 200 })
  expect((await runner.settled(id)).ended.get(id)).toEqual({ state: 'Succeeded' })
})

describe.each(['request', 'reply'] as const)('when the %s of a commit is lost,', what => {
  test('a claim is still carried out, soon', async () => {
    const world = newWorld()
    const { store, lose } = losing(world.store)
    const queuing = await world.open({ kinds: countingKinds(world.clock) })
    const { runner, committer } = await world.open({ store })
    const blocking = await runner.queue('once', { steps: 3 })
    const id = await runner.queue('once', { steps: 1 })
    await queuing.runner.close()
    await runner.settled(blocking)
    lose(what)
    const began = world.clock.elapsed()
    const state = await runner.settled(id)
    expect(state.ended.get(id)).toEqual({ state: 'Succeeded' })
    expect(world.clock.elapsed() - began).toBeLessThan(10_000)
    expect(await world.history(id)).toEqual(['Queued', 'Running 1', 'Succeeded'])
    await committer.refresh()
  })

  test('a result still lands, once and soon', async () => {
    const world = newWorld()
    const { store, lose } = losing(world.store)
    const { runner } = await world.open({ store })
    const id = await runner.queue('once', { steps: 5 })
    await world.clock.sleep(3000)
    lose(what)
    const began = world.clock.elapsed()
    const state = await runner.settled(id)
    expect(state.ended.get(id)).toEqual({ state: 'Succeeded' })
    expect(state.counts.get(id)).toBe(1)
    expect(world.clock.elapsed() - began).toBeLessThan(10_000)
    expect(await world.history(id)).toEqual(['Queued', 'Running 1', 'Succeeded'])
  })

  test('closing does not make a result a failure', async () => {
    const world = newWorld()
    const { store, lose } = losing(world.store)
    const { runner } = await world.open({ store })
    const id = await runner.queue('requeue', { steps: 5, deaf: true })
    await world.clock.sleep(3000)
    lose(what)
    await runner.close()
    const other = await world.open()
    const state = await other.runner.settled(id)
    expect(state.ended.get(id)).toEqual({ state: 'Succeeded' })
    expect(state.counts.get(id)).toBe(1)
  })
})

test('a job of a kind that no other process knows waits for a process that does', async () => {
  const world = newWorld()
  const { clock } = world
  const { store, suspend, wake } = suspendable(world.store)
  const owner = await world.open({ store })
  const id = await owner.runner.queue('once', { steps: 500 })
  await clock.sleep(1500)
  suspend()
  const others = countingKinds(clock).map(kind => ({ ...kind, name: `other ${kind.name}` }))
  const counted = new CountingStore(world.store)
  const ignorant = await world.open({ store: counted, kinds: others })
  await ignorant.runner.settled(await ignorant.runner.queue('other once', {}))
  await clock.sleep(5000)
  counted.reset()
  await clock.sleep(600_000)
  expect([...counted.calls]).toEqual([])
  expect((await ignorant.committer.refresh()).jobs.get(id)).toMatchObject({ status: 'Running', epoch: 1 })
  const knowing = await world.open()
  expect((await knowing.runner.settled(id)).ended.get(id)).toEqual({ state: 'Failed', reason: 'owner lost' })
  wake()
})

describe.each([true, false])('an owner that dies, its last write landing: %s,', lastLands => {
  test.each(['requeue', 'once'])('at any step loses no job and lands none twice (%s)', async kind => {
    const ends = new Map<string, number>()
    let survives = 0
    for (let done = false; !done; survives++) {
      const world = newWorld(survives)
      await world.open({ kinds: [] })
      const store = new CrashingStore(world.store, survives, lastLands)
      const ids = await live(world, store, kind)
      done = !store.dead
      // Its job may have been queued, though it never learned that.
      const { runner, committer } = await world.open()
      const { jobs, ended } = await committer.refresh()
      expect([...jobs.keys(), ...ended.keys()]).toEqual(expect.arrayContaining(ids))
      for (const id of [...jobs.keys(), ...ended.keys()]) {
        const { counts, ended } = await runner.settled(id)
        const { state } = ended.get(id)!
        ends.set(state, (ends.get(state) ?? 0) + 1)
        expect(counts.get(id) ?? 0, `${survives}`).toBe(state === 'Succeeded' ? 1 : 0)
        const said = await world.history(id)
        expect(said.filter(state => /Succeeded|Failed|Canceled/.test(state))).toHaveLength(1)
        if (kind === 'requeue') expect(state).toBe('Succeeded')
      }
      await world.end()
    }
    expect(survives).toBeGreaterThan(10)
    expect([...ends.keys()].sort()).toEqual(kind === 'once' ? ['Failed', 'Succeeded'] : ['Succeeded'])
  })
})

/** One process with one job, until both are done or the process is dead. */
async function live(world: World, store: CrashingStore, kind: string): Promise<string[]> {
  let process: Process
  try {
    process = await world.open({ store })
  } catch (error) {
    expect(store.dead).toBe(true)
    expect(error).toMatchObject({ name: 'Dead' })
    return []
  }
  try {
    const id = await process.runner.queue(kind, { steps: 25 })
    while (!store.dead && process.committer.state.jobs.has(id)) await world.clock.sleep(500)
    await world.clock.sleep(1000)
    return [id]
  } catch (error) {
    expect(store.dead).toBe(true)
    expect(error).toMatchObject({ kind: 'commit-state-unknown' })
    return []
  }
}
