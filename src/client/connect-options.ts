/** Options of `connect`. */

import { type CustomTokenizer, tokenizerShape } from '../indexes/text/analysis/analyzer.js'
import type { Clock } from '../primitives/clock.js'
import { signalShape } from '../protocol/calls.js'
import { array, boolean, callback, given, integer, oneOf, optionFields, options } from '../protocol/shape.js'
import type { BlobStore } from '../storage/blob-store.js'
import type { Sharing } from '../table/sharing.js'
import { type ColumnFunction, functionShape } from '../write/functions.js'
import type { MaintenanceEvent } from './maintenance-event.js'
import { type MaintenanceSettings, maintenanceShape } from './maintenance-settings.js'

/** Options of `connect`. */
export interface ConnectOptions {
  /** Whether to create the root if it does not exist. Default true. */
  readonly create?: boolean
  /** Whether to refuse every write; the root may then be on read-only media. Default false. */
  readonly readOnly?: boolean
  /** Storage to use instead of the directory `path`, which then only appears in messages. */
  readonly store?: BlobStore
  /**
   * Size of the cache in bytes, for all tables together. Default: a quarter of the machine's memory, at most 1 GiB.
   * With 0, nothing is cached, and every query reads the log again. Scans should have at least 128 MiB, the size of
   * two batches.
   */
  readonly cacheBytes?: number
  /**
   * Most threads that build one vector index over many rows, 1 to 64. Default: the number of cores, at most 4. With
   * more than one thread, an HNSW graph is as good, but not reproducible. With 1, all work runs on the calling
   * thread.
   */
  readonly buildThreads?: number
  /** Functions that fill columns (`virtual_column`), by the name that the columns use. */
  readonly functions?: readonly ColumnFunction[]
  /**
   * Custom tokenizers for text indexes; an index names its tokenizer in `baseTokenizer`. If the tokenizer of an index
   * is not registered, or its `version` differs, queries read the rows one by one, and the index reports it.
   */
  readonly tokenizers?: readonly CustomTokenizer[]
  /**
   * Representation of 64-bit integers in rows: `number` (default; calls throw for values beyond 2^53) or `bigint`. The
   * option `int64` of a call has precedence.
   */
  readonly int64?: 'number' | 'bigint' | undefined
  /** Source of time and randomness, for deterministic tests. */
  readonly clock?: Clock
  /**
   * Called for problems that fail no call: a damaged checkpoint, maintenance that must be retried. Default: a process
   * warning.
   */
  readonly onWarning?: (message: string, cause: unknown) => void
  /** Settings of background maintenance, which runs in processes that write. */
  readonly maintenance?: MaintenanceSettings
  /** Called after maintenance has done something in the background. Must not throw. Default: no callback. */
  readonly onMaintenance?: (event: MaintenanceEvent) => void
  /** Other engines of this process over this root, which share loaded data. `connectWorker` sets it. */
  readonly sharing?: Sharing
  /** Aborts the opening. Has no effect after `connect` has returned. */
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
  int64: oneOf('number', 'bigint'),
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
