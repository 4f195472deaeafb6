/** A machine of a simulated world that serves a root over a network that loses and repeats: where its process dies, it starts another. */
import { type ConnectOptions, connect, type Namespace, SheafError } from '../../src/index.js'
import { dead, isInjected, type NetworkFaults, SimulatedProcess } from './process.js'
import type { SimulatedTime } from './time.js'
import type { Disk } from './world.js'

const faults: NetworkFaults = {
  refused: 0.02,
  lostRequest: 0.01,
  late: 0.01,
  lostReply: 0.02,
  twice: 0.02,
  slow: 0.1,
  travels: 0.5,
}

/** An answer, a refusal with a code, or `unknown`. */
export type Outcome<T> =
  | { readonly done: T }
  | { readonly code: number; readonly message: string }
  | 'unknown'

export class Machine {
  process!: SimulatedProcess
  #opened: Promise<{ readonly ns: Namespace; readonly process: SimulatedProcess }>

  constructor(
    readonly name: string,
    readonly time: SimulatedTime,
    readonly disk: Disk,
    readonly maintenance: NonNullable<ConnectOptions['maintenance']>,
    /** Calls to the store after which each of its processes dies, in order; those that follow live on. */
    readonly deaths: number[],
  ) {
    this.#opened = this.#open()
  }

  async #open(): Promise<{ readonly ns: Namespace; readonly process: SimulatedProcess }> {
    for (;;) {
      const diesAt = this.deaths.shift()
      const process = new SimulatedProcess(this.name, this.time, this.disk, {
        skewMs: 0,
        slowness: 0,
        jumps: [],
        peeks: false,
        hasTails: false,
        isBucket: false,
        faults: this.name === 'founder' ? null : { ...faults },
        fate:
          diesAt === undefined
            ? null
            : { diesAt, lastLands: this.time.random() < 0.5, suspendedAt: 0, suspendedMs: 0 },
        tell: undefined,
      })
      this.process = process
      for (let tries = 0; process.alive; tries++) {
        if (tries === 5) process.store.faults = null
        const opening = connect('memory://', {
          store: process.store,
          clock: process.clock,
          maintenance: this.maintenance,
          onWarning: () => {},
        })
        const opened = await Promise.race([opening, process.death]).catch(error => {
          if (!isInjected(error)) throw error
          return null
        })
        if (opened === dead) break
        if (opened === null) continue
        process.death.then(() => {
          this.#opened = this.#open()
        })
        return { ns: opened, process }
      }
      await this.time.sleep(2000)
    }
  }

  calm(): void {
    this.process.store.faults = null
    this.process.store.fate = null
  }

  async call<T>(work: (ns: Namespace) => Promise<T>): Promise<Outcome<T>> {
    const { ns, process } = await this.#opened
    try {
      const done = await Promise.race([work(ns), process.death])
      return done === dead ? 'unknown' : { done: done as T }
    } catch (error) {
      if (error instanceof SheafError && error.kind !== 'commit-state-unknown' && !isInjected(error))
        return { code: error.code, message: error.message }
      if (error instanceof SheafError || isInjected(error)) return 'unknown'
      throw error
    }
  }
}
