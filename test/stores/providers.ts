/** The servers with which the stores are tested, and how a store is opened on each of them. */
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3'
import { openS3Store } from '../../adapters/s3/public.js'
import type { BlobStore } from '../../src/storage/blob-store.js'
import { findServer } from './find-server.mjs'
import type { Program } from './server.js'

export interface Provider {
  readonly name: string
  /** Null if the server is not installed. */
  readonly program: Program | null
  /** Create the bucket `bucketName`. `url`: where the server is. */
  readonly createBucket: (url: string) => Promise<void>
  /** The path of a root in this bucket. */
  readonly path: (prefix: string) => string
  /** The options `storage` of `connect` for this path. */
  readonly storage: (url: string) => object
  readonly open: (url: string, options: { prefix: string; bucket?: string }) => Promise<BlobStore>
  /** The options of a store with wrong credentials. */
  readonly intruder: (url: string) => object
}

export const bucketName = 'sheaf-test'

const minio = findServer('minio')
const s3Config = (url: string, secretAccessKey = 'secret-of-tests') => ({
  endpoint: url,
  region: 'us-east-1',
  forcePathStyle: true,
  credentials: { accessKeyId: 'tests', secretAccessKey },
})

const minioProvider: Provider = {
  name: 'MinIO',
  program:
    minio === null
      ? null
      : {
          command: minio,
          args: (port, folder) => ['server', folder, '--address', `127.0.0.1:${port}`, '--quiet'],
          env: { MINIO_ROOT_USER: 'tests', MINIO_ROOT_PASSWORD: 'secret-of-tests', MINIO_UPDATE: 'off' },
        },
  createBucket: async url => {
    await new S3Client(s3Config(url)).send(new CreateBucketCommand({ Bucket: bucketName }))
  },
  path: prefix => `s3://${bucketName}/${prefix}`,
  storage: url => ({ config: s3Config(url) }),
  open: (url, { prefix, bucket = bucketName }) => openS3Store({ bucket, prefix, config: s3Config(url) }),
  intruder: url => ({ config: s3Config(url, 'another-secret') }),
}

export const providers: readonly Provider[] = [minioProvider]
