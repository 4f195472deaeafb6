/**
 * Processes that run jobs on one root, and the smallest machine that notices what they do: open jobs, how they ended,
 * and how often each did its work.
 */
import { BlobLog } from '../../src/commit/blob-log.js'
import { Committer } from '../../src/commit/committer.js'
import type { Entry, Genesis, Machine, Position, Propose } from '../../src/commit/machine.js'
import { formatTransactionId } from '../../src/commit/transaction-id.js'
import { assert, ErrorCode, SheafError } from '../../src/errors.js'
import type { JobKind, JobRun } from '../../src/jobs/job-kind.js'
import { endedOp, type JobOp, jobsAfter, type OpenJob } from '../../src/jobs/job-op.js'
import { JobRunner } from '../../src/jobs/job-runner.js'
import { listLeases } from '../../src/jobs/lease.js'
import type { Clock } from '../../src/primitives/clock.js'
import { PersistentMap } from '../../src/primitives/persistent-map.js'
import type { BlobStore } from '../../src/storage/blob-store.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { gate } from '../commit/tally.js'
import { SeededClock } from '../support/clock.js'

export interface Ended {
  readonly state: string
  readonly reason?: string
}

export interface State {
  readonly jobs: PersistentMap<OpenJob>
  readonly ended: PersistentMap<Ended>
  /** What the jobs did, by job id or any other name. */
  readonly counts: PersistentMap<number>
  /** Operations that were decided on another claim of their job: there must be none. */
  readonly stale: readonly string[]
}

type Op = JobOp | { readonly op: 'count'; readonly name: string }

export const machine: Machine<State> = {
  features: new Set(),
  initial: () => ({
    jobs: PersistentMap.empty(),
    ended: PersistentMap.empty(),
    counts: PersistentMap.empty(),
    stale: [],
  }),
  apply(state: State, entry: Entry, { slot }: Position): State {
    let { jobs, ended, counts, stale } = state
    for (const op of entry.ops as readonly Op[]) {
      if (op.op === 'count') {
        counts = counts.set(op.name, (counts.get(op.name) ?? 0) + 1)
        continue
      }
      const id = op.id ?? formatTransactionId(slot, entry.txn)
      assert(!ended.has(id), `job ${id} has ended`)
      for (const { job, epoch } of entry.req as readonly { job?: string; epoch?: number }[]) {
        if (job === id && epoch !== jobs.get(id)?.epoch) stale = [...stale, `${op.state} ${id}`]
      }
      jobs = jobsAfter(jobs, op, id, job => job)
      if (!jobs.has(id)) {
        const { reason } = op as { readonly reason?: string }
        ended = ended.set(id, { state: op.state, ...(reason !== undefined && { reason }) })
      }
    }
    return { jobs, ended, counts, stale }
  },
  *save({ jobs, ended, counts, stale }: State): Iterable<string> {
    yield JSON.stringify([[...jobs], [...ended], [...counts], stale.map(what => [what, true])])
  },
  load(_genesis: Genesis) {
    let maps: readonly (readonly (readonly [string, unknown])[])[] = []
    const map = <V>(at: number): PersistentMap<V> =>
      maps[at]!.reduce((all, [key, value]) => all.set(key, value as V), PersistentMap.empty<V>())
    return {
      add(text: string): void {
        maps = JSON.parse(text)
      },
      end: (): State => ({ jobs: map(0), ended: map(1), counts: map(2), stale: [...map(3).keys()] }),
    }
  },
}

/** What a job of the kinds below is told to do. */
export type Spec = {
  /** Steps of a second each. */
  readonly steps?: number
  /** Where it throws. */
  readonly fails?: 'run' | 'decision'
  /** Goes on when told to stop. */
  readonly deaf?: boolean
}

export const failure = new SheafError(ErrorCode.InvalidInput, 'the column is gone', { hint: 'add it' })

/** Works for some seconds, then counts itself. `requeue` may be begun again, `once` may not. */
export function countingKinds(
  clock: Clock,
  onRun: (job: JobRun<State>) => void = () => {},
): JobKind<State>[] {
  const run = async (job: JobRun<State>) => {
    onRun(job)
    const { steps = 0, fails, deaf = false } = job.spec as Spec
    for (let step = 0; step < steps; step++) {
      await clock.sleep(1000, deaf ? undefined : job.signal)
      job.progress(step + 1, steps, 'counting')
    }
    if (fails === 'run') throw failure
    await job.commit(() => {
      if (fails === 'decision') throw failure
      return { ops: [{ op: 'count', name: job.id }] }
    })
  }
  return [
    { name: 'requeue', onOrphan: 'requeue', run },
    { name: 'once', onOrphan: 'fail', run },
  ]
}

export interface Process {
  readonly committer: Committer<State>
  readonly runner: JobRunner<State>
}

export interface ProcessOptions {
  readonly store?: BlobStore
  readonly kinds?: readonly JobKind<State>[]
  readonly concurrency?: number
}

export class World {
  readonly clock: SeededClock
  readonly store: MemoryStore
  readonly #runners: JobRunner<State>[] = []

  constructor(seed: number) {
    this.clock = new SeededClock(seed)
    this.store = new MemoryStore('memory://', this.clock)
  }

  async open({ store = this.store, kinds, concurrency }: ProcessOptions = {}): Promise<Process> {
    const { clock } = this
    let runner: JobRunner<State> | null = null
    const onApplied = () => runner?.observe(committer.state)
    const options = { clock, create: true, readOnly: false, unknownAfterMs: 3000, onApplied }
    const committer: Committer<State> = await Committer.open(new BlobLog(store), machine, options)
    const log = {
      jobs: (state: State) => state.jobs,
      refresh: (signal?: AbortSignal) => committer.refresh(signal),
      commit: (propose: Propose<State, unknown, null>) => committer.commit(propose),
    }
    runner = new JobRunner({
      log,
      store,
      clock,
      kinds: kinds ?? countingKinds(clock),
      ...(concurrency !== undefined && { concurrency }),
    })
    this.#runners.push(runner)
    runner.observe(committer.state)
    return { committer, runner }
  }

  /** Keys of all leases. */
  async leases(): Promise<string[]> {
    return (await listLeases(this.store)).leases.flatMap(({ keys }) => keys)
  }

  /** Everything the log says about jobs, in order: `<state> <epoch>`. */
  async history(id: string): Promise<string[]> {
    const { committer } = await this.open({ kinds: [] })
    const said: string[] = []
    for (let slot = 1; slot <= committer.head; slot++) {
      const { entries } = (await committer.slots.get(slot)).header
      for (const { txn, ops } of entries) {
        for (const op of ops as readonly Op[]) {
          if (op.op !== 'job' || (op.id ?? formatTransactionId(slot, txn)) !== id) continue
          said.push(op.state === 'Running' ? `Running ${op.epoch}` : op.state)
        }
      }
    }
    return said
  }

  /** The end of the world: nothing of it may run into the next test. */
  async end(): Promise<void> {
    await Promise.all(this.#runners.map(runner => runner.close()))
  }
}

export async function cancel(committer: Committer<State>, id: string): Promise<void> {
  await committer.commit(state => {
    if (!state.jobs.has(id)) throw new Error('too late')
    return { ops: [endedOp(id, 'Canceled')] }
  })
}

/** `inner` with some of its calls replaced. It cannot peek. */
export function storeWith(inner: BlobStore, over: Partial<BlobStore>): BlobStore {
  return {
    name: inner.name,
    get: (key, signal) => inner.get(key, signal),
    getRange: (key, offset, length, signal) => inner.getRange(key, offset, length, signal),
    readInto: (key, offset, target, signal) => inner.readInto(key, offset, target, signal),
    readRanges: (key, ranges, signal) => inner.readRanges(key, ranges, signal),
    put: (key, bytes, signal) => inner.put(key, bytes, signal),
    putStream: (key, chunks, signal) => inner.putStream(key, chunks, signal),
    putIfAbsent: (key, bytes, signal) => inner.putIfAbsent(key, bytes, signal),
    stat: (key, signal) => inner.stat(key, signal),
    list: (prefix, startAfter, signal) => inner.list(prefix, startAfter, signal),
    delete: (key, signal) => inner.delete(key, signal),
    ...over,
  }
}

/** A store whose calls wait while its process is suspended. */
export function suspendable(inner: BlobStore) {
  let awake = gate()
  awake.open()
  const store = storeWith(inner, {
    async get(key, signal) {
      await awake.opened
      return inner.get(key, signal)
    },
    async put(key, bytes, signal) {
      await awake.opened
      return inner.put(key, bytes, signal)
    },
    async putIfAbsent(key, bytes, signal) {
      await awake.opened
      return inner.putIfAbsent(key, bytes, signal)
    },
    async *list(prefix, startAfter, signal) {
      await awake.opened
      yield* inner.list(prefix, startAfter, signal)
    },
    async delete(key, signal) {
      await awake.opened
      return inner.delete(key, signal)
    },
  })
  const suspend = () => {
    awake = gate()
  }
  return { store, suspend, wake: () => awake.open() }
}

/** A store whose next `putIfAbsent` fails once `lose` was called: it arrives, or only its reply is lost. */
export function losing(inner: BlobStore) {
  let lost: 'request' | 'reply' | null = null
  const store = storeWith(inner, {
    async putIfAbsent(key, bytes, signal) {
      const now = lost
      lost = null
      if (now === 'request') throw new Error('connection reset')
      const answer = await inner.putIfAbsent(key, bytes, signal)
      if (now === 'reply') throw new Error('connection reset')
      return answer
    },
  })
  const lose = (what: 'request' | 'reply') => {
    lost = what
  }
  return { store, lose }
}
