/** The exports of `sheaf/azure`. */

export type { ObjectStoreOptions } from '../object-store/options.js'
export type { AzureConfig } from './azure-bucket.js'
export { type AzureStoreOptions, openAzureStore } from './open-azure-store.js'
