/**
 * A Layout: where the rows of one version of a table lie. The fold of its changes, and nothing else.
 */
import { assert } from '../errors.js'
import type { AddedFile, Change, Counters, RowIds, ZoneRecords } from './change.js'
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
  /** Of all rows, dead ones included. */
  readonly zones?: ZoneRecords
}

export interface Layout {
  readonly table: string
  readonly version: number
  readonly schema: TableSchema
  /** In the order their rows are read. */
  readonly fragments: readonly Fragment[]
  readonly next: Counters
}

/**
 * Folds changes, one after the other. What it gives stays as it is when it goes on. Any number of changes cost what
 * they say, plus one copy of the fragment list.
 */
export class LayoutBuilder {
  #table: string | undefined
  #version: number
  #schema: TableSchema | undefined
  #next: Counters | undefined
  /** Null where one was dropped. */
  #fragments: (Fragment | null)[]
  /** How many are not. */
  #count: number
  /** Where in the list a fragment is, by id; from the first change on that asks. */
  #places: Map<number, number> | null = null
  /** Dead parts of fragments that changed, by place; not given to anybody yet. */
  readonly #dead = new Map<number, { readonly parts: DeadPart[]; count: number }>()

  /** `before`: null for a table without versions. */
  constructor(before: Layout | null) {
    this.#table = before?.table
    this.#version = before?.version ?? 0
    this.#schema = before?.schema
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
    this.#schema = change.schema ?? this.#schema
    this.#next = change.next
    for (const id of change.drop) {
      const place = this.#placeOf(id, v)
      this.#fragments[place] = null
      this.#dead.delete(place)
      this.#count--
    }
    for (const [id, { blob }, count] of change.dead) this.#kill(this.#placeOf(id, v), { slot, blob }, count)
    for (const { id, rows, ids, files: added, zones } of change.add) {
      this.#places?.set(id, this.#fragments.length)
      this.#count++
      const files = added.map(file => located(file, slot))
      const dead = { parts: [], count: 0 }
      this.#fragments.push({ id, rows, ids, files, dead, ...(zones !== undefined && { zones }) })
    }
  }

  /** The layout after the changes so far; there was one, or a layout to begin with. */
  layout(): Layout {
    assert(this.#table !== undefined && this.#next !== undefined, 'a layout of nothing')
    assert(this.#schema !== undefined, `version ${this.#version} of table ${this.#table} has no schema`)
    for (const [place, dead] of this.#dead) this.#fragments[place] = { ...this.#fragments[place]!, dead }
    this.#dead.clear()
    const fragments = this.#fragments.filter(fragment => fragment !== null)
    return {
      table: this.#table,
      version: this.#version,
      schema: this.#schema,
      fragments,
      next: this.#next,
    }
  }

  #placeOf(id: number, version: number): number {
    this.#places ??= new Map(this.#fragments.map((fragment, place) => [fragment?.id ?? -1, place]))
    const place = this.#places.get(id)
    assert(
      place !== undefined && this.#fragments[place] !== null,
      `version ${version} of table ${this.#table} changes fragment ${id}, which is not there`,
    )
    return place
  }

  #kill(place: number, part: DeadPart, count: number): void {
    const fragment = this.#fragments[place]!
    let dead = this.#dead.get(place)
    if (dead === undefined) {
      dead = { parts: [...fragment.dead.parts], count: fragment.dead.count }
      this.#dead.set(place, dead)
    }
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
  return layout.fragments.reduce((sum, fragment) => sum + fragment.rows - fragment.dead.count, 0)
}

function located(file: AddedFile, slot: number): DataFile {
  return 'blob' in file ? { ...file, slot } : file
}
