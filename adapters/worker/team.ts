/**
 * Presents several workers with the same root as one namespace. Each worker has an index. When a worker dies, the next
 * call for its index starts a new worker. The new worker opens the root again, and sees all acknowledged commits.
 */
import type { Worker } from 'node:worker_threads'
import type { LocalFeatures } from '../../src/index.js'
import { orAborted } from '../../src/primitives/abort.js'
import type { MaybePromise } from '../../src/primitives/task.js'
import type { Operations } from '../../src/protocol/calls.js'
import type { OperationName } from '../../src/protocol/operations.js'
import { type Call, type Remote, remoteOperations } from '../calls.js'
import { featuresOver } from './features.js'
import { WorkerLink } from './link.js'

/** Starts the worker with this index. `again`: whether it replaces a worker that has died. */
export type StartWorker = (index: number, again: boolean) => Worker

export interface TeamOptions {
  /** Number of workers. Default 1. */
  readonly workers?: number
  /**
   * Whether the root outlives the worker, so that a new worker can replace a dead one. Default true. False for a root
   * in memory.
   */
  readonly lasting?: boolean
  readonly signal?: AbortSignal | undefined
}

/**
 * Operations that read rows. They go to the worker with the fewest calls in progress; all other operations go to the
 * first worker. So one engine commits, groups concurrent commits, does the maintenance, and knows the progress of its
 * jobs. An engine that reads checks the log for new commits, so all engines see what one engine has acknowledged.
 */
const rowReads: ReadonlySet<OperationName> = new Set<OperationName>([
  'queryTable',
  'countTableRows',
  'explainTableQueryPlan',
  'analyzeTableQueryPlan',
  'readTableSlice',
])

export class Team {
  readonly features: LocalFeatures
  readonly #remote: Remote
  readonly #members: readonly TeamMember[]

  private constructor(place: string, members: readonly TeamMember[]) {
    this.#remote = remoteOperations(place, call => this.#send(call))
    this.#members = members
    this.features = featuresOver(place, this.#remote, signal => this.#members[0]!.started(signal))
  }

  /** Open all workers. If an engine cannot be opened, ends all workers and throws the error, or `signal.reason`. */
  static async open(place: string, startWorker: StartWorker, options: TeamOptions = {}): Promise<Team> {
    const { workers: count = 1, lasting = true, signal } = options
    const members = Array.from({ length: count }, (_, index) => {
      const start = async (again: boolean) =>
        WorkerLink.open(startWorker(index, again), place, again ? undefined : signal)
      return new TeamMember(start, lasting)
    })
    const [first, ...others] = members as [TeamMember, ...TeamMember[]]
    try {
      // Start the first engine alone, because it creates the root if the root does not exist.
      await first.ensureStarted()
      await Promise.all(others.map(member => member.ensureStarted()))
    } catch (cause) {
      await Promise.all(members.map(member => member.close()))
      throw cause
    }
    return new Team(place, members)
  }

  get operations(): Operations {
    return this.#remote.operations
  }

  /** Wait for running calls, close the engines, and end the workers. */
  async close(): Promise<void> {
    await this.#remote.drain()
    await Promise.all(this.#members.map(member => member.close()))
  }

  #send(call: Call): Promise<unknown> {
    return (rowReads.has(call.name) ? this.#leastLoaded() : this.#members[0]!).send(call)
  }

  /**
   * Return the member with the least load. Members with a live worker are preferred. Starts the workers that are
   * missing.
   */
  #leastLoaded(): TeamMember {
    for (const member of this.#members) member.ensureStarted()
    return this.#members.reduce((least, member) => {
      if (member.isAlive !== least.isAlive) return member.isAlive ? member : least
      return member.load < least.load ? member : least
    })
  }
}

/** The position of one worker in the team. It starts a new worker after the last one died. */
class TeamMember {
  readonly #start: (again: boolean) => Promise<WorkerLink>
  readonly #lasting: boolean
  #link: WorkerLink | null = null
  /** The start in progress. All calls that wait for the worker share it. */
  #starting: Promise<WorkerLink> | null = null
  #waiting = 0

  constructor(start: (again: boolean) => Promise<WorkerLink>, lasting: boolean) {
    this.#start = start
    this.#lasting = lasting
  }

  /** Whether this member has a live worker. */
  get isAlive(): boolean {
    return this.#link?.isAlive === true
  }

  /** Number of calls in progress, including calls that wait for a worker to start. */
  get load(): number {
    return this.#waiting + (this.#link?.load ?? 0)
  }

  /**
   * Return the worker, after a new one has started if the last one died. If a start fails, the next call tries again.
   */
  ensureStarted(): MaybePromise<WorkerLink> {
    const link = this.#link
    if (link !== null && (link.isAlive || !this.#lasting)) return link
    if (this.#starting === null) {
      this.#starting = this.#begin(link !== null)
      this.#starting.catch(() => {})
    }
    return this.#starting
  }

  async #begin(again: boolean): Promise<WorkerLink> {
    try {
      this.#link = await this.#start(again)
      return this.#link
    } finally {
      this.#starting = null
    }
  }

  send(call: Call): Promise<unknown> {
    const link = this.ensureStarted()
    return link instanceof WorkerLink ? link.send(call) : this.#sendLater(call)
  }

  async #sendLater(call: Call): Promise<unknown> {
    const link = await this.started(call.options.signal)
    return link.send(call)
  }

  /** Return the worker when it has started. Rejects with `signal.reason` if the signal aborts. */
  async started(signal: AbortSignal | undefined): Promise<WorkerLink> {
    this.#waiting++
    try {
      return await orAborted(this.ensureStarted(), signal)
    } finally {
      this.#waiting--
    }
  }

  async close(): Promise<void> {
    await this.#starting?.catch(() => {})
    await this.#link?.close()
  }
}
