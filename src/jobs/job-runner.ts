/**
 * Runs jobs: work that continues after the reply to its request. Each process has one runner per open root. Several
 * processes may run jobs of the same root.
 *
 * - A process runs a job if its claim `Running{owner, epoch}` is in the log. If several processes claim a job, the
 *   claim in the first slot is valid.
 * - The changes of a run and the end `Succeeded` are in one entry. The entry is committed only if the claim is still
 *   valid. So a process that was suspended, and whose job was taken over, commits nothing. No job is committed twice.
 * - If a job ends, is canceled and is taken over at the same time, the operation in the first slot is valid.
 * - An owner is lost if its process is dead, or if the other processes observed for a minute that the job has no new
 *   heartbeat. The times for which different processes observed it are added up. The job of a lost owner fails or is
 *   queued again.
 * - The runner keeps the Node process alive only while a job runs or a caller waits for a job.
 */
import type PQueue from 'p-queue'
import type { Committed, Json, Proposal, ProposalPosition, Propose } from '../commit/machine.js'
import { assert, ErrorCode, quote, SheafError } from '../errors.js'
import { within } from '../primitives/abort.js'
import type { Clock } from '../primitives/clock.js'
import { deferred } from '../primitives/deferred.js'
import type { PersistentMap } from '../primitives/persistent-map.js'
import type { BlobStore } from '../storage/blob-store.js'
import { Stillness } from '../storage/stillness.js'
import {
  type JobKind,
  type JobRun,
  JobStopped,
  type Performed,
  type Progress,
  type StopCause,
} from './job-kind.js'
import type { JobLog } from './job-log.js'
import {
  claimedOp,
  endedOp,
  type JobOp,
  jobUnitsFeature,
  type OpenJob,
  queuedAgainOp,
  queuedOp,
  slotOfJob,
  splitOp,
} from './job-op.js'
import {
  claimKey,
  deleteLease,
  keepLease,
  type Lease,
  leaseMs,
  listLeases,
  newestLeases,
  readOwner,
  readProgress,
} from './lease.js'
import { ProgressMeter } from './progress-meter.js'

interface JobRunnerOptions<S, Op> {
  readonly log: JobLog<S, Op>
  readonly store: BlobStore
  readonly clock: Clock
  /** The kinds of jobs that this process runs. It ignores jobs of other kinds. */
  readonly kinds: readonly JobKind<S, Op>[]
  /** Maximum number of jobs that this process runs at the same time. Default: 1. */
  readonly concurrency?: number
  /**
   * Whether this process takes queued jobs, and ends jobs whose owners are lost. Default true. If false, it runs a job
   * only if `run` or `perform` is called.
   */
  readonly takesJobs?: boolean
  /** Called when a run of a job has ended. `took`: its duration in milliseconds. Must not throw. Default: no callback. */
  readonly onRun?: (job: OpenJob, took: number) => void
}

/** Interval of log refreshes in milliseconds, while a job runs in this process or a caller waits for a job. */
const pollMs = 1000
/** Maximum pause in milliseconds before a failed commit is retried. */
const pauseMsMax = 10_000
/** Time in milliseconds without a change of a lease, after which its owner is lost. */
const lostAfterMs = 60_000
/** Maximum length in characters of the stored reason of a failure. */
const reasonMax = 2000

/** A job that this process runs or is about to claim. */
interface LocalJob {
  readonly id: string
  /** The job in the state after the claim. Null before the claim. */
  claim: OpenJob | null
  /** Controller of the signal of the run. */
  readonly stop: AbortController
  progress: Progress | null
}

/** The end of a run. */
type Outcome =
  | { readonly kind: 'done' }
  | { readonly kind: 'failed'; readonly error: unknown }
  /** The run was stopped before it began. */
  | { readonly kind: 'not begun' }

/**
 * A wrapper of an error that a proposal threw. It distinguishes these errors from errors of the log, after which a
 * retry may help.
 */
class Refused {
  readonly error: unknown

  constructor(error: unknown) {
    this.error = error
  }
}

/**
 * A runner of jobs. It queues jobs, runs jobs, and ends jobs whose owners are lost. The head of this file describes the
 * rules.
 */
export class JobRunner<S, Op = unknown> {
  readonly #log: JobLog<S, Op>
  readonly #store: BlobStore
  readonly #clock: Clock
  readonly #kinds: ReadonlyMap<string, JobKind<S, Op>>
  readonly #concurrency: number
  readonly #takesJobs: boolean
  readonly #onRun: (job: OpenJob, took: number) => void
  /** Random id of this runner. Its claims contain it as `owner`. */
  readonly #owner: string
  readonly #closing = new AbortController()
  /** Queue that limits the number of running jobs. Null before its first use. */
  #pool: Promise<PQueue> | null = null
  /** Ids of jobs that wait in `#pool`. */
  readonly #offered = new Set<string>()
  /** By id: the jobs that this process runs or is about to claim. */
  readonly #localJobs = new Map<string, LocalJob>()
  /** The runs of `run` and `perform`. */
  readonly #directRuns = new Set<Promise<void>>()
  /** The open jobs of the newest observed state. */
  #jobs: PersistentMap<OpenJob> | null = null
  /** The value of `#jobs` at the last call of `#scan`. */
  #scanned: PersistentMap<OpenJob> | null = null
  /** Callbacks of callers that wait for a job to end. */
  readonly #waiters = new Set<() => void>()
  #polling = false
  #watching: Promise<void> | null = null

  constructor(options: JobRunnerOptions<S, Op>) {
    this.#log = options.log
    this.#store = options.store
    this.#clock = options.clock
    this.#kinds = new Map(options.kinds.map(kind => [kind.name, kind]))
    this.#concurrency = options.concurrency ?? 1
    this.#takesJobs = options.takesJobs ?? true
    this.#onRun = options.onRun ?? (() => {})
    this.#owner = options.clock.uuid()
  }

  /**
   * Observe a state. The caller must pass the newest state at the start and after every applied slot. If no job
   * changed, the call only compares two references.
   */
  observe(state: S): void {
    const jobs = this.#log.jobs(state)
    if (jobs === this.#jobs) return
    this.#jobs = jobs
    for (const local of this.#localJobs.values()) this.#check(local)
    this.#wake()
    if (this.#offered.size === 0) this.#scan()
  }

  /**
   * Queue a job. Resolves to its id. `table`: uuid of the table on which the job works; default: none. `also`: a
   * proposal whose operations are committed in the same entry. Rejects with the errors of `also` and of
   * `Committer.commit`.
   */
  async queue(
    kind: string,
    spec: Json,
    options: { readonly table?: string; readonly also?: Propose<S, Op> } = {},
  ): Promise<string> {
    assert(this.#kinds.has(kind), `no kind of job is named ${kind}`)
    this.#checkOpen()
    await this.#openPool()
    const op = queuedOp(kind, spec, options.table)
    const committed = await this.#log.commit((state, at) => {
      const also = options.also?.(state, at)
      return { ...also, ops: [...(also?.ops ?? []), op] }
    })
    return committed!.transactionId
  }

  /** Whether a job runs in this process. */
  get isRunning(): boolean {
    return this.#localJobs.size > 0
  }

  /** Return whether this process can run jobs of a kind. */
  canRun(kind: string): boolean {
    return this.#kinds.get(kind)?.run !== undefined
  }

  /** Watch the jobs of other processes, and end those whose owners are lost, until no other process runs a job. */
  watchOthers(): void {
    this.#watching ??= this.#watch()
  }

  /**
   * Claim a job and run it here, although this process may run other jobs. Resolves after the run. Resolves to false if
   * the job is not queued, or if this process cannot run it.
   */
  async run(id: string): Promise<boolean> {
    this.#checkOpen()
    if (this.#localJobs.has(id)) return false
    const local = this.#newLocal(id)
    try {
      const claim = await this.#claim(id)
      if (claim === null || claim === 'must wait') return false
      await this.#directly(this.#carryOut(local, claim, this.#kinds.get(claim.kind)!))
      return true
    } finally {
      this.#localJobs.delete(id)
    }
  }

  /**
   * Claim new work on a table and run it here. One entry queues and claims the job. If another job of the kind `kind` is
   * open on the table, `work` is not called. Rejects with the error of `work`.
   */
  async perform<T>(
    kind: string,
    table: string,
    spec: Json,
    work: (job: JobRun<S, Op>) => Promise<T>,
  ): Promise<Performed<T>> {
    this.#checkOpen()
    const known = this.#kinds.get(kind)
    assert(known !== undefined, `no kind of job is named ${kind}`)
    let open: string | null = null
    const committed = await this.#persist((state, { transactionId: id }) => {
      open = openOn(this.#log.jobs(state), kind, table)?.id ?? null
      if (open !== null) return null
      return { ops: [queuedOp(kind, spec, table), claimedOp({ id, epoch: 0 }, this.#owner)] }
    })
    const id = committed?.transactionId ?? open!
    const claim = this.#jobs?.get(id)
    // The open job may be that of this call, if an earlier attempt with an unknown outcome was committed.
    if (claim?.owner !== this.#owner || this.#localJobs.has(id)) {
      // If no process watched the claim, a lost claim would stay.
      this.watchOthers()
      return { busy: id }
    }
    const outcome: { end?: { readonly result: T } | { readonly error: unknown } } = {}
    const run = async (job: JobRun<S, Op>) => {
      try {
        outcome.end = { result: await work(job) }
      } catch (error) {
        outcome.end = { error }
        throw error
      }
    }
    const local = this.#newLocal(id)
    try {
      await this.#directly(this.#carryOut(local, claim, { ...known, run }))
    } finally {
      this.#localJobs.delete(id)
    }
    const { end } = outcome
    if (end === undefined) throw closedError()
    if ('error' in end) throw end.error
    return end
  }

  /**
   * Wait until a job has ended. Resolves to a state in which the job is not open. Rejects with `signal.reason`, and
   * with ServiceUnavailable if the runner closes before the end of the job.
   */
  async settled(id: string, signal?: AbortSignal): Promise<S> {
    for (;;) {
      this.#checkOpen()
      const state = await this.#log.refresh(signal)
      if (!this.#log.jobs(state).has(id)) return state
      await this.#change(signal)
    }
  }

  /**
   * Return the last reported progress of a job. Null: no progress was reported. The progress of a job in another
   * process is up to ten seconds old.
   */
  async progressOf(id: string, signal?: AbortSignal): Promise<Progress | null> {
    const local = this.#localJobs.get(id)
    return local?.claim == null ? readProgress(this.#store, id, signal) : local.progress
  }

  /**
   * Close the runner: stop all running jobs, and wait until they have stopped. No more jobs are started. A stopped job
   * fails or is queued again, as `JobKind.onOrphan` says.
   */
  async close(): Promise<void> {
    this.#closing.abort()
    for (const local of this.#localJobs.values()) stop(local, 'closing')
    this.#wake()
    const pool = await this.#pool?.catch(() => null)
    await pool?.onIdle()
    await Promise.all(this.#directRuns)
    await this.#watching
  }

  get #closed(): boolean {
    return this.#closing.signal.aborted
  }

  #checkOpen(): void {
    if (this.#closed) throw closedError()
  }

  // --- scheduling ------------------------------------------------------------------------------------------

  /** Add the queued jobs to the pool, and start watching jobs that other processes run. */
  #scan(): void {
    const jobs = this.#jobs
    if (!this.#takesJobs || this.#closed || jobs === null || jobs === this.#scanned) return
    this.#scanned = jobs
    for (const [id, job] of jobs) {
      if (!this.#kinds.has(job.kind) || this.#localJobs.has(id)) continue
      if (job.status === 'Running') this.#watching ??= this.#watch()
      else if (!this.#offered.has(id) && !this.#mustWait(jobs, job)) this.#offer(id)
    }
  }

  /** Return whether a job must wait, because its kind is exclusive and another job of the kind runs on its table. */
  #mustWait(jobs: PersistentMap<OpenJob>, { id, kind, table }: OpenJob): boolean {
    if (this.#kinds.get(kind)?.exclusive !== true) return false
    for (const [other, job] of jobs) {
      if (other !== id && job.status === 'Running' && job.kind === kind && job.table === table) return true
    }
    return false
  }

  /** Add a job to the pool. The pool starts the oldest jobs first. */
  #offer(id: string): void {
    this.#offered.add(id)
    const priority = -slotOfJob(id)
    this.#openPool()
      .then(pool => pool.add(() => this.#take(id), { priority }))
      .catch(() => this.#offered.delete(id))
  }

  /**
   * Return the pool. The first call loads p-queue, creates the pool, and starts a check for leases of dead processes.
   */
  #openPool(): Promise<PQueue> {
    if (this.#pool === null) {
      this.#pool = import('p-queue').then(({ default: Pool }) => new Pool({ concurrency: this.#concurrency }))
      this.#watching ??= this.#watch()
    }
    return this.#pool
  }

  /** Claim and run a job from the pool. The promise never rejects. */
  async #take(id: string): Promise<void> {
    this.#offered.delete(id)
    if (this.#closed || this.#localJobs.has(id)) return
    const local = this.#newLocal(id)
    if (this.#offered.size === 0) this.#scan()
    const claim = await this.#claim(id).catch(() => null)
    if (claim !== null && claim !== 'must wait')
      await this.#carryOut(local, claim, this.#kinds.get(claim.kind)!)
    this.#localJobs.delete(id)
    // The job may have been queued again, or the job for which it waited may have ended. Add it to the pool here,
    // because `#scan` skipped it as a local job.
    const job = this.#jobs?.get(id)
    if (claim !== null && job?.status === 'Queued' && !this.#mustWait(this.#jobs!, job)) this.#offer(id)
  }

  #newLocal(id: string): LocalJob {
    const local: LocalJob = { id, claim: null, stop: new AbortController(), progress: null }
    this.#localJobs.set(id, local)
    return local
  }

  /** Wait for a run. `close` waits for it, too. */
  async #directly(run: Promise<void>): Promise<void> {
    this.#directRuns.add(run)
    try {
      await run
    } finally {
      this.#directRuns.delete(run)
    }
  }

  // --- one job, from claim to end --------------------------------------------------------------------------

  /**
   * Claim a job. Resolves to the claimed job, to 'must wait' (`#mustWait`), or to null if the job is no longer queued.
   */
  async #claim(id: string): Promise<OpenJob | 'must wait' | null> {
    let mustWait = false
    await this.#persist(state => {
      const jobs = this.#log.jobs(state)
      const job = jobs.get(id)
      if (job?.status !== 'Queued' || this.#kinds.get(job.kind)?.run === undefined) return null
      mustWait = this.#mustWait(jobs, job)
      if (mustWait) return null
      return { ops: [claimedOp(job, this.#owner)], req: [asDependency(job)] }
    })
    // This runner may own the job although the last attempt did not commit a claim, because an earlier attempt with an
    // unknown outcome was committed.
    const job = this.#jobs?.get(id)
    if (job?.owner === this.#owner) return job
    return mustWait ? 'must wait' : null
  }

  /** Run a claimed job, and commit its end. Writes heartbeats of the job until then. */
  async #carryOut(local: LocalJob, claim: OpenJob, kind: JobKind<S, Op>): Promise<void> {
    const begunAt = this.#clock.elapsed()
    local.claim = claim
    if (!this.#polling) this.#poll()
    const ended = new AbortController()
    const lease = keepLease(this.#store, this.#clock, claim, () => local.progress, ended.signal)
    const outcome = await this.#run(kind, local, claim)
    // If the end of the job cannot be committed, this process still deletes the lease. Other processes then find that
    // the job has no heartbeat, and end the job.
    await this.#conclude(local, claim, outcome).catch(() => {})
    ended.abort()
    await lease
    this.#onRun(claim, this.#clock.elapsed() - begunAt)
  }

  async #run(kind: JobKind<S, Op>, local: LocalJob, claim: OpenJob): Promise<Outcome> {
    const { signal } = local.stop
    if (signal.aborted) return { kind: 'not begun' }
    const meter = new ProgressMeter(this.#clock)
    const { id, kind: name, spec, table } = claim
    const job: JobRun<S, Op> = {
      id,
      kind: name,
      spec,
      table,
      signal,
      progress(done, total, phase) {
        local.progress = meter.progress(done, total, phase)
      },
      commit: propose => this.#land(claim, propose),
      endUnit: async result => {
        await this.#land(claim, () => ({ ops: [] }), result)
      },
      isSplit: claim.units !== undefined,
      inUnits: (unitKind, units) => this.#inUnits(local, claim, unitKind, units),
    }
    try {
      await kind.run!(job)
      return { kind: 'done' }
    } catch (error) {
      return { kind: 'failed', error }
    }
  }

  async #conclude(local: LocalJob, claim: OpenJob, outcome: Outcome): Promise<void> {
    if (outcome.kind === 'done') {
      // End the job without a change. Has no effect if the run has already committed its result, because the claim is
      // then invalid.
      await this.#land(claim, () => ({ ops: [] }))
      return
    }
    switch (stopCause(local)) {
      case 'closing':
        return this.#giveBack(claim, this.#orphanRule(claim.kind, outcome), 'owner closed')
      case null:
        assert(outcome.kind === 'failed', 'a job that was not stopped has begun')
        return this.#fail(claim, outcome.error)
    }
  }

  /** Return the treatment of a job that stopped because the runner closes. A job that was not begun may begin elsewhere. */
  #orphanRule(name: string, outcome: Outcome): JobKind<S, Op>['onOrphan'] {
    const { run, onOrphan } = this.#kinds.get(name)!
    return outcome.kind === 'failed' || run === undefined ? onOrphan : 'requeue'
  }

  /** Commit the result of a run and the end of its job. Implements `JobRun.commit` and `JobRun.endUnit`. */
  async #land(
    claim: OpenJob,
    propose: Propose<S, Op, null>,
    unitResult?: Json,
  ): Promise<Committed<S, Op> | 'ended' | null> {
    let isOutdated = false
    const committed = await this.#whileClaimed(claim, (state, at) => {
      const result = propose(state, at)
      isOutdated = result === null
      const end = endedOp(claim.id, 'Succeeded', undefined, unitResult)
      return result && { ...result, ops: [...result.ops, end] }
    })
    if (isOutdated) return null
    return committed === null ? 'ended' : (committed as Committed<S, Op>)
  }

  /** Implements `JobRun.inUnits`. */
  async #inUnits(
    { stop: { signal } }: LocalJob,
    claim: OpenJob,
    kind: string,
    units: readonly Json[],
  ): Promise<readonly Json[]> {
    await this.#whileClaimed(claim, state => {
      if (this.#log.jobs(state).get(claim.id)?.units !== undefined) return null
      return { ops: [splitOp(claim, kind, units)], need: [jobUnitsFeature] }
    })
    for (;;) {
      const jobs = this.#log.jobs(await this.#log.refresh(signal))
      // The signal may fire only after the next slot is observed.
      if (!isClaim(jobs.get(claim.id), claim)) throw new JobStopped(claim.id, 'taken over')
      const ends = jobs.get(claim.id)!.units!
      const results: Json[] = []
      for (const end of ends) {
        if (end === null) continue
        if ('failed' in end) throw new Error(end.failed)
        results.push(end.result)
      }
      if (results.length === ends.length) return results
      const next = queuedUnit(jobs, claim.id, this.#localJobs)
      if (next === null || !(await this.run(next))) await this.#change(signal)
    }
  }

  async #fail(claim: OpenJob, error: unknown): Promise<void> {
    await this.#whileClaimed(claim, () => ({ ops: [endedOp(claim.id, 'Failed', reasonOf(error))] }))
  }

  /** End a claim without a result: queue the job again, or end it as Failed with `reason`. */
  async #giveBack(claim: OpenJob, onOrphan: JobKind<S, Op>['onOrphan'], reason: string): Promise<void> {
    const op = onOrphan === 'requeue' ? queuedAgainOp(claim) : endedOp(claim.id, 'Failed', reason)
    await this.#whileClaimed(claim, () => ({ ops: [op] }))
  }

  /** Commit `propose` if the claim is still valid. Otherwise does nothing, and resolves to null. */
  #whileClaimed(
    claim: OpenJob,
    propose: Propose<S, Op | JobOp, null>,
  ): Promise<Committed<S, Op | JobOp> | null> {
    return this.#persist((state, at) => {
      if (!isClaim(this.#log.jobs(state).get(claim.id), claim)) return null
      const proposal = propose(state, at)
      return proposal && { ...proposal, req: [...(proposal.req ?? []), asDependency(claim)] }
    })
  }

  /**
   * Commit a proposal. Retries as long as the log is overloaded or does not answer, until the runner closes. A retry is
   * safe even if an earlier attempt was committed, because the proposals of this file then return null.
   */
  async #persist(propose: Propose<S, Op | JobOp, null>): Promise<Committed<S, Op | JobOp> | null> {
    for (let tries = 0; ; tries++) {
      try {
        return await this.#log.commit((state, at) => refusing(propose, state, at))
      } catch (error) {
        if (error instanceof Refused) throw error.error
        if (!isTransient(error) || this.#closed) throw error
      }
      const pauseMs = this.#clock.random() * Math.min(100 * 2 ** tries, pauseMsMax)
      await this.#clock.sleep(pauseMs, this.#closing.signal).catch(() => {})
    }
  }

  /** Stop the run of a local job if its claim is no longer valid. */
  #check(local: LocalJob): void {
    if (local.claim === null) return
    const job = this.#jobs?.get(local.id)
    if (job === undefined) stop(local, 'ended')
    else if (!isClaim(job, local.claim)) stop(local, 'taken over')
  }

  // --- other processes -------------------------------------------------------------------------------------

  /**
   * Refresh the log at intervals as long as a job runs here, because other processes may cancel it. The promise never
   * rejects.
   */
  async #poll(): Promise<void> {
    this.#polling = true
    while (this.#localJobs.size > 0 && !this.#closed) {
      try {
        await this.#clock.sleep(pollMs, this.#closing.signal)
        await this.#log.refresh(this.#closing.signal)
      } catch {
        // The runner is closing, or the log does not answer now. The next refresh retries.
      }
      this.#scan()
    }
    this.#polling = false
  }

  /** Watch the jobs of other processes as long as such jobs run. The promise never rejects. */
  async #watch(): Promise<void> {
    const stillness = new Stillness(this.#store, this.#clock, leaseMs)
    while (!this.#closed) {
      const left = await this.#endLostClaims(stillness).catch(() => true)
      if (!left) break
      await this.#clock.sleep(stillness.pauseMs, this.#closing.signal).catch(() => {})
    }
    if (stillness.isWatching) {
      await this.#observe(stillness)
        .then(() => stillness.save())
        .catch(() => {})
    }
    this.#watching = null
    // Another process may have claimed a job during the last check.
    this.#scanned = null
    this.#scan()
  }

  /**
   * End the claims of lost owners, and delete the leases of jobs that are not open. Resolves to false if no other
   * process runs a job.
   */
  async #endLostClaims(stillness: Stillness): Promise<boolean> {
    const { signal } = this.#closing
    const { leases, jobs, others, lost } = await this.#observe(stillness, signal)
    for (const job of lost) await this.#giveBack(job, this.#kinds.get(job.kind)!.onOrphan, 'owner lost')
    for (const lease of leases) {
      if (!jobs.has(lease.job)) await deleteLease(this.#store, lease)
    }
    if (others.length > 0) await stillness.save(signal)
    return others.length > 0
  }

  /** Find the jobs that other processes run (`others`), and the jobs among them whose owners are lost (`lost`). */
  async #observe(stillness: Stillness, signal?: AbortSignal) {
    const began = this.#clock.elapsed()
    // List the leases before the jobs. A process claims a job before it writes a lease, so the claim of each listed
    // lease is in the refreshed state.
    const { leases, records } = await listLeases(this.#store, signal)
    const jobs = this.#log.jobs(await this.#log.refresh(signal))
    const newest = newestLeases(leases)
    const others: OpenJob[] = []
    const dead = new Set<OpenJob>()
    const keys = new Map<OpenJob, string>()
    for (const [id, job] of jobs) {
      if (job.status !== 'Running' || !this.#kinds.has(job.kind) || this.#localJobs.has(id)) continue
      others.push(job)
      const lease = newest.get(id)
      const isOf = lease !== undefined && lease.epoch === job.epoch
      keys.set(job, isOf ? lease.key : claimKey(job))
      if (isOf && (await this.#isDead(lease, signal))) dead.add(job)
    }
    const still = stillness.look(keys.values(), records, began)
    const lost = others.filter(job => dead.has(job) || still.get(keys.get(job)!)! >= lostAfterMs)
    return { leases, jobs, others, lost }
  }

  async #isDead(lease: Lease, signal: AbortSignal | undefined): Promise<boolean> {
    const { processes } = this.#store
    if (processes === undefined) return false
    const owner = await readOwner(this.#store, lease, signal)
    return owner !== null && processes.livenessOf(owner) === 'dead'
  }

  #wake(): void {
    for (const wake of this.#waiters) wake()
  }

  /** Wait until jobs change, at most `pollMs`. The timer keeps the Node process alive, because a caller waits. */
  async #change(signal: AbortSignal | undefined): Promise<void> {
    const woken = deferred<void>()
    this.#waiters.add(woken.resolve)
    try {
      await within(this.#clock, pollMs, woken.promise, signal)
    } finally {
      this.#waiters.delete(woken.resolve)
    }
  }
}

function closedError(): SheafError {
  return new SheafError(ErrorCode.ServiceUnavailable, 'this root is closed')
}

/** Return the open job of kind `kind` on a table. Null: there is none. */
function openOn(jobs: PersistentMap<OpenJob>, kind: string, table: string): OpenJob | null {
  for (const [, job] of jobs) if (job.kind === kind && job.table === table) return job
  return null
}

/** Return the id of a queued unit of a job that this process does not run yet. Null: there is none. */
export function queuedUnit(
  jobs: PersistentMap<OpenJob>,
  job: string,
  local: ReadonlyMap<string, unknown> = new Map(),
): string | null {
  for (const [id, { of, status }] of jobs) if (of === job && status === 'Queued' && !local.has(id)) return id
  return null
}

/** Call `propose`. Wraps its errors in `Refused`. */
function refusing<S, Op>(propose: Propose<S, Op, null>, state: S, at: ProposalPosition): Proposal<Op> | null {
  try {
    return propose(state, at)
  } catch (error) {
    throw new Refused(error)
  }
}

/** Stop the run of a job. If it is already stopped, the first cause stays. */
function stop(local: LocalJob, why: StopCause): void {
  local.stop.abort(new JobStopped(local.id, why))
}

function stopCause(local: LocalJob): StopCause | null {
  const { aborted, reason } = local.stop.signal
  return aborted ? (reason as JobStopped).why : null
}

/** Return whether the claim of `job` is `claim`. Two claims of a job never have the same epoch. */
function isClaim(job: OpenJob | undefined, claim: OpenJob): boolean {
  return job?.status === 'Running' && job.epoch === claim.epoch
}

/** Return whether an error is temporary, so that a retry of the same commit may succeed. */
function isTransient(error: unknown): boolean {
  if (!(error instanceof SheafError)) return false
  const { code } = error
  return code === ErrorCode.ServiceUnavailable || code === ErrorCode.ConcurrentModification
}

/** Return the claim of a job as a dependency of an entry. */
function asDependency({ id, epoch }: OpenJob): Json {
  return { job: id, epoch }
}

function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : quote(error)
  const hint = error instanceof SheafError ? error.hint : undefined
  return (hint === undefined ? message : `${message}; ${hint}`).slice(0, reasonMax)
}
