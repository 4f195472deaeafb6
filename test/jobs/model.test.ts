/**
 * Some processes with some jobs over a bad network: they cancel each other's jobs, fall asleep, close and die. Whatever the order,
 * drawn from a seed:
 *
 * - a job whose queueing was acknowledged is there, and in the end every job has ended, once;
 * - what it did is there if and only if it Succeeded, and once;
 * - an acknowledged cancel is how it ended;
 * - a job that may be begun again, and that nobody canceled, Succeeded;
 * - no claim was ended by whoever had an older one;
 * - nothing is left of the leases.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Json } from '../../src/commit/machine.js'
import { SheafError } from '../../src/errors.js'
import { CrashingStore, Dead, type Faults, FaultyStore } from '../support/stores.js'
import { cancel, type Process, type Spec, suspendable, World } from './processes.js'

type Step = { readonly pauseMs: number } & (
  | { readonly do: 'queue'; readonly kind: 'requeue' | 'once'; readonly spec: Spec }
  /** One of the jobs queued so far. */
  | { readonly do: 'cancel'; readonly which: number }
  /** The machine it is on sleeps. */
  | { readonly do: 'suspend'; readonly forMs: number }
  | { readonly do: 'close' }
)

type Sleep = (ms: number) => Promise<void>

interface Life {
  readonly steps: readonly Step[]
  /** Operations of its store before it dies. */
  readonly survives: number
  readonly lastLands: boolean
  readonly faults: Faults
  readonly concurrency: number
}

const pauseMs = fc.constantFrom(0, 0, 0, 1, 500, 1000, 3000, 30_000)

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('queue' as const),
      pauseMs,
      kind: fc.constantFrom('requeue', 'requeue', 'once'),
      spec: fc.record(
        {
          steps: fc.constantFrom(0, 0, 1, 3, 30),
          fails: fc.constantFrom('run', 'decision'),
          deaf: fc.boolean(),
        },
        { requiredKeys: ['steps'] },
      ),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('cancel' as const), pauseMs, which: fc.nat(20) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('suspend' as const),
      pauseMs,
      forMs: fc.constantFrom(5000, 65_000, 100_000),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('close' as const), pauseMs }) },
)

const odds = fc.constantFrom(0, 0, 0.1, 0.4)

const life: fc.Arbitrary<Life> = fc.record({
  steps: fc.array(step, { minLength: 1, maxLength: 6 }),
  survives: fc.oneof(fc.constant(1_000_000), fc.nat(60)),
  lastLands: fc.boolean(),
  faults: fc.record({
    dropRequest: odds,
    dropReply: odds,
    late: odds,
    duplicate: odds,
    delay: odds,
    refuse: fc.constantFrom(0, 0, 0.1),
  }),
  concurrency: fc.integer({ min: 1, max: 3 }),
})

const lives = fc.record({ seed: fc.nat(), lives: fc.array(life, { minLength: 1, maxLength: 3 }) })

/** What may go wrong for a caller when processes die and networks fail. */
function isExpected(error: unknown): boolean {
  if (error instanceof SheafError) return error.code === 17 || error.code === 14
  return error instanceof Dead || (error instanceof Error && error.message === 'too late')
}

async function run({ seed, lives }: { seed: number; lives: readonly Life[] }): Promise<void> {
  const world = new World(seed)
  const { clock } = world
  await world.open({ kinds: [] })
  const queued: { readonly id: string; readonly kind: string; readonly spec: Spec }[] = []
  const canceled = { tried: new Set<string>(), done: new Set<string>() }

  const attempt = async (work: () => Promise<void>): Promise<void> => {
    try {
      await work()
    } catch (error) {
      if (!isExpected(error)) throw error
    }
  }
  const take = async ({ committer, runner }: Process, sleep: Sleep, step: Step): Promise<void> => {
    switch (step.do) {
      case 'queue': {
        const { kind, spec } = step
        queued.push({ id: await runner.queue(kind, spec as Json), kind, spec })
        return
      }
      case 'cancel': {
        if (queued.length === 0) return
        const { id } = queued[step.which % queued.length]!
        canceled.tried.add(id)
        await cancel(committer, id)
        canceled.done.add(id)
        return
      }
      case 'suspend':
        return sleep(step.forMs)
      case 'close':
        return runner.close()
    }
  }
  await Promise.all(
    lives.map(({ steps, survives, lastLands, faults, concurrency }) =>
      attempt(async () => {
        const network = new FaultyStore(world.store, clock, {})
        const { store, suspend, wake } = suspendable(new CrashingStore(network, survives, lastLands))
        const process = await world.open({ store, concurrency })
        const sleep = async (ms: number) => {
          suspend()
          await clock.sleep(ms)
          wake()
        }
        network.faults = faults
        for (const step of steps) {
          await clock.sleep(step.pauseMs)
          await attempt(() => take(process, sleep, step))
        }
      }),
    ),
  )
  await clock.sleep(5000) // everything late has arrived

  const survivor = await world.open()
  const unheard = [...(await survivor.committer.refresh()).jobs.keys()]
  for (const id of unheard) await survivor.runner.settled(id)
  await world.end()
  const last = await world.open()
  await last.runner.settled(await last.runner.queue('once', {}))
  await clock.sleep(1000)
  expect(await world.leases()).toEqual([])

  const { jobs, ended, counts, stale } = await last.committer.refresh()
  expect(stale).toEqual([])
  expect(jobs.size).toBe(0)
  for (const [id, { state }] of ended) {
    const said = await world.history(id)
    expect(said.filter(word => /Succeeded|Failed|Canceled/.test(word))).toEqual([state])
    expect(counts.get(id) ?? 0, id).toBe(state === 'Succeeded' ? 1 : 0)
  }
  for (const { id, kind, spec } of queued) {
    const { state, reason } = ended.get(id)!
    if (canceled.done.has(id)) expect(state).toBe('Canceled')
    else if (canceled.tried.has(id)) expect(state).toMatch(/Canceled|Succeeded|Failed/)
    else if (spec.fails !== undefined) expect(state).toBe('Failed')
    else if (kind === 'requeue') expect(state).toBe('Succeeded')
    else expect(reason ?? state).toMatch(/^(Succeeded|owner lost|owner closed)$/)
  }
  await world.end()
}

test('A-149 every job ends once, and what it did is there if and only if it succeeded', async () => {
  await fc.assert(fc.asyncProperty(lives, run), { numRuns: 150 })
})
