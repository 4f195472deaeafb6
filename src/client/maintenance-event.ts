/** What maintenance has done, for who wants to know. */

/** A checkpoint of the catalog was written: who opens the root reads the log from there on. */
export interface CheckpointWritten {
  readonly kind: 'checkpoint'
  /** The last slot in it. */
  readonly slot: number
  readonly bytes: number
}

/** The files of a dropped table are gone. */
export interface DropEmptied {
  readonly kind: 'drop'
  /** Relative to the root. */
  readonly location: string
}

/** Fragments of a table were made fewer; its rows are the same, in the same order. */
export interface TableCompacted {
  readonly kind: 'compaction'
  readonly table: readonly string[]
  /** The version it made. */
  readonly version: number
  readonly fragmentsBefore: number
  readonly fragmentsAfter: number
  /** Written anew. */
  readonly rows: number
  readonly bytes: number
  readonly ms: number
}

/** Rows of a table that no index had are in it now. */
export interface RowsIndexed {
  readonly kind: 'indexed'
  /** UUID of the table. */
  readonly table: string
  readonly index: string
  /** The version it made. */
  readonly version: number
  /** Of the segments that were written. */
  readonly rows: number
}

/** Old versions of a table have ceased to exist. */
export interface VersionsExpired {
  readonly kind: 'expired'
  /** UUID of the table. */
  readonly table: string
  /** How many. */
  readonly versions: number
}

/** Files that nothing refers to are gone. */
export interface FilesSwept {
  readonly kind: 'swept'
  readonly files: number
  readonly bytes: number
}

/** Slots of the log that are dispensable are gone. */
export interface LogTrimmed {
  readonly kind: 'trimmed'
  /** How many. */
  readonly slots: number
}

export type MaintenanceEvent =
  | CheckpointWritten
  | DropEmptied
  | TableCompacted
  | RowsIndexed
  | VersionsExpired
  | FilesSwept
  | LogTrimmed
