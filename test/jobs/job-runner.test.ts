import { afterEach, describe, expect, test } from 'vitest'
import type { Json } from '../../src/commit/machine.js'
import { ErrorCode, SheafError } from '../../src/errors.js'
import { type JobKind, type JobRun, JobStopped } from '../../src/jobs/job-kind.js'
import { gate } from '../commit/tally.js'
import { CountingStore } from '../support/stores.js'
import { cancel, countingKinds, failure, type State, storeWith, suspendable, World } from './processes.js'

const worlds: World[] = []

function newWorld(seed = 1): World {
  const world = new World(seed)
  worlds.push(world)
  return world
}

afterEach(async () => {
  for (const world of worlds.splice(0)) await world.end()
})

describe('a job', () => {
  test('commits its result in the same entry as Succeeded', async () => {
    const world = newWorld()
    const { committer, runner } = await world.open()
    const id = await runner.queue('once', { steps: 2 }, { table: 'the table' })
    expect(committer.state.jobs.get(id)).toMatchObject({ id, table: 'the table', status: 'Queued', epoch: 0 })
    const state = await runner.settled(id)
    expect(state.ended.get(id)).toEqual({ state: 'Succeeded' })
    expect(state.counts.get(id)).toBe(1)
    const { entries } = (await committer.slots.get(committer.head)).header
    expect(entries).toMatchObject([
      {
        ops: [
          { op: 'count', name: id },
          { op: 'job', state: 'Succeeded', id },
        ],
        req: [{ job: id, epoch: 1 }],
      },
    ])
    expect(await world.history(id)).toEqual(['Queued', 'Running 1', 'Succeeded'])
  })

  test('is reported as ended at once to waiting callers', async () => {
    const world = newWorld()
    const { runner } = await world.open()
    const began = world.clock.elapsed()
    await runner.settled(await runner.queue('once', {}))
    expect(world.clock.elapsed() - began).toBeLessThan(100)
  })

  test('may be queued together with other operations, and gets its spec', async () => {
    const world = newWorld()
    const seen: JobRun<State>[] = []
    const { runner } = await world.open({ kinds: countingKinds(world.clock, job => seen.push(job)) })
    const also = () => ({ ops: [{ op: 'count', name: 'also' }] })
    const id = await runner.queue('once', { steps: 0, note: [1] }, { also, table: 't' })
    const state = await runner.settled(id)
    expect(state.counts.get('also')).toBe(1)
    expect(seen).toMatchObject([{ id, spec: { steps: 0, note: [1] }, table: 't' }])
    const no = new Error('no')
    const refuse = () => {
      throw no
    }
    await expect(runner.queue('once', {}, { also: refuse })).rejects.toBe(no)
  })

  test('may end without a change', async () => {
    const world = newWorld()
    const idle: JobKind<State> = { name: 'idle', onOrphan: 'fail', run: async () => {} }
    const { runner } = await world.open({ kinds: [idle] })
    const id = await runner.queue('idle', null)
    expect((await runner.settled(id)).ended.get(id)).toEqual({ state: 'Succeeded' })
  })

  test.each(['run', 'decision'] as const)(
    'that throws in its %s fails, and the error says what to do',
    async fails => {
      const world = newWorld()
      const { runner } = await world.open()
      const id = await runner.queue('requeue', { fails })
      const state = await runner.settled(id)
      expect(state.ended.get(id)).toEqual({ state: 'Failed', reason: `${failure.message}; ${failure.hint}` })
      expect(state.counts.size).toBe(0)
    },
  )

  test('whose result is an invalid entry fails with the reason', async () => {
    const world = newWorld()
    const huge: JobKind<State> = {
      name: 'huge',
      onOrphan: 'fail',
      run: async job => {
        await job.commit(() => ({ ops: [], res: 'x'.repeat(9_000_000) }))
      },
    }
    const { runner } = await world.open({ kinds: [huge] })
    const id = await runner.queue('huge', null)
    const { reason } = (await runner.settled(id)).ended.get(id)!
    expect(reason).toMatch(/^the change takes 9000\d\d\d bytes in the log/)
  })

  test('of an unknown kind is left to processes that know the kind', async () => {
    const world = newWorld()
    const { clock } = world
    const other: JobKind<State> = { name: 'other', onOrphan: 'fail', run: async () => {} }
    const ignorant = await world.open()
    const knowing = await world.open({ kinds: [other], store: world.store })
    await knowing.runner.close()
    await ignorant.committer.commit(() => ({
      ops: [{ op: 'job', state: 'Queued', kind: 'other', spec: null }],
    }))
    const [id] = [...ignorant.committer.state.jobs.keys()]
    const mine = await ignorant.runner.queue('once', {})
    await ignorant.runner.settled(mine)
    await clock.sleep(120_000)
    expect((await ignorant.committer.refresh()).jobs.get(id!)).toMatchObject({ status: 'Queued', epoch: 0 })
    const { runner } = await world.open({ kinds: [other] })
    expect((await runner.settled(id!)).ended.get(id!)).toEqual({ state: 'Succeeded' })
  })
})

describe('jobs', () => {
  test('run one at a time, in queue order, by default', async () => {
    for (const [concurrency, most] of [
      [undefined, 1],
      [3, 3],
    ] as const) {
      const world = newWorld()
      const { clock } = world
      const begun: string[] = []
      let running = 0
      let seen = 0
      const kind: JobKind<State> = {
        name: 'kind',
        onOrphan: 'fail',
        async run(job) {
          begun.push(job.id)
          seen = Math.max(seen, ++running)
          await clock.sleep(1000)
          running--
        },
      }
      const { runner } = await world.open({ kinds: [kind], ...(concurrency && { concurrency }) })
      const ids: string[] = []
      for (let i = 0; i < 8; i++) ids.push(await runner.queue('kind', i))
      for (const id of ids) await runner.settled(id)
      expect(seen).toBe(most)
      expect(begun).toEqual(ids)
    }
  })

  test('queued behind canceled ones while the log refused every claim are not forgotten', async () => {
    const world = newWorld()
    let refusing = true
    const store = storeWith(world.store, {
      async putIfAbsent(key, bytes, signal) {
        if (refusing) throw new SheafError(ErrorCode.ServiceUnavailable, 'no space left')
        return world.store.putIfAbsent(key, bytes, signal)
      },
    })
    const asking = await world.open()
    await asking.runner.close()
    const { committer, runner } = await world.open({ store })
    const queue = async () => {
      const op = { op: 'job', state: 'Queued', kind: 'once', spec: {} }
      const { transactionId } = await asking.committer.commit(() => ({ ops: [op] }))
      await committer.refresh()
      await world.clock.sleep(5000)
      return transactionId
    }
    const [first, second, third] = [await queue(), await queue(), await queue()]
    await cancel(asking.committer, first)
    await cancel(asking.committer, second)
    await committer.refresh()
    await world.clock.sleep(20_000)
    refusing = false
    expect((await runner.settled(third)).ended.get(third)).toEqual({ state: 'Succeeded' })
  })

  test('that two processes want at once run in one of them', async () => {
    for (let seed = 0; seed < 20; seed++) {
      const world = newWorld(seed)
      const began: string[] = []
      const kinds = countingKinds(world.clock, job => began.push(job.id))
      const [a, b] = [await world.open({ kinds }), await world.open({ kinds })]
      const ids = await Promise.all(
        Array.from({ length: 6 }, (_, i) => (i % 2 ? a : b).runner.queue('once', { steps: 1 })),
      )
      for (const id of ids) {
        const state = await a.runner.settled(id)
        expect(state.ended.get(id)).toEqual({ state: 'Succeeded' })
        expect(state.counts.get(id)).toBe(1)
        expect(await world.history(id)).toEqual(['Queued', 'Running 1', 'Succeeded'])
      }
      expect(began.sort()).toEqual(ids.sort())
    }
  })

  test('do not keep the process alive, except when a caller waits', async () => {
    const world = newWorld()
    const { clock } = world
    const awaited: boolean[] = []
    const sleep = clock.sleep.bind(clock)
    clock.sleep = (ms: number, signal?: AbortSignal, keepsAlive = false) => {
      awaited.push(keepsAlive)
      return sleep(ms, signal)
    }
    const { runner } = await world.open()
    const id = await runner.queue('once', { steps: 40 })
    await clock.sleep(30_500)
    expect(awaited.length).toBeGreaterThan(60)
    expect(new Set(awaited)).toEqual(new Set([false]))
    await runner.settled(id)
    expect(new Set(awaited)).toEqual(new Set([false, true]))
  })

  test('cost nothing if there are none', async () => {
    const world = newWorld()
    const store = new CountingStore(world.store)
    const { committer } = await world.open({ store })
    await committer.commit(() => ({ ops: [{ op: 'count', name: 'x' }] }))
    store.reset()
    await world.clock.sleep(3_600_000)
    expect([...store.calls]).toEqual([])
  })
})

describe('A-149 canceling', () => {
  test('a queued job means that it never runs', async () => {
    const world = newWorld()
    const began: string[] = []
    const { committer, runner } = await world.open({
      kinds: countingKinds(world.clock, job => began.push(job.id)),
    })
    const first = await runner.queue('once', { steps: 5 })
    const second = await runner.queue('once', {})
    await cancel(committer, second)
    const state = await runner.settled(first)
    expect(state.ended.get(second)).toEqual({ state: 'Canceled' })
    await world.clock.sleep(10_000)
    expect(began).toEqual([first])
  })

  test.each(['here', 'elsewhere'])('a running job %s stops it within a second or two', async where => {
    const world = newWorld()
    const { clock } = world
    const stopped = gate<{ readonly reason: unknown; readonly at: number }>()
    const onRun = ({ signal }: JobRun<State>) =>
      signal.addEventListener('abort', () => stopped.open({ reason: signal.reason, at: clock.elapsed() }))
    const owner = await world.open({ kinds: countingKinds(clock, onRun) })
    const id = await owner.runner.queue('requeue', { steps: 1000 })
    const from = where === 'here' ? owner : await world.open({ kinds: [] })
    await clock.sleep(5500)
    await cancel(from.committer, id)
    const canceled = clock.elapsed()
    const { reason, at } = await stopped.opened
    expect(reason).toBeInstanceOf(JobStopped)
    expect(reason).toMatchObject({ why: 'ended' })
    expect(at - canceled).toBeLessThan(where === 'here' ? 1 : 2000)
    const state = await owner.runner.settled(id)
    expect(state.ended.get(id)).toEqual({ state: 'Canceled' })
    await clock.sleep(5000)
    expect((await owner.committer.refresh()).counts.size).toBe(0)
    expect(await world.history(id)).toEqual(['Queued', 'Running 1', 'Canceled'])
    expect(await world.leases()).toEqual([])
  })

  /** A job that is about to land when the gate opens. */
  async function finishing(world: World) {
    const ready = gate()
    const go = gate()
    const kind: JobKind<State> = {
      name: 'kind',
      onOrphan: 'requeue',
      async run({ id, commit }) {
        ready.open()
        await go.opened
        await commit(() => ({ ops: [{ op: 'count', name: id }] }))
      },
    }
    const process = await world.open({ kinds: [kind] })
    const id = await process.runner.queue('kind', null)
    await ready.opened
    return { ...process, id, go }
  }

  test('a finishing job before its commit discards its result', async () => {
    const world = newWorld()
    const { committer, runner, id, go } = await finishing(world)
    const other = await world.open({ kinds: [] })
    // Unseen by the owner, whose next slot is taken.
    await cancel(other.committer, id)
    go.open()
    const state = await runner.settled(id)
    expect(state.ended.get(id)).toEqual({ state: 'Canceled' })
    await world.clock.sleep(5000)
    expect((await committer.refresh()).counts.size).toBe(0)
  })

  test('a finishing job after its commit is too late', async () => {
    const world = newWorld()
    const { runner, id, go } = await finishing(world)
    const other = await world.open({ kinds: [] })
    go.open()
    await runner.settled(id)
    await expect(cancel(other.committer, id)).rejects.toThrow('too late')
    expect((await other.committer.refresh()).ended.get(id)).toEqual({ state: 'Succeeded' })
  })

  test('and finishing in one slot: the first one wins', async () => {
    const ends = new Set<string>()
    for (let seed = 0; seed < 20; seed++) {
      const world = newWorld(seed)
      const { committer, id, go } = await finishing(world)
      go.open()
      for (let turns = seed % 5; turns > 0; turns--) await Promise.resolve()
      await cancel(committer, id).catch(() => {})
      await world.clock.sleep(5000)
      const { ended, counts } = await committer.refresh()
      const { state } = ended.get(id)!
      ends.add(state)
      expect(counts.get(id) ?? 0).toBe(state === 'Succeeded' ? 1 : 0)
    }
    expect([...ends].sort()).toEqual(['Canceled', 'Succeeded'])
  })
})

describe('progress', () => {
  test('is seen at once by the process that runs the job, and within ten seconds by others', async () => {
    const world = newWorld()
    const { clock } = world
    const a = await world.open()
    const id = await a.runner.queue('once', { steps: 100 })
    await clock.sleep(5500)
    // This one looks after the other's job meanwhile.
    const b = await world.open()
    await clock.sleep(6000)
    for (let second = 0; second < 15; second++) {
      expect((await b.runner.progressOf(id))?.phase).toBe('counting')
      await clock.sleep(1000)
    }
    const rated = { perSecond: expect.any(Number), secondsLeft: expect.any(Number) }
    expect(await a.runner.progressOf(id)).toEqual({ done: 26, total: 100, phase: 'counting', ...rated })
    const { done, ...rest } = (await b.runner.progressOf(id))!
    expect(rest).toEqual({ total: 100, phase: 'counting', ...rated })
    expect(done).toBeGreaterThan(15)
    expect(done).toBeLessThanOrEqual(21)
    expect(await world.leases()).toEqual([`_jobs/${id}-1-2`])
    await a.runner.settled(id)
    await clock.sleep(1000)
    expect(await world.leases()).toEqual([])
    expect(await b.runner.progressOf(id)).toBeNull()
  })
})

describe('closing', () => {
  test.each([
    ['requeue', undefined],
    ['once', { state: 'Failed', reason: 'owner closed' }],
  ] as const)('gives a running job back (%s)', async (kind, end) => {
    const world = newWorld()
    const { clock } = world
    const a = await world.open()
    const id = await a.runner.queue(kind, { steps: 100 })
    const waiting = await a.runner.queue(kind, { steps: 1 })
    await clock.sleep(5000)
    await a.runner.close()
    const { ended, jobs } = await a.committer.refresh()
    expect(ended.get(id)).toEqual(end)
    expect(jobs.get(id)).toMatchObject(end === undefined ? { status: 'Queued', owner: null, epoch: 1 } : {})
    expect(jobs.get(waiting)).toMatchObject({ status: 'Queued', epoch: 0 })
    expect(await world.leases()).toEqual([])
    const b = await world.open()
    expect((await b.runner.settled(waiting)).counts.get(waiting)).toBe(1)
    if (end === undefined) expect((await b.runner.settled(id)).counts.get(id)).toBe(1)
  })

  test('waits until no job uses the store any more', async () => {
    const world = newWorld()
    const stray = '_jobs/1-00000000-0000-4000-8000-000000000000-1-0'
    await world.store.put(stray, new Uint8Array())
    const clearing = gate()
    const go = gate()
    const store = storeWith(world.store, {
      async delete(key, signal) {
        if (key === stray) {
          clearing.open()
          await go.opened
        }
        return world.store.delete(key, signal)
      },
    })
    const { runner } = await world.open({ store })
    await runner.queue('once', { steps: 5 })
    await clearing.opened
    let isClosed = false
    const closing = runner.close().then(() => {
      isClosed = true
    })
    await world.clock.sleep(10_000)
    expect(isClosed).toBe(false)
    go.open()
    await closing
    expect(await world.leases()).toEqual([])
  })

  test('still commits the result of a finished run', async () => {
    const world = newWorld()
    const { committer, runner } = await world.open()
    const id = await runner.queue('once', { steps: 5, deaf: true })
    await world.clock.sleep(2000)
    await runner.close()
    expect((await committer.refresh()).ended.get(id)).toEqual({ state: 'Succeeded' })
  })

  test('refuses new jobs, and callers that wait for one', async () => {
    const world = newWorld()
    const { runner } = await world.open()
    const id = await runner.queue('requeue', { steps: 100 })
    const waiting = runner.settled(id)
    await world.clock.sleep(1500)
    const closed = { code: 17, message: 'this root is closed' }
    await Promise.all([runner.close(), expect(waiting).rejects.toMatchObject(closed)])
    await runner.close()
    await expect(runner.queue('once', {})).rejects.toMatchObject(closed)
    await expect(runner.settled(id)).rejects.toMatchObject(closed)
  })

  test('while a job is being claimed queues it again, of any kind', async () => {
    const world = newWorld()
    const { store, suspend, wake } = suspendable(world.store)
    const began: string[] = []
    const { runner } = await world.open({
      store,
      kinds: countingKinds(world.clock, job => began.push(job.id)),
    })
    const id = await runner.queue('once', { steps: 1 })
    suspend()
    await world.clock.sleep(100)
    const closed = runner.close()
    wake()
    await closed
    expect(await world.history(id)).toEqual(['Queued', 'Running 1', 'Queued'])
    expect(began).toEqual([])
  })

  test('before a job has begun leaves it queued', async () => {
    for (let turns = 0; turns < 12; turns++) {
      const world = newWorld(turns)
      const { committer, runner } = await world.open()
      const id = await runner.queue('once', { steps: 1 } as Json)
      for (let i = 0; i < turns; i++) await Promise.resolve()
      await runner.close()
      expect((await committer.refresh()).jobs.get(id)).toMatchObject({ status: 'Queued' })
    }
  })
})

test('waiting for a job can be aborted', async () => {
  const world = newWorld()
  const { runner } = await world.open()
  const id = await runner.queue('once', { steps: 100 })
  const controller = new AbortController()
  const waiting = runner.settled(id, controller.signal)
  const enough = new Error('enough')
  world.clock.sleep(3000).then(() => controller.abort(enough))
  await expect(waiting).rejects.toBe(enough)
})

test.each([1, 2, 3, 4])(
  'of an exclusive kind never run twice on one table at a time (seed %i)',
  async seed => {
    const world = newWorld(seed)
    const { clock } = world
    const running: string[] = []
    let together = 0
    const exclusive: JobKind<State> = {
      name: 'exclusive',
      exclusive: true,
      onOrphan: 'requeue',
      async run({ id, table, commit }) {
        expect(running).not.toContain(table)
        running.push(table!)
        together = Math.max(together, running.length)
        await clock.sleep(1 + 3000 * clock.random())
        await commit(() => {
          running.splice(running.indexOf(table!), 1)
          return { ops: [{ op: 'count', name: id }] }
        })
      },
    }
    const processes = [
      await world.open({ kinds: [exclusive], concurrency: 2 }),
      await world.open({ kinds: [exclusive] }),
      await world.open({ kinds: [exclusive] }),
    ]
    const ids: string[] = []
    for (let i = 0; i < 12; i++) {
      const { runner } = processes[i % 3]!
      ids.push(await runner.queue('exclusive', {}, { table: i % 4 === 0 ? 'other' : 'table' }))
    }
    for (const id of ids) {
      const state = await processes[0]!.runner.settled(id)
      expect([state.ended.get(id), state.counts.get(id)]).toEqual([{ state: 'Succeeded' }, 1])
    }
    expect(together).toBe(2)
  },
)
