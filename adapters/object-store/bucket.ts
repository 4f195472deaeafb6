/** The requests that `ObjectStore` (object-store.ts) sends to a provider of object storage. Each provider implements `Bucket`. */
import type { RequestPrices } from '../../src/storage/request-tally.js'

/** List prices of standard storage, which are equal for the providers. Received bytes are free within a region. */
export const listPrices: RequestPrices = { perMillionReads: 0.4, perMillionWrites: 5, perGiBReceived: 0 }

/** The reason with which the signal of an attempt aborts when its time is over. */
export class AttemptTimeout extends Error {}

/** One attempt of a request. */
export interface Attempt {
  /** Aborts when the time for the attempt is over, or when the caller aborts the call. */
  readonly signal: AbortSignal
  /** Start the time for the attempt again, because some bytes of the reply have arrived. */
  readonly progress: () => void
}

/** A part of an object, in bytes. */
export interface ObjectRange {
  readonly offset: number
  readonly length: number
}

export interface ObjectHead {
  readonly size: number
  /** Milliseconds since 1970, by the clock of the server. */
  readonly modified: number
  /** The id of the call that wrote the object (`writerField`). Undefined if another program wrote it. */
  readonly writer: string | undefined
}

export interface ObjectBytes {
  readonly bytes: Uint8Array
  /** The size of the whole object. */
  readonly size: number
}

interface ListedObject {
  readonly key: string
  readonly size: number
  readonly modified: number
}

/** Part of a listing, in the order of the server. `next`: a token for the next page; undefined after the last one. */
export interface ListedPage {
  readonly objects: readonly ListedObject[]
  readonly next: string | undefined
}

/** An upload that was neither completed nor aborted. */
interface OpenUpload {
  readonly key: string
  /** The time when the upload began, in milliseconds since 1970, by the clock of the server. */
  readonly begun: number
  /** Free the parts. Succeeds if the upload was completed or aborted in the meantime. */
  abort(attempt: Attempt): Promise<void>
}

/** Part of a listing of uploads. `next`: identifies the next page; undefined after the last one. */
export interface UploadsPage {
  readonly uploads: readonly OpenUpload[]
  readonly next: object | undefined
}

/** The upload of an object in parts. The object becomes visible when the upload is completed. */
export interface Upload {
  /** Send part `number`, which is counted from 0 on. May be repeated after an error. */
  part(number: number, bytes: Uint8Array, isLast: boolean, attempt: Attempt): Promise<void>
  /** Create the object if its key does not exist. May send the last part. */
  complete(attempt: Attempt): Promise<void>
  /** Free the parts. */
  abort(attempt: Attempt): Promise<void>
}

/**
 * The reason why a request failed.
 *
 * - `taken`: the key exists, so the object was not created.
 * - `conflict`: the server did not execute the request because of another one. It can be repeated.
 * - `busy`: the server did not execute the request, because it is overloaded or was not reached. It can be repeated.
 * - `unknown`: the server may or may not have executed the request. It can be repeated.
 * - `denied`, `no-bucket`, `unsupported`, `invalid`: the server did not execute the request, and will not execute it if it
 *   is repeated.
 */
export type FailureKind =
  | 'taken'
  | 'conflict'
  | 'busy'
  | 'unknown'
  | 'denied'
  | 'no-bucket'
  | 'unsupported'
  | 'invalid'

export interface Failure {
  readonly kind: FailureKind
  /** The reason in the words of the server, for messages. */
  readonly reason: string
  /** Advice for the caller. Default: the advice for the kind. */
  readonly hint?: string | undefined
  /**
   * Whether the client may have sent the request several times. Then the kind `taken` may be the answer to a repetition
   * of a request that created the object.
   */
  readonly isRepeated?: boolean
}

/**
 * The requests to one bucket. Every method sends one request, and may throw any error, which `failureOf` explains. Keys
 * are whole keys of the bucket.
 */
export interface Bucket {
  /** The name of the bucket in messages, for example `s3://bucket`. */
  readonly name: string
  /** Maximum number of parts of one upload that are sent concurrently. */
  readonly partsAtOnce: number
  /** List prices of the provider (docs/object-storage.md). Undefined if they are unknown. */
  readonly prices?: RequestPrices | undefined
  /** Read an object, or a range of at least one byte. Returns null if the key is absent. A range may end too early. */
  read(key: string, range: ObjectRange | null, attempt: Attempt): Promise<ObjectBytes | 'past end' | null>
  head(key: string, attempt: Attempt): Promise<ObjectHead | null>
  /** Create an object if its key does not exist. `writer` is stored as the metadata `writerField`. */
  create(key: string, bytes: Uint8Array, writer: string, attempt: Attempt): Promise<void>
  /** Write an object, whether or not its key exists. */
  replace(key: string, bytes: Uint8Array, attempt: Attempt): Promise<void>
  /** List objects with a prefix. May include keys up to `startAfter`. `page`: the token of the page. */
  list(prefix: string, startAfter: string, page: string | undefined, attempt: Attempt): Promise<ListedPage>
  /** Delete an object. Succeeds if the key is absent. */
  delete(key: string, attempt: Attempt): Promise<void>
  startUpload(key: string, writer: string, attempt: Attempt): Promise<Upload>
  /**
   * List the open uploads of keys with a prefix, in any order. Absent if the provider deletes abandoned uploads by itself.
   */
  listUploads?(prefix: string, page: UploadsPage['next'], attempt: Attempt): Promise<UploadsPage>
  failureOf(error: unknown): Failure
}

/** The name of the metadata with the id of the call that wrote an object. Azure allows no hyphen. */
export const writerField = 'sheafwriter'

/** The codes of Node's errors about connections that were not opened. The server did not get the request. */
const unreached: ReadonlySet<string> = new Set([
  'EAI_AGAIN',
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
])

/** The facts of an error of a client. `code`: the code of the server or of Node. */
interface ErrorFacts {
  readonly status: number | undefined
  readonly code: string | undefined
  readonly message: string
}

/** Explain an error by its HTTP status, or by Node's code. `byCode`: codes of the provider with another meaning. */
export function failureOf(
  { status, code, message }: ErrorFacts,
  byCode: Readonly<Record<string, FailureKind>>,
): Failure {
  const kind = (code === undefined ? undefined : byCode[code]) ?? kindOf(status, code)
  const text = code === undefined || message.includes(code) ? message : `${code}: ${message}`
  return { kind, reason: status === undefined ? text : `${text} (status ${status})` }
}

function kindOf(status: number | undefined, code: string | undefined): FailureKind {
  switch (status) {
    case undefined:
      return code !== undefined && unreached.has(code) ? 'busy' : 'unknown'
    case 401:
    case 403:
      return 'denied'
    case 408:
      return 'unknown'
    case 412:
      return 'taken'
    case 429:
      return 'busy'
    case 501:
      return 'unsupported'
  }
  return status >= 300 && status < 500 ? 'invalid' : 'unknown'
}

/**
 * Read a stream to its end. Returns no `Buffer`, because its method `slice` does not copy, and values of binary columns
 * would be Buffers.
 */
export async function collect(stream: AsyncIterable<Uint8Array>, attempt: Attempt): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of stream) {
    attempt.progress()
    chunks.push(chunk)
    size += chunk.length
  }
  const bytes = new Uint8Array(size)
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.length
  }
  return bytes
}
