/**
 * A Layout: where the rows of one version of a table lie. The fold of its changes, and nothing else.
 */
import { assert } from '../errors.js'
import {
  type AddedColumns,
  type AddedFile,
  type AddedIds,
  type Change,
  type ConsecutiveIds,
  type Counters,
  fragmentsMoving,
  type IdBounds,
  type ZoneRecords,
} from './change.js'
import type { StoredRuns } from './stored-runs.js'
import { changedIndexes, indexesOf, type TableIndex } from './table-index.js'
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
  /** Id of the schema that has their types: a blob does not say. */
  readonly schema: number
  readonly fields: readonly number[]
}

export type DataFile = StoredFile | InlineFile

/** Numbers as runs: a file of the table's `rows` folder, or a blob of a slot. */
export type RunsPlace = StoredRuns | { readonly slot: number; readonly blob: number }

/** Row ids, in row order. */
export type RowIds = ConsecutiveIds | (RunsPlace & IdBounds)

export interface Fragment {
  readonly id: number
  readonly rows: number
  readonly ids: RowIds
  readonly files: readonly DataFile[]
  /** Offsets of dead rows: one part for each commit that killed some; disjoint. */
  readonly dead: { readonly parts: readonly RunsPlace[]; readonly count: number }
  /** Of all rows, dead ones included. */
  readonly zones?: ZoneRecords
}

export interface Layout {
  readonly table: string
  readonly version: number
  readonly schema: TableSchema
  /** Earlier schemas that the inline files of fragments refer to. */
  readonly earlier: readonly TableSchema[]
  /** In the order their rows are read. */
  readonly fragments: readonly Fragment[]
  /** By name. */
  readonly indexes: readonly TableIndex[]
  readonly next: Counters
}

/** How often a builder walks through its list before it makes a map of it, which takes as long as a dozen walks. */
const walksMax = 8

/**
 * Folds changes, one after the other. What it gives stays as it is when it goes on. Any number of changes cost what
 * they say, plus one copy of the fragment list.
 */
export class LayoutBuilder {
  #table: string | undefined
  #version: number
  #schema: TableSchema | undefined
  #earlier: readonly TableSchema[]
  #indexes: readonly TableIndex[]
  #next: Counters | undefined
  /** Null where one was dropped. */
  #fragments: (Fragment | null)[]
  /** How many are not. */
  #count: number
  /** Where in the list a fragment is, by id; once that was asked often enough. */
  #places: Map<number, number> | null = null
  #asked = 0
  /** Dead parts of fragments that changed, by place; not given to anybody yet. */
  readonly #dead = new Map<number, { readonly parts: RunsPlace[]; count: number }>()

  /** `before`: null for a table without versions. */
  constructor(before: Layout | null) {
    this.#table = before?.table
    this.#version = before?.version ?? 0
    this.#schema = before?.schema
    this.#earlier = before?.earlier ?? []
    this.#indexes = before?.indexes ?? []
    this.#next = before?.next
    this.#fragments = before === null ? [] : [...before.fragments]
    this.#count = this.#fragments.length
  }

  /**
   * Applies a change that stands in slot `slot`: to the version it has as its base, or if it is a restore, to the version
   * it restores.
   */
  apply(change: Change, slot: number): void {
    const { t, v, base, restore } = change
    const on = restore?.version ?? base
    assert(this.#version === on, `version ${v} of table ${t} is made of ${on}, not ${this.#version}`)
    assert(this.#table === undefined || this.#table === t, `a change of table ${t} in table ${this.#table}`)
    assert(
      restore === undefined || restore.fragments === this.#count,
      `version ${v} of table ${t} restores another number of fragments than version ${on} has`,
    )
    this.#table = t
    this.#version = v
    if (change.schema !== null) {
      if (this.#schema !== undefined) this.#earlier = [...this.#earlier, this.#schema]
      this.#schema = change.schema
      this.#forgetFiles(change.schema)
      this.#indexes = indexesOf(this.#indexes, change.schema)
    }
    const schema = this.#schema
    assert(schema !== undefined, `version ${v} of table ${t} has no schema`)
    this.#next = change.next
    // The field of one may have been dropped while it was built.
    if (change.indexes !== undefined) {
      this.#indexes = indexesOf(changedIndexes(this.#indexes, change.indexes), schema)
    }
    for (const id of change.drop) this.#drop(this.#placeOf(id, v))
    for (const added of change.columns ?? []) this.#addColumns(this.#placeOf(added.fragment, v), added, slot)
    for (const [id, parts, offsets] of change.folded ?? [])
      this.#foldDead(this.#placeOf(id, v), parts, offsets)
    const places = this.#placesFor(change)
    for (const { id, rows, ids, files: added, zones } of change.add) {
      const place = places.get(id) ?? this.#fragments.length
      this.#places?.set(id, place)
      this.#count++
      const files = added.map(file => located(file, slot, schema))
      const dead = { parts: [], count: 0 }
      this.#fragments[place] = {
        id,
        rows,
        ids: idsIn(ids, slot),
        files,
        dead,
        ...(zones !== undefined && { zones }),
      }
    }
    for (const [id, offsets, count] of change.dead) {
      this.#kill(this.#placeOf(id, v), 'blob' in offsets ? { ...offsets, slot } : offsets, count)
    }
  }

  /** The layout after the changes so far; there was one, or a layout to begin with. */
  layout(): Layout {
    assert(this.#table !== undefined && this.#next !== undefined, 'a layout of nothing')
    const schema = this.#schema
    assert(schema !== undefined, `version ${this.#version} of table ${this.#table} has no schema`)
    for (const [place, dead] of this.#dead) this.#fragments[place] = { ...this.#fragments[place]!, dead }
    this.#dead.clear()
    const fragments = this.#fragments.filter(fragment => fragment !== null)
    this.#earlier = stillUsed(this.#earlier, fragments)
    return {
      table: this.#table,
      version: this.#version,
      schema,
      earlier: this.#earlier,
      fragments,
      indexes: this.#indexes,
      next: this.#next,
    }
  }

  #placeOf(id: number, version: number): number {
    if (this.#asked++ === walksMax) {
      this.#places = new Map(this.#fragments.map((fragment, place) => [fragment?.id ?? -1, place]))
    }
    const place = this.#places?.get(id) ?? this.#fragments.findLastIndex(fragment => fragment?.id === id)
    assert(
      this.#fragments[place]?.id === id,
      `version ${version} of table ${this.#table} changes fragment ${id}, which is not there`,
    )
    return place
  }

  #drop(place: number): void {
    this.#fragments[place] = null
    this.#dead.delete(place)
    this.#count--
  }

  /** Where fragments go that hold the rows of others: into their place. Those are gone then. */
  #placesFor({ moves = [], v }: Change): ReadonlyMap<number, number> {
    const places = new Map<number, number>()
    for (const move of moves) {
      const { to } = move
      const free = fragmentsMoving(move).map(id => this.#placeOf(id, v))
      assert(
        to.length <= free.length,
        `version ${v} of table ${this.#table} moves rows to too many fragments`,
      )
      for (const place of free) this.#drop(place)
      for (const [i, id] of to.entries()) places.set(id, free[i]!)
    }
    return places
  }

  /** Leaves out files with none of the fields there are now. The first stays: it says how many batches a fragment has. */
  #forgetFiles({ fields }: TableSchema): void {
    const ids = new Set(fields.map(field => field.id))
    for (const [place, fragment] of this.#fragments.entries()) {
      if (fragment === null || fragment.files.length < 2) continue
      const files = fragment.files.filter((file, i) => i === 0 || file.fields.some(id => ids.has(id)))
      if (files.length < fragment.files.length) this.#fragments[place] = { ...fragment, files }
    }
  }

  #addColumns(place: number, { file, zones: known }: AddedColumns, slot: number): void {
    const fragment = this.#fragments[place]!
    const added = new Set(file.fields)
    const kept = Object.entries(fragment.zones ?? {}).filter(([field]) => !added.has(Number(field)))
    const zones = { ...Object.fromEntries(kept), ...known }
    // The first file says how many batches there are; of the others those stay that have a field no newer one has.
    const [first, ...others] = fragment.files
    const files = others.filter(({ fields }) => !fields.every(field => added.has(field)))
    this.#fragments[place] = {
      ...fragment,
      files: [...(first === undefined ? [] : [first]), ...files, located(file, slot, this.#schema!)],
      zones,
    }
  }

  /** The dead rows of a fragment, for changing. */
  #deadAt(place: number): { readonly parts: RunsPlace[]; count: number } {
    let dead = this.#dead.get(place)
    if (dead === undefined) {
      const { parts, count } = this.#fragments[place]!.dead
      dead = { parts: [...parts], count }
      this.#dead.set(place, dead)
    }
    return dead
  }

  #foldDead(place: number, count: number, offsets: StoredRuns): void {
    const { parts } = this.#deadAt(place)
    assert(count <= parts.length, `version ${this.#version} folds more parts than there are`)
    parts.splice(0, count, offsets)
  }

  #kill(place: number, part: RunsPlace, count: number): void {
    const fragment = this.#fragments[place]!
    const dead = this.#deadAt(place)
    dead.parts.push(part)
    dead.count += count
    assert(dead.count <= fragment.rows, `fragment ${fragment.id} has more dead rows than rows`)
  }
}

/**
 * The layout after `change`, which stands in slot `slot`. `before`: that of its base, null for a table's first version;
 * of a restore, that of the version it restores.
 */
export function applyChange(before: Layout | null, change: Change, slot: number): Layout {
  const builder = new LayoutBuilder(before)
  builder.apply(change, slot)
  return builder.layout()
}

/** Rows that are alive. */
export function countRows(layout: Layout): number {
  return layout.fragments.reduce((sum, fragment) => sum + liveRows(fragment), 0)
}

export function liveRows({ rows, dead }: Fragment): number {
  return rows - dead.count
}

/**
 * Whether a fragment has in another version no living row that it had not in this one. It may have one where that version was
 * restored to a time before they died.
 */
export function onlyLostRows({ dead: { parts } }: Fragment, { dead: later }: Fragment): boolean {
  const last = parts.at(-1)
  if (last === undefined) return true
  // A part stands for the commit that brought it, and so for all before it.
  const same = later.parts[parts.length - 1]
  return same !== undefined && runsKey(same) === runsKey(last)
}

/** Names a place of runs among all of the root. */
export function runsKey(place: RunsPlace): string {
  return 'file' in place ? place.file : `slot ${place.slot}, blob ${place.blob}`
}

/** Names a file of columns among all of the root. */
export function fileKey(file: DataFile): string {
  return 'file' in file ? file.file : `${file.slot}/${file.blob}`
}

/** The file (`fileKey`) that has a column of a fragment; empty where there is none. */
export function columnFile({ files }: Fragment, column: number): string {
  const file = files.findLast(({ fields }) => fields.includes(column))
  return file === undefined ? '' : fileKey(file)
}

function located(file: AddedFile, slot: number, { id }: TableSchema): DataFile {
  return 'blob' in file ? { ...file, slot, schema: id } : file
}

function idsIn(ids: AddedIds, slot: number): RowIds {
  return 'blob' in ids ? { ...ids, slot } : ids
}

/** The schemas that inline files of the fragments refer to. */
function stillUsed(schemas: readonly TableSchema[], fragments: readonly Fragment[]): readonly TableSchema[] {
  if (schemas.length === 0) return schemas
  const used = new Set<number>()
  for (const { files } of fragments) for (const file of files) if ('slot' in file) used.add(file.schema)
  return schemas.filter(({ id }) => used.has(id))
}
