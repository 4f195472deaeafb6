/**
 * Any interleaving of processes that commit on one disk, die, pause, trim the log and lose power, drawn from a seed, against
 * what the log promises:
 *
 * - an acknowledged commit is in the log once, in the slot that its answer named; a commit of unknown outcome at most once;
 * - whatever a process has shown stays, in the same order;
 * - a refresh shows everything that was acknowledged before it began;
 * - each entry was decided on the state to which it is applied (the machine checks this).
 */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Committer } from '../../src/commit/committer.js'
import type { Fold } from '../../src/commit/machine.js'
import { Slots } from '../../src/commit/slots.js'
import { TailedLog } from '../../src/commit/tailed-log.js'
import { SheafError } from '../../src/errors.js'
import type { BlobInPlace, BlobMark } from '../../src/storage/blob-store.js'
import type { StoredBlob } from '../../src/storage/memory-store.js'
import { SeededClock } from '../support/clock.js'
import { PowerDisk, type PowerProcess } from '../support/power-disk.js'
import { ChainOnly } from './chain-only.js'
import { add, type Tally, tally } from './tally.js'

/** An event in the life of a process. It begins after a pause. */
interface Step {
  readonly kind: 'commit' | 'commits' | 'refresh' | 'die' | 'pause' | 'power' | 'trim'
  readonly pauseMs: number
}

interface World {
  readonly seed: number
  readonly processes: readonly (readonly Step[])[]
  readonly syncFails: number
}

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.oneof(
    { arbitrary: fc.constant('commits' as const), weight: 6 },
    { arbitrary: fc.constantFrom('commit' as const, 'refresh' as const), weight: 3 },
    {
      arbitrary: fc.constantFrom('die' as const, 'pause' as const, 'power' as const, 'trim' as const),
      weight: 2,
    },
  ),
  pauseMs: fc.constantFrom(0, 0, 0, 5, 200),
})

const worlds: fc.Arbitrary<World> = fc.record({
  seed: fc.nat(),
  processes: fc.array(fc.array(step, { minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 3 }),
  syncFails: fc.constantFrom(0, 0, 0.2),
})

interface Call {
  readonly note: string
  outcome: 'committed' | 'not committed' | 'unknown'
  slot: number
}

class History {
  readonly clock: SeededClock
  readonly disk: PowerDisk
  readonly calls: Call[] = []
  /** The longest list of notes that any process has shown. */
  shown: readonly string[] = []
  newest: Fold<Tally> | undefined
  /** The checksums of the trimmed slots. */
  readonly chain = new Map<number, number>()
  tails = 0

  constructor({ seed }: World, Disk: typeof PowerDisk) {
    this.clock = new SeededClock(seed)
    this.disk = new Disk(this.clock)
  }

  async open(): Promise<Opened> {
    const view = this.disk.open()
    const log = new TailedLog(view, { clock: this.clock, readOnly: false })
    const trimmed = { packs: new ChainOnly(view, this.chain), lookAgain: async () => {} }
    const committer = await Committer.open(log, tally, {
      clock: this.clock,
      create: true,
      readOnly: false,
      unknownAfterMs: 3000,
      slots: new Slots(log, tally.features, undefined, trimmed),
      base: this.newest,
      newer: async after => (this.newest !== undefined && this.newest.slot > after ? this.newest : null),
    })
    return { view, log, committer }
  }

  show(notes: readonly string[]): void {
    const length = Math.min(notes.length, this.shown.length)
    expect(notes.slice(0, length)).toEqual(this.shown.slice(0, length))
    if (notes.length > this.shown.length) this.shown = notes
  }

  async commit({ committer }: Opened, note: string): Promise<void> {
    const call: Call = { note, outcome: 'unknown', slot: -1 }
    this.calls.push(call)
    try {
      const { at, state } = await committer.commit(add(1, note))
      call.outcome = 'committed'
      call.slot = at.slot
      this.show(state.notes)
    } catch (error) {
      if (!(error instanceof SheafError)) throw error
      if (error.kind !== 'commit-state-unknown') call.outcome = 'not committed'
    }
  }

  async refresh({ committer }: Opened): Promise<void> {
    const before = this.calls.filter(({ outcome }) => outcome === 'committed').map(({ note }) => note)
    const { notes } = await committer.refresh()
    expect(notes).toEqual(expect.arrayContaining(before))
    this.show(notes)
  }

  async trim({ committer, log }: Opened): Promise<void> {
    await committer.refresh()
    const { fold } = committer
    if (fold.slot < 2 || fold.slot <= (this.newest?.slot ?? 0)) return
    for (let slot = this.chain.size + 1; slot < fold.slot; slot++) {
      this.chain.set(slot, (await committer.slots.get(slot)).crc)
    }
    this.newest = fold
    await log.trim(fold.slot - 1)
  }
}

interface Opened {
  readonly view: PowerProcess
  readonly log: TailedLog
  readonly committer: Committer<Tally>
}

/** Resolves to undefined when the process of `opened` has died before `work` ended. */
async function whileAlive<T>(clock: SeededClock, { view }: Opened, work: Promise<T>): Promise<T | undefined> {
  let isDone = false
  const done = work.finally(() => {
    isDone = true
  })
  const watch = async () => {
    while (!isDone && view.isAlive) await clock.sleep(50)
    return undefined
  }
  return Promise.race([done, watch()])
}

async function live(history: History, name: string, steps: readonly Step[]): Promise<void> {
  const { clock, disk } = history
  let opened: Opened | null = null
  for (const [i, { kind, pauseMs }] of steps.entries()) {
    if (pauseMs > 0) await clock.sleep(pauseMs)
    while (opened === null || !opened.view.isAlive) {
      const opening = history.open()
      const power = disk.boot
      const failed = async () => {
        while (disk.boot === power) await clock.sleep(50)
        return null
      }
      opened = await Promise.race([opening, failed()])
    }
    const now: Opened = opened
    const during = <T>(work: Promise<T>) => whileAlive(clock, now, work)
    if (kind === 'commit') await during(history.commit(now, `${name}.${i}`))
    else if (kind === 'commits') {
      for (let k = 0; k < 6; k++) await during(history.commit(now, `${name}.${i}.${k}`))
    } else if (kind === 'refresh') await during(history.refresh(now))
    else if (kind === 'trim') await during(history.trim(now))
    else if (kind === 'pause') now.view.pause(400)
    else {
      const committing = history.commit(now, `${name}.${i}`)
      committing.catch(() => {})
      for (let yields = Math.floor(20 * clock.random()); yields > 0; yields--) await clock.yield()
      if (kind === 'die') now.view.kill()
      else disk.fail()
      await during(committing)
    }
  }
}

/** `Disk`: the kind of disk. */
async function run(world: World, Disk = PowerDisk): Promise<History> {
  const history = new History(world, Disk)
  try {
    await runOn(history, world)
    return history
  } finally {
    history.clock.stop()
  }
}

async function runOn(history: History, world: World): Promise<void> {
  const { clock, disk, calls } = history
  await history.open()
  disk.syncFails = world.syncFails
  await Promise.all(world.processes.map((steps, i) => live(history, 'ABC'[i]!, steps)))
  await clock.sleep(5000)
  disk.syncFails = 0

  const { committer, log } = await history.open()
  const { notes } = committer.state
  expect(notes.slice(0, history.shown.length)).toEqual(history.shown)
  expect(new Set(notes).size).toBe(notes.length)
  for (const { note, outcome, slot } of calls) {
    if (outcome === 'not committed') expect(notes).not.toContain(note)
    if (outcome !== 'committed') continue
    expect(notes).toContain(note)
    if (slot > history.chain.size) {
      const { entries } = (await committer.slots.get(slot)).header
      expect(entries.map(({ ops }) => (ops[0] as { note: string }).note)).toContain(note)
    }
  }
  for await (const { key } of disk.list('_log/')) if (key.endsWith('.tail')) history.tails++
  // The log can be written on.
  const next = await committer.commit(add(1, 'end'))
  expect(next.state.notes).toEqual([...notes, 'end'])
  expect(await log.last()).toBe(next.at.slot)
}

const isLong = process.env.SHEAF_SEED !== undefined
const runs = isLong ? 500 : 60
test('any history of tails keeps every guarantee', { timeout: 600_000 }, async () => {
  let tails = 0
  const counted = async (world: World) => {
    const history = await run(world)
    tails += history.tails
  }
  await fc.assert(fc.asyncProperty(worlds, counted), { numRuns: runs })
  expect(tails).toBeGreaterThan(runs / 4)
})

describe.runIf(isLong)('a disk with a mistake is found out:', () => {
  /** Nothing that was written in place is durable when its sync is answered. */
  class NoSync extends PowerDisk {
    override inPlace(key: string, owner: PowerProcess): BlobInPlace | null {
      const blob = super.inPlace(key, owner)
      return blob && { ...blob, sync: () => owner.moment() }
    }
  }

  /** The owner does not see the seal. */
  class HiddenSeal extends PowerDisk {
    override peek(key: string): BlobMark | null {
      return key.endsWith('.seal') ? null : super.peek(key)
    }
  }

  /** The tail is read before there is a seal. */
  class LateSeal extends PowerDisk {
    override async putIfAbsent(key: string, bytes: Uint8Array): Promise<'won' | 'taken'> {
      return key.endsWith('.seal') ? 'won' : super.putIfAbsent(key, bytes)
    }
  }

  /** The name of a tail is lost with the power. */
  class LostName extends PowerDisk {
    override noteName(key: string, before: StoredBlob | null): void {
      super.noteName(key, before)
      if (key.endsWith('.tail') && before === null) this.forget(key)
    }
  }

  test.each([
    ['bytes in place are not synced', NoSync],
    ['the owner cannot see the seal', HiddenSeal],
    ['there is no seal', LateSeal],
    ['the name of a tail is not durable', LostName],
  ])('%s', { timeout: 600_000 }, async (_, Broken) => {
    const found = await fc.check(
      fc.asyncProperty(worlds, async world => {
        await run(world, Broken)
      }),
      { numRuns: 3000, endOnFailure: true },
    )
    expect(found.failed).toBe(true)
  })
})
