/**
 * A change: the effect of one commit on the data of one table, as stored in a slot (docs/format.md).
 *
 * A change contains final version numbers and final ids of fragments, rows and fields. The writer determined them from
 * the state to which the entry is applied, so a reader that applies a change computes no ids.
 */
import type { ChangeKind } from '../protocol/change-kind.js'
import type { ZoneRecord } from '../sql/zones/zone.js'
import type { StoredRuns } from './stored-runs.js'
import type { IndexChange } from './table-index.js'
import type { TableSchema } from './table-schema.js'

/**
 * The address of a set of numbers: a file, or a blob of the slot that has the entry. Ids are stored as runs, row
 * offsets as ascending u32.
 */
export type AddedRuns = StoredRuns | { readonly blob: number }

/** Row ids that are consecutive. `row0`: the id of the first row. */
export interface ConsecutiveIds {
  readonly row0: number
}

/** The smallest and the largest row id of a fragment. */
export interface IdBounds {
  readonly least: number
  readonly greatest: number
  /** False if the ids do not ascend in row order (primitives/unordered-runs). Absent if they do. */
  readonly ascending?: false
}

/** Row ids of a fragment, in row order. */
export type AddedIds = ConsecutiveIds | (AddedRuns & IdBounds)

/**
 * The address of some columns of a fragment: a file of the table's data folder, or a blob of the slot that has the
 * entry. `fields`: the ids of the columns.
 */
export type AddedFile =
  | {
      readonly file: string
      readonly bytes: number
      readonly crc: number
      readonly fields: readonly number[]
    }
  | { readonly blob: number; readonly bytes: number; readonly fields: readonly number[] }

/** Min/max statistics of columns by field id. A field that is absent has no statistics. */
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
 * Rows of one fragment that the change deletes: fragment id, offsets of the rows in the fragment as it is after the
 * change, and number of rows. The rows were not deleted before.
 */
export type AddedDead = readonly [fragment: number, offsets: AddedRuns, count: number]

/**
 * Columns of an existing fragment that a change adds, or whose values it replaces. If several files have a field,
 * readers use the newest file.
 */
export interface AddedColumns {
  readonly fragment: number
  readonly file: AddedFile
  /** Statistics of the fields in `file`. They replace earlier statistics of these fields. */
  readonly zones?: ZoneRecords
}

/**
 * One group of fragments in a compaction. The fragments `to` replace the fragments `from`, and contain their live rows
 * in the same order.
 *
 * The fragments `from` were adjacent when the compaction began, and the fragments `to` take their place in the order.
 * There are at most as many fragments `to` as fragments `from` that still existed. Rows that were deleted while the
 * compaction ran are listed in the `dead` of the change.
 */
export interface Move {
  readonly from: readonly (readonly [fragment: number, rows: number])[]
  /** Fragments of `from` that no longer existed at the commit, because all their rows had been deleted. */
  readonly gone?: readonly number[]
  readonly to: readonly number[]
}

/**
 * The feature that readers must support if a compaction replaced fragments. Readers without it would return the rows in
 * another order.
 */
export const movesFeature = 'moves'

/**
 * A merge of parts of a deletion vector: in the fragment, one part with these offsets replaces the first `parts` parts.
 */
export type FoldedDead = readonly [fragment: number, parts: number, offsets: StoredRuns]

/** The next free ids of rows, fragments and fields after the change. They never decrease. */
export interface Counters {
  readonly row: number
  readonly frag: number
  readonly field: number
}

/** The effect of one commit on the data of one table. See the head of this file. */
export interface Change {
  readonly op: 'change'
  readonly t: string
  readonly v: number
  /** The version that the change was decided on: the version before `v`; 0 for the first version. */
  readonly base: number
  /**
   * The version whose stored manifest (manifest/layout-base) replay begins with to compute version `v`. 0 or absent:
   * replay begins with no rows.
   */
  readonly start?: number
  readonly kind: ChangeKind
  /** Only for a restore. `version`: the version whose fragments the new version has. `fragments`: their number. */
  readonly restore?: { readonly version: number; readonly fragments: number }
  readonly add: readonly AddedFragment[]
  readonly dead: readonly AddedDead[]
  /** Ids of dropped fragments, without the fragments that a compaction replaced. */
  readonly drop: readonly number[]
  /** Only for a compaction. Readers must support the feature `moves`. */
  readonly moves?: readonly Move[]
  readonly folded?: readonly FoldedDead[]
  readonly columns?: readonly AddedColumns[]
  /** Changes of indexes. Readers must support the feature `indexes`. */
  readonly indexes?: readonly IndexChange[]
  /** The complete new schema. Null if the schema does not change. */
  readonly schema: TableSchema | null
  readonly next: Counters
}

/** Return the ids of the fragments that a change removes from the manifest. */
export function fragmentsLeaving({ drop, moves = [] }: Change): readonly number[] {
  return [...drop, ...moves.flatMap(fragmentsMoving)]
}

/** Return the ids of the fragments that one group of a compaction removes from the manifest. */
export function fragmentsMoving({ from, gone = [] }: Move): readonly number[] {
  return from.map(([id]) => id).filter(id => !gone.includes(id))
}

/** Return a copy of the change in which `by` is added to every blob number. */
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
