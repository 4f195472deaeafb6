/**
 * Finds inline rows by the value of a column, for rows that no index covers. Each small commit adds a fragment of inline
 * rows. Without this module, a query by key would check the statistics of every such fragment, until an index merge
 * covers the rows.
 *
 * Compactions write these rows to small data files before an index covers them. Reads and writes of single rows by key,
 * which repeat often, also find the rows of these files here. Each file has a map of its own.
 *
 * Values of inline rows never change. So one map from values to rows serves all versions of a table, and each new version
 * adds only its new rows. A lookup keeps the rows that exist in the version that is read.
 */
import type { Column } from '../arrow/column.js'
import { columnBytes } from '../arrow/layout.js'
import type { SlotReader } from '../commit/slots.js'
import { type DataFile, type Fragment, fileKey, type Layout } from '../manifest/layout.js'
import type { TableField } from '../manifest/table-schema.js'
import type { Memory } from '../primitives/memory.js'
import type { Pacer } from '../primitives/pacer.js'
import { RowSet } from '../primitives/row-set.js'
import { type MaybePromise, runTask, type Task, wait } from '../primitives/task.js'
import type { Scalar } from '../sql/values/scalar.js'
import { scalarAt } from '../sql/values/vector.js'
import { fileOf } from './file-of.js'
import type { FoundRows, IndexReader } from './table-index.js'
import type { TableSource } from './table-source.js'

/** Maximum bytes of all maps of a root. At most an eighth of the memory budget is used, too. */
const bytesMax = 32 * 1024 * 1024
/** Approximate bytes of a row in a map, without its value. */
const rowBytes = 200
/** Approximate bytes of a row of a data file in a map, without its value. */
const storedRowBytes = 100
/** Maximum number of fragments of data files in the map of a column. A lookup searches each of them. */
const storedMapsMax = 64
/** Number of rows of a data file that are added to a map without a pause. */
const rowsAtOnce = 4096
/** Maximum number of columns with a map in a root. */
const columnsMax = 32

/** A value as the key of a map: bytes as a text of one character per byte, integers as numbers if they are safe. */
export type MapKey = number | bigint | string | boolean

/** One version of a table, as a `TableReader` reads it. */
interface Version {
  readonly layout: Layout
  /** Return the fragment with this id; undefined if the version does not have it. */
  fragmentOf(id: number): Fragment | undefined
  partsOf(fragment: Fragment, signal?: AbortSignal): MaybePromise<readonly VersionPart[]>
  /** Read a column of a part. The inline rows of a fragment are one part. */
  column(
    part: VersionPart,
    field: TableField,
    signal?: AbortSignal,
  ): MaybePromise<{ readonly column: Column }>
}

interface VersionPart {
  readonly fragment: Fragment
  readonly batch: number
  readonly first: number
  readonly rows: number
}

/** The rows of one fragment of a data file: their offsets, by the value of a column in this file. */
interface StoredRows {
  readonly file: DataFile
  readonly offsets: ReadonlyMap<MapKey, number | readonly number[]>
  readonly bytes: number
}

/** A row in the map. It exists in a version if the fragment has the column in this file. */
interface Entry {
  readonly fragment: number
  readonly file: DataFile
  readonly offset: number
}

/** The map finds the rows of the fragment. */
const inMap = 1
/** The index finds the rows of the fragment. */
const covered = 2
/** Neither the map nor the index finds all rows of the fragment. */
const other = 3
/** The map of the fragment, which has a data file, finds its rows. */
const inStoredMap = 4
type State = typeof inMap | typeof covered | typeof other | typeof inStoredMap

/** The settings of a call that adds rows to maps. */
interface Adding {
  readonly memory: Memory
  readonly pacer: Pacer
  /** Maximum rows of a fragment of a data file whose rows are added. */
  readonly storedMax: number
}

/** The inline rows of one version, by the value of one column. */
export interface InlineRows {
  /** The fragments with rows that neither the index nor the map finds, with the rows that the index covers. */
  readonly others: ReadonlyMap<Fragment, RowSet>
  /** Return the rows with one of the values, deleted rows included, by fragment id. */
  find(values: readonly Scalar[]): ReadonlyMap<number, RowSet>
  /** Add the rows with a value, deleted rows included. `key`: see `keyOf`. */
  seek(key: Scalar, found: FoundRows): void
}

/** The maps of all tables of a root. */
class Maps {
  /** Approximate bytes of all maps. */
  bytes = 0
  readonly #maps = new Map<string, ValueMap>()

  /** Return the map of a column. The least recently used map is removed if there are too many. */
  of(table: string, { id }: TableField): ValueMap {
    const key = `${table}/${id}`
    const known = this.#maps.get(key)
    const map = known ?? new ValueMap(this)
    if (known !== undefined) this.#maps.delete(key)
    this.#maps.set(key, map)
    if (this.#maps.size > columnsMax) {
      const [oldest, dropped] = this.#maps.entries().next().value!
      this.#maps.delete(oldest)
      dropped.drop()
    }
    return map
  }
}

/** The maps of each root. The log of a root identifies it. */
const mapsOf = new WeakMap<SlotReader, Maps>()

/**
 * Return the inline rows of a version by the values of a column. `index`: the index of the column; only fragments that
 * it does not cover are added to the map. Reads the column of new inline rows.
 *
 * `storedMax`: maximum rows of a fragment of a data file whose rows are added too. Default 0: none are added, but the
 * rows that other calls have added are found.
 */
export function* inlineRows(
  { slots, memory }: Pick<TableSource, 'slots' | 'memory'>,
  reader: Version,
  field: TableField,
  index: IndexReader,
  pacer: Pacer,
  storedMax = 0,
): Task<InlineRows> {
  const known = versions.get(index)
  if (known !== undefined && (known.rows.others.size === 0 || known.storedMax >= storedMax)) return known.rows
  let maps = mapsOf.get(slots)
  if (maps === undefined) {
    maps = new Maps()
    mapsOf.set(slots, maps)
  }
  const adding = { memory, pacer, storedMax }
  const rows = yield* maps.of(reader.layout.table, field).at(reader, field, index, adding)
  versions.set(index, { rows, storedMax })
  return rows
}

/** The inline rows of a version. An index reader belongs to one version. */
const versions = new WeakMap<IndexReader, { readonly rows: InlineRows; readonly storedMax: number }>()

const noDefinition = {}

/** Stands for the index of a column that has none. It covers no rows, so that only the map finds rows. */
export class NoIndex implements IndexReader {
  readonly name = 'inline rows'
  readonly kind = 'BTREE'
  readonly path: readonly string[]
  readonly definition: object
  readonly isOfInlineRows = true

  /** `definition`: see `IndexReader`. Default: the one of all objects that find only inline rows. */
  constructor({ name }: TableField, definition: object = noDefinition) {
    this.path = [name]
    this.definition = definition
  }

  estimate(): number {
    return 0
  }

  find(): ReadonlyMap<number, RowSet> {
    return new Map()
  }

  covered({ rows }: Fragment): RowSet {
    return RowSet.none(rows)
  }

  seek(): boolean {
    return true
  }
}

/** The known facts about the fragments of a version. */
interface Checked {
  readonly version: number
  readonly fragments: readonly Fragment[]
  /** By position of a fragment. */
  readonly states: Uint8Array
  readonly definition: object
  readonly storedMax: number
}

/** The rows of one column by value. */
class ValueMap {
  readonly #maps: Maps
  #entries = new Map<MapKey, Entry | Entry[]>()
  /** By fragment id: the file with the column whose values are in the map, and their approximate bytes. */
  readonly #added = new Map<number, { readonly file: DataFile; readonly bytes: number }>()
  /** By fragment id: the rows of data files. */
  readonly #stored = new Map<number, StoredRows>()
  /** By key of the file: the rows that are being read. All callers wait for the same read. */
  readonly #reading = new Map<string, Promise<StoredRows>>()
  #bytes = 0
  #isDropped = false
  /** The newest version that was checked. */
  #last: Checked | null = null

  constructor(maps: Maps) {
    this.#maps = maps
  }

  /** Stop counting the bytes of this map. Running calls may still use the map. */
  drop(): void {
    this.#maps.bytes -= this.#bytes
    this.#isDropped = true
  }

  *at(reader: Version, field: TableField, index: IndexReader, adding: Adding): Task<InlineRows> {
    const { fragments, version } = reader.layout
    const { pacer, storedMax } = adding
    const { definition } = index
    for (;;) {
      const entries = this.#entries
      const states = knownStates(this.#last, fragments, definition, storedMax)
      const others = new Map<Fragment, RowSet>()
      const stored = new Map<number, StoredRows>()
      let count = 0
      for (let i = 0; i < fragments.length; i++) {
        const fragment = fragments[i]!
        const known =
          states[i] === inStoredMap ? this.#storedOf(fragment, fileOf(fragment, field)) : undefined
        if (states[i] === 0 || (states[i] === inStoredMap && known === undefined)) {
          states[i] = yield* this.#stateOf(fragment, reader, field, index, adding)
        }
        if (states[i] === inMap) count++
        else if (states[i] === inStoredMap) stored.set(fragment.id, this.#stored.get(fragment.id)!)
        else if (states[i] === other) others.set(fragment, index.covered(fragment))
        if ((i & 255) === 255 && pacer.due()) yield pacer.pause()
      }
      // In a pause, another call may have removed rows that only this version has.
      if (this.#entries !== entries) continue
      if (version >= (this.#last?.version ?? 0)) {
        this.#last = { version, fragments, states, definition, storedMax }
        if (this.#added.size > 2 * count + 1024) this.#removeOld(reader, field)
        if (this.#stored.size > 2 * stored.size) this.#removeOldStored(stored)
      }
      return new RowsOfVersion(this.#entries, stored, reader, field, others)
    }
  }

  #storedOf({ id }: Fragment, file: DataFile | undefined): StoredRows | undefined {
    const known = this.#stored.get(id)
    return file !== undefined && isSame(known?.file, file) ? known : undefined
  }

  *#stateOf(
    fragment: Fragment,
    reader: Version,
    field: TableField,
    index: IndexReader,
    adding: Adding,
  ): Task<State> {
    const { id, rows } = fragment
    const file = fileOf(fragment, field)
    if (file !== undefined && isSame(this.#added.get(id)?.file, file)) return inMap
    if (index.covered(fragment).isAll) return covered
    if (file === undefined) return other
    if (!('slot' in file)) return yield* this.#storedState(fragment, file, reader, field, adding)
    const { memory, pacer } = adding
    // The bytes of all columns of the rows are an upper bound for those of the values.
    const bytes = this.#maps.bytes + rowBytes * rows + file.bytes
    if (bytes > bytesMax || !memory.canHold(4 * bytes)) return other
    const part = { fragment, batch: 0, first: 0, rows }
    const { column } = yield* wait(reader.column(part, field, pacer.signal))
    if (!isSame(this.#added.get(id)?.file, file)) this.#add(fragment, file, column)
    return inMap
  }

  *#storedState(
    fragment: Fragment,
    file: DataFile,
    reader: Version,
    field: TableField,
    { memory, pacer, storedMax }: Adding,
  ): Task<State> {
    if (this.#storedOf(fragment, file) !== undefined) return inStoredMap
    const { id, rows } = fragment
    const bytes = this.#maps.bytes + storedRowBytes * rows
    const isSmall = rows <= storedMax && bytes <= bytesMax && memory.canHold(4 * bytes)
    if (!isSmall || this.#stored.size >= storedMapsMax) return other
    const key = fileKey(file)
    let reading: MaybePromise<StoredRows> | undefined = this.#reading.get(key)
    if (reading === undefined) {
      reading = runTask(readStored(fragment, file, reader, field, pacer))
      if (reading instanceof Promise) {
        this.#reading.set(key, reading)
        const end = () => this.#reading.delete(key)
        reading.then(end, end)
      }
    }
    const read = yield* wait(reading)
    if (this.#storedOf(fragment, file) === undefined) {
      this.#count(read.bytes - (this.#stored.get(id)?.bytes ?? 0))
      this.#stored.set(id, read)
    }
    return inStoredMap
  }

  /** Remove the rows of fragments that a version does not have. `kept`: the rows of its fragments. */
  #removeOldStored(kept: ReadonlyMap<number, StoredRows>): void {
    for (const [id, { bytes }] of this.#stored) {
      if (kept.has(id)) continue
      this.#stored.delete(id)
      this.#count(-bytes)
    }
  }

  #add({ id, rows }: Fragment, file: DataFile, column: Column): void {
    for (let offset = 0; offset < rows; offset++) {
      const key = keyAt(column, offset)
      if (key === null) continue
      const entry = { fragment: id, file, offset }
      const known = this.#entries.get(key)
      if (known === undefined) this.#entries.set(key, entry)
      else if (Array.isArray(known)) known.push(entry)
      else this.#entries.set(key, [known, entry])
    }
    const bytes = rowBytes * rows + columnBytes(column)
    this.#added.set(id, { file, bytes: bytes + (this.#added.get(id)?.bytes ?? 0) })
    this.#count(bytes)
  }

  #count(more: number): void {
    this.#bytes += more
    if (!this.#isDropped) this.#maps.bytes += more
  }

  /** Remove the rows of fragments that the version of `reader` does not have. */
  #removeOld(reader: Version, field: TableField): void {
    const entries = new Map<MapKey, Entry | Entry[]>()
    for (const [key, known] of this.#entries) {
      const kept = (Array.isArray(known) ? known : [known]).filter(entry => isIn(reader, field, entry))
      if (kept.length > 0) entries.set(key, kept.length === 1 ? kept[0]! : kept)
    }
    let bytes = 0
    for (const [id, added] of this.#added) {
      if (reader.fragmentOf(id) === undefined) this.#added.delete(id)
      else bytes += added.bytes
    }
    this.#entries = entries
    this.#count(bytes - this.#bytes)
  }
}

/** Read the rows of a fragment of a data file by the values of a column. */
function* readStored(
  fragment: Fragment,
  file: DataFile,
  reader: Version,
  field: TableField,
  pacer: Pacer,
): Task<StoredRows> {
  const offsets = new Map<MapKey, number | number[]>()
  let bytes = storedRowBytes * fragment.rows
  for (const part of yield* wait(reader.partsOf(fragment, pacer.signal))) {
    const { column } = yield* wait(reader.column(part, field, pacer.signal))
    bytes += columnBytes(column)
    for (let row = 0; row < part.rows; row++) {
      const key = keyAt(column, row)
      if (key === null) continue
      const offset = part.first + row
      const known = offsets.get(key)
      if (known === undefined) offsets.set(key, offset)
      else if (typeof known === 'number') offsets.set(key, [known, offset])
      else known.push(offset)
      if (row % rowsAtOnce === 0 && pacer.due()) yield pacer.pause()
    }
  }
  return { file, offsets, bytes }
}

/** The rows of a map that exist in one version. */
class RowsOfVersion implements InlineRows {
  readonly others: ReadonlyMap<Fragment, RowSet>
  readonly #entries: ReadonlyMap<MapKey, Entry | readonly Entry[]>
  /** By fragment id: the rows of data files. */
  readonly #stored: ReadonlyMap<number, StoredRows>
  readonly #reader: Version
  readonly #field: TableField

  constructor(
    entries: ReadonlyMap<MapKey, Entry | readonly Entry[]>,
    stored: ReadonlyMap<number, StoredRows>,
    reader: Version,
    field: TableField,
    others: ReadonlyMap<Fragment, RowSet>,
  ) {
    this.others = others
    this.#entries = entries
    this.#stored = stored
    this.#reader = reader
    this.#field = field
  }

  find(values: readonly Scalar[]): ReadonlyMap<number, RowSet> {
    const found: FoundRows = { fragments: [], offsets: [] }
    for (const value of values) this.seek(value, found)
    const offsets = new Map<number, number[]>()
    for (const [i, fragment] of found.fragments.entries()) {
      const own = offsets.get(fragment)
      if (own === undefined) offsets.set(fragment, [found.offsets[i]!])
      else own.push(found.offsets[i]!)
    }
    return new Map(
      [...offsets].map(([id, own]) => {
        return [id, RowSet.ofUnordered(this.#reader.fragmentOf(id)!.rows, Uint32Array.from(own))]
      }),
    )
  }

  seek(key: Scalar, { fragments, offsets }: FoundRows): void {
    if (this.#entries.size + this.#stored.size === 0) return
    const value = mapKey(key)
    for (const [id, { offsets: rows }] of this.#stored) {
      const stored = rows.get(value)
      if (stored === undefined) continue
      for (const offset of typeof stored === 'number' ? [stored] : stored) {
        fragments.push(id)
        offsets.push(offset)
      }
    }
    const known = this.#entries.get(value)
    if (known === undefined) return
    const all = Array.isArray(known) ? (known as readonly Entry[]) : [known as Entry]
    for (const entry of all) {
      if (!isIn(this.#reader, this.#field, entry)) continue
      fragments.push(entry.fragment)
      offsets.push(entry.offset)
    }
  }
}

/** Return whether a version has the row of an entry. */
function isIn(reader: Version, field: TableField, { fragment: id, file }: Entry): boolean {
  const fragment = reader.fragmentOf(id)
  return fragment !== undefined && isSame(file, fileOf(fragment, field))
}

function isSame(a: DataFile | undefined, b: DataFile | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && fileKey(a) === fileKey(b))
}

/**
 * Return the states of the fragments that another version has too. The states of other fragments are 0. Two versions
 * have most fragments in common, in the same order.
 */
function knownStates(
  last: Checked | null,
  fragments: readonly Fragment[],
  definition: object,
  storedMax: number,
): Uint8Array {
  const states = new Uint8Array(fragments.length)
  if (last === null) return states
  const isSameIndex = last.definition === definition
  const addedAsMany = last.storedMax >= storedMax
  let at = 0
  for (let i = 0; i < fragments.length && at < last.fragments.length; i++) {
    const fragment = fragments[i]!
    let before = last.fragments[at]!
    // Skip the fragments that the newer version has dropped.
    while (before !== fragment && before.id < fragment.id && ++at < last.fragments.length) {
      before = last.fragments[at]!
    }
    if (before.id !== fragment.id) continue
    // A fragment with more deleted rows is another object with the same files.
    const state = before === fragment || before.files === fragment.files ? last.states[at]! : 0
    const isInMap = state === inMap || state === inStoredMap
    if (isInMap || (isSameIndex && (state === covered || addedAsMany))) states[i] = state
    at++
  }
  return states
}

/** A method of Buffer that reads bytes as a text of one character per byte. It also works on a Uint8Array. */
const textOfBytes: (this: Uint8Array, start: number, end: number) => string = Buffer.prototype.latin1Slice

/** Return the value of a row as a key. Null: the value is NULL. */
export function keyAt(column: Column, row: number): MapKey | null {
  const { type, values, offsets, validity } = column
  const isText = (type.kind === 'utf8' || type.kind === 'binary') && validity === null
  if (isText) return textOfBytes.call(values as Uint8Array, offsets![row]!, offsets![row + 1]!)
  const value = scalarAt(column, row)
  return value === null ? null : mapKey(value)
}

/** Return a value that is not null as a key. */
export function mapKey(value: Scalar): MapKey {
  if (typeof value === 'bigint') {
    const number = Number(value)
    return Number.isSafeInteger(number) ? number : value
  }
  if (typeof value === 'string') value = Buffer.from(value)
  if (value instanceof Uint8Array) return textOfBytes.call(value, 0, value.length)
  return value as MapKey
}
