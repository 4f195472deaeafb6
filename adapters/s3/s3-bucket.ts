/** Sends requests to S3, and to servers with the interface of S3. Only this file uses the package `@aws-sdk/client-s3`. */
import type { S3Client, S3ClientConfig } from '@aws-sdk/client-s3'
import { invalidInput, quote } from '../../src/errors.js'
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
  type UploadsPage,
  writerField,
} from '../object-store/bucket.js'
import { importClient } from '../object-store/options.js'

type Package = typeof import('@aws-sdk/client-s3')

/** Codes of S3 that mean something else than their status. */
const kinds: Readonly<Record<string, FailureKind>> = {
  ConditionalRequestConflict: 'conflict',
  OperationAborted: 'conflict',
  SlowDown: 'busy',
  ServiceUnavailable: 'busy',
  Throttling: 'busy',
  ThrottlingException: 'busy',
  TooManyRequests: 'busy',
  RequestTimeout: 'unknown',
  RequestTimeTooSkewed: 'denied',
  ExpiredToken: 'denied',
  InvalidToken: 'denied',
  CredentialsProviderError: 'denied',
  NoSuchBucket: 'no-bucket',
  // The upload was completed or aborted.
  NoSuchUpload: 'taken',
}

const wrongRegion: ReadonlySet<string> = new Set([
  'AuthorizationHeaderMalformed',
  'IllegalLocationConstraintException',
  'PermanentRedirect',
  'TemporaryRedirect',
])

/** Maximum number of connections of a client. */
const maxSockets = 256

/** Import the package, and create a client unless one is given. */
export async function openS3Bucket(
  bucket: string,
  {
    client: given,
    config,
  }: { readonly client?: S3Client | undefined; readonly config?: S3ClientConfig | undefined },
): Promise<S3Bucket> {
  const { AWS_ENDPOINT_URL, AWS_ENDPOINT_URL_S3, AWS_REGION } = process.env
  const fromEnvironment = AWS_ENDPOINT_URL_S3 ?? AWS_ENDPOINT_URL
  const url = config?.endpoint ?? fromEnvironment
  const hasEndpoint = url !== undefined
  if (given === undefined && typeof url === 'string' && !/^https?:\/\//i.test(url)) {
    throw invalidInput(`the endpoint of S3 must begin with http:// or https://, got ${quote(url)}`, {
      hint: 'set config.endpoint, or the environment variable AWS_ENDPOINT_URL',
    })
  }
  const s3: Package = await importClient('@aws-sdk/client-s3', '', () => import('@aws-sdk/client-s3'))
  const client =
    given ??
    new s3.S3Client({
      // Other servers do not know the checksums that the client sends by default. Sheaf has its own.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      // The store repeats requests.
      maxAttempts: 1,
      // The default of the client is 50. A vector search reads some hundred rows at once.
      requestHandler: { httpAgent: { maxSockets }, httpsAgent: { maxSockets } },
      // Other servers have no names for buckets, and often no regions.
      ...(hasEndpoint && { forcePathStyle: true, region: AWS_REGION ?? 'us-east-1' }),
      ...config,
    })
  try {
    await client.config.region()
  } catch (cause) {
    throw invalidInput('the client of S3 has no region', {
      hint: 'set the environment variable AWS_REGION, or config.region',
      cause,
    })
  }
  const endpoint = await client.config.endpoint?.()
  const server = endpoint === undefined ? fromEnvironment && new URL(fromEnvironment) : endpoint
  return new S3Bucket(s3, client, bucket, `${server ? nameOf(server) : 's3:/'}/${bucket}`)
}

/** Return the name of a server. */
function nameOf(server: {
  readonly protocol: string
  readonly hostname: string
  readonly port?: string | number
}): string {
  const port = server.port === undefined || server.port === '' ? '' : `:${server.port}`
  return `${server.protocol}//${server.hostname}${port}`
}

class S3Bucket implements Bucket {
  readonly name: string
  readonly partsAtOnce = 4
  readonly prices: Bucket['prices']
  readonly #s3: Package
  readonly #client: S3Client
  readonly #bucket: string

  constructor(s3: Package, client: S3Client, bucket: string, name: string) {
    this.#s3 = s3
    this.#client = client
    this.#bucket = bucket
    this.name = name
    // Other servers with the interface of S3 have other prices, or none.
    this.prices = name.startsWith('s3://') ? listPrices : undefined
  }

  async read(
    key: string,
    range: ObjectRange | null,
    attempt: Attempt,
  ): Promise<ObjectBytes | 'past end' | null> {
    const command = new this.#s3.GetObjectCommand({
      ...this.#object(key),
      ...(range !== null && { Range: `bytes=${range.offset}-${range.offset + range.length - 1}` }),
    })
    try {
      const { Body, ContentLength, ContentRange } = await this.#client.send(command, signalOf(attempt))
      const bytes = await collect(Body as AsyncIterable<Uint8Array>, attempt)
      const size = ContentRange?.split('/')[1] ?? ContentLength ?? bytes.length
      return { bytes, size: Number(size) }
    } catch (error) {
      const { status, code } = factsOf(error)
      if (code === 'NoSuchKey') return null
      if (status === 416) return 'past end'
      throw error
    }
  }

  async head(key: string, attempt: Attempt): Promise<ObjectHead | null> {
    try {
      const command = new this.#s3.HeadObjectCommand(this.#object(key))
      const { ContentLength, LastModified, Metadata } = await this.#client.send(command, signalOf(attempt))
      return { size: ContentLength!, modified: LastModified!.getTime(), writer: Metadata?.[writerField] }
    } catch (error) {
      // The reply has no body, so it does not tell whether the key or the bucket is absent.
      if (factsOf(error).status === 404) return null
      throw error
    }
  }

  async create(key: string, bytes: Uint8Array, writer: string, attempt: Attempt): Promise<void> {
    const command = new this.#s3.PutObjectCommand({
      ...this.#object(key),
      Body: bytes,
      ContentLength: bytes.length,
      IfNoneMatch: '*',
      Metadata: { [writerField]: writer },
    })
    await this.#client.send(command, signalOf(attempt))
  }

  async replace(key: string, bytes: Uint8Array, attempt: Attempt): Promise<void> {
    const object = { ...this.#object(key), Body: bytes, ContentLength: bytes.length }
    await this.#client.send(new this.#s3.PutObjectCommand(object), signalOf(attempt))
  }

  async list(
    prefix: string,
    startAfter: string,
    page: string | undefined,
    attempt: Attempt,
  ): Promise<ListedPage> {
    const command = new this.#s3.ListObjectsV2Command({
      Bucket: this.#bucket,
      Prefix: prefix,
      ...(startAfter !== '' && { StartAfter: startAfter }),
      ...(page !== undefined && { ContinuationToken: page }),
    })
    const { Contents = [], NextContinuationToken } = await this.#client.send(command, signalOf(attempt))
    const objects = Contents.map(({ Key, Size, LastModified }) => {
      return { key: Key!, size: Size!, modified: LastModified!.getTime() }
    })
    return { objects, next: NextContinuationToken }
  }

  async delete(key: string, attempt: Attempt): Promise<void> {
    await this.#client.send(new this.#s3.DeleteObjectCommand(this.#object(key)), signalOf(attempt))
  }

  async startUpload(key: string, writer: string, attempt: Attempt): Promise<Upload> {
    const { UploadPartCommand, CompleteMultipartUploadCommand } = this.#s3
    const started = new this.#s3.CreateMultipartUploadCommand({
      ...this.#object(key),
      Metadata: { [writerField]: writer },
    })
    const { UploadId } = await this.#client.send(started, signalOf(attempt))
    const upload = { ...this.#object(key), UploadId }
    const tags: string[] = []
    return {
      part: async (number, bytes, _isLast, { signal }) => {
        const command = new UploadPartCommand({ ...upload, PartNumber: number + 1, Body: bytes })
        const { ETag } = await this.#client.send(command, { abortSignal: signal })
        tags[number] = ETag!
      },
      complete: async ({ signal }) => {
        const Parts = tags.map((ETag, number) => ({ ETag, PartNumber: number + 1 }))
        const command = new CompleteMultipartUploadCommand({
          ...upload,
          MultipartUpload: { Parts },
          IfNoneMatch: '*',
        })
        await this.#client.send(command, { abortSignal: signal })
      },
      abort: each => this.#abortUpload(key, UploadId!, each),
    }
  }

  /** MinIO lists only uploads whose key is the prefix. It aborts abandoned uploads by itself after a day. */
  async listUploads(prefix: string, page: UploadsPage['next'], attempt: Attempt): Promise<UploadsPage> {
    const command = new this.#s3.ListMultipartUploadsCommand({
      Bucket: this.#bucket,
      Prefix: prefix,
      ...page,
    })
    const {
      Uploads = [],
      IsTruncated,
      NextKeyMarker,
      NextUploadIdMarker,
    } = await this.#client.send(command, signalOf(attempt))
    return {
      uploads: Uploads.map(({ Key, UploadId, Initiated }) => {
        return {
          key: Key!,
          begun: Initiated!.getTime(),
          abort: each => this.#abortUpload(Key!, UploadId!, each),
        }
      }),
      next:
        IsTruncated === true ? { KeyMarker: NextKeyMarker, UploadIdMarker: NextUploadIdMarker } : undefined,
    }
  }

  async #abortUpload(key: string, id: string, attempt: Attempt): Promise<void> {
    const command = new this.#s3.AbortMultipartUploadCommand({ ...this.#object(key), UploadId: id })
    try {
      await this.#client.send(command, signalOf(attempt))
    } catch (error) {
      if (factsOf(error).code !== 'NoSuchUpload') throw error
    }
  }

  failureOf(error: unknown): Failure {
    const { attempts, ...facts } = factsOf(error)
    const isRepeated = attempts > 1 || facts.code === 'NoSuchUpload'
    const hint = wrongRegion.has(facts.code ?? '')
      ? 'set the region of the bucket: the environment variable AWS_REGION, or config.region'
      : undefined
    return { ...failureOf(facts, kinds), isRepeated, hint }
  }

  #object(key: string): { readonly Bucket: string; readonly Key: string } {
    return { Bucket: this.#bucket, Key: key }
  }
}

function signalOf({ signal }: Attempt): { readonly abortSignal: AbortSignal } {
  return { abortSignal: signal }
}

/** Return the facts of an error of the client. `attempts`: how often the client sent the request. */
function factsOf(error: unknown) {
  const { name, code, message, $metadata } = error as {
    readonly name?: string
    readonly code?: string
    readonly message?: string
    readonly $metadata?: { readonly httpStatusCode?: number; readonly attempts?: number }
  }
  return {
    status: $metadata?.httpStatusCode,
    // Errors of the server have the code in `name`, errors of Node in `code`.
    code: code ?? (name === 'Error' || name === 'UnknownError' ? undefined : name),
    message: message ?? String(error),
    attempts: $metadata?.attempts ?? 1,
  }
}
