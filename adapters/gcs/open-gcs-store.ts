/** Opens a store in a bucket of Google Cloud Storage. */
import type { Storage, StorageOptions } from '@google-cloud/storage'
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
import { openGcsBucket } from './gcs-bucket.js'

/** Options of `openGcsStore`. */
export interface GcsStoreOptions extends ObjectStoreOptions {
  /** The name of the bucket. It must exist. */
  readonly bucket: string
  /**
   * A client of `@google-cloud/storage`, instead of `config`. If it repeats requests by itself (`retryOptions`), a refused
   * write takes a second request.
   */
  readonly client?: Storage | undefined
  /**
   * Configuration of the client, for example `projectId` and `keyFilename`. Default: the application default
   * credentials, as for every program with this client.
   */
  readonly config?: StorageOptions | undefined
}

const gcsStoreShape = shape<GcsStoreOptions>()(
  {
    ...commonFields,
    bucket: string('nonEmpty'),
    client: ofClient<Storage>(),
    config: ofClient<StorageOptions>(),
  },
  { bucket: true },
)

/**
 * Open a store in a bucket of Google Cloud Storage, for the option `store` of `connect`. Sends no request: `connect`
 * tests the bucket.
 *
 * Throws `InvalidInput` for invalid options, and if the package `@google-cloud/storage` is not installed.
 *
 * ```js
 * const store = await openGcsStore({ bucket: 'my-data', prefix: 'main' })
 * const ns = await connect('gs://my-data/main', { store })
 * ```
 */
export async function openGcsStore(
  options: GcsStoreOptions,
  ...more: readonly unknown[]
): Promise<BlobStore> {
  refuseMore('openGcsStore', 1, more)
  const { bucket, client, config, ...common } = parse(gcsStoreShape, options, 'openGcsStore')
  if (client !== undefined && config !== undefined)
    throw invalidInput('openGcsStore takes either client or config, not both')
  refuseUrl('bucket', bucket)
  const settings = settingsOf(common)
  return new ObjectStore(await openGcsBucket(bucket, { client, config }), settings)
}
