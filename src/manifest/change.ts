/**
 * A change: the effect of one commit on the data of one table, as stored in a slot (docs/format.md).
 *
 * All numbers in a change are final. The writer assigned version, fragment, row and field ids on exactly the state that
 * the entry follows, so applying a change computes no ids.
 */
import type { ChangeKind } from '../protocol/change-kind.js'
import type { ZoneRecord } from '../sql/zones/zone.js'
import type { StoredRuns } from './stored-runs.js'
import type { IndexChange } from './table-index.js'
import type { TableSchema } from './table-schema.js'

/** A set of numbers: a file, or a blob of the slot with the entry. Ids are stored as runs, offsets as ascending u32. */
export type AddedRuns = StoredRuns | { readonly blob: number }

/** Consecutive ids, from the first row's id on. */
export interface ConsecutiveIds {
  readonly row0: number
}

/** Bounds of a fragment's ids. */
export interface IdBounds {
  readonly least: number
  readonly greatest: number
  /** False if the ids do not ascend in row order (primitives/unordered-runs); absent if they do. */
  readonly ascending?: false
}

/** Row ids of a fragment, in row order. */
export type AddedIds = ConsecutiveIds | (AddedRuns & IdBounds)

/** Some columns of a fragment: a file of the table's data folder, or a blob of the slot with the entry. */
export type AddedFile =
  | {
      readonly file: string
      readonly bytes: number
      readonly crc: number
      readonly fields: readonly number[]
    }
  | { readonly blob: number; readonly bytes: number; readonly fields: readonly number[] }

/** Min/max statistics by field id; a missing field has none. */
export type ZoneRecords = Readonly<Record<string, ZoneRecord>>

/** A fragment that a change adds. */
export interface AddedFragment {
  readonly id: number
  readonly rows: number
  readonly ids: AddedIds
  readonly files: readonly AddedFile[]
  readonly zones?: ZoneRecords
}

/**
 * [fragment, offsets of its rows, count]: rows that the change deletes, in fragments as they are after the change.
 * Disjoint from rows that were deleted before.
 */
export type AddedDead = readonly [fragment: number, offsets: AddedRuns, count: number]

/** Columns that a change adds to an existing fragment, or whose values it rewrites. The newest file with a field counts. */
export interface AddedColumns {
  readonly fragment: number
  readonly file: AddedFile
  /** Statistics of the fields in `file`. They replace earlier statistics. */
  readonly zones?: ZoneRecords
}

/**
 * A compaction: the fragments `to` replace the fragments `from`, and hold their live rows in the same order.
 *
 * The fragments `from` were adjacent. The fragments `to` take their positions, and are not more than the fragments of
 * `from` that still existed. Rows that were deleted since the work began are among the change's `dead`.
 */
export interface Move {
  readonly from: readonly (readonly [fragment: number, rows: number])[]
  /** Fragments of `from` that no longer existed, because all their rows were deleted. */
  readonly gone?: readonly number[]
  readonly to: readonly number[]
}

/** The feature that readers must know if fragments were moved. Other readers would put rows in another order. */
export const movesFeature = 'moves'

/** [fragment, count, offsets]: one part replaces the first `count` parts of the fragment's deletion vector. */
export type FoldedDead = readonly [fragment: number, parts: number, offsets: StoredRuns]

/** The counters after the change. A counter never decreases. */
export interface Counters {
  readonly row: number
  readonly frag: number
  readonly field: number
}

/** What one commit does to the data of one table. See the head of this file. */
export interface Change {
  readonly op: 'change'
  readonly t: string
  readonly v: number
  /** The version that the change was decided on: the version before `v`; 0 for the first version. */
  readonly base: number
  /** The version whose base (manifest/layout-store) replay up to `v` begins with; 0 or absent: begin with nothing. */
  readonly start?: number
  readonly kind: ChangeKind
  /** For a restore: the version whose fragments the new version has, and their number. */
  readonly restore?: { readonly version: number; readonly fragments: number }
  readonly add: readonly AddedFragment[]
  readonly dead: readonly AddedDead[]
  /** Ids of dropped fragments; fragments that moved are not among them. */
  readonly drop: readonly number[]
  /** For a compaction. Readers must know the feature `moves`. */
  readonly moves?: readonly Move[]
  readonly folded?: readonly FoldedDead[]
  readonly columns?: readonly AddedColumns[]
  /** Readers must know the feature `indexes`. */
  readonly indexes?: readonly IndexChange[]
  /** The whole new schema; null if the schema does not change. */
  readonly schema: TableSchema | null
  readonly next: Counters
}

/** Return the fragments that a change removes. */
export function fragmentsLeaving({ drop, moves = [] }: Change): readonly number[] {
  return [...drop, ...moves.flatMap(fragmentsMoving)]
}

/** Return the fragments that a move removes. */
export function fragmentsMoving({ from, gone = [] }: Move): readonly number[] {
  return from.map(([id]) => id).filter(id => !gone.includes(id))
}

/** Return the change with the blob numbers increased by `by`. */
export function withBlobsFrom(change: Change, by: number): Change {
  if (by === 0) return change
  const moved = <T extends object>(at: T): T =>
    'blob' in at ? { ...at, blob: (at.blob as number) + by } : at
  return {
    ...change,
    add: change.add.map(each => ({ ...each, ids: moved(each.ids), files: each.files.map(moved) })),
    dead: change.dead.map(([fragment, offsets, count]) => [fragment, moved(offsets), count]),
    ...(change.columns !== undefined && {
      columns: change.columns.map(each => ({ ...each, file: moved(each.file) })),
    }),
  }
}
