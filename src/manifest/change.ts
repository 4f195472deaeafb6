/**
 * A Change: what one commit does to the data of one table, as it stands in a slot (docs/format.md).
 *
 * All numbers in it are final: the writer assigned version, fragment, row and field ids on the very prefix the
 * entry follows, so applying it computes nothing anew.
 */
import type { ZoneRecord } from '../sql/zones/zone.js'
import type { TableSchema } from './table-schema.js'

/** Row ids of a fragment's rows, in row order. */
export interface RowIds {
  /** The rows have consecutive ids from here on. */
  readonly row0: number
}

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
  readonly ids: RowIds
  readonly files: readonly AddedFile[]
  readonly zones?: ZoneRecords
}

/** [fragment, blob of ascending u32 row offsets, how many]: rows that die. Disjoint from those already dead. */
export type AddedDead = readonly [fragment: number, offsets: { readonly blob: number }, count: number]

/** The counters after the change; none of them ever goes back. */
export interface Counters {
  readonly row: number
  readonly frag: number
  readonly field: number
}

export type ChangeKind = 'create' | 'append' | 'overwrite' | 'delete' | 'restore' | 'schema'

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
  /** Ids of fragments that leave the table. */
  readonly drop: readonly number[]
  /** The whole new schema, or null when it stays. */
  readonly schema: TableSchema | null
  readonly next: Counters
}
