/** A bucket in memory, whose requests fail as a test says. */
import type {
  Attempt,
  Bucket,
  Failure,
  ListedPage,
  ObjectBytes,
  ObjectHead,
  ObjectRange,
  Upload,
  UploadsPage,
} from '../../../adapters/object-store/bucket.js'

interface StoredObject {
  readonly bytes: Uint8Array
  readonly writer: string | undefined
  readonly modified: number
}

/** A failure of a request, before or after it is executed. */
export interface Fault {
  /** The request fails, and is not executed. */
  readonly before?: Failure
  /** The request is executed, and its answer is lost. */
  readonly lost?: boolean
  /** The request is executed and answered, but only after it was aborted. */
  readonly hangs?: boolean
}

class RequestError extends Error {
  readonly failure: Failure
  constructor(failure: Failure) {
    super(failure.reason)
    this.failure = failure
  }
}

const pageSize = 100

export class MemoryBucket implements Bucket {
  readonly name = 'test://bucket'
  readonly partsAtOnce = 3
  readonly objects = new Map<string, StoredObject>()
  /** The requests in order: the name of the method and the key. */
  readonly requests: string[] = []
  /** Maximum number of parts that were sent concurrently. */
  mostParts = 0
  /** Uploads that are neither completed nor aborted, by their id: the key, and when they began. */
  readonly uploads = new Map<number, { readonly key: string; readonly begun: number }>()
  #started = 0
  /** The time of the server. */
  now = 1.5e12
  /** Whether the server keeps metadata. */
  keepsMetadata = true
  /** Called for each request. Returns the fault of the request, if it has one. */
  fault: (method: string, key: string) => Fault | undefined = () => undefined

  read(key: string, range: ObjectRange | null, attempt: Attempt): Promise<ObjectBytes | 'past end' | null> {
    return this.#request(range === null ? 'read' : `read ${range.length}`, key, attempt, () => {
      const bytes = this.objects.get(key)?.bytes
      if (bytes === undefined) return null
      if (range === null) return { bytes: bytes.slice(), size: bytes.length }
      if (range.offset >= bytes.length) return 'past end'
      return { bytes: bytes.slice(range.offset, range.offset + range.length), size: bytes.length }
    })
  }

  head(key: string, attempt: Attempt): Promise<ObjectHead | null> {
    return this.#request('head', key, attempt, () => {
      const found = this.objects.get(key)
      return found === undefined ? null : { ...found, size: found.bytes.length }
    })
  }

  create(key: string, bytes: Uint8Array, writer: string, attempt: Attempt): Promise<void> {
    return this.#request('create', key, attempt, () => this.#store(key, bytes, writer))
  }

  replace(key: string, bytes: Uint8Array, attempt: Attempt): Promise<void> {
    return this.#request('replace', key, attempt, () => {
      this.objects.delete(key)
      this.#store(key, bytes, '')
    })
  }

  list(prefix: string, startAfter: string, page: string | undefined, attempt: Attempt): Promise<ListedPage> {
    return this.#request('list', prefix, attempt, () => {
      const after = page ?? startAfter
      const keys = [...this.objects.keys()].filter(key => key.startsWith(prefix) && key > after).sort()
      const objects = keys.slice(0, pageSize).map(key => {
        const { bytes, modified } = this.objects.get(key)!
        return { key, size: bytes.length, modified }
      })
      return { objects, next: keys.length > pageSize ? keys[pageSize - 1] : undefined }
    })
  }

  delete(key: string, attempt: Attempt): Promise<void> {
    return this.#request('delete', key, attempt, () => void this.objects.delete(key))
  }

  async startUpload(key: string, writer: string, attempt: Attempt): Promise<Upload> {
    const id = this.#started++
    await this.#request('startUpload', key, attempt, () => this.uploads.set(id, { key, begun: this.now }))
    const parts: Uint8Array[] = []
    let sending = 0
    const end = () => void this.uploads.delete(id)
    return {
      part: async (number, bytes, _isLast, each) => {
        this.mostParts = Math.max(this.mostParts, ++sending)
        try {
          await this.#request('part', key, each, () => {
            parts[number] = bytes.slice()
          })
        } finally {
          sending--
        }
      },
      complete: each =>
        this.#request('complete', key, each, () => {
          this.#store(key, Buffer.concat(parts), writer)
          end()
        }),
      abort: each => this.#request('abort', key, each, end),
    }
  }

  /** List two uploads. */
  listUploads(prefix: string, page: object | undefined, attempt: Attempt): Promise<UploadsPage> {
    return this.#request('listUploads', prefix, attempt, () => {
      const after = (page as { readonly id: number } | undefined)?.id ?? -1
      const later = [...this.uploads].filter(([id, { key }]) => id > after && key.startsWith(prefix))
      const uploads = later.slice(0, 2).map(([id, upload]) => {
        const abort = (each: Attempt) =>
          this.#request('abort', upload.key, each, () => void this.uploads.delete(id))
        return { ...upload, abort }
      })
      return { uploads, next: later.length > 2 ? { id: later[1]![0] } : undefined }
    })
  }

  failureOf(error: unknown): Failure {
    if (error instanceof RequestError) return error.failure
    return { kind: 'unknown', reason: (error as Error).message }
  }

  #store(key: string, bytes: Uint8Array, writer: string): void {
    if (this.objects.has(key)) throw new RequestError({ kind: 'taken', reason: 'the key exists' })
    this.objects.set(key, {
      bytes: new Uint8Array(bytes),
      writer: this.keepsMetadata ? writer : undefined,
      modified: 1.5e12,
    })
  }

  async #request<T>(method: string, key: string, { signal }: Attempt, execute: () => T): Promise<T> {
    this.requests.push(`${method} ${key}`)
    const fault = this.fault(method, key)
    await new Promise(resolve => setImmediate(resolve))
    signal.throwIfAborted()
    if (fault?.before !== undefined) throw new RequestError(fault.before)
    if (fault?.hangs === true) {
      await new Promise(resolve => signal.addEventListener('abort', resolve, { once: true }))
      return execute()
    }
    const answer = execute()
    if (fault?.lost === true) throw new Error('the connection was closed')
    return answer
  }
}
