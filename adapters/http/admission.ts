/** Limits the calls in progress and the open streams. */
import { ErrorCode, SheafError } from '../../src/errors.js'
import type { Limits } from './limits.js'

/** Frees the place of a call. Only the first call of the function has an effect. */
export type Leave = () => void

/** Maximum share of the places for unidentified callers that one network address may take. */
const addressShare = 1 / 8

/**
 * Counts the calls in progress, in total and per caller. Each call occupies one place; the number of places is the
 * limit. With authentication, callers that have not yet sent credentials use separate places. So unidentified callers
 * never take a place from identified callers.
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

  /**
   * Take a place for a call. Throws ServiceUnavailable if all places are taken, and Throttling if this caller has too
   * many calls in progress.
   */
  enter(caller: string): Leave {
    return this.#calls.enter(caller)
  }

  /** Take a place for an open stream. Throws what `enter` throws. */
  enterStream(caller: string): Leave {
    return this.#streams.enter(caller)
  }

  /** Take a place while the server reads the body of an unidentified caller. Throws the same errors as `enter`. */
  enterUnidentified(address: string): Leave {
    return this.#unidentified.enter(address)
  }
}

class Places {
  taken = 0
  readonly #what: string
  readonly #limit: number
  readonly #limitPerCaller: number
  readonly #byCaller = new Map<string, number>()

  /** `what`: the thing that takes places, as a plural noun for messages. */
  constructor(what: string, limit: number, limitPerCaller: number) {
    this.#what = what
    this.#limit = limit
    this.#limitPerCaller = limitPerCaller
  }

  enter(caller: string): Leave {
    if (this.taken >= this.#limit) {
      throw new SheafError(
        ErrorCode.ServiceUnavailable,
        `the server has ${this.#limit} ${this.#what}, which is its limit`,
        {
          hint: 'try again later',
        },
      )
    }
    const own = this.#byCaller.get(caller) ?? 0
    if (own >= this.#limitPerCaller) {
      throw new SheafError(ErrorCode.Throttling, `this caller has ${own} ${this.#what}, which is its limit`, {
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
