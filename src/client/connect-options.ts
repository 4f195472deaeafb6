/** Options of `connect`. */

import { type CustomTokenizer, tokenizerShape } from '../indexes/text/analysis/analyzer.js'
import type { Clock } from '../primitives/clock.js'
import { signalShape } from '../protocol/calls.js'
import { array, boolean, callback, given, integer, optionFields, options } from '../protocol/shape.js'
import type { BlobStore } from '../storage/blob-store.js'
import type { Sharing } from '../table/sharing.js'
import { type ColumnFunction, functionShape } from '../write/functions.js'
import type { MaintenanceEvent } from './maintenance-event.js'
import { type MaintenanceSettings, maintenanceShape } from './maintenance-settings.js'

export interface ConnectOptions {
  /** Whether to make the root when it is not there. Default true. */
  readonly create?: boolean
  /** Whether to refuse every write; the root may then lie on read-only media. Default false. */
  readonly readOnly?: boolean
  /** Where the bytes lie, instead of at `path`, which is then only a name for messages. */
  readonly store?: BlobStore
  /**
   * Bytes of what was read that may stay in memory, of all tables together. Default: a quarter of the memory there is, 1 GiB
   * at most. 0 keeps nothing, so that every query begins with the log; a scan wants at least 128 MiB, twice a batch.
   */
  readonly cacheBytes?: number
  /**
   * Threads that one vector index over many rows is built with at most, 1 to 64. Default: as many as there are cores, 4 at most. With more than
   * one the graph of an HNSW index is as good, but not the same every time; with 1 all work is done in this thread.
   */
  readonly buildThreads?: number
  /** Functions that fill columns (`virtual_column`), by the name the columns give. */
  readonly functions?: readonly ColumnFunction[]
  /**
   * What text indexes can cut texts with, beside what is built in: an index names one in `baseTokenizer`. Where it is not registered, or gives other tokens
   * than it did (`version`), rows are read one by one instead: the index says so.
   */
  readonly tokenizers?: readonly CustomTokenizer[]
  /** Source of time and randomness, for tests that replay. */
  readonly clock?: Clock
  /**
   * Told of what no call fails of, but somebody should know: a checkpoint that is damaged, maintenance that has to be tried again.
   * Default: a warning of the process.
   */
  readonly onWarning?: (message: string, cause: unknown) => void
  /** How the root is kept in order in the background, by processes that write. */
  readonly maintenance?: MaintenanceSettings
  /** Told of what maintenance has done in the background. Default: nobody is. Must not throw. */
  readonly onMaintenance?: (event: MaintenanceEvent) => void
  /** Other engines of this process over this root that have loaded data together with this one. `connectWorker` sees to that. */
  readonly sharing?: Sharing
  readonly signal?: AbortSignal
}

const store = given<BlobStore>('a store: an object with the methods of BlobStore', isObject)

export const connectFields = optionFields<ConnectOptions>()({
  create: boolean,
  readOnly: boolean,
  store,
  cacheBytes: given<number>('a number of bytes >= 0', value => typeof value === 'number' && value >= 0),
  buildThreads: integer(1, 64),
  functions: array(functionShape),
  tokenizers: array(tokenizerShape),
  clock: given<Clock>('a clock: an object with the methods of Clock', isObject),
  onWarning: callback<(message: string, cause: unknown) => void>(),
  maintenance: maintenanceShape,
  onMaintenance: callback<(event: MaintenanceEvent) => void>(),
  sharing: given<Sharing>('what connectWorker makes', isObject),
  signal: signalShape,
})

export const connectShape = options<ConnectOptions>()(connectFields)

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}
