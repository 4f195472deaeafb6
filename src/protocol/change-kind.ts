/** The kind of change that created a version of a table: its metadata `operation`. */
export type ChangeKind =
  | 'create'
  | 'append'
  | 'overwrite'
  | 'delete'
  | 'update'
  | 'merge'
  | 'restore'
  | 'schema'
  | 'backfill'
  | 'compaction'
  | 'refresh'
  | 'index'

/** Versions of these kinds have the same rows, with the same values, as the version before. */
export const kindsKeepingRows: ReadonlySet<string> = new Set<ChangeKind>(['compaction', 'index'])
