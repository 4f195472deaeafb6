/** A bucket that counts its requests. */
import { orAborted } from '../../src/primitives/abort.js'
import type { RequestMeter } from '../../src/storage/request-meter.js'
import type { RequestKind } from '../../src/storage/request-tally.js'
import { type Attempt, AttemptTimeout, type Bucket, type Upload } from './bucket.js'

/** Return a bucket that sends the requests of `bucket`, and counts each of them in `meter`. */
export function meteredBucket(bucket: Bucket, meter: RequestMeter): Bucket {
  const counter = new Counter(bucket, meter)
  const { listUploads } = bucket
  return {
    name: bucket.name,
    partsAtOnce: bucket.partsAtOnce,
    read: (key, range, attempt) =>
      counter.run(range === null ? 'get' : 'range', key, 0, attempt, async () => {
        const answer = await bucket.read(key, range, attempt)
        const receivedBytes = typeof answer === 'object' && answer !== null ? answer.bytes.length : 0
        return { answer, receivedBytes }
      }),
    head: (key, attempt) => counter.simple('head', key, 0, attempt, () => bucket.head(key, attempt)),
    create: (key, bytes, writer, attempt) =>
      counter.simple('putIfAbsent', key, bytes.length, attempt, () =>
        bucket.create(key, bytes, writer, attempt),
      ),
    replace: (key, bytes, attempt) =>
      counter.simple('put', key, bytes.length, attempt, () => bucket.replace(key, bytes, attempt)),
    list: (prefix, startAfter, page, attempt) =>
      counter.simple('list', prefix, 0, attempt, () => bucket.list(prefix, startAfter, page, attempt)),
    delete: (key, attempt) => counter.simple('delete', key, 0, attempt, () => bucket.delete(key, attempt)),
    async startUpload(key, writer, attempt) {
      const upload = await counter.simple('multipart', key, 0, attempt, () =>
        bucket.startUpload(key, writer, attempt),
      )
      return meteredUpload(upload, key, counter)
    },
    ...(listUploads !== undefined && {
      async listUploads(prefix, page, attempt) {
        const { uploads, next } = await counter.simple('list', prefix, 0, attempt, () =>
          listUploads.call(bucket, prefix, page, attempt),
        )
        const metered = uploads.map(upload => {
          const { key, begun } = upload
          const abort = (abortAttempt: Attempt) =>
            counter.simple('delete', key, 0, abortAttempt, () => upload.abort(abortAttempt))
          return { key, begun, abort }
        })
        return { uploads: metered, next }
      },
    }),
    failureOf: error => bucket.failureOf(error),
  }
}

function meteredUpload(upload: Upload, key: string, counter: Counter): Upload {
  return {
    part: (number, bytes, isLast, attempt) =>
      counter.simple('multipart', key, bytes.length, attempt, () =>
        upload.part(number, bytes, isLast, attempt),
      ),
    complete: attempt => counter.simple('multipart', key, 0, attempt, () => upload.complete(attempt)),
    // Providers charge nothing for it, as for deletes.
    abort: attempt => counter.simple('delete', key, 0, attempt, () => upload.abort(attempt)),
  }
}

interface Received<T> {
  readonly answer: T
  readonly receivedBytes: number
}

class Counter {
  readonly #bucket: Bucket
  readonly #meter: RequestMeter

  constructor(bucket: Bucket, meter: RequestMeter) {
    this.#bucket = bucket
    this.#meter = meter
  }

  /** Send and count a request that receives no bytes of objects. */
  simple<T>(
    kind: RequestKind,
    key: string,
    sentBytes: number,
    attempt: Attempt,
    send: () => Promise<T>,
  ): Promise<T> {
    return this.run(kind, key, sentBytes, attempt, async () => ({ answer: await send(), receivedBytes: 0 }))
  }

  async run<T>(
    kind: RequestKind,
    key: string,
    sentBytes: number,
    attempt: Attempt,
    send: () => Promise<Received<T>>,
  ): Promise<T> {
    const end = this.#meter.begin(kind, key, sentBytes)
    try {
      const { answer, receivedBytes } = await orAborted(send(), attempt.signal)
      end({ receivedBytes, error: null })
      return answer
    } catch (error) {
      end({ receivedBytes: 0, error: this.#reasonOf(error, attempt.signal) })
      throw error
    }
  }

  /** Return the reason of a failure. Null if it is an answer, or if the caller aborted the request. */
  #reasonOf(error: unknown, { aborted, reason }: AbortSignal): string | null {
    if (aborted) return reason instanceof AttemptTimeout ? 'timeout' : null
    const { kind } = this.#bucket.failureOf(error)
    return kind === 'taken' ? null : kind
  }
}
