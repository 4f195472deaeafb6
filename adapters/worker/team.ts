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
export type Hire = (seat: number, again: boolean) => Worker

export interface TeamOptions {
  /** Number of workers. Default 1. */
  readonly seats?: number
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
  readonly #seats: readonly Seat[]

  private constructor(place: string, seats: readonly Seat[]) {
    this.#remote = remoteOperations(place, call => this.#send(call))
    this.#seats = seats
    this.features = featuresOver(place, this.#remote, signal => this.#seats[0]!.taken(signal))
  }

  /** Open all workers. If an engine cannot be opened, ends all workers and throws its error, or `signal.reason`. */
  static async open(place: string, hire: Hire, options: TeamOptions = {}): Promise<Team> {
    const { seats: count = 1, lasting = true, signal } = options
    const seats = Array.from({ length: count }, (_, seat) => {
      const start = async (again: boolean) =>
        WorkerLink.open(hire(seat, again), place, again ? undefined : signal)
      return new Seat(start, lasting)
    })
    const [first, ...others] = seats as [Seat, ...Seat[]]
    try {
      // The first engine creates the root if it does not exist.
      await first.take()
      await Promise.all(others.map(seat => seat.take()))
    } catch (cause) {
      await Promise.all(seats.map(seat => seat.leave()))
      throw cause
    }
    return new Team(place, seats)
  }

  get operations(): Operations {
    return this.#remote.operations
  }

  /** Wait for calls that have begun, close the engines, and end the workers. */
  async close(): Promise<void> {
    await this.#remote.drain()
    await Promise.all(this.#seats.map(seat => seat.leave()))
  }

  #send(call: Call): Promise<unknown> {
    return (rowReads.has(call.name) ? this.#leastLoaded() : this.#seats[0]!).send(call)
  }

  /** Return the seat with the least load, among those with a live worker if there are any. Starts the workers that are missing. */
  #leastLoaded(): Seat {
    for (const seat of this.#seats) seat.take()
    return this.#seats.reduce((least, seat) => {
      if (seat.isTaken !== least.isTaken) return seat.isTaken ? seat : least
      return seat.load < least.load ? seat : least
    })
  }
}

/** The worker with one index, and after its death the next. */
class Seat {
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
  get isTaken(): boolean {
    return this.#link?.isAlive === true
  }

  /** Calls in progress, those that wait for a worker included. */
  get load(): number {
    return this.#waiting + (this.#link?.load ?? 0)
  }

  /** Return the worker, a new one if it has died. If a start fails, the next call tries again. */
  take(): MaybePromise<WorkerLink> {
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
    const link = this.take()
    return link instanceof WorkerLink ? link.send(call) : this.#sendLater(call)
  }

  async #sendLater(call: Call): Promise<unknown> {
    const link = await this.taken(call.options.signal)
    return link.send(call)
  }

  /** Return the worker, or reject with `signal.reason`. */
  async taken(signal: AbortSignal | undefined): Promise<WorkerLink> {
    this.#waiting++
    try {
      return await orAborted(this.take(), signal)
    } finally {
      this.#waiting--
    }
  }

  async leave(): Promise<void> {
    await this.#starting?.catch(() => {})
    await this.#link?.close()
  }
}
