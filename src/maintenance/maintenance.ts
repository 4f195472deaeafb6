/**
 * Runs the maintenance tasks of a root: compaction, expiry, garbage collection, checkpoints and others. Without them, a
 * root would grow with every commit.
 *
 * - The tasks run in the background of processes that commit, or of workers, one task at a time. No call waits for a
 *   task.
 * - A task that fails is repeated later. A failure loses no data, because the log contains all commits.
 */
import type { CatalogCommitted } from '../catalog/log-types.js'
import type { MaintenanceEvent } from '../client/maintenance-event.js'
import { orAborted, within } from '../primitives/abort.js'
import type { Clock } from '../primitives/clock.js'
import { Pacer } from '../primitives/pacer.js'

/** One maintenance task. */
export interface MaintenanceTask {
  /** The name of the task in messages. */
  readonly name: string
  /**
   * Take a commit into account. Called after every commit of this process, before `dueIn`. In workers, called for the
   * commits of all processes.
   */
  noteCommit?(committed: CatalogCommitted): void
  /**
   * Take into account that commits before the newest slot may have left work. Called in workers, when they open the root,
   * and when they have missed commits.
   */
  noteMissed?(): void
  /**
   * Return the time in milliseconds until the task has work to do: 0 if it has work now, Infinity if it has none before
   * the next commit. Called after every commit, so it must only take microseconds.
   */
  dueIn(): number
  /**
   * Do a bounded part of the work that is due. The rest stays due. With `thorough`, do all work, even if it is not
   * worth its cost yet. The task must stop soon after `signal` fires. It may then resolve or reject.
   */
  work(thorough: boolean, signal: AbortSignal): Promise<void>
}

/** A function that reports a problem to the operator. No call fails because of such a problem. */
export type Warn = (message: string, cause: unknown) => void

/**
 * Whose commits cause work in the background: `own`: those of this process; `all`: those of all processes; `none`: no
 * commits, so that this process only works if a caller asks for it.
 */
export type MaintenanceScope = 'own' | 'all' | 'none'

interface MaintenanceOptions {
  /** Default: `own`. */
  readonly scope?: MaintenanceScope
  /** The tasks, in the order in which they run. */
  readonly tasks: readonly MaintenanceTask[]
  readonly clock: Clock
  readonly warn: Warn
}

/** Time in milliseconds before a failed task runs again. Each further failure doubles it, up to `failedMsMax`. */
const failedMs = 1000
/** Maximum of this time in milliseconds. */
const failedMsMax = 60 * 60 * 1000
/** Maximum delay of a timer in milliseconds. With a longer delay, Node fires a timer immediately. */
const timerMsMax = 2 ** 31 - 1
/**
 * Maximum time in milliseconds for which `close` waits for the running task. So even short-lived processes finish some
 * tasks.
 */
const closingMs = 1000
/**
 * The wall clock counts whole milliseconds. So two calls of `dueIn` may differ by this much although nothing changed.
 */
const wallClockMs = 1

/** Operations that only maintenance commits. They leave no work. */
const ownOps: ReadonlySet<string> = new Set(['expire', 'sweep', 'checkpoint', 'dropped'])

/** A task whose last run failed. */
interface Failing {
  /**
   * `until`: the time on the monotonic clock when the task may run again. `ms`: the delay before this time, in
   * milliseconds.
   */
  readonly until: number
  readonly ms: number
  /** The error messages that were already reported. */
  readonly reported: Set<string>
}

export class Maintenance {
  readonly #tasks: readonly MaintenanceTask[]
  /** The tasks that take commits into account. */
  readonly #noting: readonly MaintenanceTask[]
  readonly #scope: MaintenanceScope
  readonly #clock: Clock
  readonly #warn: Warn
  /** Whether commits were noted, and the tasks that are now due are started in a moment. */
  #isLooking = false
  #closed = false
  /**
   * Lets other work run between two tasks. Each task paces itself, but very many short ones may follow each other. Null if
   * no task is due.
   */
  #pacer: Pacer | null = null
  /** Aborts the running task. */
  readonly #closing = new AbortController()
  readonly #failing = new Map<MaintenanceTask, Failing>()
  /** The running task; null if none runs. */
  #working: Promise<void> | null = null
  /** The number of running calls of `finish`. While there are any, no background task starts. */
  #finishing = 0
  /** The timer for the next due task: its time on the monotonic clock, and the controller that cancels it. */
  #waiting: { readonly until: number; readonly over: AbortController } | null = null

  constructor({ scope = 'own', tasks, clock, warn }: MaintenanceOptions) {
    this.#scope = scope
    this.#tasks = tasks
    this.#noting = tasks.filter(task => task.noteCommit !== undefined)
    this.#clock = clock
    this.#warn = warn
  }

  /** Tell all tasks about a commit of this process, and start the tasks that are now due. */
  afterCommit(committed: CatalogCommitted): void {
    if (this.#scope !== 'own') return
    for (const task of this.#noting) task.noteCommit!(committed)
    this.#lookSoon()
  }

  /** In workers, tell all tasks about the commits of a slot of any process, and start the tasks that are now due. */
  afterSlot(committed: readonly CatalogCommitted[]): void {
    if (this.#scope !== 'all') return
    for (const each of committed) {
      if (each.entry.ops.every(({ op }) => ownOps.has(op))) continue
      for (const task of this.#noting) task.noteCommit!(each)
    }
    this.#lookSoon()
  }

  /** In workers, tell all tasks that they may have missed commits, and start the tasks that are now due. */
  afterMissed(): void {
    if (this.#scope !== 'all') return
    for (const task of this.#tasks) task.noteMissed?.()
    this.#lookSoon()
  }

  #lookSoon(): void {
    if (this.#isLooking) return
    // The commits of a slot resolve together. Look once after all of them, because this costs more than a small commit.
    this.#isLooking = true
    Promise.resolve().then(() => {
      this.#isLooking = false
      this.#begin()
    })
  }

  /** Run every task now, with `thorough`. Rejects with the first error of a task, or with `signal.reason`. */
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

  /** Start no further tasks. Waits up to `closingMs` for the running task, then aborts it. */
  async stop(): Promise<void> {
    this.#closed = true
    this.#endWait()
    if (this.#working === null) return
    await within(this.#clock, closingMs, this.#working)
    this.#closing.abort()
  }

  /** Wait until the running task has ended. Call `stop` first. */
  async ended(): Promise<void> {
    await this.#working
  }

  #begin(): void {
    if (this.#scope === 'none' || this.#working !== null || this.#finishing > 0 || this.#closed) return
    let dueIn = Number.POSITIVE_INFINITY
    for (const task of this.#tasks) dueIn = Math.min(dueIn, this.#dueIn(task))
    if (dueIn === 0) {
      this.#pacer ??= new Pacer(undefined, this.#clock)
      this.#alone(() => this.#work()).catch(() => {})
    } else {
      this.#pacer = null
      this.#wait(dueIn)
    }
  }

  #dueIn(task: MaintenanceTask): number {
    const dueIn = Math.max(0, task.dueIn())
    if (this.#failing.size === 0) return dueIn
    const delay = (this.#failing.get(task)?.until ?? 0) - this.#clock.elapsed()
    return Math.max(delay, dueIn)
  }

  /** Run `work` as the only running task. Then start the tasks that became due meanwhile. */
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
   * Start due tasks after `ms` milliseconds. The timer does not keep the process alive. A timer that fires earlier is
   * kept: most commits only postpone the due time, and a new timer costs more than looking once too early.
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
    // Pass a reason. Without it, `abort` creates an AbortError, which takes longer than everything else here.
    this.#waiting?.over.abort(null)
    this.#waiting = null
  }

  async #work(): Promise<void> {
    for (const task of this.#tasks) {
      if (this.#closed) return
      if (this.#dueIn(task) > 0) continue
      if (this.#pacer?.due() === true) await this.#pacer.pause()
      try {
        await task.work(false, this.#closing.signal)
        this.#failing.delete(task)
      } catch (cause) {
        if (this.#closed) return
        this.#failed(task, cause)
      }
    }
  }

  /** Postpone a task that failed. Reports each message only once until the task succeeds. */
  #failed(task: MaintenanceTask, cause: unknown): void {
    const { ms: before = failedMs / 2, reported = new Set<string>() } = this.#failing.get(task) ?? {}
    const ms = Math.min(2 * before, failedMsMax)
    this.#failing.set(task, { until: this.#clock.elapsed() + ms, ms, reported })
    const message = cause instanceof Error ? cause.message : String(cause)
    if (reported.has(message)) return
    reported.add(message)
    this.#warn(`a maintenance task failed and will be repeated later: ${task.name}`, cause)
  }
}

/** A function that receives maintenance events, for the option `onMaintenance`. */
export type Report = (event: MaintenanceEvent) => void
