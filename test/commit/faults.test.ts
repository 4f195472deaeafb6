/** A store that loses requests and replies: nothing acknowledged is lost, nothing is committed twice. */
import { describe, expect, test } from 'vitest'
import { BlobLog, slotKey } from '../../src/commit/blob-log.js'
import type { CommitLog } from '../../src/commit/commit-log.js'
import { Committer, type CommitterOptions } from '../../src/commit/committer.js'
import { parseTransactionId } from '../../src/commit/transaction-id.js'
import { ErrorCode, SheafError } from '../../src/errors.js'
import { systemClock } from '../../src/primitives/clock.js'
import { Ambiguous } from '../../src/storage/blob-store.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { SeededClock } from '../support/clock.js'
import { CrashingStore, Dead, type Faults, FaultyStore, WrappedStore } from '../support/stores.js'
import { add, steered, type Tally, tally } from './tally.js'

const unknownState = { code: 17, status: 503, kind: 'commit-state-unknown' }

function optionsOf(clock: SeededClock, over: Partial<CommitterOptions> = {}): CommitterOptions {
  return { clock, create: true, readOnly: false, ...over }
}

/** A root in memory, and committers that reach it over a network of their own. */
function world(seed: number) {
  const clock = new SeededClock(seed)
  const store = new MemoryStore('memory://', clock)
  const network = (faults: Faults) => new FaultyStore(store, clock, faults)
  const open = (log: CommitLog, over?: Partial<CommitterOptions>) =>
    Committer.open(log, tally, optionsOf(clock, over))
  return { clock, store, network, open, readBack: () => open(new BlobLog(store)) }
}

/** The transactions of a log and where they stand. */
async function transactions(committer: Committer<Tally>): Promise<string[]> {
  const found: string[] = []
  for (let slot = 1; slot <= committer.head; slot++) {
    for (const { txn } of (await committer.slots.get(slot)).header.entries) found.push(txn)
  }
  return found
}

describe('with every third reply lost', () => {
  test.each([1, 2, 3, 4, 5])('60 transactions one by one land once each (seed %i)', async seed => {
    const { network, open, readBack } = world(seed)
    const committer = await open(new BlobLog(network({ dropReply: 1 / 3 })))
    const acked: string[] = []
    for (let i = 0; i < 60; i++) acked.push((await committer.commit(add(1, `${i}`))).txn)
    const fresh = await readBack()
    expect(fresh.state).toEqual(committer.state)
    expect(fresh.state.notes).toEqual(Array.from({ length: 60 }, (_, i) => `${i}`))
    expect(await transactions(fresh)).toEqual(acked)
  })

  test.each([1, 2, 3, 4, 5])('60 transactions of three writers land once each (seed %i)', async seed => {
    const { network, open, readBack } = world(seed)
    const acked = await Promise.all(
      Array.from({ length: 3 }, async (_, writer) => {
        const committer = await open(new BlobLog(network({ dropReply: 1 / 3, delay: 0.3 })))
        const done: string[] = []
        for (let i = 0; i < 20; i++) done.push((await committer.commit(add(1, `${writer}.${i}`))).txn)
        return done
      }),
    )
    const fresh = await readBack()
    expect(fresh.state.sum).toBe(60)
    expect((await transactions(fresh)).sort()).toEqual(acked.flat().sort())
  })
})

describe('the root of a log', () => {
  test.each([
    ['replies are', { dropReply: 0.7 }],
    ['requests are', { dropRequest: 0.7 }],
  ])('is created once though %s lost', async (_, faults) => {
    const { network, open, readBack } = world(6)
    const created = await open(new BlobLog(network(faults)))
    expect((await readBack()).genesis).toEqual(created.genesis)
  })

  test('that cannot be created in time is an error', async () => {
    const { network, open, clock } = world(7)
    const error = {
      code: 17,
      message: expect.stringContaining('could not be created within'),
      cause: expect.any(Ambiguous),
    }
    const before = clock.elapsed()
    await expect(
      open(new BlobLog(network({ dropRequest: 1 })), { unknownAfterMs: 2000 }),
    ).rejects.toMatchObject(error)
    expect(clock.elapsed() - before).toBeGreaterThanOrEqual(2000)
  })
})

describe('a commit whose outcome stays unknown', () => {
  async function unknownCommit(faults: Faults) {
    const { clock, network, open, readBack } = world(8)
    const store = network({})
    const committer = await open(new BlobLog(store), { unknownAfterMs: 5000 })
    await committer.commit(add(1, 'before'))
    store.faults = faults
    const started = clock.elapsed()
    const error = await committer.commit(add(1, 'unknown')).catch((error: unknown) => error)
    expect(error).toMatchObject({ ...unknownState, cause: expect.any(Ambiguous) })
    expect(clock.elapsed() - started).toBeGreaterThanOrEqual(5000)
    expect(clock.elapsed() - started).toBeLessThan(8000)
    const { transactionId } = error as SheafError
    const place = parseTransactionId(transactionId!)!
    expect((error as SheafError).message).toContain(transactionId!)
    return { clock, store, committer, place, readBack }
  }

  test('names the slot and the transaction', async () => {
    const { place } = await unknownCommit({ dropRequest: 1 })
    expect(place.slot).toBe(2)
  })

  test('and that landed is shown by the next refresh', async () => {
    const { store, committer, place } = await unknownCommit({ dropReply: 1, refuse: 1 })
    expect(committer.head).toBe(1)
    store.faults = {}
    expect((await committer.refresh()).notes).toEqual(['before', 'unknown'])
    expect((await committer.slots.get(place.slot)).header.entries[0]!.txn).toBe(place.txn)
  })

  test('and that landed delays the next commit, once', async () => {
    const { store, committer, place, readBack } = await unknownCommit({ dropReply: 1, refuse: 1 })
    store.faults = {}
    const { state, at } = await committer.commit(add(1, 'after'))
    expect(at.slot).toBe(place.slot + 1)
    expect(state.notes).toEqual(['before', 'unknown', 'after'])
    expect((await readBack()).state).toEqual(state)
  })

  test('and that did not land leaves its slot to the next commit', async () => {
    const { store, committer, place, readBack } = await unknownCommit({ dropRequest: 1 })
    store.faults = {}
    expect((await committer.refresh()).notes).toEqual(['before'])
    const { state, at } = await committer.commit(add(1, 'after'))
    expect(at.slot).toBe(place.slot)
    expect(state.notes).toEqual(['before', 'after'])
    expect((await readBack()).state).toEqual(state)
  })

  test('and that arrives late, before another writer, is committed', async () => {
    const { clock, store, committer, readBack } = await unknownCommit({ late: 1 })
    store.faults = {}
    await clock.sleep(2000)
    const { state } = await committer.commit(add(1, 'after'))
    expect(state.notes).toEqual(['before', 'unknown', 'after'])
    expect((await readBack()).state).toEqual(state)
  })

  test('and that arrives after its slot was taken is not committed', async () => {
    const { clock, store } = world(9)
    let late: (() => Promise<unknown>) | null = null
    const inner = new BlobLog(store)
    const log = steered(inner, {
      async append(slot, bytes) {
        if (slot !== 1 || late !== null) return inner.append(slot, bytes)
        late = () => inner.append(slot, bytes)
        throw new Error('reset')
      },
    })
    const committer = await Committer.open(log, tally, optionsOf(clock))
    await expect(committer.commit(add(1, 'unknown'))).rejects.toMatchObject(unknownState)
    const { state } = await committer.commit(add(1, 'after'))
    expect(state.notes).toEqual(['after'])
    expect(await late!()).toBe('taken')
    expect(await committer.refresh()).toBe(state)
  })

  test('does not block the commits behind it any longer', async () => {
    const { store, committer } = await unknownCommit({ dropReply: 1, refuse: 1 })
    const controller = new AbortController()
    const stuck = committer.commit(add(1, 'stuck'))
    const behind = committer.commit(add(1, 'behind'), { signal: controller.signal })
    await expect(Promise.all([stuck, behind])).rejects.toMatchObject(unknownState)
    store.faults = {}
    expect((await committer.commit(add(1, 'after'))).state.notes).toContain('after')
    await Promise.allSettled([stuck, behind])
  })
})

describe('a commit in doubt', () => {
  test('whose slot belongs to another writer is decided again for the next slot', async () => {
    const { clock, store } = world(12)
    const inner = new BlobLog(store)
    const rival = await Committer.open(inner, tally, optionsOf(clock))
    const log = steered(inner, {
      async append(slot, bytes) {
        if (slot > 1) return inner.append(slot, bytes)
        if (rival.head === 0) await rival.commit(add(5, 'rival'))
        await committer.refresh()
        throw new Ambiguous('reset')
      },
    })
    const committer = await Committer.open(log, tally, optionsOf(clock))
    const { state, at } = await committer.commit(add(1, 'ours'))
    expect(at.slot).toBe(2)
    expect(state.notes).toEqual(['rival', 'ours'])
  })
})

describe('a store that answers with an error', () => {
  async function failing(fail: (tries: number) => unknown) {
    const { clock, store } = world(10)
    const inner = new BlobLog(store)
    let tries = 0
    let broken = false
    const log = steered(inner, {
      async append(slot, bytes) {
        const error = broken ? fail(tries++) : null
        if (error !== null) throw error
        return inner.append(slot, bytes)
      },
    })
    const committer = await Committer.open(log, tally, optionsOf(clock))
    broken = true
    const attempt = committer.commit(add(1, 'x'))
    const error = await attempt.catch((error: unknown) => error)
    broken = false
    expect((await committer.commit(add(1, 'after'))).state.notes.at(-1)).toBe('after')
    return { error, tries }
  }

  test('of its own has written nothing: the caller gets that error, and the next commit works', async () => {
    const full = new SheafError(ErrorCode.ServiceUnavailable, 'no space left')
    const { error, tries } = await failing(() => full)
    expect(error).toBe(full)
    expect(tries).toBe(1)
  })

  test('after an unknown outcome leaves it unknown', async () => {
    const stopped = new SheafError(ErrorCode.ServiceUnavailable, 'takes no more writes')
    const { error, tries } = await failing(tries => (tries === 0 ? new Ambiguous('reset') : stopped))
    expect(error).toMatchObject({ ...unknownState, cause: stopped })
    expect(tries).toBe(2)
  })

  test('with an unknown error leaves the outcome unknown at once', async () => {
    const bug = new TypeError('a bug')
    const { error, tries } = await failing(() => bug)
    expect(error).toMatchObject({ ...unknownState, cause: bug })
    expect(tries).toBe(1)
  })

  test('when a taken slot is read back is asked again until it answers', async () => {
    const { clock, store } = world(11)
    const inner = new BlobLog(store)
    const rival = await Committer.open(inner, tally, optionsOf(clock))
    let refusals = 3
    const log = steered(inner, {
      async read(slot, signal) {
        if (slot === 1 && rival.head === 1 && refusals-- > 0) throw new Error('unreachable')
        return inner.read(slot, signal)
      },
    })
    const committer = await Committer.open(log, tally, optionsOf(clock))
    await rival.commit(add(5, 'rival'))
    expect((await committer.commit(add(1, 'ours'))).state.notes).toEqual(['rival', 'ours'])
    expect(refusals).toBeLessThan(0)
  })
})

describe('a process that dies', () => {
  test('anywhere leaves a log that opens with everything it acknowledged', async () => {
    let crashes = 0
    for (const lastLands of [false, true]) {
      for (let survives = 0; ; survives++) {
        const clock = new SeededClock(survives)
        const store = new MemoryStore('memory://', clock)
        const crashing = new CrashingStore(store, survives, lastLands)
        const acked: string[] = []
        try {
          const committer = await Committer.open(new BlobLog(crashing), tally, optionsOf(clock))
          for (let i = 0; i < 5; i++) {
            await committer.commit(add(1, `${i}`))
            acked.push(`${i}`)
          }
        } catch (error) {
          const cause = error instanceof SheafError ? error.cause : error
          expect(cause).toBeInstanceOf(Dead)
        }
        const { state } = await Committer.open(new BlobLog(store), tally, optionsOf(clock))
        expect(state.notes.slice(0, acked.length)).toEqual(acked)
        expect(state.notes.length - acked.length).toBeLessThanOrEqual(lastLands ? 1 : 0)
        if (!crashing.dead) break
        crashes++
      }
    }
    expect(crashes).toBeGreaterThan(15)
  })
})

test('a read that is refused while a process continues from a checkpoint does not stop the process', async () => {
  const inner = new MemoryStore()
  class Refusing extends WrappedStore {
    refused = ''
    /** Number of reads of the slot that succeed first. */
    allowed = 1
    protected around<T>(call: string, _conditional: boolean, run: () => Promise<T>, key: string): Promise<T> {
      if (call === 'get' && key === this.refused && this.allowed-- <= 0)
        throw new SheafError(ErrorCode.ServiceUnavailable, 'refused')
      return run()
    }
  }
  const options = { clock: systemClock, create: true, readOnly: false }
  const writer = await Committer.open(new BlobLog(inner), tally, options)
  const store = new Refusing(inner)
  const newer = async (after: number) => (writer.fold.slot > after ? writer.fold : null)
  const reader = await Committer.open(new BlobLog(store), tally, { ...options, newer })
  for (const note of ['a', 'b', 'c']) await writer.commit(add(1, note))
  await reader.refresh()
  for (const note of ['d', 'e']) await writer.commit(add(1, note))
  for (let slot = 1; slot < 5; slot++) await inner.delete(slotKey(slot))
  store.refused = slotKey(5)
  await expect(reader.refresh()).rejects.toMatchObject({ code: 17, message: 'refused' })
  store.refused = ''
  expect((await reader.refresh()).notes).toEqual(['a', 'b', 'c', 'd', 'e'])
})
