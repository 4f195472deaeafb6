/**
 * A Layout: where the rows of one version of a table lie. The fold of its changes, and nothing else.
 */
import { assert } from '../errors.js'
import type { AddedFile, Change, Counters, RowIds } from './change.js'
import type { TableSchema } from './table-schema.js'

/** Columns in a file of the table's data folder; `crc` is that of the file's footer. */
export interface StoredFile {
  readonly file: string
  readonly bytes: number
  readonly crc: number
  /** Field ids, in the order of the columns. */
  readonly fields: readonly number[]
}

/** Columns in a blob of a slot. */
export interface InlineFile {
  readonly slot: number
  readonly blob: number
  readonly bytes: number
  readonly fields: readonly number[]
}

export type DataFile = StoredFile | InlineFile

/** One commit's dead rows of one fragment: ascending u32 offsets in a blob of a slot. */
export interface DeadPart {
  readonly slot: number
  readonly blob: number
}

export interface Fragment {
  readonly id: number
  readonly rows: number
  readonly ids: RowIds
  readonly files: readonly DataFile[]
  readonly dead: { readonly parts: readonly DeadPart[]; readonly count: number }
}

export interface Layout {
  readonly table: string
  readonly version: number
  readonly schema: TableSchema
  /** In the order their rows are read. */
  readonly fragments: readonly Fragment[]
  readonly next: Counters
}

/** The layout after `change`, which stands in slot `slot`. `before` is null for a table's first version. */
export function applyChange(before: Layout | null, change: Change, slot: number): Layout {
  assert((before?.version ?? 0) === change.base, `version ${change.v} of table ${change.t} has another base`)
  const schema = change.schema ?? before?.schema
  assert(schema !== undefined, `version ${change.v} of table ${change.t} has no schema`)
  return {
    table: change.t,
    version: change.v,
    schema,
    fragments: changedFragments(before?.fragments ?? [], change, slot),
    next: change.next,
  }
}

/** Rows that are alive. */
export function countRows(layout: Layout): number {
  return layout.fragments.reduce((sum, fragment) => sum + fragment.rows - fragment.dead.count, 0)
}

function changedFragments(before: readonly Fragment[], change: Change, slot: number): readonly Fragment[] {
  const dropped = new Set(change.drop)
  const kept = dropped.size === 0 ? before : before.filter(fragment => !dropped.has(fragment.id))
  assert(
    kept.length + dropped.size === before.length,
    `version ${change.v} drops a fragment that is not there`,
  )
  const dead = new Map(change.dead.map(item => [item[0], item]))
  const marked =
    dead.size === 0 ? kept : kept.map(fragment => withDead(fragment, dead.get(fragment.id), slot))
  const added = change.add.map(({ id, rows, ids, files }) => {
    return { id, rows, ids, files: files.map(file => located(file, slot)), dead: { parts: [], count: 0 } }
  })
  return added.length === 0 ? marked : [...marked, ...added]
}

function withDead(fragment: Fragment, item: Change['dead'][number] | undefined, slot: number): Fragment {
  if (item === undefined) return fragment
  const [, { blob }, count] = item
  const dead = { parts: [...fragment.dead.parts, { slot, blob }], count: fragment.dead.count + count }
  assert(dead.count <= fragment.rows, `fragment ${fragment.id} has more dead rows than rows`)
  return { ...fragment, dead }
}

function located(file: AddedFile, slot: number): DataFile {
  return 'blob' in file ? { ...file, slot } : file
}
