/** Events of background maintenance, for `ConnectOptions.onMaintenance`. */
import type { TransactionStatus } from '../protocol/transaction-shapes.js'

/** A checkpoint of the catalog was written. A process that opens the root then reads the log from this slot. */
interface CheckpointWritten {
  readonly kind: 'checkpoint'
  /** The last slot in the checkpoint. */
  readonly slot: number
  readonly bytes: number
}

/** The files of a dropped table were deleted. */
interface DropEmptied {
  readonly kind: 'drop'
  /** Location of the table, relative to the root. */
  readonly location: string
}

/** Fragments of a table were compacted. The rows and their order are unchanged. */
export interface TableCompacted {
  readonly kind: 'compaction'
  readonly table: readonly string[]
  /** The version that the compaction created. */
  readonly version: number
  readonly fragmentsBefore: number
  readonly fragmentsAfter: number
  /** Number of rows that were rewritten. */
  readonly rows: number
  readonly bytes: number
  /** Duration in milliseconds. */
  readonly ms: number
}

/** Unindexed rows of a table were added to an index. */
interface RowsIndexed {
  readonly kind: 'indexed'
  /** UUID of the table. */
  readonly table: string
  readonly index: string
  /** The version of the table that this change created. */
  readonly version: number
  /** Number of rows in the new segments. */
  readonly rows: number
}

/** Old versions of a table expired. */
interface VersionsExpired {
  readonly kind: 'expired'
  /** UUID of the table. */
  readonly table: string
  /** Number of expired versions. */
  readonly versions: number
}

/** Garbage collection deleted unreferenced files. */
interface FilesSwept {
  readonly kind: 'swept'
  readonly files: number
  readonly bytes: number
}

/** Slots of the log that are no longer needed were deleted. */
interface LogTrimmed {
  readonly kind: 'trimmed'
  /** Number of deleted slots. */
  readonly slots: number
}

/** This process has run a job, or a unit of it: an index build, a backfill of columns, or a refresh of a view. */
interface JobRun {
  readonly kind: 'job'
  /** Id of the job. For a unit, the id of the whole job. */
  readonly job: string
  /** Name of the kind of job in the log. */
  readonly type: string
  /** UUID of the table. Null: none. */
  readonly table: string | null
  readonly isUnit: boolean
  /** State of the whole job after the run. */
  readonly status: TransactionStatus
  /** Duration in milliseconds. */
  readonly ms: number
}

/** An event of background maintenance: one completed step. */
export type MaintenanceEvent =
  | JobRun
  | CheckpointWritten
  | DropEmptied
  | TableCompacted
  | RowsIndexed
  | VersionsExpired
  | FilesSwept
  | LogTrimmed
