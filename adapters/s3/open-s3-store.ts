/** Opens a store in a bucket of S3. */
import type { S3Client, S3ClientConfig } from '@aws-sdk/client-s3'
import { invalidInput } from '../../src/errors.js'
import { refuseMore } from '../../src/protocol/arguments.js'
import { parse } from '../../src/protocol/parse.js'
import { options as shape, string } from '../../src/protocol/shape.js'
import type { BlobStore } from '../../src/storage/blob-store.js'
import { ObjectStore } from '../object-store/object-store.js'
import {
  commonFields,
  type ObjectStoreOptions,
  ofClient,
  refuseUrl,
  settingsOf,
} from '../object-store/options.js'
import { openS3Bucket } from './s3-bucket.js'

/** Options of `openS3Store`. */
export interface S3StoreOptions extends ObjectStoreOptions {
  /** The name of the bucket. It must exist. */
  readonly bucket: string
  /** A client of `@aws-sdk/client-s3`, instead of `config`. The store does not close it. */
  readonly client?: S3Client | undefined
  /**
   * Configuration of the client, for example `region`, `endpoint` and `credentials`. Default: region and credentials from
   * the environment, as for every program with the AWS SDK.
   */
  readonly config?: S3ClientConfig | undefined
}

const s3StoreShape = shape<S3StoreOptions>()(
  {
    ...commonFields,
    bucket: string('nonEmpty'),
    client: ofClient<S3Client>(),
    config: ofClient<S3ClientConfig>(),
  },
  { bucket: true },
)

/**
 * Open a store in a bucket of S3, or of a server with the interface of S3, for the option `store` of `connect`. Sends no
 * request: `connect` tests the bucket.
 *
 * Throws `InvalidInput` for invalid options, and if the package `@aws-sdk/client-s3` is not installed.
 *
 * ```js
 * const store = await openS3Store({ bucket: 'my-data', prefix: 'main', config: { region: 'eu-central-1' } })
 * const ns = await connect('s3://my-data/main', { store })
 * ```
 */
export async function openS3Store(options: S3StoreOptions, ...more: readonly unknown[]): Promise<BlobStore> {
  refuseMore('openS3Store', 1, more)
  const { bucket, client, config, ...common } = parse(s3StoreShape, options, 'openS3Store')
  if (client !== undefined && config !== undefined)
    throw invalidInput('openS3Store takes either client or config, not both')
  refuseUrl('bucket', bucket)
  const settings = settingsOf(common)
  return new ObjectStore(await openS3Bucket(bucket, { client, config }), settings)
}
