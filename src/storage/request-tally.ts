/** The requests that one call sent to a store. */

/**
 * The kinds of requests: reads of whole objects (`get`) and of ranges, reads of sizes (`head`), unconditional writes
 * (`put`), writes of new objects, pages of listings, deletes, and requests of uploads in parts.
 */
export const requestKinds = [
  'get',
  'range',
  'head',
  'put',
  'putIfAbsent',
  'list',
  'delete',
  'multipart',
] as const

export type RequestKind = (typeof requestKinds)[number]

/** Prices of requests to object storage, in US dollars. */
export interface RequestPrices {
  /** Price of a million requests of the kinds `get`, `range` and `head`. */
  readonly perMillionReads: number
  /** Price of a million requests of the kinds `put`, `putIfAbsent`, `list` and `multipart`. Deletes are free. */
  readonly perMillionWrites: number
  /** Price of 2^30 received bytes. 0 if this process runs in the region of the bucket. */
  readonly perGiBReceived: number
}

/** Kinds of requests that cost as much as a write. */
const pricedAsWrites: readonly RequestKind[] = ['put', 'putIfAbsent', 'list', 'multipart']
const pricedAsReads: readonly RequestKind[] = ['get', 'range', 'head']

/** How a request ended. `error`: the reason as in `RequestStats.errors`; null for an answer. */
export interface RequestEnd {
  readonly receivedBytes: number
  readonly error: string | null
}

/**
 * Called when a request begins, with the number of its round from 1 on. The returned function is called when the request
 * ends. Must not throw.
 */
export type RequestObserver = (kind: RequestKind, key: string, round: number) => (end: RequestEnd) => void

/** Counts the requests of one call. Also counts the requests of other calls that this call waits for and began. */
export class RequestTally {
  /** Number of requests by kind, repetitions included. */
  readonly requests = new Map<RequestKind, number>()
  receivedBytes = 0
  sentBytes = 0
  /**
   * Number of rounds: sets of requests of which none waits for another. A request that begins after another one ended
   * counts as a request that waited for it. So the number is too high if independent requests begin at different times.
   */
  rounds = 0
  /** The last round of which a request has ended. */
  #ended = 0
  readonly #observe: RequestObserver | undefined

  constructor(observe?: RequestObserver) {
    this.#observe = observe
  }

  /** Count a request when it begins. Call the result once, at the end. */
  begin(kind: RequestKind, key: string, sentBytes: number): (end: RequestEnd) => void {
    this.requests.set(kind, (this.requests.get(kind) ?? 0) + 1)
    this.sentBytes += sentBytes
    const round = this.#ended + 1
    this.rounds = Math.max(this.rounds, round)
    const observed = this.#observe?.(kind, key, round)
    return end => {
      this.#ended = Math.max(this.#ended, round)
      this.receivedBytes += end.receivedBytes
      observed?.(end)
    }
  }

  /** The number of requests of all kinds. */
  get total(): number {
    return this.#count([...this.requests.keys()])
  }

  /** Return the price of the requests in US dollars. */
  cost({ perMillionReads, perMillionWrites, perGiBReceived }: RequestPrices): number {
    const requests =
      this.#count(pricedAsReads) * perMillionReads + this.#count(pricedAsWrites) * perMillionWrites
    return requests / 1e6 + (this.receivedBytes / 2 ** 30) * perGiBReceived
  }

  #count(kinds: readonly RequestKind[]): number {
    return kinds.reduce((sum, kind) => sum + (this.requests.get(kind) ?? 0), 0)
  }
}
