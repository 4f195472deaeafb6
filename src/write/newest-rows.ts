/**
 * Finds single rows of the newest version of a table by key, for writes that change one row.
 *
 * `KeyRows` finds the rows of one version, the base. The small changes after the base are kept in maps: the rows that they
 * added by key, and the rows that they deleted. So a write costs the same for a table of any number of fragments, and
 * needs no manifest of the newest version. Other changes, for example compactions, need a new base.
 *
 * Rows are found in memory, without waiting, except for deletion vectors and row ids that must be read first.
 */
import type { Column } from '../arrow/column.js'
import { decodeBatch } from '../arrow/inline-batch.js'
import { takeColumn } from '../arrow/take.js'
import type { DataType, Schema } from '../arrow/types.js'
import type { Key } from '../indexes/scalar/place-of.js'
import type { AddedFragment, Change } from '../manifest/change.js'
import type { RecentChange } from '../manifest/recent-changes.js'
import { arrowSchema } from '../manifest/table-schema.js'
import type { Memory } from '../primitives/memory.js'
import type { Pacer } from '../primitives/pacer.js'
import { type MaybePromise, whenResolved } from '../primitives/task.js'
import { KeyRows } from '../query/key-rows.js'
import { keyAt, type MapKey, mapKey } from '../table/inline-keys.js'
import type { Part, TableReader } from '../table/table-reader.js'
import type { TableSource } from '../table/table-source.js'

/** Maximum bytes of the changes after a base. */
const bytesMax = 4 * 1024 * 1024
/** Approximate bytes of a row or of a deletion in the maps, without the values of the row. */
const rowBytes = 400
/** Half of the memory budget must be able to hold this many times the bytes of the changes. */
const budgetShare = 64
/** Maximum number of rows with one key, deleted rows included. Writes of more rows are not those of single rows. */
const sameKeyMax = 64

/** A live row of the newest version. */
export interface NewestRow {
  readonly fragment: number
  readonly offset: number
  readonly id: number
  /** Whether the fragment has no other live row. */
  readonly isLast: boolean
  /** Return the values in some columns, as columns of one row. `numbers`: the numbers of the columns. */
  readonly columns: (numbers: readonly number[], pacer: Pacer) => MaybePromise<readonly Column[]>
}

/** A fragment of inline rows that was added after the base. */
interface AddedRows {
  readonly rows: number
  readonly row0: number
  readonly blob: Uint8Array
  /** By offset: the key of the row. Null: the key is NULL. */
  readonly keys: readonly (MapKey | null)[]
}

type Place = readonly [fragment: number, offset: number]

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
  /** By key: the rows of `#added`. */
  readonly #places = new Map<MapKey, Place[]>()
  /** By fragment id: the offsets of the rows that were deleted after the base. */
  readonly #dead = new Map<number, Set<number>>()
  /** Ids of the fragments of the base that were dropped after it. */
  readonly #dropped = new Set<number>()

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
      const { id: number, rows, dead } = fragment
      const offset = first + row
      const died = this.#dead.get(number)
      if (died?.has(offset) === true || this.#dropped.has(number)) continue
      const live = this.#reader.live(part.part)
      if (live instanceof Promise) return live
      if (live?.has(row) === false) continue
      const ids = this.#reader.rowIds(fragment)
      if (ids instanceof Promise) return ids
      found.push({
        fragment: number,
        offset,
        id: ids.at(offset),
        isLast: dead.count + (died?.size ?? 0) + 1 === rows,
        columns: (numbers, pacer) => this.#inBase(part.part, row, numbers, pacer),
      })
    }
    for (const [fragment, offset] of places) {
      const added = this.#added.get(fragment)!
      const died = this.#dead.get(fragment)
      if (died?.has(offset) === true) continue
      found.push({
        fragment,
        offset,
        id: added.row0 + offset,
        isLast: (died?.size ?? 0) + 1 === added.rows,
        columns: numbers => this.#inAdded(added, offset, numbers),
      })
    }
    return found
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

  #inAdded({ blob }: AddedRows, offset: number, numbers: readonly number[]): readonly Column[] {
    if (numbers.length === 0) return []
    const { columns } = decodeBatch(blob, this.#schema)
    return numbers.map(i => takeColumn(columns[i]!, Uint32Array.of(offset)))
  }

  /**
   * Apply the change that made the next version. Returns false if a new base is needed, because the change is not small
   * or because the changes take too much memory. This object must not be used after that.
   */
  follow({ change, slot }: RecentChange): boolean {
    const { v, base, add, dead, drop } = change
    if (base !== this.#version || !isPlain(change)) return false
    for (const fragment of add) if (!this.#add(fragment, slot)) return false
    for (const [fragment, offsets] of dead) {
      if (!('blob' in offsets)) return false
      const bytes = slot.blob(offsets.blob)
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
      let died = this.#dead.get(fragment)
      if (died === undefined) {
        died = new Set()
        this.#dead.set(fragment, died)
      }
      for (let at = 0; at + 4 <= bytes.length; at += 4) died.add(view.getUint32(at, true))
      this.#bytes += (bytes.length / 4) * rowBytes
    }
    for (const id of drop) this.#drop(id)
    this.#version = v
    return this.#bytes <= bytesMax && this.#memory.canHold(budgetShare * this.#bytes)
  }

  #add(fragment: AddedFragment, slot: RecentChange['slot']): boolean {
    const { id, rows, ids, files } = fragment
    const [file] = files
    if (file === undefined || !('blob' in file) || !('row0' in ids) || files.length > 1) return false
    const { fields } = file
    if (fields.length !== this.#fields.length || fields.some((own, i) => own !== this.#fields[i]))
      return false
    const blob = slot.blob(file.blob).slice()
    const noted = notedKeys.get(fragment)
    const keys = noted?.field === this.keyField ? noted.keys : this.#keysIn(blob, rows)
    for (const [offset, key] of keys.entries()) {
      if (key === null) continue
      const known = this.#places.get(key)
      if (known === undefined) this.#places.set(key, [[id, offset]])
      else known.push([id, offset])
    }
    this.#added.set(id, { rows, row0: ids.row0, blob, keys })
    this.#bytes += blob.length + rows * rowBytes
    return true
  }

  #keysIn(blob: Uint8Array, rows: number): (MapKey | null)[] {
    const column = decodeBatch(blob, this.#schema).columns[this.#key]!
    return Array.from({ length: rows }, (_, offset) => keyAt(column, offset))
  }

  #drop(id: number): void {
    const added = this.#added.get(id)
    const died = this.#dead.get(id)
    this.#dead.delete(id)
    this.#bytes -= (died?.size ?? 0) * rowBytes
    if (added === undefined) {
      this.#dropped.add(id)
      this.#bytes += rowBytes
      return
    }
    this.#added.delete(id)
    this.#bytes -= added.blob.length + added.rows * rowBytes
    for (const key of added.keys) {
      const left = key === null ? undefined : this.#places.get(key)?.filter(([fragment]) => fragment !== id)
      if (left === undefined) continue
      if (left.length === 0) this.#places.delete(key!)
      else this.#places.set(key!, left)
    }
  }
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

/** Return whether a change only adds and deletes rows. */
function isPlain({ restore, moves, columns, indexes, schema }: Change): boolean {
  return [restore, moves, columns, indexes].every(part => part === undefined) && schema === null
}
