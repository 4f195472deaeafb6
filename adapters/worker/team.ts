/**
 * Workers over one root that answer as one namespace. Each has a seat: where its worker has died, the next call that needs the
 * seat waits for another one, which opens the root again; whatever was acknowledged is in it.
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

/** Starts the worker of a seat; `again`: after another one that has died. */
export type Hire = (seat: number, again: boolean) => Worker

export interface TeamOptions {
  /** Default 1. */
  readonly seats?: number
  /** Whether what a worker has written outlives it, so that another can take its place. Default true. */
  readonly lasting?: boolean
  readonly signal?: AbortSignal | undefined
}

/**
 * Calls that read rows go to whoever has the fewest under way. All others go to the first, so that there is one who commits, who
 * groups what comes together, does the maintenance, and knows how far its jobs are. Whoever reads asks the log for what is new, so what
 * one has acknowledged the others see.
 */
const spread: ReadonlySet<OperationName> = new Set<OperationName>([
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

  /** Throws what the first engine that cannot be opened throws, or `signal.reason`; then no worker is left. */
  static async open(place: string, hire: Hire, options: TeamOptions = {}): Promise<Team> {
    const { seats: count = 1, lasting = true, signal } = options
    const seats = Array.from({ length: count }, (_, seat) => {
      const start = async (again: boolean) =>
        WorkerLink.open(hire(seat, again), place, again ? undefined : signal)
      return new Seat(start, lasting)
    })
    const [first, ...others] = seats as [Seat, ...Seat[]]
    try {
      // It makes the root where there is none.
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

  /** Waits for calls that have begun, closes the engines, and ends the workers. */
  async close(): Promise<void> {
    await this.#remote.drain()
    await Promise.all(this.#seats.map(seat => seat.leave()))
  }

  #send(call: Call): Promise<unknown> {
    return (spread.has(call.name) ? this.#freest() : this.#seats[0]!).send(call)
  }

  /** Of those whose worker lives, where there are any; the others get one meanwhile. */
  #freest(): Seat {
    for (const seat of this.#seats) seat.take()
    return this.#seats.reduce((freest, seat) => {
      if (seat.isTaken !== freest.isTaken) return seat.isTaken ? seat : freest
      return seat.load < freest.load ? seat : freest
    })
  }
}

/** One worker after the other. */
class Seat {
  readonly #start: (again: boolean) => Promise<WorkerLink>
  readonly #lasting: boolean
  #link: WorkerLink | null = null
  /** Shared by all who wait for it. */
  #starting: Promise<WorkerLink> | null = null
  #waiting = 0

  constructor(start: (again: boolean) => Promise<WorkerLink>, lasting: boolean) {
    this.#start = start
    this.#lasting = lasting
  }

  /** Whether there is a worker, and it lives. */
  get isTaken(): boolean {
    return this.#link?.isAlive === true
  }

  /** Calls under way, those that wait for a worker included. */
  get load(): number {
    return this.#waiting + (this.#link?.load ?? 0)
  }

  /** The worker, a new one where it has died. A start that fails is the end of that start only. */
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

  /** The worker, or `signal.reason`. */
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
