/** The exports of `sheaf/gcs`. */

export type { ObjectStoreOptions } from '../object-store/options.js'
export { type GcsStoreOptions, openGcsStore } from './open-gcs-store.js'
