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
}
