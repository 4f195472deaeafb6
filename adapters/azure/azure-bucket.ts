/** Sends requests to Azure Blob Storage. Only this file uses the package `@azure/storage-blob`. */
import type {
  BlobServiceClient,
  BlockBlobClient,
  ContainerClient,
  StorageSharedKeyCredential,
} from '@azure/storage-blob'
import { invalidInput } from '../../src/errors.js'
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

/** A credential with tokens, for example of `@azure/identity`. */
interface TokenCredential {
  getToken(
    scopes: string | string[],
    options?: object,
  ): Promise<{ readonly token: string; readonly expiresOnTimestamp: number } | null>
}

/** A key of the account, or a credential of `@azure/identity`. */
export type AzureCredential = StorageSharedKeyCredential | TokenCredential

/** The account of Azure Storage. */
export interface AzureConfig {
  /** A connection string, as the portal shows it. Default: the environment variable `AZURE_STORAGE_CONNECTION_STRING`. */
  readonly connectionString?: string | undefined
  /** The address of the account instead of a connection string, for example `https://name.blob.core.windows.net`. */
  readonly url?: string | undefined
  /** The credential for `url`, for example `DefaultAzureCredential` of `@azure/identity`. Default: `url` contains a signature (SAS). */
  readonly credential?: AzureCredential | undefined
}

/** Codes of Azure that mean something else than their status. */
const kinds: Readonly<Record<string, FailureKind>> = {
  BlobAlreadyExists: 'taken',
  ConditionNotMet: 'taken',
  ContainerBeingDeleted: 'no-bucket',
  ContainerNotFound: 'no-bucket',
  ServerBusy: 'busy',
}

/** Import the package, and create a client unless one is given. */
export async function openAzureBucket(
  container: string,
  {
    client,
    config,
  }: { readonly client?: BlobServiceClient | undefined; readonly config?: AzureConfig | undefined },
): Promise<AzureBucket> {
  const azure = await importClient('@azure/storage-blob', '@12.32', () => import('@azure/storage-blob'))
  // The store repeats requests.
  const options = { retryOptions: { maxTries: 1 } }
  let service = client
  if (service === undefined) {
    const { url, credential, connectionString = process.env.AZURE_STORAGE_CONNECTION_STRING } = config ?? {}
    if (url !== undefined) service = new azure.BlobServiceClient(url, credential, options)
    else if (connectionString !== undefined)
      service = azure.BlobServiceClient.fromConnectionString(connectionString, options)
    else {
      throw invalidInput('the store has no account of Azure Storage', {
        hint: 'set the environment variable AZURE_STORAGE_CONNECTION_STRING, or config.url and config.credential',
      })
    }
  }
  return new AzureBucket(service.getContainerClient(container), client !== undefined)
}

class AzureBucket implements Bucket {
  readonly name: string
  readonly partsAtOnce = 4
  readonly prices: Bucket['prices']
  readonly #container: ContainerClient
  /** Whether the client may repeat requests by itself. */
  readonly #repeats: boolean

  constructor(container: ContainerClient, repeats: boolean) {
    this.#container = container
    this.#repeats = repeats
    // The query may contain a signature, which is secret.
    const { origin, pathname } = new URL(container.url)
    this.name = `${origin}${pathname}`
    this.prices = origin.endsWith('.blob.core.windows.net') ? listPrices : undefined
  }

  async read(
    key: string,
    range: ObjectRange | null,
    attempt: Attempt,
  ): Promise<ObjectBytes | 'past end' | null> {
    const { offset, length } = range ?? { offset: 0, length: undefined }
    const options = { abortSignal: attempt.signal, maxRetryRequests: 0 }
    try {
      const reply = await this.#blob(key).download(offset, length, options)
      const bytes = await collect(reply.readableStreamBody as AsyncIterable<Uint8Array>, attempt)
      const size = reply.contentRange?.split('/')[1] ?? reply.contentLength ?? bytes.length
      return { bytes, size: Number(size) }
    } catch (error) {
      if (isAbsent(error)) return null
      if (factsOf(error).status === 416) return 'past end'
      throw error
    }
  }

  async head(key: string, { signal }: Attempt): Promise<ObjectHead | null> {
    try {
      const { contentLength, lastModified, metadata } = await this.#blob(key).getProperties({
        abortSignal: signal,
      })
      return { size: contentLength!, modified: lastModified!.getTime(), writer: metadata?.[writerField] }
    } catch (error) {
      if (isAbsent(error)) return null
      throw error
    }
  }

  async create(key: string, bytes: Uint8Array, writer: string, { signal }: Attempt): Promise<void> {
    await this.#blob(key).upload(bytes, bytes.length, {
      abortSignal: signal,
      conditions: { ifNoneMatch: '*' },
      metadata: { [writerField]: writer },
    })
  }

  async replace(key: string, bytes: Uint8Array, { signal }: Attempt): Promise<void> {
    await this.#blob(key).upload(bytes, bytes.length, { abortSignal: signal })
  }

  /** List a page. Azure has no parameter for the first key, so every listing begins with the first key of the prefix. */
  async list(
    prefix: string,
    _startAfter: string,
    page: string | undefined,
    { signal }: Attempt,
  ): Promise<ListedPage> {
    const pages = this.#container
      .listBlobsFlat({ prefix, abortSignal: signal })
      .byPage(page === undefined ? {} : { continuationToken: page })
    const found = await pages.next()
    if (found.done === true) return { objects: [], next: undefined }
    const { segment, continuationToken } = found.value
    const objects = segment.blobItems.map(({ name, properties }) => {
      return { key: name, size: properties.contentLength!, modified: properties.lastModified.getTime() }
    })
    return { objects, next: continuationToken === '' ? undefined : continuationToken }
  }

  async delete(key: string, { signal }: Attempt): Promise<void> {
    try {
      await this.#blob(key).delete({ abortSignal: signal, deleteSnapshots: 'include' })
    } catch (error) {
      if (!isAbsent(error)) throw error
    }
  }

  async startUpload(key: string, writer: string): Promise<Upload> {
    const blob = this.#blob(key)
    const ids: string[] = []
    return {
      part: async (number, bytes, _isLast, { signal }) => {
        // All ids of a blob must have the same length.
        const id = Buffer.from(`${writer}-${String(number).padStart(6, '0')}`).toString('base64')
        await blob.stageBlock(id, bytes, bytes.length, { abortSignal: signal })
        ids[number] = id
      },
      complete: async ({ signal }) => {
        await blob.commitBlockList(ids, {
          abortSignal: signal,
          conditions: { ifNoneMatch: '*' },
          metadata: { [writerField]: writer },
        })
      },
      // Azure has no request for this. It deletes the blocks after a week.
      abort: async () => {},
    }
  }

  failureOf(error: unknown): Failure {
    return { ...failureOf(factsOf(error), kinds), isRepeated: this.#repeats }
  }

  #blob(key: string): BlockBlobClient {
    return this.#container.getBlockBlobClient(key)
  }
}

/** Return whether the blob is absent, but not its container. */
function isAbsent(error: unknown): boolean {
  const { status, code } = factsOf(error)
  return status === 404 && code !== 'ContainerNotFound'
}

function factsOf(error: unknown) {
  const { statusCode, code, message } = error as {
    readonly statusCode?: number
    readonly code?: string
    readonly message?: string
  }
  // The other lines of a message have the id and the time of the request.
  return { status: statusCode, code, message: (message ?? String(error)).split('\n')[0]! }
}
