/** Limits the calls in progress and the open streams. */
import { ErrorCode, SheafError } from '../../src/errors.js'
import type { Limits } from './limits.js'

/** Frees a place; calling it again does nothing. */
export type Leave = () => void

/** The largest share of the places for unidentified callers that one address may take. */
const addressShare = 1 / 8

/**
 * Counts the calls in progress, in total and per caller. With authentication, callers that have not yet shown credentials have places of
 * their own: however many there are, they take no places from identified callers.
 */
export class Admission {
  readonly #calls: Places
  readonly #unidentified: Places
  readonly #streams: Places

  constructor({
    inFlight,
    inFlightPerCaller,
    openStreams,
  }: Pick<Limits, 'inFlight' | 'inFlightPerCaller' | 'openStreams'>) {
    this.#calls = new Places('calls in progress', inFlight, inFlightPerCaller)
    const perAddress = Math.max(1, Math.floor(inFlight * addressShare))
    this.#unidentified = new Places('calls in progress', inFlight, Math.min(inFlightPerCaller, perAddress))
    this.#streams = new Places('open streams', openStreams, inFlightPerCaller)
  }

  get inFlight(): number {
    return this.#calls.taken
  }

  /** The number of open streams. */
  get streams(): number {
    return this.#streams.taken
  }

  /** Take a place for a call. Throws ServiceUnavailable if all are taken, Throttling if this caller has too many. */
  enter(caller: string): Leave {
    return this.#calls.enter(caller)
  }

  /** Take a place for an open stream. Throws what `enter` throws. */
  enterStream(caller: string): Leave {
    return this.#streams.enter(caller)
  }

  /** Take a place for reading the body of an unidentified caller. Throws what `enter` throws. */
  enterUnidentified(address: string): Leave {
    return this.#unidentified.enter(address)
  }
}

class Places {
  taken = 0
  readonly #what: string
  readonly #most: number
  readonly #mostPerCaller: number
  readonly #byCaller = new Map<string, number>()

  /** `what`: what takes the places, in messages. */
  constructor(what: string, most: number, mostPerCaller: number) {
    this.#what = what
    this.#most = most
    this.#mostPerCaller = mostPerCaller
  }

  enter(caller: string): Leave {
    if (this.taken >= this.#most) {
      throw new SheafError(
        ErrorCode.ServiceUnavailable,
        `the server has ${this.#most} ${this.#what}, its limit`,
        {
          hint: 'try again later',
        },
      )
    }
    const own = this.#byCaller.get(caller) ?? 0
    if (own >= this.#mostPerCaller) {
      throw new SheafError(ErrorCode.Throttling, `this caller has ${own} ${this.#what}, its limit`, {
        hint: 'wait for one of them to end',
      })
    }
    this.taken++
    this.#byCaller.set(caller, own + 1)
    let left = false
    return () => {
      if (left) return
      left = true
      this.taken--
      const others = this.#byCaller.get(caller)! - 1
      if (others === 0) this.#byCaller.delete(caller)
      else this.#byCaller.set(caller, others)
    }
  }
}
