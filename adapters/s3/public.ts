/** The exports of `sheaf/s3`. */

export type { ObjectStoreOptions } from '../object-store/options.js'
export { openS3Store, type S3StoreOptions } from './open-s3-store.js'
