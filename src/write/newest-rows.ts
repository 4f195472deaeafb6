/**
 * Finds single rows of the newest version of a table by key, for writes that change one row.
 *
 * `KeyRows` finds the rows of one version, the base. The small changes after the base are kept in maps: the rows that they
 * added by key, and the rows that they deleted. So a write costs the same for a table of any number of fragments, and
 * needs no manifest of the newest version. Compactions of this process are followed too: they say where they moved each
 * row. Other changes, for example compactions of other processes, need a new base.
 *
 * Rows are found in memory, without waiting, except for deletion vectors and row ids that must be read first.
 */
import type { Column } from '../arrow/column.js'
import { decodeBatch } from '../arrow/inline-batch.js'
import { takeColumn } from '../arrow/take.js'
import type { DataType, Schema } from '../arrow/types.js'
import type { Key } from '../indexes/scalar/place-of.js'
import type { AddedFragment, Change, Move } from '../manifest/change.js'
import type { RecentChange } from '../manifest/recent-changes.js'
import { arrowSchema } from '../manifest/table-schema.js'
import type { Bitset } from '../primitives/bitset.js'
import type { Memory } from '../primitives/memory.js'
import type { Pacer } from '../primitives/pacer.js'
import { type MaybePromise, whenResolved } from '../primitives/task.js'
import { KeyRows } from '../query/key-rows.js'
import { keyAt, type MapKey, mapKey } from '../table/inline-keys.js'
import type { Part, TableReader } from '../table/table-reader.js'
import type { TableSource } from '../table/table-source.js'
import { offsetsIn } from './stage-deletions.js'

/** Maximum bytes of the changes after a base. */
const bytesMax = 4 * 1024 * 1024
/** Approximate bytes of a row or of a deletion in the maps, without the values of the row. */
const rowBytes = 400
/** Half of the memory budget must be able to hold this many times the bytes of the changes. */
const budgetShare = 64
/** Maximum number of rows with one key, deleted rows included. Writes of more rows are not those of single rows. */
const sameKeyMax = 64

/** The position of a row: a fragment, and an offset in it. */
interface Place {
  readonly fragment: number
  readonly offset: number
}

/** A live row of the newest version. */
export interface NewestRow extends Place {
  readonly id: number
  /** The number of live rows of the fragment, this row included. */
  readonly rowsLeft: number
  /** The position where the row got its values. Compactions move rows, but do not change values. */
  readonly origin: Place
  /** Return the values in some columns, as columns of one row. `numbers`: the numbers of the columns. */
  readonly columns: (numbers: readonly number[], pacer: Pacer) => MaybePromise<readonly Column[]>
}

/** A row that was added after the base. A compaction changes its position. */
interface AddedRow {
  fragment: number
  offset: number
  readonly id: number
  readonly key: MapKey
  readonly origin: Place
  /** The batch with the row. */
  readonly blob: Uint8Array
  /** The bytes of memory that are free when the row is forgotten. */
  readonly bytes: number
}

/** A fragment that was added after the base. */
interface AddedRows {
  readonly rows: number
  /** The rows of the fragment that have a key and were added after the base. Some may have been deleted. */
  readonly own: AddedRow[]
  /** Whether a compaction made the fragment. Then it may have rows of the base. */
  readonly isCompacted: boolean
}

/** Where a compaction moved the rows of a fragment to. */
interface MovedRows {
  /** The rows of the fragment that were moved. */
  readonly live: Bitset
  readonly ranks: Uint32Array
  /** The number of rows in the new fragments before the rows of this fragment. */
  readonly before: number
  /** The new fragments. */
  readonly to: readonly { readonly id: number; readonly rows: number }[]
}

/** The rows of the newest version by the values of one column. See the head of this file. */
export class NewestRows {
  readonly #memory: Memory
  readonly #reader: TableReader
  readonly #base: KeyRows
  readonly #schema: Schema
  /** Ids of the fields, in the order of the columns. */
  readonly #fields: readonly number[]
  /** The number of the column with the keys. */
  readonly #key: number
  /** The field id of the column with the keys. */
  readonly keyField: number
  #version: number
  #bytes = 0
  /** By fragment id: the rows that were added after the base. */
  readonly #added = new Map<number, AddedRows>()
  /** By key: the rows that were added after the base. */
  readonly #places = new Map<MapKey, AddedRow[]>()
  /** By fragment id: the offsets of the rows that were deleted after the base. */
  readonly #dead = new Map<number, Set<number>>()
  /** Ids of the fragments of the base that were dropped after it. */
  readonly #dropped = new Set<number>()
  /** By fragment id: the fragments that compactions replaced after the base. */
  readonly #moved = new Map<number, MovedRows>()

  private constructor(memory: Memory, reader: TableReader, base: KeyRows, column: string) {
    const { fields } = reader.schema
    this.#memory = memory
    this.#reader = reader
    this.#base = base
    this.#schema = arrowSchema(reader.schema)
    this.#fields = fields.map(({ id }) => id)
    this.#key = fields.findIndex(({ name }) => name === column)
    this.keyField = this.#fields[this.#key]!
    this.#version = reader.layout.version
  }

  /**
   * Return the rows by `column`. Returns null where `KeyRows.of` returns null.
   *
   * `reader`: the base. `needsIndex`: see `KeyRows.of`.
   */
  static of(
    { memory }: TableSource,
    reader: TableReader,
    column: string,
    needsIndex: boolean,
  ): NewestRows | null {
    const base = KeyRows.of(reader, column, null, needsIndex)
    return base === null ? null : new NewestRows(memory, reader, base, column)
  }

  /** The type of the keys. */
  get type(): DataType {
    return this.#base.type
  }

  /** The version whose rows are found. */
  get version(): number {
    return this.#version
  }

  /**
   * Return the rows with a key, in any order. Return a promise if needed data is being read: call again when the promise
   * is resolved. Return null if needed data is not in memory and is not being read, or if there are many rows.
   */
  find(key: Key): readonly NewestRow[] | Promise<unknown> | null {
    const inBase = this.#base.find([key], sameKeyMax)
    const places = this.#places.get(mapKey(key)) ?? []
    if (inBase === null || places.length > sameKeyMax) return null
    const found: NewestRow[] = []
    for (const { part, row } of inBase) {
      const { fragment, first } = part.part
      const origin = { fragment: fragment.id, offset: first + row }
      const place = this.#placeOf(origin)
      if (place === null) continue
      if (place === origin) {
        const live = this.#reader.live(part.part)
        if (live instanceof Promise) return live
        if (live?.has(row) === false) continue
      }
      const ids = this.#reader.rowIds(fragment)
      if (ids instanceof Promise) return ids
      found.push({
        ...place,
        id: ids.at(origin.offset),
        rowsLeft: this.#rowsLeft(place, fragment.rows - fragment.dead.count),
        origin,
        columns: (numbers, pacer) => this.#inBase(part.part, row, numbers, pacer),
      })
    }
    for (const added of places) {
      const { fragment, offset, id, origin } = added
      if (this.#dead.get(fragment)?.has(offset) === true) continue
      const rowsLeft = this.#rowsLeft(added, 0)
      found.push({
        fragment,
        offset,
        id,
        rowsLeft,
        origin,
        columns: numbers => this.#inAdded(added, numbers),
      })
    }
    return found
  }

  /** Return the position of a row of the base in the newest version. Returns null if the row was deleted after the base. */
  #placeOf(origin: Place): Place | null {
    let place = origin
    for (;;) {
      const { fragment, offset } = place
      if (this.#dropped.has(fragment) || this.#dead.get(fragment)?.has(offset) === true) return null
      const moved = this.#moved.get(fragment)
      if (moved === undefined) return place
      const next = placeAfter(moved, offset)
      if (next === null) return null
      place = next
    }
  }

  /** Return the number of live rows of a fragment. `inBase`: their number in the base, if the base has the fragment. */
  #rowsLeft({ fragment }: Place, inBase: number): number {
    return (this.#added.get(fragment)?.rows ?? inBase) - (this.#dead.get(fragment)?.size ?? 0)
  }

  #inBase(
    part: Part,
    row: number,
    numbers: readonly number[],
    pacer: Pacer,
  ): MaybePromise<readonly Column[]> {
    const fields = numbers.map(i => this.#reader.schema.fields[i]!)
    const reading = this.#reader.rows([{ part, offsets: Uint32Array.of(row) }], fields, pacer)
    return whenResolved(reading, ([own]) => own!.map(({ column, rows }) => takeColumn(column, rows)))
  }

  #inAdded({ blob, origin }: AddedRow, numbers: readonly number[]): readonly Column[] {
    if (numbers.length === 0) return []
    const { columns } = decodeBatch(blob, this.#schema)
    return numbers.map(i => takeColumn(columns[i]!, Uint32Array.of(origin.offset)))
  }

  /**
   * Apply the change that made the next version. Returns false if a new base is needed, because the change is not small
   * or because the changes take too much memory. This object must not be used after that.
   */
  follow({ change, slot }: RecentChange): boolean {
    const { v, base, add, dead, drop, moves } = change
    const survivors = survivorsOf.get(change)
    if (base !== this.#version || !(isPlain(change) || (survivors !== undefined && isCompaction(change))))
      return false
    for (const id of drop) this.#drop(id)
    moves?.forEach((move, i) => {
      this.#move(move, survivors![i]!, add)
    })
    for (const fragment of add) if (!this.#added.has(fragment.id) && !this.#add(fragment, slot)) return false
    for (const [fragment, offsets] of dead) {
      if (!('blob' in offsets)) return false
      let died = this.#dead.get(fragment)
      if (died === undefined) {
        died = new Set()
        this.#dead.set(fragment, died)
      }
      const own = offsetsIn(slot.blob(offsets.blob))
      for (let i = 0; i < own.length; i++) died.add(own[i]!)
      this.#bytes += own.length * rowBytes
    }
    this.#version = v
    return this.#bytes <= bytesMax && this.#memory.canHold(budgetShare * this.#bytes)
  }

  #add(fragment: AddedFragment, slot: RecentChange['slot']): boolean {
    const { id, rows, ids } = fragment
    const blob = this.#blobOf(fragment, slot)?.slice()
    if (blob === undefined || !('row0' in ids)) return false
    const own: AddedRow[] = []
    const keys = this.#keysOf(fragment, blob)
    const bytes = rowBytes + (rows === 1 ? blob.length : 0)
    for (let offset = 0; offset < keys.length; offset++) {
      const key = keys[offset]!
      if (key === null) continue
      const origin = { fragment: id, offset }
      const added = { fragment: id, offset, id: ids.row0 + offset, key, origin, blob, bytes }
      own.push(added)
      const known = this.#places.get(key)
      if (known === undefined) this.#places.set(key, [added])
      else known.push(added)
    }
    this.#added.set(id, { rows, own, isCompacted: false })
    this.#bytes += blob.length + own.length * rowBytes
    return true
  }

  /** Apply a move of a compaction. `survivors`: for each old fragment, the rows that were moved. `add`: the new fragments. */
  #move({ from, to: ids }: Move, survivors: readonly Bitset[], add: readonly AddedFragment[]): void {
    const to = ids.map(id => ({ id, rows: add.find(fragment => fragment.id === id)!.rows }))
    for (const { id, rows } of to) this.#added.set(id, { rows, own: [], isCompacted: true })
    let before = 0
    for (const [i, [id]] of from.entries()) {
      const live = survivors[i]!
      const moved = { live, ranks: live.ranks(), before, to }
      before += live.count()
      const added = this.#added.get(id)
      // The change says which rows were deleted after the compaction read them.
      this.#forgetDead(id)
      this.#added.delete(id)
      if (this.#dropped.has(id)) continue
      this.#moved.set(id, moved)
      this.#bytes += moved.ranks.length * 8 + rowBytes
      for (const row of added?.own ?? []) {
        const place = placeAfter(moved, row.offset)
        if (place === null) {
          this.#forget(row)
          continue
        }
        row.fragment = place.fragment
        row.offset = place.offset
        this.#added.get(place.fragment)!.own.push(row)
      }
    }
  }

  #drop(id: number): void {
    const added = this.#added.get(id)
    this.#forgetDead(id)
    if (added?.isCompacted !== false) {
      this.#dropped.add(id)
      this.#bytes += rowBytes
    }
    this.#added.delete(id)
    for (const row of added?.own ?? []) this.#forget(row)
  }

  #forgetDead(id: number): void {
    this.#bytes -= (this.#dead.get(id)?.size ?? 0) * rowBytes
    this.#dead.delete(id)
  }

  /** Forget a row that was deleted. */
  #forget(row: AddedRow): void {
    const { key } = row
    const left = this.#places.get(key)!.filter(each => each !== row)
    if (left.length === 0) this.#places.delete(key)
    else this.#places.set(key, left)
    this.#bytes -= row.bytes
  }

  /**
   * Return a row of the newest version as it is after changes that are not committed yet. Returns undefined if the
   * changes affect the row or the rows with its key, or if they are not small. This object does not keep the changes.
   *
   * `row`: the only row with the key `key`; null: there is none.
   */
  after(row: NewestRow | null, key: Key, changes: readonly RecentChange[]): NewestRow | null | undefined {
    const ownKey = mapKey(key)
    let rowsLeft = row?.rowsLeft ?? 0
    for (const { change, slot } of changes) {
      if (!isPlain(change)) return undefined
      for (const fragment of change.add) {
        const blob = this.#blobOf(fragment, slot)
        if (blob === null || this.#keysOf(fragment, blob).includes(ownKey)) return undefined
      }
      if (row === null) continue
      if (change.drop.includes(row.fragment)) return undefined
      for (const [fragment, offsets] of change.dead) {
        if (fragment !== row.fragment) continue
        if (!('blob' in offsets)) return undefined
        const own = offsetsIn(slot.blob(offsets.blob))
        if (own.includes(row.offset)) return undefined
        rowsLeft -= own.length
      }
    }
    return row === null || rowsLeft === row.rowsLeft ? row : { ...row, rowsLeft }
  }

  /** Return the rows of a fragment, without a copy. Returns null if they are not one blob with all columns. */
  #blobOf({ files }: AddedFragment, slot: RecentChange['slot']): Uint8Array | null {
    const [file] = files
    if (file === undefined || !('blob' in file) || files.length > 1) return null
    const { fields } = file
    if (fields.length !== this.#fields.length || fields.some((own, i) => own !== this.#fields[i])) return null
    return slot.blob(file.blob)
  }

  /** Return the keys of the rows of a fragment. `blob`: its rows. */
  #keysOf(fragment: AddedFragment, blob: Uint8Array): readonly (MapKey | null)[] {
    const noted = notedKeys.get(fragment)
    if (noted?.field === this.keyField) return noted.keys
    const column = decodeBatch(blob, this.#schema).columns[this.#key]!
    return Array.from({ length: fragment.rows }, (_, offset) => keyAt(column, offset))
  }
}

/** Return the position of a row after a compaction. Returns null if the compaction did not move the row. */
function placeAfter({ live, ranks, before, to }: MovedRows, offset: number): Place | null {
  if (!live.has(offset)) return null
  let number = before + live.rank(offset, ranks)
  for (const { id, rows } of to) {
    if (number < rows) return { fragment: id, offset: number }
    number -= rows
  }
  return null
}

/** By fragment of this process: the keys of its rows in the column `field`, which need not be decoded. */
const notedKeys = new WeakMap<AddedFragment, { readonly field: number; readonly keys: readonly MapKey[] }>()

/**
 * Note the key of the row that a change adds. The change must be committed as this object (`Proposal.isPlain`). `field`: the
 * id of the column with the key.
 */
export function noteKey({ add }: Change, field: number, key: Key): void {
  for (const fragment of add) notedKeys.set(fragment, { field, keys: [mapKey(key)] })
}

/** By change of this process: for each of its moves, the rows of each old fragment that were moved. */
const survivorsOf = new WeakMap<Change, readonly (readonly Bitset[])[]>()

/**
 * Note which rows a compaction moved, so that rows are found after it. The change must be committed as this object
 * (`Proposal.isPlain`). `survivors`: for each of its moves, the moved rows of each old fragment.
 */
export function noteMoves(change: Change, survivors: readonly (readonly Bitset[])[]): void {
  survivorsOf.set(change, survivors)
}

/** Return whether a change only adds and deletes rows. */
function isPlain({ restore, moves, columns, indexes, schema }: Change): boolean {
  return [restore, moves, columns, indexes].every(part => part === undefined) && schema === null
}

/** Return whether a change only moves and deletes rows. */
function isCompaction({ restore, columns, indexes = [], schema }: Change): boolean {
  const hasOthers = restore !== undefined || columns !== undefined || schema !== null
  return !hasOthers && indexes.every(change => 'moved' in change)
}
