/** Events of background maintenance, for `ConnectOptions.onMaintenance`. */

/** A checkpoint of the catalog was written: a process that opens the root reads the log from there. */
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

/** Fragments of a table were compacted; rows and their order are unchanged. */
export interface TableCompacted {
  readonly kind: 'compaction'
  readonly table: readonly string[]
  /** The version that the compaction created. */
  readonly version: number
  readonly fragmentsBefore: number
  readonly fragmentsAfter: number
  /** Rows that were rewritten. */
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
  /** The version that the commit created. */
  readonly version: number
  /** Rows in the segments that were written. */
  readonly rows: number
}

/** Old versions of a table expired. */
interface VersionsExpired {
  readonly kind: 'expired'
  /** UUID of the table. */
  readonly table: string
  /** Number of versions. */
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
  /** Number of slots. */
  readonly slots: number
}

/** What maintenance did in the background. */
export type MaintenanceEvent =
  | CheckpointWritten
  | DropEmptied
  | TableCompacted
  | RowsIndexed
  | VersionsExpired
  | FilesSwept
  | LogTrimmed
