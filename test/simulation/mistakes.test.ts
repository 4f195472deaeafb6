/** Mistakes that the engine made once, or would make without a rule, put back: worlds in which they matter find them, and keep every promise without. */
import { afterEach, describe, expect, test, vi } from 'vitest'
import { catalogMachine } from '../../src/catalog/apply.js'
import { BlobLog } from '../../src/commit/blob-log.js'
import { Checkpoints } from '../../src/commit/checkpoints.js'
import type { BlobMark } from '../../src/storage/blob-store.js'
import type { Action, ActionKind, Plan, ProcessPlan } from './draw.js'
import { type SimulationOptions, simulate } from './simulate.js'
import type { ProcessClock } from './time.js'
import { Disk, type Janitor, Violation } from './world.js'

afterEach(() => vi.restoreAllMocks())

const name = 'memory://simulation'
const dayMs = 24 * 60 * 60 * 1000
const calm = { refused: 0, lostRequest: 0, late: 0, lostReply: 0, twice: 0, slow: 0, travels: 1 } as const
const now = { keepVersionsMs: 0, keepOrphansMs: 0, keepLogMs: 0 } as const
/** A calm world in which everything that may go goes at once. */
const tidied = {
  faults: calm,
  accounts: 0,
  hasIndexes: false,
  areBrief: false,
  powerFailsAt: [],
  ages: now,
} as const

function action(kind: ActionKind, pauseMs = 0, pick = 0): Action {
  return { kind, pauseMs, pick, keyed: false, abortMs: 0 }
}

function process(actions: readonly Action[], over: Partial<ProcessPlan> = {}): ProcessPlan {
  return { peeks: true, skewMs: 0, jumps: [], slowness: 0, fates: [], callers: [actions], ...over }
}

/** Seeds of worlds in which a mistake is looked for, and of those that are kept without it. */
const looked = 60
const { SHEAF_SEED } = globalThis.process.env
const kept = SHEAF_SEED === undefined ? 10 : 100

/** The error of the first world that breaks a promise. */
async function firstViolation(options: SimulationOptions): Promise<string> {
  for (let seed = 0; seed < looked; seed++) {
    const error = await simulate(seed, { tidy: true, ...options }).then(
      () => null,
      (error: unknown) => error,
    )
    if (error !== null) {
      expect(error).toBeInstanceOf(Violation)
      return (error as Error).message
    }
  }
  return 'none'
}

async function keepEveryPromise(options: SimulationOptions): Promise<void> {
  const first = kept * (Number(SHEAF_SEED ?? 1) - 1)
  for (let seed = first; seed < first + kept; seed++) await simulate(seed, { tidy: true, ...options })
}

describe('with repeated power failures', () => {
  const change = (plan: Plan): Plan => {
    return { ...plan, areBrief: false, powerFailsAt: Array.from({ length: 12 }, (_, i) => (i + 1) * 17) }
  }

  test('every guarantee holds', () => keepEveryPromise({ change }), 600_000)

  test('an answer before the name of its slot is durable is detected', async () => {
    class NeverSynced extends Disk {
      override async sync(): Promise<void> {}
    }
    const found = await firstViolation({
      change,
      tidy: false,
      makeDisk: clock => new NeverSynced(name, clock),
    })
    expect(found).toMatch(
      /not in the log|explains|is missing|does not follow|is gone|no longer exists|was trimmed/,
    )
  }, 600_000)
})

describe('with one clock that is days ahead', () => {
  const round = (pauseMs: number) => [action('insert', pauseMs, 7), action('maintenance')]
  const change = (plan: Plan): Plan => ({
    ...plan,
    ...tidied,
    hasTables: true,
    processes: [
      process([0, 5, 5000, 5, 20_000, 5, 0].flatMap(round)),
      process([0, 5, 5000, 5, 20_000, 5, 0].flatMap(round), { skewMs: 3 * dayMs }),
    ],
  })

  /** What nobody names goes by the age that the clock of this process shows. */
  const byAge: Janitor = async (store, clock, { ages }) => {
    // While somebody is on the way to a checkpoint.
    for (let left = 150 * clock.random(); left > 0; left--) await clock.yield()
    const note = await new Checkpoints(store, catalogMachine, clock).newestNote()
    const named = JSON.stringify(note?.extra ?? null)
    const before = clock.now() - Math.max(ages!.keepOrphansMs, 10_000)
    for await (const { key, modified } of store.list('_hist/')) {
      if (!named.includes(key.slice('_hist/'.length)) && modified < before) await store.delete(key)
    }
  }

  test('every guarantee holds', () => keepEveryPromise({ change }), 600_000)

  test('an age by its own clock that deletes is found', async () => {
    expect(await firstViolation({ change, janitor: byAge })).toMatch(
      /is missing|is gone|no longer exists|was trimmed|removed from the history/,
    )
  }, 600_000)
})

describe('with writers that are suspended while versions expire and files are swept', () => {
  const writer = (suspendedAt: number) =>
    process(
      [0, 5, 5, 5, 5, 5].map(pauseMs => action('insert', pauseMs)),
      { fates: [{ diesAt: 0, lastLands: false, suspendedAt, suspendedMs: 100_000 }] },
    )
  const round = (pauseMs: number) => [action('insert', pauseMs), action('maintenance')]
  const change = (plan: Plan): Plan => ({
    ...plan,
    faults: calm,
    accounts: 0,
    hasTables: true,
    hasIndexes: false,
    areBrief: false,
    hasTails: false,
    powerFailsAt: [],
    ages: now,
    processes: [
      // Some of them have written a file, and not yet the slot that names the file.
      ...[0, 1, 2].map(i => writer(1 + ((3 * plan.seed + i) % 90))),
      process([0, 15_000, 15_000, 15_000, 15_000].flatMap(round)),
    ],
  })

  test('every guarantee holds', () => keepEveryPromise({ change }), 600_000)

  test('files that enter the log below the GC watermark are detected', async () => {
    vi.spyOn(catalogMachine, 'check').mockImplementation(() => {})
    expect(await firstViolation({ change })).toMatch(/missing|not there/)
  }, 600_000)
})

describe('with a repeated request of a writer after the slot it lost was trimmed', () => {
  // Replaces the namespace, so that it commits each time.
  const busy = Array.from({ length: 6 }, () => [action('createNamespace', 2000, 14), action('maintenance')])
  const change = (plan: Plan): Plan => ({
    ...plan,
    ...tidied,
    hasTables: false,
    processes: [
      process([
        action('createNamespace'),
        action('declare', 100),
        ...busy.flat(),
        // With all that is in it.
        action('dropNamespace', 2000, 50),
      ]),
      process([action('createNamespace', 100, 1)]),
      // Somebody who may rest at that slot.
      process([action('look', 100), action('look', 200_000)]),
    ],
  })

  class Echoing extends Disk {
    readonly #clock: ProcessClock

    constructor(clock: ProcessClock) {
      super(name, clock)
      this.#clock = clock
    }

    override async putIfAbsent(key: string, bytes: Uint8Array): Promise<'won' | 'taken'> {
      const outcome = await super.putIfAbsent(key, bytes)
      if (outcome === 'taken' && this.head > 0 && key.startsWith('_log/')) {
        this.#clock.sleep(60_000).then(() => super.putIfAbsent(key, bytes))
      }
      return outcome
    }
  }

  class Nameless extends Echoing {
    override peek(key: string): BlobMark | null {
      return super.peek(key) && { ino: 0, mtimeMs: 0, size: 0 }
    }
  }

  test('every guarantee holds', async () => {
    await keepEveryPromise({ change, makeDisk: clock => new Echoing(clock) })
  }, 600_000)

  test('a check that compares names alone is detected', async () => {
    vi.spyOn(BlobLog.prototype, 'has').mockImplementation(async function (this: BlobLog, slot) {
      return (await this.read(slot)) !== null
    })
    const found = await firstViolation({ change, makeDisk: clock => new Nameless(clock) })
    expect(found).toMatch(/explains|is not in the log|does not follow|, not /)
  }, 600_000)
})

describe('in a bucket', () => {
  const busy = Array.from({ length: 6 }, () => [action('createNamespace', 2000, 14), action('maintenance')])
  const change = (plan: Plan): Plan => ({
    ...plan,
    isBucket: true,
    ...tidied,
    faults: { ...calm, late: 0.15, lostReply: 0.05 },
    hasTables: false,
    processes: [
      process([action('createNamespace'), action('declare', 100), ...busy.flat()]),
      process([action('createNamespace', 100, 1), action('createNamespace', 30_000, 14)]),
      process([action('look', 100), action('look', 200_000)]),
    ],
  })

  /** Deletes the names of trimmed slots. */
  class Forgetful extends Disk {
    override async replace(key: string, bytes: Uint8Array): Promise<void> {
      if (key.startsWith('_log/')) await this.delete(key)
      else await super.replace(key, bytes)
    }
  }

  test('every guarantee holds', () => keepEveryPromise({ change }), 600_000)

  test('deleted names of trimmed slots are found', async () => {
    const found = await firstViolation({ change, makeDisk: clock => new Forgetful(name, clock) })
    expect(found).toMatch(/explains|is not in the log|does not follow|is missing|is gone|, not /)
  }, 600_000)
})
