/**
 * The manifest of a version (`Layout`): the addresses of the rows of one version of a table. It is computed from the
 * table's changes only.
 */
import { assert } from '../errors.js'
import type { LanceDeletions, LanceIndex } from '../lance/manifest.js'
import type { LanceField } from '../lance/schema.js'
import type { RunSequence } from '../primitives/run-sequence.js'
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

/** Columns in a file of the table's data folder. `crc`: the checksum of the file's footer. */
export interface StoredFile {
  readonly file: string
  readonly bytes: number
  readonly crc: number
  /** Field ids, in the order of the columns. */
  readonly fields: readonly number[]
}

/** Columns in a blob of a slot (inline rows). */
export interface InlineFile {
  readonly slot: number
  readonly blob: number
  readonly bytes: number
  /** Id of the schema that has the types of the columns. A blob has no schema of its own. */
  readonly schema: number
  readonly fields: readonly number[]
}

/** Columns in a data file of a Lance table. Sheaf reads such files and never writes them. */
export interface LanceColumns {
  /** The path of the file, relative to the folder of the table. */
  readonly lance: string
  /** The version of the file format, for example `2.2`. */
  readonly version: string
  /** The size of the file; 0 if it is not recorded. */
  readonly bytes: number
  /** The ids of the columns of the table that the file has. */
  readonly fields: readonly number[]
  /** The columns of the table, by their ids. */
  readonly fieldsById: ReadonlyMap<number, LanceField>
  /** The columns of the file, by the ids of fields and of nested fields. */
  readonly columns: ReadonlyMap<number, number>
}

/** Columns in a file that Sheaf wrote. */
type OwnFile = StoredFile | InlineFile

export type DataFile = OwnFile | LanceColumns

/** A file with the deleted rows of a fragment of a Lance table. `lance`: its path, relative to the folder of the table. */
export interface LanceRuns {
  readonly lance: string
  readonly deletions: LanceDeletions
  /** The number of rows of the fragment. */
  readonly rows: number
}

/** The address of a set of numbers that Sheaf wrote: a file of the table's `rows` folder, or a blob of a slot. */
type OwnRuns = StoredRuns | { readonly slot: number; readonly blob: number }

/** The address of a set of numbers. */
export type RunsPlace = OwnRuns | LanceRuns

/** Row ids in memory. Only for fragments of Lance tables. */
export interface KnownIds extends IdBounds {
  readonly sequence: RunSequence
}

/** The row ids of a fragment, in row order. */
export type RowIds = ConsecutiveIds | (OwnRuns & IdBounds) | KnownIds

/** A range of rows of a table that were written or compacted together, with their files and deletions. */
export interface Fragment {
  readonly id: number
  readonly rows: number
  readonly ids: RowIds
  readonly files: readonly DataFile[]
  /**
   * The deletion vector: the offsets of deleted rows. Each commit that deletes rows adds a part. No offset is in two
   * parts.
   */
  readonly dead: { readonly parts: readonly RunsPlace[]; readonly count: number }
  /** Min/max statistics of all rows, including deleted rows. */
  readonly zones?: ZoneRecords
}

/** The manifest of a version: its schema, fragments and indexes. */
export interface Layout {
  readonly table: string
  readonly version: number
  readonly schema: TableSchema
  /** Earlier schemas that inline files of the fragments refer to by id. */
  readonly earlier: readonly TableSchema[]
  /** The fragments, in the order in which their rows are read. */
  readonly fragments: readonly Fragment[]
  /** The indexes, sorted by name. */
  readonly indexes: readonly TableIndex[]
  /** Only for Lance tables: the segments of the indexes of LanceDB. */
  readonly lanceIndexes?: readonly LanceIndex[]
  readonly next: Counters
}

/**
 * A fragment whose rows are one blob, if it has consecutive ids, no deleted rows and no zone maps. After many small
 * commits, most fragments are such fragments.
 */
export type ShortLine = [
  id: number,
  rows: number,
  row0: number,
  slot: number,
  blob: number,
  bytes: number,
  schema: number,
  /** The field ids of the columns, or the decoded fragment. */
  columns: readonly number[] | Fragment,
]

export type FragmentLine = Fragment | ShortLine

/**
 * The lines of manifests whose fragments were not read yet. A stored manifest may have a line for each of very many small
 * fragments, and neither the number of rows nor an append needs the fragments. So a fragment is decoded when a caller
 * reads `fragments`. Decoded fragments are shared by all manifests that were computed from the same stored manifest.
 */
const linesByLayout = new WeakMap<Layout, readonly FragmentLine[]>()

/** Return a manifest with the fragments of `lines`, which are decoded when `fragments` is read. */
export function layoutOfLines(others: Omit<Layout, 'fragments'>, lines: readonly FragmentLine[]): Layout {
  let all: readonly Fragment[] | undefined
  const layout: Layout = {
    ...others,
    get fragments() {
      if (all === undefined) {
        all = lines.map(fragmentOf)
        linesByLayout.delete(layout)
      }
      return all
    },
  }
  linesByLayout.set(layout, lines)
  return layout
}

/** Return the lines of a manifest whose fragments were not read yet; undefined for any other manifest. */
function undecodedLines(layout: Layout): readonly FragmentLine[] | undefined {
  return linesByLayout.get(layout)
}

/** Return the lines or the fragments of a manifest. */
export function linesOf(layout: Layout): readonly FragmentLine[] {
  return linesByLayout.get(layout) ?? layout.fragments
}

export function isShort(line: FragmentLine): line is ShortLine {
  return Array.isArray(line)
}

const noRows = { parts: [], count: 0 }

function fragmentOf(line: FragmentLine): Fragment {
  if (!isShort(line)) return line
  const [id, rows, row0, slot, blob, bytes, schema, columns] = line
  if ('files' in columns) return columns
  const files = [{ slot, blob, bytes, schema, fields: columns }]
  const fragment: Fragment = { id, rows, ids: { row0 }, files, dead: noRows }
  line[7] = fragment
  return fragment
}

/**
 * Number of searches in the list of fragments before a builder creates a map. Building the map takes as long as about
 * 12 searches.
 */
const searchesMax = 8

/**
 * Applies changes to a manifest, one after the other. A manifest that `layout` returned does not change when more
 * changes are applied. The cost depends on the size of the changes, plus one copy of the list of fragments.
 */
export class LayoutBuilder {
  #table: string | undefined
  #version: number
  #schema: TableSchema | undefined
  #earlier: readonly TableSchema[]
  #indexes: readonly TableIndex[]
  #next: Counters | undefined
  /** The manifest before, if its fragments are not decoded and were not needed so far. */
  #undecoded: Layout | null
  /** The fragments in order, without those of `#undecoded`. Null at the position of a dropped fragment. */
  #fragments: (Fragment | null)[]
  /** The number of fragments that are not null, with those of `#undecoded`. */
  #count: number
  /** By fragment id: the position in the list. Null until `searchesMax` searches were done. */
  #positions: Map<number, number> | null = null
  #searches = 0
  /** By position: the changed deletion vectors, which `layout` copies into the fragments. */
  readonly #dead = new Map<number, { readonly parts: RunsPlace[]; count: number }>()

  /** `before`: the manifest to which changes are applied; null for a table without versions. */
  constructor(before: Layout | null) {
    this.#table = before?.table
    this.#version = before?.version ?? 0
    this.#schema = before?.schema
    this.#earlier = before?.earlier ?? []
    this.#indexes = before?.indexes ?? []
    this.#next = before?.next
    const lines = before === null ? undefined : undecodedLines(before)
    this.#undecoded = lines === undefined ? null : before
    this.#fragments = before === null || lines !== undefined ? [] : [...before.fragments]
    this.#count = lines?.length ?? this.#fragments.length
  }

  /**
   * Apply a change of slot `slot`. The builder must have the manifest of the version `base` of the change; for a
   * restore, the manifest of the restored version.
   */
  apply(change: Change, slot: number): void {
    const { t, v, base, restore } = change
    const on = restore?.version ?? base
    assert(this.#version === on, `version ${v} of table ${t} is based on version ${on}, not ${this.#version}`)
    assert(
      this.#table === undefined || this.#table === t,
      `a change of table ${t} cannot be applied to table ${this.#table}`,
    )
    assert(
      restore === undefined || restore.fragments === this.#count,
      `version ${v} of table ${t} restores ${restore?.fragments} fragments, but version ${on} has ${this.#count}`,
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
    // Filter again, because the field of a new index may have been dropped while the index was built.
    if (change.indexes !== undefined) {
      this.#indexes = indexesOf(changedIndexes(this.#indexes, change.indexes), schema)
    }
    for (const id of change.drop) this.#drop(this.#positionOf(id, v))
    for (const added of change.columns ?? [])
      this.#addColumns(this.#positionOf(added.fragment, v), added, slot)
    for (const [id, parts, offsets] of change.folded ?? [])
      this.#mergeDeletions(this.#positionOf(id, v), parts, offsets)
    const positions = this.#positionsFor(change)
    for (const { id, rows, ids, files: added, zones } of change.add) {
      // Fragments that are not decoded come before `#fragments`, and no position is known.
      const position = positions.get(id) ?? this.#fragments.length
      this.#positions?.set(id, position)
      this.#count++
      const files = added.map(file => withSlot(file, slot, schema))
      const dead = { parts: [], count: 0 }
      this.#fragments[position] = {
        id,
        rows,
        ids: idsWithSlot(ids, slot),
        files,
        dead,
        ...(zones !== undefined && { zones }),
      }
    }
    for (const [id, offsets, count] of change.dead) {
      this.#deleteRows(this.#positionOf(id, v), 'blob' in offsets ? { ...offsets, slot } : offsets, count)
    }
  }

  /**
   * Return the manifest after all changes so far. Before this call, there must be at least one change or a manifest
   * `before`.
   */
  layout(): Layout {
    assert(this.#table !== undefined && this.#next !== undefined, 'a builder without changes has no manifest')
    const schema = this.#schema
    assert(schema !== undefined, `version ${this.#version} of table ${this.#table} has no schema`)
    const table = this.#table
    const version = this.#version
    const indexes = this.#indexes
    const next = this.#next
    const others = { table, version, schema, earlier: this.#earlier, indexes, next }
    if (this.#undecoded !== null && this.#earlier.length === 0)
      return layoutOfLines(others, [...linesOf(this.#undecoded), ...(this.#fragments as Fragment[])])
    this.#decode()
    for (const [position, dead] of this.#dead)
      this.#fragments[position] = { ...this.#fragments[position]!, dead }
    this.#dead.clear()
    // Copying takes a tenth of the time of filtering, and most changes of a large table drop no fragment.
    const hasGaps = this.#count < this.#fragments.length
    const fragments = hasGaps
      ? this.#fragments.filter(fragment => fragment !== null)
      : (this.#fragments.slice() as Fragment[])
    this.#earlier = stillUsed(this.#earlier, fragments)
    return { ...others, earlier: this.#earlier, fragments }
  }

  /** Decode the fragments of the manifest before, because a change needs their positions. */
  #decode(): void {
    if (this.#undecoded === null) return
    this.#fragments = [...this.#undecoded.fragments, ...this.#fragments]
    this.#undecoded = null
  }

  #positionOf(id: number, version: number): number {
    this.#decode()
    if (this.#searches++ === searchesMax) {
      this.#positions = new Map(this.#fragments.map((fragment, position) => [fragment?.id ?? -1, position]))
    }
    const position =
      this.#positions?.get(id) ?? this.#fragments.findLastIndex(fragment => fragment?.id === id)
    assert(
      this.#fragments[position]?.id === id,
      `version ${version} of table ${this.#table} changes fragment ${id}, which it does not have`,
    )
    return position
  }

  #drop(position: number): void {
    this.#fragments[position] = null
    this.#dead.delete(position)
    this.#count--
  }

  /**
   * Drop the fragments that a compaction replaces. Returns the positions of the new fragments by id: they get positions
   * of dropped fragments.
   */
  #positionsFor({ moves = [], v }: Change): ReadonlyMap<number, number> {
    const positions = new Map<number, number>()
    for (const move of moves) {
      const { to } = move
      const free = fragmentsMoving(move).map(id => this.#positionOf(id, v))
      assert(
        to.length <= free.length,
        `version ${v} of table ${this.#table} replaces ${free.length} fragments by ${to.length}, which are more`,
      )
      for (const position of free) this.#drop(position)
      for (const [i, id] of to.entries()) positions.set(id, free[i]!)
    }
    return positions
  }

  /**
   * Drop files that have no field of the new schema. Keep the first file of a fragment, because it determines the
   * number of batches.
   */
  #forgetFiles({ fields }: TableSchema): void {
    this.#decode()
    const ids = new Set(fields.map(field => field.id))
    for (const [position, fragment] of this.#fragments.entries()) {
      if (fragment === null || fragment.files.length < 2) continue
      const files = fragment.files.filter((file, i) => i === 0 || file.fields.some(id => ids.has(id)))
      if (files.length < fragment.files.length) this.#fragments[position] = { ...fragment, files }
    }
  }

  #addColumns(position: number, { file, zones: known }: AddedColumns, slot: number): void {
    const fragment = this.#fragments[position]!
    const added = new Set(file.fields)
    const kept = Object.entries(fragment.zones ?? {}).filter(([field]) => !added.has(Number(field)))
    const zones = { ...Object.fromEntries(kept), ...known }
    // Keep the first file, because it determines the number of batches. Drop other files if the new file has all their
    // fields.
    const [first, ...others] = fragment.files
    const files = others.filter(({ fields }) => !fields.every(field => added.has(field)))
    this.#fragments[position] = {
      ...fragment,
      files: [...(first === undefined ? [] : [first]), ...files, withSlot(file, slot, this.#schema!)],
      zones,
    }
  }

  /** Return a copy of the deletion vector of a fragment that may be changed. */
  #deletionsAt(position: number): { readonly parts: RunsPlace[]; count: number } {
    let dead = this.#dead.get(position)
    if (dead === undefined) {
      const { parts, count } = this.#fragments[position]!.dead
      dead = { parts: [...parts], count }
      this.#dead.set(position, dead)
    }
    return dead
  }

  #mergeDeletions(position: number, count: number, offsets: StoredRuns): void {
    const { parts } = this.#deletionsAt(position)
    assert(
      count <= parts.length,
      `version ${this.#version} merges ${count} parts of a deletion vector that has ${parts.length}`,
    )
    parts.splice(0, count, offsets)
  }

  #deleteRows(position: number, part: RunsPlace, count: number): void {
    const fragment = this.#fragments[position]!
    const dead = this.#deletionsAt(position)
    dead.parts.push(part)
    dead.count += count
    assert(dead.count <= fragment.rows, `fragment ${fragment.id} has more deleted rows than rows`)
  }
}

/**
 * Return the manifest after `change` of slot `slot`. `before`: the manifest of the version `base` of the change; null
 * for the first version of a table. For a restore: the manifest of the restored version.
 */
export function applyChange(before: Layout | null, change: Change, slot: number): Layout {
  const builder = new LayoutBuilder(before)
  builder.apply(change, slot)
  return builder.layout()
}

/** Return the number of live rows of a version. */
export function countRows(layout: Layout): number {
  let sum = 0
  for (const line of linesOf(layout)) sum += isShort(line) ? line[1] : liveRows(line)
  return sum
}

/** Return the number of live rows of a fragment. */
export function liveRows({ rows, dead }: Fragment): number {
  return rows - dead.count
}

/**
 * Return whether every live row of the fragment `later` is also a live row of this fragment. `later`: the same fragment
 * at another version. The result is false if that version restored a state from before some rows were deleted.
 */
export function onlyLostRows({ dead: { parts } }: Fragment, { dead: later }: Fragment): boolean {
  const last = parts.at(-1)
  if (last === undefined) return true
  // Each part belongs to one commit. If the part is the same, the parts before it are the same too.
  const same = later.parts[parts.length - 1]
  return same !== undefined && runsKey(same) === runsKey(last)
}

/**
 * Return whether two fragments with the same id are equal. `rows` and `ids` of a fragment never change. Its zone maps
 * only change together with its files.
 */
export function sameFragment(a: Fragment, b: Fragment): boolean {
  if (a === b) return true
  if (a.files.length !== b.files.length || a.dead.parts.length !== b.dead.parts.length) return false
  return (
    a.files.every((file, i) => sameFile(file, b.files[i]!)) &&
    a.dead.parts.every((part, i) => runsKey(part) === runsKey(b.dead.parts[i]!))
  )
}

function sameFile(a: DataFile, b: DataFile): boolean {
  return fileKey(a) === fileKey(b)
}

/** Return a key for the address of a set of numbers. It is unique in the root. */
export function runsKey(address: RunsPlace): string {
  if ('lance' in address) return address.lance
  return 'file' in address ? address.file : `slot ${address.slot}, blob ${address.blob}`
}

/** Return a key for a file or blob with columns. It is unique in the root. */
export function fileKey(file: DataFile): string {
  if ('lance' in file) return file.lance
  return 'file' in file ? file.file : `${file.slot}/${file.blob}`
}

/** Return a file or an address as one of Sheaf's. For code that never reads Lance tables. */
export function own<F extends DataFile | RunsPlace | RowIds>(
  place: F,
): Exclude<F, LanceColumns | LanceRuns | KnownIds> {
  assert(!('lance' in place || 'sequence' in place), 'only queries read Lance tables')
  return place as Exclude<F, LanceColumns | LanceRuns | KnownIds>
}

/** Return the key (`fileKey`) of the file that has a column of a fragment. Returns '' if no file has the column. */
export function columnFile({ files }: Fragment, column: number): string {
  const file = files.findLast(({ fields }) => fields.includes(column))
  return file === undefined ? '' : fileKey(file)
}

function withSlot(file: AddedFile, slot: number, { id }: TableSchema): DataFile {
  return 'blob' in file ? { ...file, slot, schema: id } : file
}

function idsWithSlot(ids: AddedIds, slot: number): RowIds {
  return 'blob' in ids ? { ...ids, slot } : ids
}

/** Return only the schemas that inline files of the fragments refer to. */
function stillUsed(schemas: readonly TableSchema[], fragments: readonly Fragment[]): readonly TableSchema[] {
  if (schemas.length === 0) return schemas
  const used = new Set<number>()
  for (const { files } of fragments) for (const file of files) if ('slot' in file) used.add(file.schema)
  return schemas.filter(({ id }) => used.has(id))
}
