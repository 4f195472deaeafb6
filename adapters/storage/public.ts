/** The exports of `sheaf/storage`. */

export type { MaybePromise } from '../../src/primitives/task.js'
export {
  Ambiguous,
  type BlobInfo,
  type BlobInPlace,
  type BlobMark,
  type BlobStore,
  type ByteRange,
} from '../../src/storage/blob-store.js'
export type { Processes } from '../../src/storage/processes.js'
export {
  RequestMeter,
  type RequestStats,
} from '../../src/storage/request-meter.js'
export {
  type RequestEnd,
  type RequestKind,
  type RequestObserver,
  type RequestPrices,
  RequestTally,
} from '../../src/storage/request-tally.js'
export {
  type CheckStoreOptions,
  checkStore,
  type StoreCheckResult,
  type StoreReport,
} from './check-store.js'
export type { CheckSizes } from './store-checks.js'
export type { CallLatency } from './time-calls.js'
