/** Who may have a call carried out now. */
import { ErrorCode, SheafError } from '../../src/errors.js'
import type { Limits } from './limits.js'

/** Gives a place back; calling it again does nothing. */
export type Leave = () => void

/** One address has at most this share of the places of callers that nobody knows yet. */
const addressShare = 1 / 8

/**
 * The calls under way, of all callers and of each. Where callers have credentials, those who have not shown any yet have places of their own: however
 * many there are, they take none of the others.
 */
export class Admission {
  readonly #calls: Places
  readonly #strangers: Places

  constructor({ inFlight, inFlightPerCaller }: Pick<Limits, 'inFlight' | 'inFlightPerCaller'>) {
    this.#calls = new Places(inFlight, inFlightPerCaller)
    const perAddress = Math.max(1, Math.floor(inFlight * addressShare))
    this.#strangers = new Places(inFlight, Math.min(inFlightPerCaller, perAddress))
  }

  get inFlight(): number {
    return this.#calls.taken
  }

  /** Takes a place for a call. Throws code 17 where there is none, 21 where that caller has too many. */
  enter(caller: string): Leave {
    return this.#calls.enter(caller)
  }

  /** Takes a place for reading what says who calls. Throws what `enter` throws. */
  enterStranger(address: string): Leave {
    return this.#strangers.enter(address)
  }
}

class Places {
  taken = 0
  readonly #most: number
  readonly #mostPerCaller: number
  readonly #byCaller = new Map<string, number>()

  constructor(most: number, mostPerCaller: number) {
    this.#most = most
    this.#mostPerCaller = mostPerCaller
  }

  enter(caller: string): Leave {
    if (this.taken >= this.#most) {
      throw new SheafError(ErrorCode.ServiceUnavailable, `the server is at work on ${this.#most} calls`, {
        hint: 'ask again later',
      })
    }
    const own = this.#byCaller.get(caller) ?? 0
    if (own >= this.#mostPerCaller) {
      throw new SheafError(ErrorCode.Throttling, `the server is at work on ${own} calls of this caller`, {
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
