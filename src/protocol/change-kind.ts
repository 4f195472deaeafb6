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

/** The kinds of changes that do not change rows: the version has the same rows and values as the previous version. */
export const kindsKeepingRows: ReadonlySet<string> = new Set<ChangeKind>(['compaction', 'index'])
