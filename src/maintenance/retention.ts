/**
 * Expires old versions of tables. Garbage collection deletes their files later.
 *
 * The age of a version is measured with the clock of this process. If this clock seems to be far ahead of the clock of
 * another process, according to the times in slots, this process expires nothing.
 */
import type { CatalogCommitted, CatalogCommitter } from '../catalog/log-types.js'
import type { ExpireOp } from '../catalog/ops.js'
import { decideExpire, expendableVersions, versionsOfJobs } from '../catalog/retention.js'
import type { TableHead } from '../catalog/state.js'
import type { History } from '../manifest/history.js'
import type { LayoutStore } from '../manifest/layout-store.js'
import { countNumbers, type Run, type Runs } from '../manifest/runs.js'
import type { Clock } from '../primitives/clock.js'
import { Pacer } from '../primitives/pacer.js'
import type { MaintenanceTask, Report, Warn } from './maintenance.js'

/**
 * Pause between two runs: this fraction of `keepVersionsMs`, but within the bounds below, in milliseconds. One run
 * expires all versions that became old during the pause.
 */
const pausePart = 1 / 8
const pauseMsMin = 1000
const pauseMsMax = 10 * 60 * 1000
/**
 * Pause between two scans of all tables, in milliseconds. A scan finds old versions that ended processes did not
 * expire.
 */
const scanMs = 6 * 60 * 60 * 1000
/** Maximum number of tables, and of ranges of versions, that one entry expires. */
const tablesMax = 256
const runsMax = 1024
/** Maximum number of version records that are read with one call. */
const recordsMax = 1024

/** Maximum time in milliseconds by which the clock of this process may be ahead of another clock. */
const aheadMax = 60 * 60 * 1000

interface RetentionOptions {
  readonly committer: CatalogCommitter
  readonly history: Pick<History, 'range'>
  readonly layouts: Pick<LayoutStore, 'forget'>
  readonly clock: Clock
  readonly keepVersionsMs: number
  readonly report: Report
  readonly warn: Warn
}

export class Retention implements MaintenanceTask {
  readonly name = 'expiring old versions'
  readonly #options: RetentionOptions
  readonly #pauseMs: number
  /**
   * By table uuid: a wall-clock time before which no version of the table becomes old. If a table is absent, it has no
   * version that may expire.
   */
  readonly #due = new Map<string, number>()
  /** The earliest time in `#due`. */
  #earliest = Number.POSITIVE_INFINITY
  /** The task does not run before this time on the monotonic clock. */
  #restsUntil = 0
  #scanAt: number
  /** Whether this process has committed since the last scan. */
  #committed = false
  /** Whether the operator was already warned that the clock is ahead. */
  #hasWarned = false
  /** The first error of a table whose versions could not be read in this run. */
  #firstError: unknown = null

  constructor(options: RetentionOptions) {
    this.#options = options
    this.#pauseMs = Math.max(pauseMsMin, Math.min(pauseMsMax, options.keepVersionsMs * pausePart))
    // Do not scan immediately after opening, because a process may open a root only for a moment.
    this.#scanAt = options.clock.elapsed() + this.#pauseMs
  }

  noteCommit({ entry, at }: CatalogCommitted): void {
    const { keepVersionsMs } = this.#options
    this.#committed = true
    for (const op of entry.ops) {
      if (op.op === 'change' && op.base > 0) this.#note(op.t, at.ts + keepVersionsMs)
      else if (op.op === 'tag') this.#note(op.t, at.ts)
    }
  }

  noteMissed(): void {
    this.#committed = true
  }

  dueIn(): number {
    const { keepVersionsMs, clock } = this.#options
    if (keepVersionsMs === Number.POSITIVE_INFINITY) return keepVersionsMs
    const rests = this.#restsUntil - clock.elapsed()
    const scan = this.#committed ? this.#scanAt - clock.elapsed() : Number.POSITIVE_INFINITY
    return Math.max(0, rests, Math.min(this.#earliest - clock.now(), scan))
  }

  async work(thorough: boolean, signal: AbortSignal): Promise<void> {
    const { committer, clock, keepVersionsMs } = this.#options
    if (keepVersionsMs === Number.POSITIVE_INFINITY) return
    this.#restsUntil = clock.elapsed() + this.#pauseMs
    await committer.refresh(signal)
    if (this.#isAhead()) return
    const pacer = new Pacer(signal, clock)
    if (thorough || clock.elapsed() >= this.#scanAt) await this.#scan(pacer)
    const now = clock.now()
    let expired: ExpireOp[] = []
    let count = 0
    for (const [t, due] of this.#due) {
      if (due > now) continue
      const head = committer.state.tables.get(t)
      const { runs, next } = await this.#oldVersionsOrNoted(head, now, signal)
      if (next === Number.POSITIVE_INFINITY) this.#due.delete(t)
      else this.#due.set(t, next)
      if (runs.length > 0) expired.push({ op: 'expire', t, runs })
      count += runs.length
      if (expired.length === tablesMax || count >= runsMax) {
        await this.#expire(expired, pacer)
        expired = []
        count = 0
      }
      await pacer.turn()
    }
    await this.#expire(expired, pacer)
    const error = this.#firstError
    this.#firstError = null
    this.#earliest = Number.POSITIVE_INFINITY
    for (const due of this.#due.values()) this.#earliest = Math.min(this.#earliest, due)
    if (error !== null) throw error
  }

  #isAhead(): boolean {
    const { committer, warn } = this.#options
    const ahead = committer.ahead
    if (ahead === null || ahead.ms <= aheadMax) {
      this.#hasWarned = false
      return false
    }
    if (!this.#hasWarned) {
      const minutes = Math.floor(ahead.ms / 60_000)
      const what = `the clock of this process is ${minutes} minutes ahead of that of the process which wrote slot ${ahead.slot}`
      warn(`no versions expire for now: ${what}`, new Error('correct the clock, or open the root again'))
    }
    this.#hasWarned = true
    return true
  }

  /**
   * Like `#oldVersions`, but if the records of a table cannot be read, record the error and expire no version of the
   * table.
   */
  async #oldVersionsOrNoted(
    head: TableHead | undefined,
    now: number,
    signal: AbortSignal,
  ): Promise<{ readonly runs: Runs; readonly next: number }> {
    if (head === undefined) return nothing
    try {
      return await this.#oldVersions(head, now, signal)
    } catch (error) {
      signal.throwIfAborted()
      this.#firstError ??= error
      return { runs: [], next: now + pauseMsMax }
    }
  }

  /** Mark all tables as due that have versions that may expire. */
  async #scan(pacer: Pacer): Promise<void> {
    this.#committed = false
    this.#scanAt = this.#options.clock.elapsed() + Math.min(scanMs, 8 * this.#pauseMs)
    const { state } = this.#options.committer
    const jobs = versionsOfJobs(state)
    for (const [uuid, head] of state.tables) {
      if (expendableVersions(head, jobs).length > 0) this.#note(uuid, Number.NEGATIVE_INFINITY)
      await pacer.turn()
    }
  }

  #note(table: string, due: number): void {
    const known = this.#due.get(table) ?? Number.POSITIVE_INFINITY
    if (due >= known) return
    this.#due.set(table, due)
    this.#earliest = Math.min(this.#earliest, due)
  }

  /**
   * Return the versions of a table that are old at the time `now`, and the time when the next version becomes old. The
   * age of a version counts from the commit of the next version. So if a version is not old, no later version is old.
   */
  async #oldVersions(
    head: TableHead,
    now: number,
    signal: AbortSignal,
  ): Promise<{ readonly runs: Runs; readonly next: number }> {
    const { committer, history, keepVersionsMs } = this.#options
    const runs: Run[] = []
    let most = 1
    for (const [first, last] of expendableVersions(head, versionsOfJobs(committer.state))) {
      if (runs.length >= runsMax) return { runs, next: now }
      for (let from = first; from <= last; ) {
        const to = Math.min(last, from + most - 1)
        most = Math.min(2 * most, recordsMax)
        const successors = await history.range(head.uuid, from + 1, to + 1, signal)
        const young = successors.find(({ ts }) => ts + keepVersionsMs > now)
        if (young !== undefined) {
          if (young.version - 1 > first) runs.push([first, young.version - 2])
          return { runs, next: young.ts + keepVersionsMs }
        }
        from = to + 1
      }
      runs.push([first, last])
    }
    return { runs, next: Number.POSITIVE_INFINITY }
  }

  async #expire(found: readonly ExpireOp[], pacer: Pacer): Promise<void> {
    if (found.length === 0) return
    const { committer, layouts, report } = this.#options
    const committed = await committer.commit(state => {
      const ops = this.#isAhead() ? [] : decideExpire(state, found)
      return ops.length === 0 ? null : { ops }
    })
    for (const { t, runs } of (committed?.entry.ops ?? []) as readonly ExpireOp[]) {
      report({ kind: 'expired', table: t, versions: countNumbers(runs) })
      for (const [first, last] of runs) await layouts.forget(t, first, last, pacer)
    }
  }
}

const nothing = { runs: [], next: Number.POSITIVE_INFINITY }
