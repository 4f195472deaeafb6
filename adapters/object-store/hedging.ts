/**
 * Sends a read a second time if it takes longer than 95 % of the recent ones, and takes the first answer. A few requests of
 * a provider take many times as long as the others, and a query waits for its slowest read.
 *
 * At most 5 % of the reads are sent twice, so that a provider that is slow as a whole does not get twice the load.
 */
import { whenAborted } from '../../src/primitives/abort.js'
import type { Clock } from '../../src/primitives/clock.js'

/** Number of recent reads whose times are kept. */
const samplesMax = 128
/** Number of reads before the first one is sent twice. */
const samplesMin = 32
/** The limit of the time is computed again after this many reads. */
const samplesPerLimit = 16
const percentile = 0.95
/** Reads that take less than this, in milliseconds, are not sent twice. */
const limitMsMin = 10
/** Maximum share of reads that are sent twice. */
const shareMax = 0.05
/** Number of reads that may be sent twice one after the other. */
const burstMax = 4

export class Hedging {
  /** Reads that were sent twice. */
  sent = 0
  /** Reads whose second request was answered first. */
  won = 0
  readonly #clock: Clock
  readonly #times = new Float64Array(samplesMax)
  #count = 0
  #limitMs = Number.POSITIVE_INFINITY
  /** Number of reads that may be sent twice now. */
  #budget = burstMax

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Return the answer of `send`, which may be called twice. The signal of the request without an answer aborts. */
  async first<T>(
    signal: AbortSignal | undefined,
    send: (signal: AbortSignal | undefined) => Promise<T>,
  ): Promise<T> {
    signal?.throwIfAborted()
    const begun = this.#clock.elapsed()
    this.#budget = Math.min(burstMax, this.#budget + shareMax)
    const answer = Number.isFinite(this.#limitMs) ? await this.#race(signal, send) : await send(signal)
    this.#note(this.#clock.elapsed() - begun)
    return answer
  }

  async #race<T>(
    signal: AbortSignal | undefined,
    send: (signal: AbortSignal | undefined) => Promise<T>,
  ): Promise<T> {
    const over = new AbortController()
    const forget = signal && whenAborted(signal, () => over.abort(signal.reason))
    try {
      const one = send(over.signal)
      const late = this.#clock.sleep(this.#limitMs, over.signal, true).then(() => tooLate)
      const early = await Promise.race([one, late])
      if (early !== tooLate) return early as T
      if (this.#budget < 1) return await one
      this.#budget--
      this.sent++
      const two = send(over.signal).then(answer => {
        this.won++
        return answer
      })
      // If one of them fails, the other may still be answered.
      return await Promise.any([one, two]).catch(({ errors }: AggregateError) => {
        throw errors[0]
      })
    } finally {
      forget?.()
      // Pass a reason, because creating the default AbortError takes longer.
      over.abort(null)
    }
  }

  #note(ms: number): void {
    this.#times[this.#count++ % samplesMax] = ms
    if (this.#count < samplesMin || this.#count % samplesPerLimit !== 0) return
    const sorted = this.#times.slice(0, Math.min(this.#count, samplesMax)).sort()
    this.#limitMs = Math.max(limitMsMin, sorted[Math.floor(sorted.length * percentile)]!)
  }
}

const tooLate = Symbol('too late')
