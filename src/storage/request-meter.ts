/**
 * Counts the requests that a store sends to a server. A store that sends requests has a
 * meter (`BlobStore.meter`). The counts are those since the store was opened, of all roots that use the store.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Clock } from '../primitives/clock.js'
import { DurationHistogram, type Durations } from '../primitives/histogram.js'
import {
  type RequestEnd,
  type RequestKind,
  type RequestPrices,
  type RequestTally,
  requestKinds,
} from './request-tally.js'

/** Figures of the requests of a store, since it was opened. */
export interface RequestStats {
  /** Number of requests by kind. Each attempt counts. */
  readonly requests: Readonly<Record<RequestKind, number>>
  /** Number of requests that repeat a request that failed. They are also in `requests`. */
  readonly retries: number
  /**
   * Number of requests without a usable answer, by reason, for example `timeout`, `busy`, `denied`. A reason that did
   * not occur is absent. A conditional write that found its key is not an error.
   */
  readonly errors: Readonly<Record<string, number>>
  /** Bytes of objects that were received. */
  readonly receivedBytes: number
  /** Bytes of objects that were sent, repetitions included. */
  readonly sentBytes: number
  /** Durations of the requests by kind, with the buckets of the histograms of `/metrics`. */
  readonly durations: Readonly<Record<RequestKind, Durations>>
}

const byKind = <T>(of: (kind: RequestKind) => T) =>
  Object.fromEntries(requestKinds.map(kind => [kind, of(kind)])) as Record<RequestKind, T>

/** The counts of the requests of one store. See the head of this file. */
export class RequestMeter {
  /** List prices of the requests. Undefined: unknown, or the server charges no requests. */
  readonly prices: RequestPrices | undefined
  readonly #clock: Pick<Clock, 'elapsed'>
  readonly #requests = byKind(() => 0)
  readonly #durations = byKind(() => new DurationHistogram())
  readonly #errors: Record<string, number> = {}
  readonly #tallies = new AsyncLocalStorage<RequestTally>()
  /** The number of running calls of `tallied`. Without any, `#tallies` must not make every promise slower. */
  #tallied = 0
  #retries = 0
  #receivedBytes = 0
  #sentBytes = 0

  constructor(clock: Pick<Clock, 'elapsed'>, prices?: RequestPrices) {
    this.#clock = clock
    this.prices = prices
  }

  /** Count a request when it begins. `key`: the key, or the prefix of a listing. Call the result once, at the end. */
  begin(kind: RequestKind, key: string, sentBytes = 0): (end: RequestEnd) => void {
    const begun = this.#clock.elapsed()
    const tally = this.#tallied === 0 ? undefined : this.#tallies.getStore()
    const tallied = tally?.begin(kind, key, sentBytes)
    this.#requests[kind]++
    this.#sentBytes += sentBytes
    return end => {
      tallied?.(end)
      this.#durations[kind].add(this.#clock.elapsed() - begun)
      this.#receivedBytes += end.receivedBytes
      if (end.error !== null) this.#errors[end.error] = (this.#errors[end.error] ?? 0) + 1
    }
  }

  /** Note that the next request repeats one that failed. */
  noteRetry(): void {
    this.#retries++
  }

  /** Run `work`, and count its requests in `tally`. */
  async tallied<T>(tally: RequestTally, work: () => Promise<T>): Promise<T> {
    this.#tallied++
    try {
      return await this.#tallies.run(tally, work)
    } finally {
      if (--this.#tallied === 0) this.#tallies.disable()
    }
  }

  stats(): RequestStats {
    return {
      requests: { ...this.#requests },
      retries: this.#retries,
      errors: { ...this.#errors },
      receivedBytes: this.#receivedBytes,
      sentBytes: this.#sentBytes,
      durations: byKind(kind => {
        const { counts, sum } = this.#durations[kind]
        return { counts: [...counts], sum }
      }),
    }
  }
}
