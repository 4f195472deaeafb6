import { describe, expect, test } from 'vitest'
import { BlobLog } from '../../src/commit/blob-log.js'
import type { CommitLog } from '../../src/commit/commit-log.js'
import { Committer, type CommitterOptions } from '../../src/commit/committer.js'
import type { Machine } from '../../src/commit/machine.js'
import { systemClock } from '../../src/primitives/clock.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { SeededClock } from '../support/clock.js'
import { CountingStore } from '../support/stores.js'
import { longestGap } from './longest-gap.js'
import { add, gate, steered, type Tally, tally } from './tally.js'

const clock = new SeededClock(1)
const options: CommitterOptions = { clock, create: true, readOnly: false }
const memoryLog = () => new BlobLog(new MemoryStore())
const openOn = (log: CommitLog, over: Partial<CommitterOptions> = {}) =>
  Committer.open(log, tally, { ...options, ...over })

class JumpingClock extends SeededClock {
  /** What the next calls of `now` say; 0 when there are none left. */
  readonly times: number[] = []

  override now(): number {
    return this.times.shift() ?? 0
  }
}

/** A log whose appends wait until they are let through. */
function gated(inner: CommitLog) {
  const started = gate()
  const release = gate()
  const log = steered(inner, {
    async append(slot, bytes) {
      if (slot > 0) {
        started.open()
        await release.opened
      }
      return inner.append(slot, bytes)
    },
  })
  return { log, started: started.opened, release: release.open }
}

describe('opening', () => {
  test('an empty log becomes a root only when asked to', async () => {
    const log = memoryLog()
    const missing = { code: 1, status: 404, hint: expect.stringContaining('create') }
    await expect(openOn(log, { create: false })).rejects.toMatchObject(missing)
    await expect(openOn(log, { readOnly: true })).rejects.toMatchObject(missing)
    const created = await openOn(log)
    expect(created.head).toBe(0)
    const opened = await openOn(log, { create: false })
    expect(opened.genesis).toEqual(created.genesis)
  })

  test('slots are read once: the check that the log reaches back to them reads nothing', async () => {
    const store = new CountingStore(new MemoryStore())
    const clock = new SeededClock(1)
    const writer = await openOn(new BlobLog(store), { clock })
    for (let i = 0; i < 40; i++) await writer.commit(add(1, 'x'))
    clock.advance(60_000)
    store.reset()
    const opened = await openOn(new BlobLog(store), { clock })
    expect([opened.head, opened.state]).toEqual([40, writer.state])
    expect(store.calls.get('get')).toBe(41)
  })

  test('creators that race for one log get one root', async () => {
    const log = memoryLog()
    const committers = await Promise.all(Array.from({ length: 5 }, () => openOn(log)))
    expect(new Set(committers.map(({ genesis }) => genesis.root)).size).toBe(1)
  })

  test('replay gives the state that the writer had', async () => {
    const log = memoryLog()
    const writer = await openOn(log)
    for (let i = 0; i < 200; i++) await writer.commit(add(i, `note ${i}`))
    const reader = await openOn(log, { create: false, readOnly: true })
    expect(reader.head).toBe(200)
    expect(reader.state).toEqual(writer.state)
  })

  test('neither committing large groups nor replaying them holds the event loop', async () => {
    const log = memoryLog()
    const machine: Machine<number> = {
      features: tally.features,
      initial: () => 0,
      apply(state, entry) {
        // As slow as a real one.
        for (let i = 0; i < 2_000; i++) state = (state + entry.txn.charCodeAt(i % 36)) & 0xffff
        return state + 1
      },
      save: () => [],
      load: () => ({ add() {}, end: () => 0 }),
    }
    const realTime = { ...options, clock: systemClock }
    const committer = await Committer.open(log, machine, realTime)
    const blob = new Uint8Array(500)
    const commits = Array.from({ length: 5_000 }, (_, i) => {
      return committer.commit(() => ({ ops: [{ name: 'x'.repeat(500), i }], blobs: [blob] }))
    })
    const committed = longestGap()
    await Promise.all(commits)
    expect(committed()).toBeLessThan(120)
    const replayed = longestGap()
    const reader = await Committer.open(log, machine, realTime)
    expect(replayed()).toBeLessThan(120)
    expect(reader.fold).toEqual(committer.fold)
  })

  test('can be aborted', async () => {
    const reason = new Error('enough')
    await expect(Committer.open(memoryLog(), tally, options, AbortSignal.abort(reason))).rejects.toBe(reason)
  })
})

describe('committing', () => {
  test('returns the position, the entry and the state after it', async () => {
    const log = memoryLog()
    const committer = await openOn(log)
    await committer.commit(add(1, 'first'))
    const second = await committer.commit(add(2, 'second'))
    expect(second).toMatchObject({
      transactionId: `2-${second.txn}`,
      at: { slot: 2, entry: 0 },
      entry: { txn: second.txn, req: [], ops: [{ from: 1, add: 2, note: 'second' }], res: { sum: 3 } },
      state: { sum: 3, notes: ['first', 'second'] },
    })
    expect(committer.state).toBe(second.state)
    expect(committer.head).toBe(2)
  })

  test('gives a proposal the position of its entry', async () => {
    const committer = await openOn(memoryLog())
    const seen: unknown[] = []
    const ids: string[] = []
    const propose = (blobs: number) => {
      return committer.commit((state, at) => {
        seen.push([at.slot, at.entry, at.firstBlob])
        ids.push(at.transactionId)
        return add(1, 'x', Array<Uint8Array>(blobs).fill(Uint8Array.of(1)))(state, at)
      })
    }
    const placed = await Promise.all([propose(2), propose(0), propose(1)])
    expect(seen).toEqual([
      [1, 0, 0],
      [1, 1, 2],
      [1, 2, 2],
    ])
    expect(placed.map(({ at }) => at.entry)).toEqual([0, 1, 2])
    expect(placed.map(({ transactionId }) => transactionId)).toEqual(ids)
    expect((await committer.slots.get(1)).header.blobs).toHaveLength(3)
  })

  test('under an idempotency key writes it, and the hash of the call, into the entry', async () => {
    const log = memoryLog()
    const committer = await openOn(log)
    const idempotency = { key: 'mine', hash: 'abc' }
    const { entry } = await committer.commit(add(1, 'x'), { idempotency })
    expect(entry).toMatchObject(idempotency)
    expect((await (await openOn(log)).slots.get(1)).header.entries).toEqual([entry])
  })

  test('reports every applied slot in order, once the state includes it', async () => {
    const log = memoryLog()
    const seen: [number, number][] = []
    const one: Committer<Tally> = await openOn(log, {
      onApplied: ({ header }) => seen.push([header.slot, one.state.sum]),
    })
    const two = await openOn(log)
    await one.commit(add(1, 'own'))
    await two.commit(add(1, 'foreign'))
    await two.commit(add(1, 'foreign'))
    await one.commit(add(1, 'own again'))
    await two.commit(add(1, 'foreign'))
    await one.refresh()
    expect(seen).toEqual([1, 2, 3, 4, 5].map(n => [n, n]))
  })

  test('blobs are read back, from memory and from the log', async () => {
    const log = memoryLog()
    const committer = await openOn(log)
    await committer.commit(add(1, 'x', [Uint8Array.of(1, 2, 3), Uint8Array.of(4)]))
    const reader = await openOn(log)
    for (const { slots } of [committer, reader]) {
      const slot = await slots.get(1)
      expect([...slot.blob(0)]).toEqual([1, 2, 3])
      expect([...slot.blob(1)]).toEqual([4])
      expect(() => slot.blob(2)).toThrow('slot 1 has no blob 2')
    }
  })

  test('leaves its slot in memory for the next reader', async () => {
    const store = new CountingStore(new MemoryStore())
    const committer = await openOn(new BlobLog(store))
    await committer.commit(add(1, 'x'))
    store.reset()
    expect((await committer.slots.get(1)).header.slot).toBe(1)
    expect(store.calls.size).toBe(0)
  })

  test('applies the written bytes, whatever happens to the proposed objects', async () => {
    const log = memoryLog()
    const committer = await openOn(log)
    const op = { from: 0, add: 1, note: 'x', gone: undefined, date: new Date(0), nan: Number.NaN }
    const { entry } = await committer.commit(() => ({ ops: [op] }))
    op.note = 'changed'
    expect(entry.ops).toEqual([{ from: 0, add: 1, note: 'x', date: '1970-01-01T00:00:00.000Z', nan: null }])
    expect(Object.keys(entry)).toEqual(['txn', 'req', 'ops'])
    const header = (await (await openOn(log)).slots.get(1)).header
    expect((await committer.slots.get(1)).header).toEqual(header)
  })

  test('time never goes back, whatever the clock says', async () => {
    const log = memoryLog()
    const jumping = new JumpingClock(1)
    const committer = await openOn(log, { clock: jumping })
    jumping.times.push(5000.9, 4000, 6000.5)
    const first = await committer.commit(add(1, 'a'))
    const second = await committer.commit(add(1, 'b'))
    const third = await committer.commit(add(1, 'c'))
    expect([first.at.ts, second.at.ts, third.at.ts]).toEqual([5000, 5000, 6000])
    expect((await openOn(log)).state).toEqual(third.state)
  })

  test('of nothing is an error of the caller', async () => {
    const committer = await openOn(memoryLog())
    await expect(committer.commit(() => ({ ops: [] }))).rejects.toThrow('at least one operation')
    expect(committer.head).toBe(0)
  })
})

describe('a group', () => {
  test('has everything queued during an append', async () => {
    const { log, started, release } = gated(memoryLog())
    const committer = await openOn(log)
    const first = committer.commit(add(1, 'first'))
    await started
    const others = Array.from({ length: 100 }, (_, i) => committer.commit(add(1, `other ${i}`)))
    release()
    expect((await first).at.slot).toBe(1)
    const places = await Promise.all(others)
    expect(places.map(({ at }) => [at.slot, at.entry])).toEqual(others.map((_, i) => [2, i]))
    expect(committer.state.sum).toBe(101)
  })

  test('forms again from callers that commit one after the other', async () => {
    const committer = await openOn(memoryLog())
    const callers = Array.from({ length: 8 }, async (_, caller) => {
      for (let i = 0; i < 20; i++) await committer.commit(add(1, `${caller} ${i}`))
    })
    await Promise.all(callers)
    expect(committer.state.sum).toBe(160)
    expect(committer.head).toBe(20)
  })

  test('loses only the member whose proposal, or entry, fails', async () => {
    const log = memoryLog()
    const committer = await openOn(log)
    const failure = new Error('no')
    const results = await Promise.allSettled([
      committer.commit(add(1, 'one')),
      committer.commit(() => {
        throw failure
      }),
      committer.commit(() => ({ ops: [{ from: 99, add: 1, note: 'two' }] })),
      committer.commit(() => ({ ops: [1n] })),
      committer.commit(add(1, 'three')),
    ])
    expect(results.map(({ status }) => status)).toEqual([
      'fulfilled',
      ...Array(3).fill('rejected'),
      'fulfilled',
    ])
    expect(results[1]).toEqual({ status: 'rejected', reason: failure })
    expect(results[2]).toMatchObject({ reason: { message: expect.stringContaining('decided on 99, not 1') } })
    expect(results[3]).toMatchObject({
      reason: { code: 13, message: expect.stringContaining('JSON cannot represent') },
    })
    expect(committer.head).toBe(1)
    expect((await openOn(log)).state).toEqual({ sum: 2, notes: ['one', 'three'] })
  })

  test('a member refused because of an earlier one is told so after that one is committed', async () => {
    const { log, started, release } = gated(memoryLog())
    const committer = await openOn(log)
    const first = committer.commit(add(1, 'one'))
    let told = false
    const second = committer.commit(({ sum }) => {
      if (sum > 0) throw new Error('taken')
      return { ops: [{ from: 0, add: 1, note: 'two' }] }
    })
    second.catch(() => {
      told = true
    })
    await started
    await new Promise(resolve => setImmediate(resolve))
    expect(told).toBe(false)
    release()
    await first
    await expect(second).rejects.toThrow('taken')
    expect(committer.state.sum).toBe(1)
  })

  test('a refusal is decided on a state with all commits before the call, of any writer', async () => {
    for (const canPeek of [true, false]) {
      const shared = memoryLog()
      const one = await openOn(shared)
      const { peek: _, ...blind } = steered(shared, {})
      const other = await openOn(canPeek ? shared : blind)
      await one.commit(add(1, 'one'))
      const ifThere = (state: Tally) => {
        if (state.sum === 0) throw new Error('nothing there')
        return add(1, 'two')(state, {} as never)
      }
      expect((await other.commit(ifThere)).state.sum).toBe(2)
      const ifNothing = (state: Tally) => {
        throw new Error(`there are ${state.sum}`)
      }
      await one.commit(add(1, 'three'))
      await expect(other.commit(ifNothing)).rejects.toThrow('there are 3')
    }
  })

  test('that only fails writes nothing', async () => {
    const committer = await openOn(memoryLog())
    const failing = () => {
      throw new Error('no')
    }
    await expect(committer.commit(failing)).rejects.toThrow('no')
    expect(committer.head).toBe(0)
    await committer.commit(add(1, 'one'))
    expect(committer.head).toBe(1)
  })

  test('ends at 1,000 entries', async () => {
    const committer = await openOn(memoryLog())
    const places = await Promise.all(Array.from({ length: 1001 }, () => committer.commit(add(1, ''))))
    expect(places.filter(({ at }) => at.slot === 1)).toHaveLength(1000)
    expect(places[1000]!.at).toMatchObject({ slot: 2, entry: 0 })
  })

  test('ends at 1 MB, except for one larger entry alone', async () => {
    const committer = await openOn(memoryLog())
    const kilobytes = (n: number) => committer.commit(add(1, '', [new Uint8Array(n * 1024)]))
    const places = await Promise.all([
      kilobytes(700),
      kilobytes(300),
      kilobytes(200),
      kilobytes(3000),
      kilobytes(1),
    ])
    expect(places.map(({ at }) => [at.slot, at.entry])).toEqual([
      [1, 0],
      [1, 1],
      [2, 0],
      [3, 0],
      [4, 0],
    ])
  })

  test('ends at 256 KB of text, except for one larger entry alone', async () => {
    const committer = await openOn(memoryLog())
    const kilobytes = (n: number) => committer.commit(add(1, 'x'.repeat(n * 1024)))
    const places = await Promise.all([kilobytes(200), kilobytes(50), kilobytes(10), kilobytes(900)])
    expect(places.map(({ at }) => [at.slot, at.entry])).toEqual([
      [1, 0],
      [1, 1],
      [2, 0],
      [3, 0],
    ])
  })

  test('takes no entry of more than 8 MB', async () => {
    const committer = await openOn(memoryLog())
    const megabytes = 1024 * 1024
    const large = { code: 13, status: 413, kind: 'bad-request', hint: expect.stringContaining('split') }
    await expect(committer.commit(add(1, 'x'.repeat(8 * megabytes)))).rejects.toMatchObject(large)
    await expect(committer.commit(add(1, '', [new Uint8Array(8 * megabytes)]))).rejects.toMatchObject(large)
    await committer.commit(add(1, '', [new Uint8Array(8 * megabytes - 1000)]))
    expect(committer.head).toBe(1)
  })
})

describe('two committers on one log', () => {
  test('lose no commit and agree on the order', async () => {
    const log = memoryLog()
    const committers = await Promise.all([openOn(log), openOn(log)])
    const acked = await Promise.all(
      committers.flatMap((committer, c) =>
        Array.from({ length: 4 }, async (_, caller) => {
          const done: string[] = []
          for (let i = 0; i < 25; i++) {
            const note = `${c}.${caller}.${i}`
            await committer.commit(add(1, note))
            done.push(note)
          }
          return done
        }),
      ),
    )
    const states = await Promise.all(committers.map(committer => committer.refresh()))
    expect(states[0]).toEqual(states[1])
    expect(states[0]!.sum).toBe(200)
    expect([...states[0]!.notes].sort()).toEqual(acked.flat().sort())
  })

  test('decide a proposal again on the newer state after a lost race', async () => {
    const log = memoryLog()
    const [one, two] = [await openOn(log), await openOn(log)]
    await one.commit(add(5, 'one'))
    const seen: number[] = []
    const { at, state } = await two.commit((state, at) => {
      seen.push(state.sum)
      return add(1, 'two')(state, at)
    })
    expect(seen).toEqual([0, 5])
    expect(at.slot).toBe(2)
    expect(state).toEqual({ sum: 6, notes: ['one', 'two'] })
  })

  test('keep the order of their callers through a lost race', async () => {
    const inner = memoryLog()
    const rival = await openOn(inner)
    const later: Promise<unknown>[] = []
    const log = steered(inner, {
      async append(slot, bytes) {
        if (slot === 1) {
          later.push(committer.commit(add(1, 'c')), committer.commit(add(1, 'd')))
          await rival.commit(add(1, 'rival'))
        }
        return inner.append(slot, bytes)
      },
    })
    const committer = await openOn(log)
    await Promise.all([committer.commit(add(1, 'a')), committer.commit(add(1, 'b'))])
    await Promise.all(later)
    expect(committer.state.notes).toEqual(['rival', 'a', 'b', 'c', 'd'])
  })

  test('read many slots of other writers at once', async () => {
    const log = memoryLog()
    const [one, two] = [await openOn(log), await openOn(log)]
    for (let i = 0; i < 150; i++) await one.commit(add(1, `${i}`))
    expect((await two.commit(add(1, 'late'))).at.slot).toBe(151)
  })

  /** A committer, and a rival that is quicker to each of the first `slots` slots; an append takes `ms`. */
  async function outrun(slots: number, ms: number) {
    const clock = new SeededClock(1)
    const inner = memoryLog()
    const rival = await openOn(inner, { clock })
    const log = steered(inner, {
      async append(slot, bytes) {
        clock.advance(ms)
        if (slot > 0 && slot <= slots) await rival.commit(add(1, 'rival'))
        return inner.append(slot, bytes)
      },
    })
    return openOn(log, { clock })
  }

  test('that lose 20 slots in a row for 5 seconds report it, and can try again', async () => {
    const loser = await outrun(20, 300)
    const message = expect.stringContaining('lost 20 times in a row')
    await expect(loser.commit(add(1, 'loser'))).rejects.toMatchObject({ code: 14, status: 409, message })
    expect(loser.head).toBe(20)
    expect((await loser.commit(add(1, 'loser'))).state.notes).toEqual([...Array(20).fill('rival'), 'loser'])
  })

  test('that lose many slots in less than 5 seconds continue', async () => {
    const loser = await outrun(50, 2)
    expect((await loser.commit(add(1, 'loser'))).at.slot).toBe(51)
  })
})

describe('many committers on one log', () => {
  /** Each of `writers` commits `commits` times, as fast as it can; an append takes 1 to 2 ms. Latencies in ms. */
  async function contend(seed: number, writers: number, commits: number) {
    const clock = new SeededClock(seed)
    const inner = memoryLog()
    const log = steered(inner, {
      async append(slot, bytes) {
        if (slot > 0 && inner.peek!(slot)) return 'taken'
        await clock.sleep(1 + clock.random())
        return inner.append(slot, bytes)
      },
    })
    const committers: Committer<Tally>[] = []
    for (let i = 0; i < writers; i++) committers.push(await openOn(log, { clock }))
    const latencies: number[] = []
    const began = clock.elapsed()
    await Promise.all(
      committers.map(async (committer, w) => {
        for (let i = 0; i < commits; i++) {
          const started = clock.elapsed()
          await committer.commit(add(1, `${w}.${i}`))
          latencies.push(clock.elapsed() - started)
        }
      }),
    )
    const total = clock.elapsed() - began
    expect((await committers[0]!.refresh()).sum).toBe(writers * commits)
    return { longest: Math.max(...latencies), total }
  }

  test.each([1, 2, 3, 4, 5])('take turns: none waits long, none is refused (seed %i)', async seed => {
    const { longest, total } = await contend(seed, 8, 50)
    expect(longest).toBeLessThan(60)
    expect(total).toBeLessThan(1000)
  })

  test.each([1, 2, 3])('that are all new take turns as well (seed %i)', async seed => {
    const { longest } = await contend(seed, 40, 1)
    expect(longest).toBeLessThan(200)
  })

  test('do not slow down one that is alone', async () => {
    const { longest, total } = await contend(1, 1, 50)
    expect(longest).toBeLessThan(2)
    expect(total).toBeLessThan(100)
  })
})

describe('aborting a commit', () => {
  test('before it is queued rejects with the reason and writes nothing', async () => {
    const committer = await openOn(memoryLog())
    const reason = new Error('enough')
    const signal = AbortSignal.abort(reason)
    await expect(committer.commit(add(1, 'x'), { signal })).rejects.toBe(reason)
    expect(committer.head).toBe(0)
  })

  test('while it waits removes it from the queue', async () => {
    const { log, started, release } = gated(memoryLog())
    const committer = await openOn(log)
    const first = committer.commit(add(1, 'first'))
    await started
    const controller = new AbortController()
    const second = committer.commit(add(1, 'second'), { signal: controller.signal })
    const third = committer.commit(add(1, 'third'))
    const reason = new Error('enough')
    controller.abort(reason)
    await expect(second).rejects.toBe(reason)
    release()
    await first
    expect((await third).state.notes).toEqual(['first', 'third'])
  })

  test('after its bytes were sent has no effect: the outcome is returned', async () => {
    const { log, started, release } = gated(memoryLog())
    const committer = await openOn(log)
    const controller = new AbortController()
    const first = committer.commit(add(1, 'first'), { signal: controller.signal })
    await started
    controller.abort(new Error('enough'))
    release()
    expect((await first).at.slot).toBe(1)
  })

  test('after a lost race is possible again', async () => {
    const inner = memoryLog()
    const rival = await openOn(inner)
    const controller = new AbortController()
    const log = steered(inner, {
      async append(slot, bytes) {
        await rival.commit(add(1, 'rival'))
        controller.abort(new Error('enough'))
        return inner.append(slot, bytes)
      },
    })
    const loser = await openOn(log)
    await expect(loser.commit(add(1, 'loser'), { signal: controller.signal })).rejects.toThrow('enough')
    expect((await rival.refresh()).notes).toEqual(['rival'])
  })

  test('after it is done has no effect', async () => {
    const committer = await openOn(memoryLog())
    const controller = new AbortController()
    const done = committer.commit(add(1, 'x'), { signal: controller.signal })
    await done
    controller.abort()
    expect((await done).at.slot).toBe(1)
  })
})

describe('closing', () => {
  test('commits what is queued and refuses the rest', async () => {
    const { log, started, release } = gated(memoryLog())
    const committer = await openOn(log)
    const queued = [committer.commit(add(1, 'one'))]
    await started
    queued.push(committer.commit(add(1, 'two')))
    const closing = committer.close()
    const closed = { code: 17, message: expect.stringContaining('closed') }
    await expect(committer.commit(add(1, 'three'))).rejects.toMatchObject(closed)
    await expect(committer.refresh()).rejects.toMatchObject(closed)
    release()
    await closing
    expect(committer.head).toBe(2)
    expect((await Promise.all(queued)).map(({ at }) => at.slot)).toEqual([1, 2])
    expect(committer.state.sum).toBe(2)
  })

  test('an idle committer is done at once', async () => {
    const committer = await openOn(memoryLog())
    await committer.close()
    await committer.close()
  })
})

describe('a read-only committer', () => {
  test('follows the log and commits nothing', async () => {
    const log = memoryLog()
    const writer = await openOn(log)
    const reader = await openOn(log, { readOnly: true })
    await writer.commit(add(1, 'x'))
    expect((await reader.refresh()).sum).toBe(1)
    await expect(reader.commit(add(1, 'y'))).rejects.toMatchObject({ code: 15, status: 403 })
  })
})

describe('refreshing', () => {
  test('shows every commit acknowledged before', async () => {
    const log = memoryLog()
    const [writer, reader] = [await openOn(log), await openOn(log)]
    for (let i = 1; i <= 10; i++) {
      await writer.commit(add(1, `${i}`))
      expect((await reader.refresh()).sum).toBe(i)
    }
    for (let i = 1; i <= 100; i++) await writer.commit(add(1, `${i}`))
    expect((await reader.refresh()).sum).toBe(110)
    expect(reader.head).toBe(110)
  })

  test('an idle log costs two stats and no read', async () => {
    const store = new CountingStore(new MemoryStore())
    const committer = await openOn(new BlobLog(store))
    await committer.commit(add(1, 'x'))
    store.reset()
    for (let i = 0; i < 10; i++) expect(await committer.refresh()).toBe(committer.state)
    expect(store.calls).toEqual(new Map([['peek', 20]]))
  })

  test('a log without peek costs one read when idle', async () => {
    let reads = 0
    const inner = memoryLog()
    const { peek: _, ...log } = steered(inner, {
      read(slot, signal) {
        reads++
        return inner.read(slot, signal)
      },
    })
    const committer = await openOn(log)
    reads = 0
    await committer.refresh()
    expect(reads).toBe(1)
  })

  test('is shared only by those who asked before it began', async () => {
    const inner = memoryLog()
    const writer = await openOn(inner)
    const { opened, open } = gate()
    let reads = 0
    let slow = false
    const { peek: _, ...log } = steered(inner, {
      async read(slot, signal) {
        reads++
        const bytes = await inner.read(slot, signal)
        if (slow) await opened
        return bytes
      },
    })
    const reader = await openOn(log)
    reads = 0
    slow = true
    const early = reader.refresh()
    await clock.yield()
    await writer.commit(add(1, 'x'))
    const late = [reader.refresh(), reader.refresh(), reader.refresh()]
    expect(reads).toBe(1)
    open()
    await early
    for (const refresh of late) expect((await refresh).sum).toBe(1)
    // One read for the early one; for all three late ones the new slot, then two beyond it.
    expect(reads).toBe(4)
  })

  test('can be aborted without disturbing others', async () => {
    const inner = memoryLog()
    const { opened, open } = gate()
    let slow = false
    const { peek: _, ...log } = steered(inner, {
      async read(slot, signal) {
        if (slow) await opened
        return inner.read(slot, signal)
      },
    })
    const reader = await openOn(log)
    await (await openOn(inner)).commit(add(1, 'x'))
    slow = true
    const controller = new AbortController()
    const given = reader.refresh(controller.signal)
    const other = reader.refresh()
    controller.abort(new Error('enough'))
    await expect(given).rejects.toThrow('enough')
    open()
    expect((await other).sum).toBe(1)
    await expect(reader.refresh(controller.signal)).rejects.toThrow('enough')
  })

  test('that fails to read does not stop the committer', async () => {
    const inner = memoryLog()
    let broken = false
    const { peek: _, ...log } = steered(inner, {
      async read(slot, signal) {
        if (broken) throw new Error('unreachable')
        return inner.read(slot, signal)
      },
    })
    const reader = await openOn(log)
    broken = true
    await expect(reader.refresh()).rejects.toThrow('unreachable')
    broken = false
    expect(await reader.refresh()).toEqual({ sum: 0, notes: [] } satisfies Tally)
  })

  test('between the append and its reply shows an own commit once', async () => {
    const inner = memoryLog()
    const { opened, open } = gate()
    const landed = gate()
    const log = steered(inner, {
      async append(slot, bytes) {
        const outcome = await inner.append(slot, bytes)
        if (slot > 0) {
          landed.open()
          await opened
        }
        return outcome
      },
    })
    const committer = await openOn(log)
    const commit = committer.commit(add(1, 'x'))
    await landed.opened
    const seen = await committer.refresh()
    expect(seen).toEqual({ sum: 1, notes: ['x'] })
    open()
    expect((await commit).state).toBe(seen)
    expect(committer.head).toBe(1)
  })
})
