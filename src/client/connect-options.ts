/** Options of `connect`. */

import type { ExternalLog } from '../commit/external-log.js'
import { type CustomTokenizer, tokenizerShape } from '../indexes/text/analysis/analyzer.js'
import type { Clock } from '../primitives/clock.js'
import type { Tracing } from '../primitives/tracing.js'
import { signalShape } from '../protocol/calls.js'
import {
  array,
  boolean,
  callback,
  either,
  given,
  integer,
  oneOf,
  optionFields,
  options,
  string,
} from '../protocol/shape.js'
import type { BlobStore } from '../storage/blob-store.js'
import type { Sharing } from '../table/sharing.js'
import { type ColumnFunction, functionShape } from '../write/functions.js'
import type { MaintenanceEvent } from './maintenance-event.js'
import { type MaintenanceSettings, maintenanceShape } from './maintenance-settings.js'

/** Options of `connect`. */
export interface ConnectOptions {
  /** Whether to create the root if it does not exist. Default true. */
  readonly create?: boolean
  /** Whether to refuse all writes. With true, the root may be on read-only media. Default false. */
  readonly readOnly?: boolean
  /** Storage to use instead of the directory `path`. Then `path` is only a name for messages. */
  readonly store?: BlobStore
  /**
   * Options of the store if `path` is in object storage, for example those of `openS3Store` without `bucket` and
   * `prefix`. Default: the client takes its configuration from the environment.
   */
  readonly storage?: object
  /**
   * Commit log in a database instead of the files of the root, for example of `openPostgresLog`. Closed together with
   * the connection, and when `connect` fails. Default: the log is in the files.
   */
  readonly log?: ExternalLog
  /**
   * Size of the cache in bytes, for all tables together. Default: a quarter of the machine's memory, at most 1 GiB.
   * With 0, nothing is cached, and every query reads the log again. For scans, 128 MiB or more is recommended, because
   * this is the size of two batches.
   */
  readonly cacheBytes?: number
  /**
   * Local directory for copies of files in object storage, so that a process that starts again reads less from far away.
   * Several processes and several roots may share it. It is created if it does not exist. Everything in it may be deleted
   * at any time. Default: no copies on disk.
   */
  readonly cacheDir?: string
  /** Maximum size of the files in `cacheDir`, in bytes. Default 4 GiB. */
  readonly cacheDiskBytes?: number
  /**
   * Queries and counts in object storage may use a state that was the newest one at most this many milliseconds ago.
   * Then they do not wait for a look at the log. They always see the commits of this connection. Default 0: they see
   * everything that was committed before them.
   */
  readonly maxStalenessMs?: number
  /**
   * Maximum number of threads that build one vector index over many rows, 1 to 64. Default: the number of cores, at
   * most 4. With several threads, two builds of an HNSW graph differ, but are equally good. With 1, all work runs
   * on the calling thread.
   */
  readonly buildThreads?: number
  /** Functions that compute the values of virtual columns. A column refers to its function by name. */
  readonly functions?: readonly ColumnFunction[]
  /**
   * Custom tokenizers for text indexes. An index refers to its tokenizer by name (`baseTokenizer`). If the tokenizer of
   * an index is not in this list, or has another `version`, queries do not use the index, and read the rows one by one.
   * `listIndices` then reports the status `stale` with a reason.
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
   * Called for problems that do not make a call fail, for example a damaged checkpoint, or maintenance that must be
   * retried. Default: a warning of the process (`process.emitWarning`).
   */
  readonly onWarning?: (message: string, cause: unknown) => void
  /**
   * Records a span for each operation and each request to object storage: the result of `openTelemetry` of
   * `sheaf/opentelemetry`. Default: nothing is recorded.
   */
  readonly tracing?: Tracing
  /**
   * Settings of background maintenance. Only processes that write run maintenance. `'elsewhere'`: this process does no
   * work in the background and runs no jobs, because workers do (`work`).
   */
  readonly maintenance?: MaintenanceSettings | 'elsewhere'
  /** Called after each completed step of background maintenance. Must not throw. Default: no callback. */
  readonly onMaintenance?: (event: MaintenanceEvent) => void
  /** Data that this engine shares with other engines of the process over the same root. `connectWorker` sets it. */
  readonly sharing?: Sharing
  /** Signal that aborts `connect`. Has no effect after `connect` has returned. */
  readonly signal?: AbortSignal
}

const store = given<BlobStore>('a BlobStore, as openS3Store returns it', value => has(value, 'putIfAbsent'))

export const connectFields = optionFields<ConnectOptions>()({
  create: boolean,
  readOnly: boolean,
  store,
  storage: given<object>('an object', isObject),
  log: given<ExternalLog>('a log, as openPostgresLog returns it', log => has(log, 'append')),
  cacheBytes: given<number>('a number of bytes >= 0', value => typeof value === 'number' && value >= 0),
  cacheDir: string('nonEmpty'),
  cacheDiskBytes: integer(1),
  maxStalenessMs: integer(0),
  buildThreads: integer(1, 64),
  functions: array(functionShape),
  tokenizers: array(tokenizerShape),
  int64: oneOf('number', 'bigint'),
  clock: given<Clock>('a Clock', isObject),
  onWarning: callback<(message: string, cause: unknown) => void>(),
  tracing: given<Tracing>('the result of openTelemetry', value => has(value, 'begin')),
  maintenance: either<MaintenanceSettings | 'elsewhere'>(
    { is: value => typeof value === 'string', shape: oneOf('elsewhere') },
    { is: () => true, shape: maintenanceShape },
  ),
  onMaintenance: callback<(event: MaintenanceEvent) => void>(),
  sharing: given<Sharing>('what connectWorker makes', isObject),
  signal: signalShape,
})

export const connectShape = options<ConnectOptions>()(connectFields)

/** Return whether a value has a method. A promise, because an `await` was forgotten, does not have it. */
function has(value: unknown, method: string): boolean {
  return isObject(value) && typeof (value as Record<string, unknown>)[method] === 'function'
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}
