/**
 * Any interleaving of up to three processes over a bad network, drawn from a seed, against what a log promises:
 *
 * - an acknowledged commit stands in the log once, where its answer said;
 * - a refused or aborted one does not stand there, one of unknown state at most once;
 * - a commit that began after another was acknowledged stands behind it;
 * - a refresh shows everything acknowledged before it began;
 * - everybody folds the same state, and each entry was decided on the state it was applied to (the machine checks).
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { BlobLog } from '../../src/commit/blob-log.js'
import { Committer } from '../../src/commit/committer.js'
import { ErrorCode, SheafError } from '../../src/errors.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { SeededClock } from '../support/clock.js'
import { CountingStore, type Faults, FaultyStore } from '../support/stores.js'
import { add, type Tally, tally } from './tally.js'

type Step =
  | { readonly kind: 'commit' | 'abort' | 'fail'; readonly pauseMs: number }
  | { readonly kind: 'refresh'; readonly pauseMs: number }

interface World {
  readonly seed: number
  /** Processes, their callers, their steps. */
  readonly processes: readonly (readonly (readonly Step[])[])[]
  readonly faults: Faults
  readonly canPeek: boolean
  /** Whether the store can replace blobs, so that the log keeps names. */
  readonly canReplace: boolean
}

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom('commit', 'commit', 'commit', 'refresh', 'abort', 'fail'),
  pauseMs: fc.constantFrom(0, 0, 0, 5, 200),
})

const odds = fc.constantFrom(0, 0, 0.1, 0.5)

const worlds: fc.Arbitrary<World> = fc.record({
  seed: fc.nat(),
  processes: fc.array(fc.array(fc.array(step, { maxLength: 5 }), { minLength: 1, maxLength: 3 }), {
    minLength: 1,
    maxLength: 3,
  }),
  faults: fc.record({
    dropRequest: odds,
    dropReply: odds,
    late: odds,
    duplicate: odds,
    delay: odds,
    refuse: fc.constantFrom(0, 0, 0.1),
  }),
  canPeek: fc.boolean(),
  canReplace: fc.boolean(),
})

interface Call {
  readonly note: string
  readonly began: number
  /** When it was answered, or infinity while it may still land. */
  ended: number
  outcome: 'committed' | 'not committed' | 'unknown'
  slot: number
}

async function run({ seed, processes, faults, canPeek, canReplace }: World): Promise<void> {
  const clock = new SeededClock(seed)
  const store = new MemoryStore('memory://', clock)
  const options = { clock, create: true, readOnly: false, unknownAfterMs: 3000 }
  await Committer.open(new BlobLog(store), tally, options)
  const calls: Call[] = []
  let moment = 0

  const open = async (): Promise<[Committer<Tally>, FaultyStore]> => {
    const network = new FaultyStore(store, clock, {})
    if (canPeek) network.peek = key => store.peek(key)
    if (canReplace) network.replace = () => Promise.reject(new Error('nothing is trimmed'))
    const committer = await Committer.open(new BlobLog(network), tally, options)
    network.faults = faults
    return [committer, network]
  }

  const commit = async (committer: Committer<Tally>, note: string, kind: Step['kind']): Promise<void> => {
    const call: Call = {
      note,
      began: moment++,
      ended: Number.POSITIVE_INFINITY,
      outcome: 'unknown',
      slot: -1,
    }
    calls.push(call)
    const controller = new AbortController()
    const failure = new Error('no')
    const propose: typeof addition = (state, at) => {
      if (kind === 'fail') throw failure
      return addition(state, at)
    }
    const addition = add(1, note)
    const committing = committer.commit(propose, { signal: controller.signal })
    if (kind === 'abort') clock.yield().then(() => controller.abort(failure))
    try {
      const { at, state } = await committing
      expect(state.notes.at(-1) === note || state.notes.includes(note)).toBe(true)
      call.outcome = 'committed'
      call.slot = at.slot
    } catch (error) {
      if (error === failure) call.outcome = 'not committed'
      else if (!(error instanceof SheafError)) throw error
      else if (error.code === ErrorCode.ConcurrentModification) call.outcome = 'not committed'
      // A refusal could not be confirmed, because the log was not to be read.
      else if (error.kind === 'service-unavailable') call.outcome = 'not committed'
      else expect(error.kind).toBe('commit-state-unknown')
    }
    if (call.outcome !== 'unknown') call.ended = moment++
  }

  const refresh = async (committer: Committer<Tally>): Promise<void> => {
    const before = calls.filter(({ outcome }) => outcome === 'committed').map(({ note }) => note)
    try {
      const { notes } = await committer.refresh()
      expect(notes).toEqual(expect.arrayContaining(before))
    } catch (error) {
      expect(error).toMatchObject({ code: 17, message: expect.stringMatching(/^(get|stat) was refused$/) })
    }
  }

  const opened = await Promise.all(processes.map(open))
  await Promise.all(
    processes.flatMap((callers, p) =>
      callers.map(async (steps, c) => {
        const [committer] = opened[p]!
        for (const [s, { kind, pauseMs }] of steps.entries()) {
          if (pauseMs > 0) await clock.sleep(pauseMs)
          if (kind === 'refresh') await refresh(committer)
          else await commit(committer, `${p}.${c}.${s}`, kind)
        }
      }),
    ),
  )
  await clock.sleep(5000) // everything late has arrived

  const log = await Committer.open(new BlobLog(store), tally, options)
  const slotOf = new Map<string, number>()
  for (let slot = 1; slot <= log.head; slot++) {
    for (const entry of (await log.slots.get(slot)).header.entries) {
      const { note } = entry.ops[0] as { note: string }
      expect(slotOf.has(note), `${note} was committed twice`).toBe(false)
      slotOf.set(note, slot)
    }
  }
  for (const { note, outcome, slot } of calls) {
    if (outcome === 'committed') expect(slotOf.get(note), note).toBe(slot)
    if (outcome === 'not committed') expect(slotOf.has(note), note).toBe(false)
  }
  const order = new Map(log.state.notes.map((note, i) => [note, i]))
  expect(order.size).toBe(slotOf.size)
  for (const a of calls) {
    for (const b of calls) {
      if (a.ended < b.began && order.has(a.note) && order.has(b.note)) {
        expect(order.get(a.note)!, `${a.note} before ${b.note}`).toBeLessThan(order.get(b.note)!)
      }
    }
  }
  for (const [committer, network] of opened) {
    network.faults = {}
    expect(await committer.refresh()).toEqual(log.state)
    await committer.close()
  }
}

test('any history keeps every guarantee', async () => {
  await fc.assert(fc.asyncProperty(worlds, run), { numRuns: 300 })
})

test('a seed fixes a history to the last byte', async () => {
  const history = async (): Promise<string[]> => {
    const clock = new SeededClock(42)
    const store = new CountingStore(new MemoryStore('memory://', clock))
    const faulty = () => new FaultyStore(store, clock, { dropReply: 0.3, late: 0.2, delay: 0.5 })
    const options = { clock, create: true, readOnly: false }
    await Promise.all(
      Array.from({ length: 3 }, async (_, p) => {
        const committer = await Committer.open(new BlobLog(faulty()), tally, options)
        await Promise.all(Array.from({ length: 5 }, (_, i) => committer.commit(add(1, `${p}.${i}`))))
      }),
    )
    const blobs: string[] = [JSON.stringify([...store.calls])]
    for await (const { key } of store.list(''))
      blobs.push(Buffer.from((await store.get(key))!).toString('hex'))
    return blobs
  }
  expect(await history()).toEqual(await history())
})
