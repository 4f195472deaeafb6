/**
 * Several workers over one root that answer as one namespace. Each worker has an index. When a worker dies, the next call for its index
 * waits for a new worker, which opens the root again; that root has everything that was acknowledged.
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

/** Starts the worker with an index. `again`: whether it replaces a worker that has died. */
export type StartWorker = (index: number, again: boolean) => Worker

export interface TeamOptions {
  /** Number of workers. Default 1. */
  readonly workers?: number
  /** Whether what a worker has written outlives the worker, so that a new worker can replace it. Default true. */
  readonly lasting?: boolean
  readonly signal?: AbortSignal | undefined
}

/**
 * Operations that read rows: each goes to the worker with the fewest calls in progress. All others go to the first worker. So one engine
 * commits, groups commits that come together, does the maintenance, and knows the progress of its jobs. A reading engine asks the log for
 * new commits, so all see what one has acknowledged.
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

  /** Open all workers. If an engine cannot be opened, ends all workers and throws its error, or `signal.reason`. */
  static async open(place: string, startWorker: StartWorker, options: TeamOptions = {}): Promise<Team> {
    const { workers: count = 1, lasting = true, signal } = options
    const members = Array.from({ length: count }, (_, index) => {
      const start = async (again: boolean) =>
        WorkerLink.open(startWorker(index, again), place, again ? undefined : signal)
      return new TeamMember(start, lasting)
    })
    const [first, ...others] = members as [TeamMember, ...TeamMember[]]
    try {
      // The first engine creates the root if it does not exist.
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

  /** Wait for calls that have begun, close the engines, and end the workers. */
  async close(): Promise<void> {
    await this.#remote.drain()
    await Promise.all(this.#members.map(member => member.close()))
  }

  #send(call: Call): Promise<unknown> {
    return (rowReads.has(call.name) ? this.#leastLoaded() : this.#members[0]!).send(call)
  }

  /** Return the member with the least load, of those with a live worker if there are any. Starts missing workers. */
  #leastLoaded(): TeamMember {
    for (const member of this.#members) member.ensureStarted()
    return this.#members.reduce((least, member) => {
      if (member.isAlive !== least.isAlive) return member.isAlive ? member : least
      return member.load < least.load ? member : least
    })
  }
}

/** The worker with one index: when it has died, the worker that replaces it. */
class TeamMember {
  readonly #start: (again: boolean) => Promise<WorkerLink>
  readonly #lasting: boolean
  #link: WorkerLink | null = null
  /** The start that is in progress, shared by all calls that wait for the worker. */
  #starting: Promise<WorkerLink> | null = null
  #waiting = 0

  constructor(start: (again: boolean) => Promise<WorkerLink>, lasting: boolean) {
    this.#start = start
    this.#lasting = lasting
  }

  /** Whether there is a live worker. */
  get isAlive(): boolean {
    return this.#link?.isAlive === true
  }

  /** Calls in progress, those that wait for a worker included. */
  get load(): number {
    return this.#waiting + (this.#link?.load ?? 0)
  }

  /** Return the worker, a new one if it has died. If a start fails, the next call tries again. */
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

  /** Return the worker, or reject with `signal.reason`. */
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
