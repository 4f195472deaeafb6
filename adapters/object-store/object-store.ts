/**
 * Stores blobs as objects of a bucket. The code for the provider is behind `Bucket`.
 *
 * - Every object is created by a conditional request, which the server refuses if the key exists. Only `replace` writes an
 *   object in any case. All its attempts have the same bytes, so they can be repeated.
 * - A read that takes longer than most recent ones is sent a second time (hedging.ts).
 * - Every attempt of a request has a time limit. Requests that can be repeated are repeated after random pauses.
 * - The answer to a write may be lost. So every write stores an id of its own in the metadata of the object, and all
 *   attempts of the write have the same id. If an attempt without an answer, or a client that repeats requests by itself,
 *   leaves a doubt, the store reads the metadata. With its own id, the write has succeeded. With another id, another
 *   writer was first, and the server refuses all attempts of this write. Otherwise an attempt may still arrive at the
 *   server, so the write throws `Ambiguous`. The content of an object would prove nothing, because two writers may write
 *   the same bytes.
 * - Large streams are uploaded in parts. A stream that fails aborts the upload. If the process is killed, the upload stays
 *   open, and garbage collection aborts it (`abortUploads`).
 */
import { corrupted, ErrorCode, quote, SheafError, unsupported } from '../../src/errors.js'
import { eachOrAborted, orAborted, whenAborted } from '../../src/primitives/abort.js'
import { type Clock, systemClock } from '../../src/primitives/clock.js'
import { inParallel } from '../../src/primitives/in-parallel.js'
import { Ambiguous, type BlobInfo, type BlobStore, type ByteRange } from '../../src/storage/blob-store.js'
import { checkKey, checkPrefix, isKey } from '../../src/storage/key.js'
import { checkRange } from '../../src/storage/range.js'
import { RequestMeter } from '../../src/storage/request-meter.js'
import type { RequestPrices } from '../../src/storage/request-tally.js'
import {
  type Attempt,
  AttemptTimeout,
  type Bucket,
  type Failure,
  type FailureKind,
  type ObjectHead,
  type Upload,
  type UploadsPage,
} from './bucket.js'
import { Hedging } from './hedging.js'
import { mergeRanges } from './merge-ranges.js'
import { meteredBucket } from './metered-bucket.js'
import { type Part, partsOf } from './parts.js'

/** Settings of an `ObjectStore`. */
export interface ObjectStoreSettings {
  /** The prefix of all keys: '', or a text that ends in '/'. */
  readonly prefix: string
  /** Maximum time without a byte of a reply, milliseconds. */
  readonly timeoutMs: number
  /** Maximum number of repetitions of a request. */
  readonly retries: number
  /** Prices that override those of the bucket. */
  readonly prices?: Partial<RequestPrices> | undefined
}

/** Size of the parts of an upload. A stream that is not larger is one request. */
export const partBytes = 8 * 1024 * 1024
/** Uploads get an additional second for each of these bytes, because a client does not report their progress. */
const bytesPerSecond = 256 * 1024
/** Maximum number of requests of one `readRanges` that run concurrently. */
const readsAtOnce = 256
/** Reads of more bytes are not sent a second time. */
const hedgedMax = 1024 * 1024
/** Maximum number of uploads that are aborted concurrently. */
const abortsAtOnce = 16
/** The pause before the first repetition of a request is random, at most this long. It doubles with each repetition. */
const firstPauseMs = 100
const pauseMsMax = 5000

/** The errors for failures after which the request is not repeated. */
const errorOfKind: Partial<Record<FailureKind, { readonly code: ErrorCode; readonly hint?: string }>> = {
  denied: {
    code: ErrorCode.PermissionDenied,
    hint: 'check the credentials, and that they may read, write, list and delete objects of the bucket',
  },
  'no-bucket': {
    code: ErrorCode.NamespaceNotFound,
    hint: 'create the bucket first, or check its name and its region: Sheaf does not create buckets',
  },
  unsupported: { code: ErrorCode.Unsupported },
  invalid: { code: ErrorCode.InvalidInput },
}

/** A store of blobs in a bucket. See the head of this file. */
export class ObjectStore implements BlobStore {
  readonly name: string
  readonly address: string
  readonly meter: RequestMeter
  /** Defined only if the provider keeps the parts of abandoned uploads. */
  readonly abortUploads?: NonNullable<BlobStore['abortUploads']>
  readonly hedging: Hedging
  readonly #bucket: Bucket
  readonly #settings: ObjectStoreSettings
  readonly #clock: Clock
  /** The keys in the bucket that this store uploads in parts now. */
  readonly #uploading = new Set<string>()

  constructor(bucket: Bucket, settings: ObjectStoreSettings, clock: Clock = systemClock) {
    this.name = `${bucket.name}/${settings.prefix}`
    // The names of buckets contain the address of the server, unless they are unique in the world.
    this.address = this.name
    this.meter = new RequestMeter(clock, pricesOf(bucket.prices, settings.prices))
    this.#bucket = meteredBucket(bucket, this.meter)
    this.#settings = settings
    this.#clock = clock
    this.hedging = new Hedging(clock)
    if (bucket.listUploads !== undefined) this.abortUploads = (...call) => this.#abortUploads(...call)
  }

  async get(key: string, signal?: AbortSignal): Promise<Uint8Array | null> {
    const place = this.#placeOf(key)
    const found = await this.#read(key, 0, signal, async attempt => {
      const answer = await this.#bucket.read(place, null, attempt)
      if (answer === 'past end') throw new Error('the server refused a read without a range')
      if (answer !== null) checkLength(answer.bytes, answer.size)
      return answer
    })
    return found?.bytes ?? null
  }

  async getRange(key: string, offset: number, length: number, signal?: AbortSignal): Promise<Uint8Array> {
    const place = this.#placeOf(key)
    // Object storage has no ranges without bytes.
    if (length === 0) {
      const size = await this.#sizeOf(key, signal)
      checkRange(key, size, offset, length)
      return new Uint8Array(0)
    }
    const found = await this.#read(key, length, signal, async attempt => {
      const answer = await this.#bucket.read(place, { offset, length }, attempt)
      if (typeof answer === 'object' && answer !== null)
        checkLength(answer.bytes, Math.min(length, answer.size - offset))
      return answer
    })
    if (found === null) throw missing(key)
    checkRange(key, found === 'past end' ? await this.#sizeOf(key, signal) : found.size, offset, length)
    if (found === 'past end') throw corrupted(`${key} was replaced while it was read`)
    return found.bytes
  }

  async readInto(key: string, offset: number, target: Uint8Array, signal?: AbortSignal): Promise<void> {
    target.set(await this.getRange(key, offset, target.length, signal))
  }

  async readRanges(key: string, ranges: readonly ByteRange[], signal?: AbortSignal): Promise<void> {
    await inParallel(mergeRanges(ranges), readsAtOnce, async merged => {
      const bytes = await this.getRange(key, merged.offset, merged.length, signal)
      for (const { offset, target } of merged.ranges) {
        const start = offset - merged.offset
        target.set(bytes.subarray(start, start + target.length))
      }
    })
  }

  async put(key: string, bytes: Uint8Array, signal?: AbortSignal): Promise<void> {
    if ((await this.putIfAbsent(key, bytes, signal)) === 'taken') throw alreadyExists(key)
  }

  async putIfAbsent(key: string, bytes: Uint8Array, signal?: AbortSignal): Promise<'won' | 'taken'> {
    const place = this.#placeOf(key)
    const writer = this.#clock.uuid()
    return this.#write(key, writer, signal, {
      bytes: bytes.length,
      send: attempt => this.#bucket.create(place, bytes, writer, attempt),
    })
  }

  async putStream(
    key: string,
    chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    signal?: AbortSignal,
  ): Promise<void> {
    checkKey(key)
    const parts = partsOf(eachOrAborted(chunks, signal), partBytes)
    try {
      const first: Part = (await parts.next()).value
      if (first.isLast) await this.put(key, first.bytes, signal)
      else await this.#upload(key, first, parts, signal)
    } finally {
      await parts.return(undefined)
    }
  }

  async replace(key: string, bytes: Uint8Array, signal?: AbortSignal): Promise<void> {
    const place = this.#placeOf(key)
    await this.#repeat(
      'write',
      key,
      signal,
      attempt => this.#bucket.replace(place, bytes, attempt),
      bytes.length,
    )
  }

  async stat(key: string, signal?: AbortSignal): Promise<BlobInfo | null> {
    const head = await this.#headOf(key, signal)
    return head === null ? null : { key, size: head.size, modified: Math.floor(head.modified) }
  }

  async *list(prefix: string, startAfter = '', signal?: AbortSignal): AsyncIterable<BlobInfo> {
    checkPrefix(prefix)
    const root = this.#settings.prefix
    const below = `${root}${withoutDots(prefix)}`
    const after = startAfter === '' ? '' : `${root}${withoutDots(startAfter)}`
    let page: string | undefined
    let last: string | null = null
    do {
      const token = page
      const { objects, next } = await this.#repeat('list', prefix, signal, attempt =>
        this.#bucket.list(below, after, token, attempt),
      )
      for (const { key: place, size, modified } of objects) {
        signal?.throwIfAborted()
        const key = place.slice(root.length)
        if (last !== null && key <= last) {
          throw unsupported(`${this.name} cannot store a root, because it does not list keys in byte order`, {
            hint: 'directory buckets (S3 Express One Zone) have this property: use a general purpose bucket',
          })
        }
        last = key
        // Skip the objects of other programs, for example the folders that consoles create.
        const isListed = key > startAfter && key.startsWith(prefix) && isKey(key)
        if (isListed) yield { key, size, modified: Math.floor(modified) }
      }
      page = next
    } while (page !== undefined)
  }

  async delete(key: string, signal?: AbortSignal): Promise<void> {
    const place = this.#placeOf(key)
    await this.#repeat('delete', key, signal, attempt => this.#bucket.delete(place, attempt))
  }

  #placeOf(key: string): string {
    checkKey(key)
    return `${this.#settings.prefix}${key}`
  }

  async #headOf(key: string, signal: AbortSignal | undefined): Promise<ObjectHead | null> {
    const place = this.#placeOf(key)
    return this.#repeat('read', key, signal, attempt => this.#bucket.head(place, attempt))
  }

  async #sizeOf(key: string, signal: AbortSignal | undefined): Promise<number> {
    const head = await this.#headOf(key, signal)
    if (head === null) throw missing(key)
    return head.size
  }

  /** Upload a stream in parts. `first`: the first part, which was read from `parts`. */
  async #upload(
    key: string,
    first: Part,
    parts: AsyncIterable<Part>,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const place = this.#placeOf(key)
    const writer = this.#clock.uuid()
    // Look before the upload, because some servers ignore the condition when an upload is completed. No other writer
    // uses the name.
    if ((await this.#headOf(key, signal)) !== null) throw alreadyExists(key)
    const upload = await this.#repeat('write', key, signal, attempt =>
      this.#bucket.startUpload(place, writer, attempt),
    )
    this.#uploading.add(place)
    try {
      await this.#sendParts(key, upload, first, parts, signal)
      const outcome = await this.#write(key, writer, signal, {
        bytes: partBytes,
        send: attempt => upload.complete(attempt),
      })
      if (outcome === 'taken') throw alreadyExists(key)
    } catch (error) {
      // If this fails too, the provider frees the parts after the time that its lifecycle rules say.
      await this.#attempt(undefined, 0, attempt => upload.abort(attempt)).catch(() => {})
      throw error
    } finally {
      this.#uploading.delete(place)
    }
  }

  /** Send all parts, several at once. When this function returns or throws, no part is being sent. */
  async #sendParts(
    key: string,
    upload: Upload,
    first: Part,
    parts: AsyncIterable<Part>,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const running = new Set<Promise<void>>()
    const stopped = new AbortController()
    const either = signal === undefined ? stopped.signal : AbortSignal.any([signal, stopped.signal])
    let number = 0
    const start = ({ bytes, isLast }: Part) => {
      const place = number++
      const sending = this.#repeat(
        'write',
        key,
        either,
        attempt => upload.part(place, bytes, isLast, attempt),
        bytes.length,
      )
      running.add(sending)
      sending.then(
        () => running.delete(sending),
        () => {},
      )
    }
    try {
      start(first)
      for await (const part of parts) {
        if (running.size >= this.#bucket.partsAtOnce) await Promise.race(running)
        start(part)
      }
      await Promise.all(running)
    } catch (error) {
      stopped.abort(error)
      await Promise.allSettled(running)
      throw error
    }
  }

  async #abortUploads(prefix: string, before: number, signal?: AbortSignal): Promise<void> {
    checkPrefix(prefix)
    const root = this.#settings.prefix
    let page: UploadsPage['next']
    try {
      do {
        const start = page
        const { uploads, next } = await this.#repeat('list uploads below', prefix, signal, attempt =>
          this.#bucket.listUploads!(`${root}${prefix}`, start, attempt),
        )
        const abandoned = uploads.filter(({ key, begun }) => begun < before && !this.#uploading.has(key))
        await inParallel(abandoned, abortsAtOnce, upload =>
          this.#repeat('abort the upload of', upload.key.slice(root.length), signal, attempt =>
            upload.abort(attempt),
          ),
        )
        page = next
      } while (page !== undefined)
    } catch (error) {
      // Some servers have no such listing, and some credentials do not allow it. Then the parts stay until a lifecycle
      // rule of the bucket deletes them.
      if (!(error instanceof SheafError) || error.code === ErrorCode.ServiceUnavailable) throw error
    }
  }

  /**
   * Create an object by a conditional request, which is repeated if its outcome is not known. `writer`: the id that the
   * request stores. `bytes`: the size of the request. See the head of this file for the rule about lost answers.
   */
  async #write(
    key: string,
    writer: string,
    signal: AbortSignal | undefined,
    request: { readonly bytes: number; readonly send: (attempt: Attempt) => Promise<void> },
  ): Promise<'won' | 'taken'> {
    let doubt: unknown = null
    for (let tries = 0; ; tries++) {
      let failure: Failure
      let cause: unknown
      try {
        await this.#attempt(signal, request.bytes, request.send)
        return 'won'
      } catch (error) {
        signal?.throwIfAborted()
        cause = error
        failure = this.#bucket.failureOf(error)
      }
      const isLast = tries >= this.#settings.retries || !mayRepeat(failure)
      if (failure.kind === 'taken' && doubt === null && failure.isRepeated !== true) return 'taken'
      if (failure.kind === 'taken' || failure.kind === 'unknown') doubt = cause
      if (failure.kind === 'taken' || (isLast && doubt !== null)) {
        const outcome = await this.#outcomeOf(key, writer, signal)
        if (outcome !== null) return outcome
      }
      if (isLast && doubt === null) throw this.#errorOf('write', key, failure, cause)
      if (isLast) {
        const message = `${quote(key)} may or may not be written: ${this.#bucket.name} did not answer`
        throw new Ambiguous(`${message} (${failure.reason})`, { cause: doubt })
      }
      await this.#pause(tries, signal)
    }
  }

  /** Return the outcome of a write by the id in the metadata of the object. Returns null if this proves nothing. */
  async #outcomeOf(
    key: string,
    writer: string,
    signal: AbortSignal | undefined,
  ): Promise<'won' | 'taken' | null> {
    try {
      const head = await this.#headOf(key, signal)
      if (head?.writer === undefined) return null
      return head.writer === writer ? 'won' : 'taken'
    } catch {
      signal?.throwIfAborted()
      return null
    }
  }

  /**
   * Send a request that may be executed several times. Repeats it while the failure allows this. `action`: a verb that
   * completes "cannot ...". `bytes`: the size of the request.
   */
  async #repeat<T>(
    action: string,
    key: string,
    signal: AbortSignal | undefined,
    send: (attempt: Attempt) => Promise<T>,
    bytes = 0,
  ): Promise<T> {
    for (let tries = 0; ; tries++) {
      try {
        return await this.#attempt(signal, bytes, send)
      } catch (error) {
        signal?.throwIfAborted()
        const failure = this.#bucket.failureOf(error)
        if (tries >= this.#settings.retries || !mayRepeat(failure))
          throw this.#errorOf(action, key, failure, error)
      }
      await this.#pause(tries, signal)
    }
  }

  /** Send a request once. Rejects when the time is over or `signal` aborts, also if the client ignores the signal. */
  async #attempt<T>(
    signal: AbortSignal | undefined,
    bytes: number,
    send: (attempt: Attempt) => Promise<T>,
  ): Promise<T> {
    signal?.throwIfAborted()
    const ms = Math.ceil(this.#settings.timeoutMs + (1000 * bytes) / bytesPerSecond)
    const controller = new AbortController()
    const timer = setTimeout(() => controller.abort(new AttemptTimeout(`no answer within ${ms} ms`)), ms)
    const forget = signal && whenAborted(signal, () => controller.abort(signal.reason))
    let isOver = false
    try {
      const progress = () => {
        if (!isOver) timer.refresh()
      }
      return await orAborted(send({ signal: controller.signal, progress }), controller.signal)
    } finally {
      isOver = true
      clearTimeout(timer)
      forget?.()
    }
  }

  /** Send a read, a second time if it is slow (hedging.ts). `length`: the number of bytes; 0: unknown. */
  #read<T>(
    key: string,
    length: number,
    signal: AbortSignal | undefined,
    send: (attempt: Attempt) => Promise<T>,
  ): Promise<T> {
    const repeat = (either: AbortSignal | undefined) => this.#repeat('read', key, either, send)
    // Long reads take their time for their bytes.
    return length > hedgedMax ? repeat(signal) : this.hedging.first(signal, repeat)
  }

  #pause(tries: number, signal: AbortSignal | undefined): Promise<void> {
    this.meter.noteRetry()
    const ms = this.#clock.random() * Math.min(firstPauseMs * 2 ** tries, pauseMsMax)
    return this.#clock.sleep(ms, signal, true)
  }

  #errorOf(action: string, key: string, failure: Failure, cause: unknown): SheafError {
    const { code, hint } = errorOfKind[failure.kind] ?? {
      code: ErrorCode.ServiceUnavailable,
      hint: 'check the network, the endpoint and the state of the service, then repeat the call',
    }
    const message = `cannot ${action} ${quote(`${this.#settings.prefix}${key}`)} in ${this.#bucket.name}`
    return new SheafError(code, `${message}: ${failure.reason}`, { hint: failure.hint ?? hint, cause })
  }
}

/** Return the prices of the bucket with those that the caller gave. Undefined if neither are known. */
function pricesOf(
  list: RequestPrices | undefined,
  given: Partial<RequestPrices> | undefined,
): RequestPrices | undefined {
  if (list === undefined && given === undefined) return undefined
  return { perMillionReads: 0, perMillionWrites: 0, perGiBReceived: 0, ...list, ...given }
}

/**
 * Remove a last name `.` or `..` from a prefix or from a key after which a listing starts, because some servers refuse
 * them. The listing then begins earlier.
 */
function withoutDots(path: string): string {
  return path.replace(/(^|\/)\.{1,2}$/, '$1')
}

function mayRepeat({ kind }: Failure): boolean {
  return kind === 'busy' || kind === 'conflict' || kind === 'unknown' || kind === 'taken'
}

/** Throw if a reply does not have the expected number of bytes. The read is repeated then. */
function checkLength(bytes: Uint8Array, expected: number): void {
  if (bytes.length !== expected) throw new Error(`the reply has ${bytes.length} bytes instead of ${expected}`)
}

function missing(key: string): SheafError {
  return corrupted(`${key} is missing`)
}

function alreadyExists(key: string): SheafError {
  return corrupted(`invariant broken: ${key} already exists`)
}
