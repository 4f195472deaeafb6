/**
 * A simulated world: a disk that loses nothing, processes that open the root on it over a bad network, die, are suspended
 * and come back, callers that want things of them. One seed draws it all; what happened is a `History`, for the audit.
 */

import { decodeMark, decodeTailEnd, tailKey } from '../../src/commit/tail.js'
import { connect, type Namespace, SheafError } from '../../src/index.js'
import type { BlobInPlace, BlobStore } from '../../src/storage/blob-store.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { MemoryInPlace } from '../support/in-place-store.js'
import { act } from './actions.js'
import { type Answer, finalKey, lastName, type Op, send } from './calls.js'
import { type Action, type Plan, type ProcessPlan, tableNames } from './draw.js'
import { dead, isInjected, SimulatedProcess, type Tell } from './process.js'
import { ProcessClock, SimulatedTime } from './time.js'

/** A promise of the engine was broken. */
export class Violation extends Error {
  override readonly name = 'Violation'
}

export type Outcome =
  | { readonly kind: 'done'; readonly answer: Answer; readonly transaction: string | undefined }
  | { readonly kind: 'refused'; readonly code: number; readonly message: string }
  /** Given up by its caller, or failed by the network: nothing was committed. */
  | { readonly kind: 'aborted' | 'failed'; readonly message: string }
  /** It may have been committed, or be still. */
  | { readonly kind: 'unknown' }

export interface Call {
  readonly number: number
  readonly process: string
  readonly op: Op
  readonly key: string | undefined
  /** The newest slot when it began. */
  readonly floor: number
  /** The newest slot when it was answered. */
  ceiling: number
  /** How many calls had begun when it was answered. */
  endedBefore: number
  outcome: Outcome
}

/** Bytes that are there for good, and which slot was written last. Remembers the log, whatever is trimmed from it. */
export class Disk extends MemoryStore {
  head = 0
  /** Every slot as it was first written. */
  readonly log = new Map<number, Uint8Array>()
  /** Whether the power may fail. */
  losesNames = false
  /** Told that it did. */
  onPowerFailure: () => void = () => {}
  /** Slots whose names are not on disk yet. */
  readonly #names = new Set<string>()
  /** By base: what was written to a tail and is not on disk yet. */
  readonly #dirty = new Map<number, { readonly offset: number; readonly bytes: Uint8Array }[]>()
  /** Slots in tails that no mark has covered. */
  readonly #unmarked = new Map<number, Uint8Array>()
  #boots = 1
  #calls = 0
  #failsAt: readonly number[] = []

  /** Of what was acknowledged nothing is lost. */
  processDied(): void {}

  /** From here on the power fails at these calls. */
  failAt(calls: readonly number[]): void {
    this.#calls = 0
    this.#failsAt = calls
  }

  /** Counts a call; true where it never comes to be. */
  failsNow(): boolean {
    if (!this.#failsAt.includes(++this.#calls)) return false
    for (const key of this.#names) {
      this.delete(key)
      this.log.delete(slotOf(key))
    }
    this.#loseDirty()
    this.#boots++
    this.#names.clear()
    this.head = Math.max(...this.log.keys())
    this.onPowerFailure()
    return true
  }

  get boot(): string {
    return `boot ${this.#boots}`
  }

  /**
   * Undo some of the writes in place since the last sync. Remove the slots from the log that were named only by an end
   * whose name was lost.
   */
  #loseDirty(): void {
    for (const [base, writes] of this.#dirty) {
      const bytes = this.blobs.get(tailKey(base))?.bytes
      for (const { offset, bytes: before } of writes.reverse()) {
        if ((this.#boots + offset / 8) % 3 < 2) bytes?.set(before, offset)
      }
    }
    this.#dirty.clear()
    for (const [slot, bytes] of this.#unmarked) if (this.log.get(slot) === bytes) this.log.delete(slot)
    for (const key of this.blobs.keys()) if (key.endsWith('.end')) this.#noteEnd(key)
  }

  /** The slots of a tail that has ended are in the log. */
  #noteEnd(key: string): void {
    const base = Number(key.slice('_log/'.length, -'.end'.length))
    const end = decodeTailEnd(this.blobs.get(key)!.bytes, base)
    for (let i = 0; i < end.records; i++) {
      const slot = base + 1 + i
      if (!this.log.has(slot))
        this.log.set(slot, this.#unmarked.get(slot) ?? end.copies[i - end.records + end.copies.length]!)
    }
    this.head = Math.max(this.head, base + end.records)
  }

  /** Open a tail, and watch the slots in it. */
  inPlace(key: string): BlobInPlace | null {
    const blob = this.blobs.get(key)
    if (blob === undefined) return null
    const base = Number(key.slice('_log/'.length, -'.tail'.length))
    const inPlace = new MemoryInPlace(blob.bytes, blob.number)
    return {
      size: inPlace.size,
      ino: inPlace.ino,
      read: (offset, target) => inPlace.read(offset, target),
      write: (offset, bytes) => {
        const before = blob.bytes.slice(offset, offset + bytes.length)
        this.#dirty.set(base, [...(this.#dirty.get(base) ?? []), { offset, bytes: before }])
        inPlace.write(offset, bytes)
        if (offset === 0) this.#noteMark(base, decodeMark(bytes)!)
        else this.#noteRecord(bytes)
      },
      sync: async () => {
        this.#dirty.delete(base)
      },
      close: () => inPlace.close(),
    }
  }

  #noteRecord(bytes: Uint8Array): void {
    const slot = bytes.slice(8, 8 + new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true))
    const { slot: number } = JSON.parse(Buffer.from(slot).toString('latin1').split('\n', 1)[0]!) as {
      slot: number
    }
    this.#unmarked.set(number, slot)
  }

  #noteMark(base: number, records: number): void {
    for (let slot = base + records; this.#unmarked.has(slot); slot--) {
      if (!this.log.has(slot)) this.log.set(slot, this.#unmarked.get(slot)!)
      this.#unmarked.delete(slot)
    }
    this.head = Math.max(this.head, base + records)
  }

  noteName(key: string): void {
    if (this.losesNames) this.#names.add(key)
  }

  async sync(prefix: string): Promise<void> {
    this.keepNames(prefix)
  }

  /** The names right below `prefix` are on disk now. */
  keepNames(prefix: string): void {
    for (const key of this.#names) if (key.startsWith(prefix)) this.#names.delete(key)
  }

  /** As buckets do. */
  async replace(key: string, bytes: Uint8Array): Promise<void> {
    this.blobs.delete(key)
    await super.putIfAbsent(key, bytes)
  }

  override async putIfAbsent(key: string, bytes: Uint8Array, signal?: AbortSignal): Promise<'won' | 'taken'> {
    const slot = key.startsWith('_log/') && !this.peek(key) ? slotOf(key) : -1
    if (slot >= 0 && !this.log.has(slot)) {
      this.log.set(slot, new Uint8Array(bytes))
      this.head = slot
    }
    const outcome = await super.putIfAbsent(key, bytes, signal)
    if (outcome === 'won' && key.endsWith('.end')) this.#noteEnd(key)
    return outcome
  }
}

/** The slot of a file; -1 for any other file of the log. */
function slotOf(key: string): number {
  const name = key.slice('_log/'.length)
  return /^\d{20}$/.test(name) ? Number(name) : -1
}

/** A mistake that processes of a world make beside their maintenance. */
export type Janitor = (store: BlobStore, clock: ProcessClock, plan: Plan) => Promise<void>

/** A manifest that a Lance engine put under its final name without asking. */
export interface Beside {
  readonly uuid: string
  readonly version: number
  /** What tells it from others. */
  readonly content: string
  /** How many calls had begun by then. */
  readonly after: number
}

export interface History {
  readonly plan: Plan
  readonly disk: Disk
  readonly calls: readonly Call[]
  /** Who asked for a transaction, by its id in the log. */
  readonly callOf: ReadonlyMap<string, Call>
  readonly besides: readonly Beside[]
  readonly hosts: readonly Host[]
  readonly time: SimulatedTime
  readonly tell: Tell
}

export const bank = 'bank'
export const startBalance = 100
/** Longer than anything is late or waits. */
const restMs = 1_000_000

export function accountsOf(plan: Plan): readonly (readonly string[])[] {
  return Array.from({ length: plan.accounts }, (_, i) => [bank, `account-${i}`])
}

export class World {
  readonly plan: Plan
  readonly time: SimulatedTime
  readonly disk: Disk
  readonly tell: Tell
  readonly calls: Call[] = []
  readonly callOf = new Map<string, Call>()
  readonly besides: Beside[] = []
  readonly #callers: ProcessClock
  readonly #janitor: Janitor | undefined

  constructor(
    plan: Plan,
    tell: ((line: string) => void) | undefined,
    makeDisk: (clock: ProcessClock) => Disk,
    janitor?: Janitor,
  ) {
    this.#janitor = janitor
    this.plan = plan
    this.time = new SimulatedTime(plan.seed)
    this.#callers = new ProcessClock(this.time)
    this.disk = makeDisk(new ProcessClock(this.time))
    this.disk.losesNames = plan.powerFailsAt.length > 0
    this.tell =
      tell &&
      ((process, text) =>
        tell(`${this.time.elapsed.toFixed(0).padStart(8)} ms  ${process.padEnd(8)} ${text}`))
  }

  /** A UUID for what callers make up. */
  uuid(): string {
    return this.#callers.uuid()
  }

  /** A Lance engine has written a version. */
  noteBeside(written: Omit<Beside, 'after'>): void {
    this.besides.push({ ...written, after: this.calls.length })
    this.tell?.('engine', `writes version ${written.version} of ${written.uuid} itself: ${written.content}`)
  }

  /** From an empty disk to the moment when nothing is under way any more. */
  async run(): Promise<History> {
    const hosts = this.plan.processes.map((plan, i) => new Host(this, 'ABCD'[i]!, plan))
    const founder = new Host(this, 'founder', {
      peeks: true,
      skewMs: 0,
      jumps: [],
      slowness: 0,
      fates: [],
      callers: [],
    })
    await this.#found(founder)
    this.disk.onPowerFailure = () => {
      for (const host of [...hosts, founder]) host.kill()
    }
    this.disk.failAt(this.plan.powerFailsAt)
    const callers = hosts.flatMap(host =>
      host.plan.callers.map((actions, caller) => this.#live(host, caller, actions)),
    )
    await Promise.all(callers)
    this.disk.failAt([])
    for (const host of hosts) await host.atPeace()
    await this.time.sleep(restMs)
    // By then the files of dropped tables may go; whoever commits next sees to it.
    await founder.call({ kind: 'createNamespace', id: ['end'], mode: 'Create' })
    await this.time.sleep(restMs)
    // What engines wrote last is recorded when somebody asks.
    for (const id of tableNames) await founder.call({ kind: 'describe', id })
    if (this.plan.ages !== null) await founder.tidy()
    const { plan, disk, calls, callOf, besides, time, tell } = this
    return { plan, disk, calls, callOf, besides, hosts: [...hosts, founder], time, tell }
  }

  /** A process tidies up. */
  async tidied({ store, clock }: SimulatedProcess): Promise<void> {
    await this.#janitor?.(store, clock, this.plan)
  }

  async #found(founder: Host): Promise<void> {
    if (this.plan.hasTables) {
      await founder.call({ kind: 'createNamespace', id: ['a'], mode: 'Create' })
      const rows = Array.from({ length: 12 }, (_, id) => ({ id, who: `founder ${id}` }))
      for (const id of tableNames) await founder.call({ kind: 'createTable', id, mode: 'Create', rows })
    }
    const accounts = accountsOf(this.plan)
    if (accounts.length === 0) return
    await founder.call({ kind: 'createNamespace', id: [bank], mode: 'Create' })
    const parts = accounts.flatMap(id => [
      { kind: 'declare' as const, id },
      { kind: 'createVersion' as const, id, version: 1, balance: startBalance },
    ])
    await founder.call({ kind: 'batchCommit', parts })
  }

  async #live(host: Host, caller: number, actions: readonly Action[]): Promise<void> {
    for (const [i, action] of actions.entries()) {
      await this.time.sleep(action.pauseMs)
      await act(this, host, `${host.name}${caller}${i}`, action)
    }
  }
}

export interface CallChoices {
  readonly key?: string | undefined
  readonly abortMs?: number
}

/** A machine on which a process runs, and another one after its death. */
export class Host {
  readonly name: string
  readonly plan: ProcessPlan
  readonly #world: World
  #lives = 0
  #process!: SimulatedProcess
  /** The root as the living process has it open. */
  #opened: Promise<Namespace>
  /** Which call the running code belongs to, for as long as it is sure. */
  #current: Call | null = null
  /** What is under way with the root as it is open. */
  #busy = 0
  #isClosing = false

  constructor(world: World, name: string, plan: ProcessPlan) {
    this.name = name
    this.plan = plan
    this.#world = world
    this.#opened = watched(this.#open())
  }

  /** Takes all faults away and opens what has died. */
  async atPeace(): Promise<Namespace> {
    const opened = await this.#openRoot()
    const { store } = this.#process
    store.faults = null
    store.fate = null
    return opened
  }

  /** The root as it is now, held still; null when the network or death came between. */
  async snapshot(): Promise<Namespace | null> {
    return this.#during(ns => this.race(ns.snapshot()))
  }

  /** Does all the maintenance there is to do, as far as the network lets it. */
  async tidy(): Promise<void> {
    await this.#during(async ns => {
      this.#process.tell(() => 'tidies up')
      await this.race(Promise.all([ns.optimize(), this.#world.tidied(this.#process)]))
    })
  }

  /** Has an index built, if there is a table that can have it. */
  async buildIndex(id: readonly string[], column: string): Promise<void> {
    await this.#during(async ns => {
      this.#process.tell(() => `builds an index over ${column} of ${id.join()}`)
      const index = { id, column, index_type: 'BTREE' } as const
      const built = ns.operations.createTableIndex(index).catch(error => {
        if (!(error instanceof SheafError)) throw error
      })
      await this.race(built)
    })
  }

  /** As the power does. */
  kill(): void {
    this.#process.die()
  }

  /**
   * The root as the living process has it open. While a caller waits for one, another caller may close it. `then` runs
   * before anything else can happen to the root.
   */
  async #openRoot(then: () => void = () => {}): Promise<Namespace> {
    for (;;) {
      const opened = this.#opened
      const ns = await opened
      if (opened !== this.#opened) continue
      then()
      return ns
    }
  }

  /** Does something with the root; a process that is brief closes it then, and another one opens it. */
  async #during<T>(work: (ns: Namespace) => Promise<T>): Promise<T> {
    const ns = await this.#openRoot(() => this.#busy++)
    try {
      return await work(ns)
    } finally {
      if (--this.#busy === 0 && this.#world.plan.areBrief) this.#close(ns)
    }
  }

  #close(ns: Namespace): void {
    const process = this.#process
    if (!process.alive) return
    process.tell(() => 'closes the root')
    this.#isClosing = true
    const closing = Promise.race([ns.close(), process.death])
    const next = async () => {
      const outcome = await closing.catch(error => {
        if (!isInjected(error)) throw error
      })
      this.#isClosing = false
      return outcome === dead ? this.#reopen() : this.#open()
    }
    this.#opened = watched(next())
  }

  /** What a call that changes nothing gives; null when the network or death came between. */
  async race<T>(reading: Promise<T>): Promise<T | null> {
    try {
      const read = await Promise.race([reading, this.#process.death])
      return read === dead ? null : read
    } catch (error) {
      if (isInjected(error)) return null
      throw new Violation(`a reading failed: ${textOfError(error)}`, { cause: error })
    }
  }

  /** Sends `op` from the living process and waits for its outcome. */
  async call(op: Op, choices: CallChoices = {}): Promise<Call> {
    return this.#during(ns => this.#call(ns, op, choices))
  }

  async #call(ns: Namespace, op: Op, { key, abortMs = 0 }: CallChoices): Promise<Call> {
    const world = this.#world
    const process = this.#process
    const call: Call = {
      number: world.calls.length,
      process: process.name,
      op,
      key,
      floor: world.disk.head,
      ceiling: Number.POSITIVE_INFINITY,
      endedBefore: Number.POSITIVE_INFINITY,
      outcome: { kind: 'unknown' },
    }
    world.calls.push(call)
    process.tell(() => `call ${call.number}: ${JSON.stringify(op)}${key === undefined ? '' : ` key ${key}`}`)
    const controller = new AbortController()
    const givenUp = new Error('given up')
    if (abortMs > 0) world.time.sleep(abortMs).then(() => controller.abort(givenUp))
    const options = { signal: this.#attributing(controller.signal, call), idempotencyKey: key }
    try {
      const sent = await Promise.race([send(ns, op, options), process.death])
      if (sent !== dead) call.outcome = { kind: 'done', answer: sent.answer, transaction: sent.transaction }
    } catch (error) {
      call.outcome = outcomeOf(error, givenUp)
    }
    if (call.outcome.kind !== 'unknown') {
      call.ceiling = world.disk.head
      call.endedBefore = world.calls.length
    }
    process.tell(() => `call ${call.number}: ${describeOutcome(call.outcome)}`)
    this.#checkManifest(call)
    return call
  }

  /** A manifest that an answer names is there to be opened. */
  #checkManifest({ op, outcome, number }: Call): void {
    if (op.kind !== 'commitManifest' || outcome.kind !== 'done') return
    const final = finalKey(op.uuid, op.version)
    if (outcome.answer.path !== lastName(final) || this.#world.disk.peek(final)) return
    throw new Violation(`call ${number} was answered with ${final}, which is not there`)
  }

  /**
   * A committer looks at a call's signal and then, without a pause, takes a transaction id from the clock: that is how
   * the world learns whose transaction it is.
   */
  #attributing(signal: AbortSignal, call: Call): AbortSignal {
    signal.throwIfAborted = () => {
      this.#current = call
      queueMicrotask(() => {
        this.#current = null
      })
      if (signal.aborted) throw signal.reason
    }
    return signal
  }

  async #open(): Promise<Namespace> {
    const world = this.#world
    for (;;) {
      const life = this.#lives++
      const process = new SimulatedProcess(
        `${this.name}${life === 0 ? '' : life + 1}`,
        world.time,
        world.disk,
        {
          ...this.plan,
          hasTails: world.plan.hasTails,
          isBucket: world.plan.isBucket,
          fate: this.plan.fates[life] ?? null,
          faults: this.name === 'founder' ? null : world.plan.faults,
          tell: world.tell,
        },
      )
      process.clock.onUuid = uuid => {
        if (this.#current !== null) world.callOf.set(uuid, this.#current)
      }
      this.#process = process
      const opened = await Promise.race([this.#connect(process), process.death])
      if (opened !== dead) {
        process.tell(() => 'has opened the root')
        process.death.then(() => {
          world.disk.processDied()
          // One that is being closed is followed by another anyway.
          if (this.#process === process && !this.#isClosing) this.#opened = watched(this.#reopen())
        })
        return opened
      }
      await world.time.sleep(3000 * world.time.random())
    }
  }

  async #reopen(): Promise<Namespace> {
    await this.#world.time.sleep(3000 * this.#world.time.random())
    return this.#open()
  }

  async #connect(process: SimulatedProcess): Promise<Namespace> {
    const { store, clock } = process
    for (let tries = 1; ; tries++) {
      try {
        return await connect('memory://', {
          store,
          clock,
          cacheBytes: 1 << 20,
          ...(this.#world.plan.ages !== null && { maintenance: this.#world.plan.ages }),
          onMaintenance: event => process.tell(() => `maintenance: ${JSON.stringify(event)}`),
          onWarning: (message, cause) => process.tell(() => `${message}: ${textOfError(cause)}`),
        })
      } catch (error) {
        if (!isInjected(error))
          throw new Violation(`${process.name} cannot open the root: ${textOfError(error)}`)
        process.tell(() => `cannot open the root: ${textOfError(error)}`)
      }
      await clock.sleep(1000)
      if (tries === 5) store.faults = null
    }
  }
}

/** Whoever needs it will await it; until then a failure is no unhandled one. */
function watched<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {})
  return promise
}

function outcomeOf(error: unknown, givenUp: unknown): Outcome {
  const message = textOfError(error)
  if (error === givenUp) return { kind: 'aborted', message }
  if (error instanceof SheafError && error.kind === 'commit-state-unknown') return { kind: 'unknown' }
  if (isInjected(error)) return { kind: 'failed', message }
  if (error instanceof SheafError) return { kind: 'refused', code: error.code, message }
  throw new Violation(`a call failed with no error of Sheaf: ${message}`, { cause: error })
}

function textOfError(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

export function describeOutcome(outcome: Outcome): string {
  switch (outcome.kind) {
    case 'done':
      return `done ${JSON.stringify(outcome.answer)} ${outcome.transaction ?? ''}`
    case 'refused':
      return `refused, code ${outcome.code}: ${outcome.message}`
    case 'unknown':
      return 'unknown'
    default:
      return `${outcome.kind}: ${outcome.message}`
  }
}
