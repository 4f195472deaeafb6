/** Sends requests to Google Cloud Storage. Only this file uses the package `@google-cloud/storage`. */
import type { Bucket as ClientBucket, File, Storage, StorageOptions } from '@google-cloud/storage'
import { whenAborted } from '../../src/primitives/abort.js'
import {
  type Attempt,
  type Bucket,
  collect,
  type Failure,
  type FailureKind,
  failureOf,
  type ListedPage,
  listPrices,
  type ObjectBytes,
  type ObjectHead,
  type ObjectRange,
  type Upload,
  writerField,
} from '../object-store/bucket.js'
import { importClient } from '../object-store/options.js'

/** An answer to a request that the client did not send. `code`: the status. */
class ReplyError extends Error {
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

/** Codes of Google that mean something else than their status. */
const kinds: Readonly<Record<string, FailureKind>> = {
  // An absent object is no error, so an error means that the bucket is absent.
  notFound: 'no-bucket',
  NotFound: 'no-bucket',
  credentials: 'denied',
}

const ifAbsent = { ifGenerationMatch: 0 }
/** The status of an upload that needs further bytes. */
const incomplete = 308

/** Import the package, and create a client unless one is given. */
export async function openGcsBucket(
  bucket: string,
  { client, config }: { readonly client?: Storage | undefined; readonly config?: StorageOptions | undefined },
): Promise<GcsBucket> {
  const { Storage } = await importClient('@google-cloud/storage', '@7', () => import('@google-cloud/storage'))
  // The store repeats requests.
  const retryOptions = { autoRetry: false, maxRetries: 0 }
  const storage = client ?? new Storage({ ...config, retryOptions })
  const isGoogle = storage.apiEndpoint === 'https://storage.googleapis.com'
  const name = `${isGoogle ? 'gs:/' : storage.apiEndpoint}/${bucket}`
  return new GcsBucket(storage.bucket(bucket), name, client !== undefined)
}

/** The client has no signals. `ObjectStore` stops waiting when a signal aborts, and the request ends in the background. */
class GcsBucket implements Bucket {
  readonly name: string
  /** Google takes the parts of an upload in order. */
  readonly partsAtOnce = 1
  readonly prices: Bucket['prices']
  readonly #bucket: ClientBucket
  /** Whether the client may repeat requests by itself. */
  readonly #repeats: boolean

  constructor(bucket: ClientBucket, name: string, repeats: boolean) {
    this.#bucket = bucket
    this.name = name
    this.prices = name.startsWith('gs://') ? listPrices : undefined
    this.#repeats = repeats
  }

  async read(
    key: string,
    range: ObjectRange | null,
    attempt: Attempt,
  ): Promise<ObjectBytes | 'past end' | null> {
    const stream = this.#file(key).createReadStream({
      decompress: false,
      validation: false,
      ...(range !== null && { start: range.offset, end: range.offset + range.length - 1 }),
    })
    let headers: Readonly<Record<string, string | undefined>> = {}
    stream.on('response', (response: { readonly headers: typeof headers }) => {
      headers = response.headers
    })
    const forget = whenAborted(attempt.signal, () => stream.destroy(attempt.signal.reason))
    try {
      const bytes = await collect(stream, attempt)
      const size = headers['content-range']?.split('/')[1] ?? headers['content-length'] ?? bytes.length
      return { bytes, size: Number(size) }
    } catch (error) {
      const { status, message } = factsOf(error)
      if (status === 404 && !/bucket does not exist/i.test(message)) return null
      if (status === 416) return 'past end'
      throw error
    } finally {
      forget()
    }
  }

  async head(key: string): Promise<ObjectHead | null> {
    try {
      const [{ size, updated, metadata }] = await this.#file(key).getMetadata()
      const writer = metadata?.[writerField]
      return {
        size: Number(size),
        modified: Date.parse(updated!),
        writer: typeof writer === 'string' ? writer : undefined,
      }
    } catch (error) {
      const { status, message } = factsOf(error)
      if (status === 404 && !/bucket does not exist/i.test(message)) return null
      throw error
    }
  }

  async create(key: string, bytes: Uint8Array, writer: string): Promise<void> {
    await this.#file(key).save(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), {
      resumable: false,
      validation: false,
      preconditionOpts: ifAbsent,
      metadata: metadataOf(writer),
    })
  }

  async replace(key: string, bytes: Uint8Array): Promise<void> {
    const content = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    await this.#file(key).save(content, { resumable: false, validation: false })
  }

  /** List a page. `startOffset` includes the key `startAfter`. */
  async list(prefix: string, startAfter: string, page: string | undefined): Promise<ListedPage> {
    const [files, next] = await this.#bucket.getFiles({
      prefix,
      autoPaginate: false,
      ...(startAfter !== '' && { startOffset: startAfter }),
      ...(page !== undefined && { pageToken: page }),
    })
    const objects = files.map(({ name, metadata }) => {
      return { key: name, size: Number(metadata.size), modified: Date.parse(metadata.updated!) }
    })
    return { objects, next: (next as { readonly pageToken?: string } | null)?.pageToken }
  }

  async delete(key: string): Promise<void> {
    await this.#file(key).delete({ ignoreNotFound: true })
  }

  /**
   * Start a resumable upload. Google ignores bytes that it already has, so a part can be sent again. The last part
   * creates the object, so `complete` sends it.
   */
  async startUpload(key: string, writer: string): Promise<Upload> {
    const [uri] = await this.#file(key).createResumableUpload({
      preconditionOpts: ifAbsent,
      metadata: metadataOf(writer),
    })
    let sent = 0
    let last = new Uint8Array(0)
    /** Send bytes from offset `sent` on. `total`: the size of the object; `*` if further bytes follow. */
    const send = async (bytes: Uint8Array, total: number | '*', { signal }: Attempt) => {
      const end = sent + bytes.length
      const reply = await fetch(uri, {
        method: 'PUT',
        headers: { 'content-range': `bytes ${sent}-${end - 1}/${total}` },
        body: bytes as Uint8Array<ArrayBuffer>,
        signal,
      })
      const text = await reply.text()
      if (reply.status === incomplete) {
        const kept = Number(reply.headers.get('range')?.split('-')[1] ?? -1) + 1
        if (total !== '*' || kept < end) throw new Error(`the upload has ${kept} of ${end} bytes`)
      } else if (!reply.ok) {
        throw new ReplyError(reply.status, text.slice(0, 200))
      }
    }
    return {
      part: async (_number, bytes, isLast, attempt) => {
        if (isLast) last = new Uint8Array(bytes)
        else {
          await send(bytes, '*', attempt)
          sent += bytes.length
        }
      },
      complete: attempt => send(last, sent + last.length, attempt),
      abort: async ({ signal }) => {
        await fetch(uri, { method: 'DELETE', signal })
      },
    }
  }

  failureOf(error: unknown): Failure {
    return { ...failureOf(factsOf(error), kinds), isRepeated: this.#repeats }
  }

  #file(key: string): File {
    return this.#bucket.file(key)
  }
}

function metadataOf(writer: string) {
  return { contentType: 'application/octet-stream', metadata: { [writerField]: writer } }
}

function factsOf(error: unknown) {
  const { code, errors, message, cause } = error as {
    readonly code?: number | string
    readonly errors?: readonly { readonly reason?: string }[]
    readonly message?: string
    readonly cause?: { readonly code?: string }
  }
  const isStatus = /^\d{3}$/.test(String(code))
  const isUnauthenticated = /could not load the default credentials|invalid_grant/i.test(message ?? '')
  const own = isUnauthenticated ? 'credentials' : errors?.[0]?.reason
  return {
    status: isStatus ? Number(code) : undefined,
    code: own ?? (isStatus ? codeOfStatus(Number(code)) : String(code ?? cause?.code ?? '') || undefined),
    message: (message ?? String(error)).split('\n')[0]!,
  }
}

/** Return the code of an answer without a reason. */
function codeOfStatus(status: number): string | undefined {
  return status === 404 ? 'notFound' : undefined
}
