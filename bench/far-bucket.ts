/** A bucket in memory, as far away as its caller says. Counts requests, bytes and rounds of requests. */
import type {
  Bucket,
  Failure,
  ListedPage,
  ObjectBytes,
  ObjectHead,
  ObjectRange,
  Upload,
} from '../adapters/object-store/bucket.js'
import { seededRandom } from './random.js'

interface StoredObject {
  readonly bytes: Uint8Array
  readonly writer: string
}

/** The objects of a bucket, by key. Several `FarBucket`s may have the same objects, as several processes do. */
export type Objects = Map<string, StoredObject>

/** A share of the requests that take longer than the others. */
interface SlowTail {
  readonly share: number
  readonly delayMs: number
}

class Taken extends Error {}

/** Number of objects on a page of a listing, as S3 has. */
const pageSize = 1000
/**
 * A round is over when no further request has come for this long, in milliseconds. It is longer than the computations
 * between requests that do not wait for each other, such as loading code for the first query.
 */
const quietMs = 250

export class FarBucket implements Bucket {
  readonly name = 'far://bucket'
  readonly partsAtOnce = 4
  readonly #objects: Objects
  readonly #delayMs: number | null
  readonly #slow: SlowTail | null
  readonly #random = seededRandom(1)
  #waiting: (() => void)[] = []
  #timer: NodeJS.Timeout | null = null
  requests = 0
  rounds = 0
  bytes = 0
  /** The requests in order: the number of the round, the method and the key. */
  readonly log: string[] = []

  /**
   * `delayMs`: time that each request takes. Null: all requests that do not wait for each other are answered together, so
   * that `rounds` counts how often a caller had to wait. `slow`: requests that take longer.
   */
  constructor(objects: Objects, delayMs: number | null, slow: SlowTail | null = null) {
    this.#objects = objects
    this.#delayMs = delayMs
    this.#slow = slow
  }

  reset(): void {
    this.requests = 0
    this.rounds = 0
    this.bytes = 0
    this.log.length = 0
  }

  read(key: string, range: ObjectRange | null): Promise<ObjectBytes | 'past end' | null> {
    return this.#request(`get ${key}${range === null ? '' : ` ${range.offset}+${range.length}`}`, () => {
      const whole = this.#objects.get(key)?.bytes
      if (whole === undefined) return null
      if (range !== null && range.offset >= whole.length) return 'past end'
      const bytes = range === null ? whole : whole.subarray(range.offset, range.offset + range.length)
      this.bytes += bytes.length
      return { bytes: bytes.slice(), size: whole.length }
    })
  }

  head(key: string): Promise<ObjectHead | null> {
    return this.#request(`head ${key}`, () => {
      const found = this.#objects.get(key)
      return found === undefined
        ? null
        : { size: found.bytes.length, modified: Date.now(), writer: found.writer }
    })
  }

  create(key: string, bytes: Uint8Array, writer: string): Promise<void> {
    return this.#request(`create ${key}`, () => this.#create(key, bytes, writer))
  }

  replace(key: string, bytes: Uint8Array): Promise<void> {
    return this.#request(`replace ${key}`, () => {
      this.bytes += bytes.length
      this.#objects.set(key, { bytes: bytes.slice(), writer: '' })
    })
  }

  list(prefix: string, startAfter: string, page: string | undefined): Promise<ListedPage> {
    return this.#request(`list ${prefix} after ${page ?? startAfter}`, () => {
      const after = page ?? startAfter
      const keys = [...this.#objects.keys()].filter(key => key.startsWith(prefix) && key > after).sort()
      const objects = keys.slice(0, pageSize).map(key => {
        return { key, size: this.#objects.get(key)!.bytes.length, modified: Date.now() }
      })
      return { objects, next: keys.length > pageSize ? keys[pageSize - 1] : undefined }
    })
  }

  delete(key: string): Promise<void> {
    return this.#request(`delete ${key}`, () => void this.#objects.delete(key))
  }

  async startUpload(key: string, writer: string): Promise<Upload> {
    const parts: Uint8Array[] = []
    await this.#request(`start ${key}`, () => {})
    return {
      part: (number, bytes) =>
        this.#request(`part ${key}`, () => {
          parts[number] = bytes.slice()
        }),
      complete: () => this.#request(`complete ${key}`, () => this.#create(key, Buffer.concat(parts), writer)),
      abort: () => this.#request(`abort ${key}`, () => {}),
    }
  }

  failureOf(error: unknown): Failure {
    return { kind: error instanceof Taken ? 'taken' : 'unknown', reason: (error as Error).message }
  }

  #create(key: string, bytes: Uint8Array, writer: string): void {
    this.bytes += bytes.length
    if (this.#objects.has(key)) throw new Taken('the key exists')
    this.#objects.set(key, { bytes: new Uint8Array(bytes), writer })
  }

  async #request<T>(text: string, execute: () => T): Promise<T> {
    this.requests++
    this.log.push(`${this.rounds + 1} ${text}`)
    await this.#answered()
    return execute()
  }

  #answered(): Promise<void> {
    const isSlow = this.#slow !== null && this.#random() < this.#slow.share
    const ms = isSlow ? this.#slow.delayMs : this.#delayMs
    if (ms !== null) return new Promise(resolve => setTimeout(resolve, ms))
    return new Promise(resolve => {
      this.#waiting.push(resolve)
      if (this.#timer !== null) this.#timer.refresh()
      else this.#timer = setTimeout(() => this.#answerAll(), quietMs)
    })
  }

  #answerAll(): void {
    this.#timer = null
    this.rounds++
    const waiting = this.#waiting
    this.#waiting = []
    for (const answer of waiting) answer()
  }
}
