/**
 * A Change: what one commit does to the data of one table, as it stands in a slot (docs/format.md).
 *
 * All numbers in it are final: the writer assigned version, fragment, row and field ids on the very prefix the
 * entry follows, so applying it computes nothing anew.
 */
import type { ChangeKind } from '../protocol/change-kind.js'
import type { ZoneRecord } from '../sql/zones/zone.js'
import type { StoredRuns } from './stored-runs.js'
import type { IndexChange } from './table-index.js'
import type { TableSchema } from './table-schema.js'

/** Numbers: such a file, or a blob of the slot that holds the entry: ids as runs, offsets as ascending u32. */
export type AddedRuns = StoredRuns | { readonly blob: number }

/** Ids that follow each other, from the first row's on. */
export interface ConsecutiveIds {
  readonly row0: number
}

/** Between which ids those of a fragment lie. */
export interface IdBounds {
  readonly least: number
  readonly greatest: number
  /** Whether they ascend in row order; absent where they do (primitives/unordered-runs has the others). */
  readonly ascending?: false
}

/** Row ids of a fragment's rows, in row order. */
export type AddedIds = ConsecutiveIds | (AddedRuns & IdBounds)

/** Some columns of a fragment: a file of the table's data folder, or a blob of the slot that holds the entry. */
export type AddedFile =
  | {
      readonly file: string
      readonly bytes: number
      readonly crc: number
      readonly fields: readonly number[]
    }
  | { readonly blob: number; readonly bytes: number; readonly fields: readonly number[] }

/** Between which values the rows of a field lie, by field id; nothing is known of a field that is missing. */
export type ZoneRecords = Readonly<Record<string, ZoneRecord>>

export interface AddedFragment {
  readonly id: number
  readonly rows: number
  readonly ids: AddedIds
  readonly files: readonly AddedFile[]
  readonly zones?: ZoneRecords
}

/** [fragment, offsets of its rows, how many]: rows that die, of the fragments there are after it. Disjoint from those already dead. */
export type AddedDead = readonly [fragment: number, offsets: AddedRuns, count: number]

/** Columns of a fragment that was there before: new ones, or all their values anew. The newest file that has a field counts. */
export interface AddedColumns {
  readonly fragment: number
  readonly file: AddedFile
  /** Of the fields in `file`; what was known of them before is forgotten. */
  readonly zones?: ZoneRecords
}

/**
 * Fragments that gave way to others, which hold the rows that lived, in the order they had. The fragments `from` followed each
 * other; those of `to` take their place, and are no more than were still there. The newest of them may have lost rows since the work
 * began: those are among the change's `dead`.
 */
export interface Move {
  readonly from: readonly (readonly [fragment: number, rows: number])[]
  /** Those of `from` that had left already: all their rows had died. */
  readonly gone?: readonly number[]
  readonly to: readonly number[]
}

/** What a reader of the log must know where fragments move: who does not would give their rows another order. */
export const movesFeature = 'moves'

/** [fragment, how many, offsets]: its first so many dead parts are from now on one. */
export type FoldedDead = readonly [fragment: number, parts: number, offsets: StoredRuns]

/** The counters after the change; none of them ever goes back. */
export interface Counters {
  readonly row: number
  readonly frag: number
  readonly field: number
}

export interface Change {
  readonly op: 'change'
  readonly t: string
  readonly v: number
  /** The version it was decided on: the one before `v`; 0 for the first. */
  readonly base: number
  /** The version whose stored layout (manifest/layout-store) the fold up to `v` begins with; 0 or absent: with nothing. */
  readonly start?: number
  readonly kind: ChangeKind
  /** Of a restore: the version whose fragments the new one has, and how many those are. */
  readonly restore?: { readonly version: number; readonly fragments: number }
  readonly add: readonly AddedFragment[]
  readonly dead: readonly AddedDead[]
  /** Ids of fragments that leave the table; those that moved are not among them. */
  readonly drop: readonly number[]
  /** Of a compaction; who reads it must know the feature `moves`. */
  readonly moves?: readonly Move[]
  readonly folded?: readonly FoldedDead[]
  readonly columns?: readonly AddedColumns[]
  /** Who reads it must know the feature `indexes`. */
  readonly indexes?: readonly IndexChange[]
  /** The whole new schema, or null when it stays. */
  readonly schema: TableSchema | null
  readonly next: Counters
}

/** Fragments that are there before a change and not after it. */
export function fragmentsLeaving({ drop, moves = [] }: Change): readonly number[] {
  return [...drop, ...moves.flatMap(fragmentsMoving)]
}

/** Fragments that gave way in a move. */
export function fragmentsMoving({ from, gone = [] }: Move): readonly number[] {
  return from.map(([id]) => id).filter(id => !gone.includes(id))
}

/** The same change, its blobs `by` further on in the slot. */
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
