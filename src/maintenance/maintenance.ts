/**
 * Runs the maintenance tasks of a root: compaction, expiry, garbage collection, checkpoints. They keep the root from growing with its
 * past.
 *
 * - They run in the background, in processes that commit, one task at a time. No call waits for them.
 * - A task that fails is tried again later. Nothing is lost, because the log holds the state.
 */
import type { CatalogCommitted } from '../catalog/log-types.js'
import type { MaintenanceEvent } from '../client/maintenance-event.js'
import { orAborted, within } from '../primitives/abort.js'
import type { Clock } from '../primitives/clock.js'

/** One maintenance task. */
export interface MaintenanceTask {
  /** What messages call the task. */
  readonly name: string
  /** Notes a commit of this process. Called after every commit, before `dueIn`. */
  noteCommit?(committed: CatalogCommitted): void
  /**
   * Return the milliseconds until the task has something to do: 0 for now, Infinity for not before another commit. Called after every
   * commit, so it costs microseconds.
   */
  dueIn(): number
  /**
   * Do a bounded part of the work that is due; the rest stays due. With `thorough`, do all the work there is, even work that is not
   * worth its cost yet. Ends soon after `signal` fires, with or without an error.
   */
  work(thorough: boolean, signal: AbortSignal): Promise<void>
}

/** Reports a problem that fails no call, but that an operator should know. */
export type Warn = (message: string, cause: unknown) => void

interface MaintenanceOptions {
  /** The tasks, in the order in which they run. */
  readonly tasks: readonly MaintenanceTask[]
  readonly clock: Clock
  readonly warn: Warn
}

/** Delay before a task that failed is tried again, milliseconds. Each further failure doubles the delay, */
const failedMs = 1000
/** up to this maximum. */
const failedMsMax = 60 * 60 * 1000
/** The longest delay of a timer, milliseconds: Node fires a timer with a longer delay at once. */
const timerMsMax = 2 ** 31 - 1
/** How long `close` waits for the running task, milliseconds. It is long enough for short-lived processes to maintain the root, too. */
const closingMs = 1000
/** The wall clock counts whole milliseconds, so the due time of a task may differ by this much between two looks. */
const wallClockMs = 1

/** A task whose last run failed. */
interface Failing {
  /** When the task may run again (by `clock.elapsed()`), and the delay that led to this time, milliseconds. */
  readonly until: number
  readonly ms: number
  /** Messages that were already reported. */
  readonly reported: Set<string>
}

export class Maintenance {
  readonly #tasks: readonly MaintenanceTask[]
  readonly #clock: Clock
  readonly #warn: Warn
  #closed = false
  /** Fires when the running task has to end. */
  readonly #closing = new AbortController()
  readonly #failing = new Map<MaintenanceTask, Failing>()
  /** The running work; at most one task runs at a time. */
  #working: Promise<void> | null = null
  /** How many calls of `finish` are open. No background task begins while one is open. */
  #finishing = 0
  /** The wait for the next due task: until when, and the controller that ends the wait. */
  #waiting: { readonly until: number; readonly over: AbortController } | null = null

  constructor({ tasks, clock, warn }: MaintenanceOptions) {
    this.#tasks = tasks
    this.#clock = clock
    this.#warn = warn
  }

  /** Note a commit, and begin the tasks that it made due. */
  afterCommit(committed: CatalogCommitted): void {
    for (const task of this.#tasks) task.noteCommit?.(committed)
    this.#begin()
  }

  /** Run every task thoroughly, now. Rejects with the first error of a task, and with `signal.reason`. */
  async finish(signal?: AbortSignal): Promise<void> {
    const own = signal === undefined ? this.#closing.signal : AbortSignal.any([signal, this.#closing.signal])
    this.#finishing++
    try {
      while (this.#working !== null) await orAborted(this.#working, own)
      await this.#alone(async () => {
        for (const task of this.#tasks) {
          own.throwIfAborted()
          await task.work(true, own)
          this.#failing.delete(task)
        }
      })
    } finally {
      this.#finishing--
      this.#begin()
    }
  }

  /** Begin no more tasks. Waits up to `closingMs` for the running task, then aborts it. */
  async close(): Promise<void> {
    this.#closed = true
    this.#endWait()
    if (this.#working === null) return
    await within(this.#clock, closingMs, this.#working)
    this.#closing.abort()
    await this.#working
  }

  #begin(): void {
    if (this.#working !== null || this.#finishing > 0 || this.#closed) return
    const dueIn = Math.min(...this.#tasks.map(task => this.#dueIn(task)))
    if (dueIn === 0) this.#alone(() => this.#work()).catch(() => {})
    else this.#wait(dueIn)
  }

  #dueIn(task: MaintenanceTask): number {
    const delay = (this.#failing.get(task)?.until ?? 0) - this.#clock.elapsed()
    return Math.max(0, delay, task.dueIn())
  }

  /** Run `work` while no other task runs, then begin the tasks that have become due meanwhile. */
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
   * Look for due tasks after `ms` milliseconds or sooner, without keeping the process alive. A wait that ends sooner is kept: most commits
   * postpone the due time, and a new timer costs more than one look too early.
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
    // Without a reason, `abort` makes an AbortError, which takes longer than all the rest.
    this.#waiting?.over.abort(null)
    this.#waiting = null
  }

  async #work(): Promise<void> {
    for (const task of this.#tasks) {
      if (this.#closed) return
      if (this.#dueIn(task) > 0) continue
      try {
        await task.work(false, this.#closing.signal)
        this.#failing.delete(task)
      } catch (cause) {
        if (this.#closed) return
        this.#failed(task, cause)
      }
    }
  }

  /** Postpone a task that failed. Reports each message once until the task succeeds. */
  #failed(task: MaintenanceTask, cause: unknown): void {
    const { ms: before = failedMs / 2, reported = new Set<string>() } = this.#failing.get(task) ?? {}
    const ms = Math.min(2 * before, failedMsMax)
    this.#failing.set(task, { until: this.#clock.elapsed() + ms, ms, reported })
    const message = cause instanceof Error ? cause.message : String(cause)
    if (reported.has(message)) return
    reported.add(message)
    this.#warn(`maintenance of the root failed for now: ${task.name}`, cause)
  }
}

/** Receives the events that `onMaintenance` reports. */
export type Report = (event: MaintenanceEvent) => void
