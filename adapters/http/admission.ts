/** Who may have a call carried out now. */
import { ErrorCode, SheafError } from '../../src/errors.js'
import type { Limits } from './limits.js'

/** The calls under way, of all callers and of each. */
export class Admission {
  readonly #limits: Pick<Limits, 'inFlight' | 'inFlightPerCaller'>
  readonly #byCaller = new Map<string, number>()
  #inFlight = 0

  constructor(limits: Pick<Limits, 'inFlight' | 'inFlightPerCaller'>) {
    this.#limits = limits
  }

  get inFlight(): number {
    return this.#inFlight
  }

  /** Takes a place, which its holder leaves. Throws code 17 where there is none. */
  enter(): Place {
    const { inFlight, inFlightPerCaller } = this.#limits
    if (this.#inFlight >= inFlight) {
      throw new SheafError(ErrorCode.ServiceUnavailable, `the server is at work on ${inFlight} calls`, {
        hint: 'ask again later',
      })
    }
    this.#inFlight++
    let held: string | undefined
    let left = false
    return {
      by: caller => {
        if (inFlightPerCaller === Number.POSITIVE_INFINITY) return
        const own = this.#byCaller.get(caller) ?? 0
        if (own >= inFlightPerCaller) {
          throw new SheafError(ErrorCode.Throttling, `the server is at work on ${own} calls of this caller`, {
            hint: 'wait for one of them to end',
          })
        }
        this.#byCaller.set(caller, own + 1)
        held = caller
      },
      leave: () => {
        if (left) return
        left = true
        this.#inFlight--
        if (held === undefined) return
        const own = this.#byCaller.get(held)! - 1
        if (own === 0) this.#byCaller.delete(held)
        else this.#byCaller.set(held, own)
      },
    }
  }
}

export interface Place {
  /** Says once whose call it is. Throws code 21 where that caller has too many under way. */
  by(caller: string): void
  leave(): void
}
