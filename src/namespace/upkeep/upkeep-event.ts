/** What upkeep has done, for who wants to know. */

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

export type UpkeepEvent = CheckpointWritten | DropEmptied
