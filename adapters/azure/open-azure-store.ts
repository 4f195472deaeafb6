/** Opens a store in a container of Azure Blob Storage. */
import type { BlobServiceClient } from '@azure/storage-blob'
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
import { type AzureConfig, type AzureCredential, openAzureBucket } from './azure-bucket.js'

/** Options of `openAzureStore`. */
export interface AzureStoreOptions extends ObjectStoreOptions {
  /** The name of the container. It must exist. */
  readonly container: string
  /**
   * A client of `@azure/storage-blob`, instead of `config`. If it repeats requests by itself (`retryOptions`), a refused
   * write takes a second request.
   */
  readonly client?: BlobServiceClient | undefined
  /** The account. Default: the environment variable `AZURE_STORAGE_CONNECTION_STRING`. */
  readonly config?: AzureConfig | undefined
}

const azureStoreShape = shape<AzureStoreOptions>()(
  {
    ...commonFields,
    container: string('nonEmpty'),
    client: ofClient<BlobServiceClient>(),
    config: shape<AzureConfig>()({
      connectionString: string('nonEmpty'),
      url: string('nonEmpty'),
      credential: ofClient<AzureCredential>(),
    }),
  },
  { container: true },
)

/**
 * Open a store in a container of Azure Blob Storage, for the option `store` of `connect`. Sends no request: `connect`
 * tests the container.
 *
 * Throws `InvalidInput` for invalid options, and if the package `@azure/storage-blob` is not installed.
 *
 * ```js
 * const store = await openAzureStore({ container: 'my-data', prefix: 'main' })
 * const ns = await connect('az://my-data/main', { store })
 * ```
 */
export async function openAzureStore(
  options: AzureStoreOptions,
  ...more: readonly unknown[]
): Promise<BlobStore> {
  refuseMore('openAzureStore', 1, more)
  const { container, client, config, ...common } = parse(azureStoreShape, options, 'openAzureStore')
  if (client !== undefined && config !== undefined)
    throw invalidInput('openAzureStore takes either client or config, not both')
  refuseUrl('container', container)
  const settings = settingsOf(common)
  return new ObjectStore(await openAzureBucket(container, { client, config }), settings)
}
