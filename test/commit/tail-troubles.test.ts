/**
 * Histories of tails (see tail-histories.test.ts) in which calls of the store are refused before they have an effect, some
 * processes cannot fill a blob in place, readers that may not write live on, and calls are aborted.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Committer } from '../../src/commit/committer.js'
import type { Fold } from '../../src/commit/machine.js'
import { Slots } from '../../src/commit/slots.js'
import { TailedLog } from '../../src/commit/tailed-log.js'
import { ErrorCode, SheafError } from '../../src/errors.js'
import type { BlobInPlace } from '../../src/storage/blob-store.js'
import type { Processes } from '../../src/storage/processes.js'
import { SeededClock } from '../support/clock.js'
import { PowerDisk, type PowerProcess } from '../support/power-disk.js'
import { WrappedStore } from '../support/stores.js'
import { ChainOnly } from './chain-only.js'
import { add, type Tally, tally } from './tally.js'

type Kind = 'writer' | 'plain writer' | 'reader' | 'plain reader'

interface Step {
  readonly kind: 'commits' | 'refresh' | 'refreshes' | 'abort' | 'open' | 'power' | 'trim' | 'die'
  readonly pauseMs: number
}

interface World {
  readonly seed: number
  readonly processes: readonly { readonly kind: Kind; readonly steps: readonly Step[] }[]
  /** How often a call is refused, 0 to 1. */
  readonly refusals: number
  readonly syncFails: number
}

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.oneof(
    { arbitrary: fc.constant('commits' as const), weight: 6 },
    { arbitrary: fc.constantFrom('refresh' as const, 'refreshes' as const, 'abort' as const), weight: 4 },
    {
      arbitrary: fc.constantFrom('open' as const, 'power' as const, 'trim' as const, 'die' as const),
      weight: 3,
    },
  ),
  pauseMs: fc.constantFrom(0, 0, 5, 100),
})

const worlds: fc.Arbitrary<World> = fc.record({
  seed: fc.nat(),
  processes: fc
    .array(
      fc.record({
        kind: fc.constantFrom<Kind[]>('writer', 'writer', 'plain writer', 'reader', 'plain reader'),
        steps: fc.array(step, { minLength: 1, maxLength: 8 }),
      }),
      { minLength: 1, maxLength: 3 },
    )
    .map(others => [
      { kind: 'writer' as const, steps: [{ kind: 'commits' as const, pauseMs: 0 }] },
      ...others,
    ]),
  refusals: fc.constantFrom(0, 0.01, 0.05),
  syncFails: fc.constantFrom(0, 0.1),
})

/** A disk that refuses some calls. `isPlain`: blobs cannot be filled in place. */
class TroubledStore extends WrappedStore {
  readonly openInPlace?: (key: string) => BlobInPlace | null
  readonly processes: Processes
  readonly #world: Troubled

  constructor(inner: PowerProcess, world: Troubled, isPlain: boolean) {
    super(inner)
    this.#world = world
    this.processes = inner.processes
    this.sync = async prefix => this.around('sync', false, () => inner.sync(prefix))
    if (!isPlain) this.openInPlace = key => inner.openInPlace(key)
  }

  protected async around<T>(call: string, _conditional: boolean, run: () => Promise<T>): Promise<T> {
    if (this.#world.clock.random() < this.#world.refusals) {
      throw new SheafError(ErrorCode.ServiceUnavailable, `ENOSPC: ${call}`)
    }
    return run()
  }
}

interface Troubled {
  readonly clock: SeededClock
  readonly refusals: number
}

interface Opened {
  readonly view: PowerProcess
  readonly log: TailedLog
  readonly committer: Committer<Tally>
}

class History implements Troubled {
  readonly clock: SeededClock
  readonly disk: PowerDisk
  refusals = 0
  readonly committed: string[] = []
  readonly refused: string[] = []
  shown: readonly string[] = []
  newest: Fold<Tally> | undefined
  readonly chain = new Map<number, number>()

  constructor(seed: number) {
    this.clock = new SeededClock(seed)
    this.disk = new PowerDisk(this.clock)
  }

  async open(kind: Kind): Promise<Opened> {
    const view = this.disk.open()
    const { clock } = this
    const readOnly = kind.endsWith('reader')
    const store = new TroubledStore(view, this, kind.startsWith('plain'))
    const log = new TailedLog(store, { clock, readOnly })
    const trimmed = { packs: new ChainOnly(view, this.chain), lookAgain: async () => {} }
    const committer = await Committer.open(log, tally, {
      clock,
      create: true,
      readOnly,
      unknownAfterMs: 2000,
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
    try {
      const { state } = await committer.commit(add(1, note))
      this.committed.push(note)
      this.show(state.notes)
    } catch (error) {
      allow(error)
      if ((error as SheafError).kind !== 'commit-state-unknown') this.refused.push(note)
    }
  }

  async refresh({ committer }: Opened, signal?: AbortSignal): Promise<void> {
    const before = [...this.committed]
    try {
      const { notes } = await committer.refresh(signal)
      expect(notes).toEqual(expect.arrayContaining(before))
      this.show(notes)
    } catch (error) {
      if (signal?.aborted !== true) allow(error)
    }
  }

  async trim(opened: Opened): Promise<void> {
    await this.refresh(opened)
    const { fold } = opened.committer
    if (fold.slot < 2 || fold.slot <= (this.newest?.slot ?? 0)) return
    const crcs: number[] = []
    for (let slot = this.chain.size + 1; slot < fold.slot; slot++)
      crcs.push((await opened.committer.slots.get(slot)).crc)
    if (fold.slot <= (this.newest?.slot ?? 0)) return
    for (const crc of crcs.slice(crcs.length - (fold.slot - 1 - this.chain.size)))
      this.chain.set(this.chain.size + 1, crc)
    this.newest = fold
    await opened.log.trim(fold.slot - 1)
  }
}

/** A call may fail because the store refused it, never because of damage. */
function allow(error: unknown): void {
  if (!(error instanceof SheafError) || error.code !== ErrorCode.ServiceUnavailable) throw error
}

async function whileAlive<T>({ clock }: History, { view }: Opened, work: Promise<T>): Promise<void> {
  let isDone = false
  const done = work.finally(() => {
    isDone = true
  })
  const watch = async () => {
    while (!isDone && view.isAlive) await clock.sleep(50)
  }
  await Promise.race([done, watch()])
}

async function reopened(history: History, kind: Kind): Promise<Opened | null> {
  const { clock, disk } = history
  const power = disk.boot
  const opening = history.open(kind).catch(error => {
    allow(error)
    return null
  })
  const failed = async () => {
    while (disk.boot === power) await clock.sleep(50)
    return null
  }
  return Promise.race([opening, failed()])
}

async function take(history: History, opened: Opened, kind: Step['kind'], name: string): Promise<void> {
  const isReader = name.includes('reader')
  if (kind === 'trim' && !isReader) return history.trim(opened).catch(allow)
  if (kind === 'abort') {
    const controller = new AbortController()
    const reading = history.refresh(opened, controller.signal)
    for (let yields = Math.floor(6 * history.clock.random()); yields > 0; yields--)
      await history.clock.yield()
    controller.abort()
    await reading
    return
  }
  if (kind === 'commits' && !isReader) {
    for (let k = 0; k < 6; k++) {
      const reading = history.refresh(opened)
      await history.commit(opened, `${name}.${k}`)
      await reading
    }
    return
  }
  await Promise.all([history.refresh(opened), history.refresh(opened), history.refresh(opened)])
}

async function live(
  history: History,
  name: string,
  { kind, steps }: World['processes'][number],
): Promise<void> {
  const { clock, disk } = history
  let opened: Opened | null = null
  for (const [i, step] of steps.entries()) {
    if (step.pauseMs > 0) await clock.sleep(step.pauseMs)
    if (step.kind === 'open') opened = null
    for (let tries = 0; (opened === null || !opened.view.isAlive) && tries < 50; tries++)
      opened = await reopened(history, kind)
    if (opened === null) return
    if (step.kind === 'power') disk.fail()
    else if (step.kind === 'die') opened.view.kill()
    else await whileAlive(history, opened, take(history, opened, step.kind, `${name}.${kind}.${i}`))
  }
}

async function run({ seed, processes, refusals, syncFails }: World): Promise<void> {
  const history = new History(seed)
  const { clock, disk } = history
  try {
    await history.open('writer')
    disk.syncFails = syncFails
    history.refusals = refusals
    await Promise.all(processes.map((each, i) => live(history, 'ABCD'[i]!, each)))
    await clock.sleep(4000)
    disk.syncFails = 0
    history.refusals = 0
    const { committer } = await history.open('writer')
    const { notes } = committer.state
    expect(notes.slice(0, history.shown.length)).toEqual(history.shown)
    expect(new Set(notes).size).toBe(notes.length)
    for (const note of history.committed) expect(notes).toContain(note)
    for (const note of history.refused) expect(notes).not.toContain(note)
    for (const kind of ['plain writer', 'reader', 'plain reader'] as const)
      expect((await history.open(kind)).committer.state.notes).toEqual(notes)
    const next = await committer.commit(add(1, 'end'))
    expect(next.state.notes).toEqual([...notes, 'end'])
  } finally {
    clock.stop()
  }
}

const runs = process.env.SHEAF_SEED === undefined ? 15 : 300
test('any history of tails with refused calls keeps every guarantee', { timeout: 500_000 }, async () => {
  await fc.assert(fc.asyncProperty(worlds, run), { numRuns: runs })
})
