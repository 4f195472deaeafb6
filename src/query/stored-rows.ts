/** Reads rows of one version as objects. Columns in memory are used as they are. Of other columns, only the rows are read. */
import { type ReadOptions, setOwn, valueAt } from '../arrow/values.js'
import type { Fragment } from '../manifest/layout.js'
import type { TableField } from '../manifest/table-schema.js'
import { Pacer } from '../primitives/pacer.js'
import { type MaybePromise, runTask, type Task, wait } from '../primitives/task.js'
import type { KnownPart, RowsOfColumn, TableReader } from '../table/table-reader.js'

export type RowObject = Record<string, unknown>

/** A row of a part. `row`: its number in the part. */
export interface PlacedRow {
  readonly part: KnownPart
  readonly row: number
}

/** A column that a search computed. `at`: its position among the columns of the answer. */
interface ComputedColumn {
  readonly name: string
  readonly at: number
  /** The value of each row. */
  readonly values: ArrayLike<unknown>
}

/** The rows of one part among the rows of an answer. */
interface RowsOfPart {
  readonly part: KnownPart
  /** Numbers of the rows in the part. */
  readonly rows: number[]
  /** For each row: its index in the answer. */
  readonly places: number[]
}

/** Number of values to convert between two checks of the clock. Most take less than a microsecond, but texts may be long. */
const valuesAtOnce = 16

/** Rows of one version with some of its columns. */
export class StoredRows {
  readonly #reader: TableReader
  readonly #fields: readonly TableField[]
  /** By column: the options with which its values are read. */
  #options: readonly (ReadOptions & { readonly name: string })[] = []
  /** The parts of the fragments that were read. */
  readonly #parts = new Map<Fragment, readonly KnownPart[]>()

  constructor(reader: TableReader, fields: readonly TableField[]) {
    this.#reader = reader
    this.#fields = fields
  }

  /** Return the parts of a fragment. Null: they are not known yet. */
  partsOf(fragment: Fragment): readonly KnownPart[] | null {
    let parts = this.#parts.get(fragment)
    if (parts === undefined) {
      const found = this.#reader.knownParts(fragment, this.#fields)
      if (found === null) return null
      parts = found
      this.#parts.set(fragment, parts)
    }
    return parts
  }

  /**
   * Return rows as objects, in the order of `placed`. Columns that are not in memory are read as a request reads them.
   * Returns a promise only if a read or the conversion takes long. Throws what the request throws.
   */
  rows(
    placed: readonly PlacedRow[],
    options: ReadOptions,
    computed: ComputedColumn | null = null,
  ): MaybePromise<RowObject[]> {
    return runTask(this.#objects(placed, options, computed))
  }

  *#objects(
    placed: readonly PlacedRow[],
    options: ReadOptions,
    computed: ComputedColumn | null,
  ): Task<RowObject[]> {
    // The options stay those of this call, whatever options later calls set while this task waits.
    const fields = this.#optionsOf(options)
    const pacer = new Pacer()
    const groups = grouped(placed)
    const found = yield* wait(this.#read(groups, pacer))
    const objects: RowObject[] = []
    for (let place = 0; place < placed.length; place++) objects.push({})
    let count = 0
    for (let i = 0; i < fields.length; i++) {
      if (computed?.at === i) addComputed(objects, computed)
      const field = fields[i]!
      for (let group = 0; group < groups.length; group++) {
        const { places } = groups[group]!
        const { column, rows } = found[group]![i]!
        for (let k = 0; k < places.length; k++) {
          setOwn(objects[places[k]!]!, field.name, valueAt(column, rows[k]!, field))
          if (++count % valuesAtOnce === 0 && pacer.due()) yield pacer.pause()
        }
      }
    }
    if (computed?.at === fields.length) addComputed(objects, computed)
    return objects
  }

  #optionsOf({ int64, vectors }: ReadOptions): readonly (ReadOptions & { readonly name: string })[] {
    const [first] = this.#options
    if (first === undefined || first.int64 !== int64 || first.vectors !== vectors)
      this.#options = this.#fields.map(({ name }) => ({ int64, vectors, name }))
    return this.#options
  }

  #read(groups: readonly RowsOfPart[], pacer: Pacer): MaybePromise<readonly (readonly RowsOfColumn[])[]> {
    const some = groups.map(({ part, rows }) => ({
      part: part.part,
      offsets: new Uint32Array(rows),
      columnPlaces: part.places,
    }))
    return this.#reader.rows(some, this.#fields, pacer)
  }
}

function addComputed(objects: readonly RowObject[], { name, values }: ComputedColumn): void {
  for (let place = 0; place < objects.length; place++) setOwn(objects[place]!, name, values[place])
}

/** Group rows by their parts. */
function grouped(placed: readonly PlacedRow[]): readonly RowsOfPart[] {
  const groups: RowsOfPart[] = []
  const byPart = new Map<KnownPart, RowsOfPart>()
  let last: RowsOfPart | undefined
  for (let place = 0; place < placed.length; place++) {
    const { part, row } = placed[place]!
    if (last?.part !== part) {
      last = byPart.get(part)
      if (last === undefined) {
        last = { part, rows: [], places: [] }
        byPart.set(part, last)
        groups.push(last)
      }
    }
    last.rows.push(row)
    last.places.push(place)
  }
  return groups
}
