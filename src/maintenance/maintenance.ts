/**
 * What a root needs done now and then so that nothing grows with its past. Done in the background by processes that commit,
 * one thing at a time, and never waited for by a call. Whatever fails is tried again later: truth is in the log.
 */
import type { CatalogState } from '../catalog/state.js'
import type { MaintenanceEvent } from '../client/maintenance-event.js'
import type { Committed } from '../commit/machine.js'
import { orAborted } from '../primitives/abort.js'
import type { Clock } from '../primitives/clock.js'

/** One sort of work. */
export interface Chore {
  /** What messages call it. */
  readonly name: string
  /** Told of every commit of this process, before `dueIn` is asked. */
  noteCommit?(committed: Committed<CatalogState>): void
  /**
   * Milliseconds until there is something to do: 0 for now, infinity for not before another commit. Asked after every commit,
   * so it costs microseconds.
   */
  dueIn(): number
  /**
   * Does some of what is due; what is left is due again. `thorough`: does all there is to do, whether it is worth its while
   * yet or not. Ends soon after `signal` fires, with or without an error.
   */
  work(thorough: boolean, signal: AbortSignal): Promise<void>
}

/** Told of what no call fails of, but somebody should know. */
export type Warn = (message: string, cause: unknown) => void

export interface MaintenanceOptions {
  /** In the order in which they are asked. */
  readonly chores: readonly Chore[]
  readonly clock: Clock
  readonly warn: Warn
}

/** A chore that failed is let alone for so long, milliseconds, and twice as long each time it fails again; */
const failedMs = 1000
/** at most so long. */
const failedMsMax = 60 * 60 * 1000
/** A timer that is to go off later goes off at once. */
const timerMsMax = 2 ** 31 - 1
/** How long a root that is being closed waits for what is under way: long enough that short-lived processes keep it in order, too. */
const closingMs = 1000
/** What is due by the wall clock, which counts whole milliseconds, seems due sooner or later by as much from one look to the next. */
const wallClockMs = 1

/** A chore that failed the last time, or the last times. */
interface Failing {
  /** Until when it is let alone, and how long that is. */
  readonly until: number
  readonly ms: number
  /** What somebody was told of. */
  readonly told: Set<string>
}

export class Maintenance {
  readonly #chores: readonly Chore[]
  readonly #clock: Clock
  readonly #warn: Warn
  #closed = false
  /** Fires when what is under way has to end. */
  readonly #closing = new AbortController()
  readonly #failing = new Map<Chore, Failing>()
  /** Work under way: never more than one thing. */
  #working: Promise<void> | null = null
  /** Calls that want everything done: nothing else begins before them. */
  #finishing = 0
  /** The wait for what will be due: until when, and what ends it. */
  #waiting: { readonly until: number; readonly over: AbortController } | null = null

  constructor({ chores, clock, warn }: MaintenanceOptions) {
    this.#chores = chores
    this.#clock = clock
    this.#warn = warn
  }

  /** Begins what a commit has made due. */
  afterCommit(committed: Committed<CatalogState>): void {
    for (const chore of this.#chores) chore.noteCommit?.(committed)
    this.#begin()
  }

  /** Does everything there is to do, now. Rejects with what a chore fails of, and with `signal.reason`. */
  async finish(signal?: AbortSignal): Promise<void> {
    const own = signal === undefined ? this.#closing.signal : AbortSignal.any([signal, this.#closing.signal])
    this.#finishing++
    try {
      while (this.#working !== null) await orAborted(this.#working, own)
      await this.#alone(async () => {
        for (const chore of this.#chores) {
          own.throwIfAborted()
          await chore.work(true, own)
          this.#failing.delete(chore)
        }
      })
    } finally {
      this.#finishing--
      this.#begin()
    }
  }

  /** Begins nothing more, and waits a little for what is under way; then ends it. */
  async close(): Promise<void> {
    this.#closed = true
    this.#endWait()
    if (this.#working === null) return
    const over = new AbortController()
    const patience = this.#clock.sleep(closingMs, over.signal, true).catch(() => {})
    await Promise.race([this.#working, patience])
    over.abort()
    this.#closing.abort()
    await this.#working
  }

  #begin(): void {
    if (this.#working !== null || this.#finishing > 0 || this.#closed) return
    const dueIn = Math.min(...this.#chores.map(chore => this.#dueIn(chore)))
    if (dueIn === 0) this.#alone(() => this.#work()).catch(() => {})
    else this.#wait(dueIn)
  }

  #dueIn(chore: Chore): number {
    const rests = (this.#failing.get(chore)?.until ?? 0) - this.#clock.elapsed()
    return Math.max(0, rests, chore.dueIn())
  }

  /** Runs `work` while nothing else of this is under way, then sees what has become due meanwhile. */
  async #alone(work: () => Promise<void>): Promise<void> {
    this.#endWait()
    const working = work()
    this.#working = working.catch(() => {})
    try {
      await working
    } finally {
      this.#working = null
      this.#begin()
    }
  }

  /**
   * Looks again after `ms`, or sooner; keeps no process alive. A commit mostly puts off what is due: a wait that ends before that
   * is let be, since beginning another one costs more than looking once in vain.
   */
  #wait(ms: number): void {
    if (ms === Number.POSITIVE_INFINITY) return
    const until = this.#clock.elapsed() + Math.min(ms, timerMsMax)
    if (this.#waiting !== null && this.#waiting.until <= until + wallClockMs) return
    this.#endWait()
    const waiting = { until, over: new AbortController() }
    this.#waiting = waiting
    this.#clock.sleep(until - this.#clock.elapsed(), waiting.over.signal).then(
      () => {
        if (this.#waiting === waiting) this.#waiting = null
        this.#begin()
      },
      () => {},
    )
  }

  #endWait(): void {
    // With a reason: making an AbortError takes longer than all the rest.
    this.#waiting?.over.abort(null)
    this.#waiting = null
  }

  async #work(): Promise<void> {
    for (const chore of this.#chores) {
      if (this.#closed) return
      if (this.#dueIn(chore) > 0) continue
      try {
        await chore.work(false, this.#closing.signal)
        this.#failing.delete(chore)
      } catch (cause) {
        if (this.#closed) return
        this.#failed(chore, cause)
      }
    }
  }

  /** Lets a chore alone for a while; tells of what it failed of, once until it succeeds. */
  #failed(chore: Chore, cause: unknown): void {
    const { ms: before = failedMs / 2, told = new Set<string>() } = this.#failing.get(chore) ?? {}
    const ms = Math.min(2 * before, failedMsMax)
    this.#failing.set(chore, { until: this.#clock.elapsed() + ms, ms, told })
    const message = cause instanceof Error ? cause.message : String(cause)
    if (told.has(message)) return
    told.add(message)
    this.#warn(`maintenance of the root failed for now: ${chore.name}`, cause)
  }
}

/** What maintenance does, as `onMaintenance` is told. */
export type Report = (event: MaintenanceEvent) => void
