/**
 * The parts of the providers' packages that Sheaf uses. The packages are optional, and not installed here. The
 * declarations for users name the types of the packages themselves. `npm run test:stores` compiles Sheaf with these.
 */
declare module '@aws-sdk/client-s3' {
  /** A request with the reply `R`. */
  interface Command<R> {
    readonly reply?: R
  }
  type CommandClass<R> = new (input: object) => Command<R>

  export class S3Client {
    constructor(config: S3ClientConfig)
    readonly config: {
      readonly region: () => Promise<string>
      readonly endpoint?: () => Promise<{
        readonly protocol: string
        readonly hostname: string
        readonly port?: number
      }>
    }
    send<R>(command: Command<R>, options: { readonly abortSignal: AbortSignal }): Promise<R>
  }

  export interface S3ClientConfig {
    readonly endpoint?: unknown
    readonly region?: unknown
    readonly maxAttempts?: unknown
    readonly forcePathStyle?: unknown
    readonly requestChecksumCalculation?: unknown
    readonly responseChecksumValidation?: unknown
    readonly requestHandler?: unknown
  }

  export const GetObjectCommand: CommandClass<{
    readonly Body?: object
    readonly ContentLength?: number
    readonly ContentRange?: string
  }>
  export const HeadObjectCommand: CommandClass<{
    readonly ContentLength?: number
    readonly LastModified?: Date
    readonly Metadata?: Record<string, string>
  }>
  export const PutObjectCommand: CommandClass<object>
  export const DeleteObjectCommand: CommandClass<object>
  export const ListObjectsV2Command: CommandClass<{
    readonly Contents?: readonly {
      readonly Key?: string
      readonly Size?: number
      readonly LastModified?: Date
    }[]
    readonly NextContinuationToken?: string
  }>
  export const CreateMultipartUploadCommand: CommandClass<{ readonly UploadId?: string }>
  export const UploadPartCommand: CommandClass<{ readonly ETag?: string }>
  export const CompleteMultipartUploadCommand: CommandClass<object>
  export const AbortMultipartUploadCommand: CommandClass<object>
  export const ListMultipartUploadsCommand: CommandClass<{
    readonly Uploads?: readonly {
      readonly Key?: string
      readonly UploadId?: string
      readonly Initiated?: Date
    }[]
    readonly IsTruncated?: boolean
    readonly NextKeyMarker?: string
    readonly NextUploadIdMarker?: string
  }>
}

declare module '@azure/storage-blob' {
  interface CallOptions {
    readonly abortSignal: AbortSignal
  }
  interface WriteOptions extends CallOptions {
    readonly conditions: { readonly ifNoneMatch: string }
    readonly metadata: Record<string, string>
  }

  export interface StorageSharedKeyCredential {
    readonly accountName: string
  }

  export interface BlockBlobClient {
    download(
      offset: number,
      length: number | undefined,
      options: CallOptions & { readonly maxRetryRequests: number },
    ): Promise<{
      readonly readableStreamBody?: object
      readonly contentLength?: number
      readonly contentRange?: string
    }>
    getProperties(options: CallOptions): Promise<{
      readonly contentLength?: number
      readonly lastModified?: Date
      readonly metadata?: Record<string, string>
    }>
    upload(bytes: Uint8Array, length: number, options: WriteOptions | CallOptions): Promise<object>
    stageBlock(id: string, bytes: Uint8Array, length: number, options: CallOptions): Promise<object>
    commitBlockList(ids: string[], options: WriteOptions): Promise<object>
    delete(options: CallOptions & { readonly deleteSnapshots: 'include' }): Promise<object>
  }

  interface BlobItem {
    readonly name: string
    readonly properties: { readonly contentLength?: number; readonly lastModified: Date }
  }

  export interface ContainerClient {
    readonly url: string
    getBlockBlobClient(key: string): BlockBlobClient
    listBlobsFlat(options: CallOptions & { readonly prefix: string }): {
      byPage(page: { readonly continuationToken?: string }): AsyncIterableIterator<{
        readonly segment: { readonly blobItems: readonly BlobItem[] }
        readonly continuationToken?: string
      }>
    }
  }

  interface ServiceOptions {
    readonly retryOptions: { readonly maxTries: number }
  }

  export class BlobServiceClient {
    constructor(url: string, credential: object | undefined, options: ServiceOptions)
    static fromConnectionString(connectionString: string, options: ServiceOptions): BlobServiceClient
    getContainerClient(container: string): ContainerClient
  }
}

declare module '@google-cloud/storage' {
  interface WriteOptions {
    readonly preconditionOpts: { readonly ifGenerationMatch: number }
    readonly metadata: { readonly contentType: string; readonly metadata: Record<string, string> }
  }
  interface FileMetadata {
    readonly size?: string | number
    readonly updated?: string
    readonly metadata?: Record<string, unknown>
  }
  interface ReadStream extends AsyncIterable<Uint8Array> {
    on(event: 'response', listener: (response: never) => void): void
    destroy(error: Error): void
  }

  export interface File {
    readonly name: string
    readonly metadata: FileMetadata
    createReadStream(options: {
      readonly decompress: boolean
      readonly validation: boolean
      readonly start?: number
      readonly end?: number
    }): ReadStream
    getMetadata(): Promise<readonly [FileMetadata, object]>
    save(
      bytes: Buffer,
      options: Partial<WriteOptions> & { readonly resumable: boolean; readonly validation: boolean },
    ): Promise<void>
    delete(options: { readonly ignoreNotFound: boolean }): Promise<object>
    createResumableUpload(options: WriteOptions): Promise<readonly [string]>
  }

  export interface Bucket {
    file(key: string): File
    getFiles(options: {
      readonly prefix: string
      readonly autoPaginate: boolean
      readonly startOffset?: string
      readonly pageToken?: string
    }): Promise<readonly [readonly File[], object | null, ...unknown[]]>
  }

  export interface StorageOptions {
    readonly retryOptions?: object
  }

  export class Storage {
    constructor(options: StorageOptions)
    readonly apiEndpoint: string
    bucket(name: string): Bucket
  }
}
