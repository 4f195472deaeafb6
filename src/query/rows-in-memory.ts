/** Reads rows of one version as objects, as far as their columns are in memory. */
import type { Column } from '../arrow/column.js'
import { type ReadOptions, setOwn, valueAt } from '../arrow/values.js'
import type { Fragment } from '../manifest/layout.js'
import type { TableField } from '../manifest/table-schema.js'
import type { PartInMemory, TableReader } from '../table/table-reader.js'

export type RowObject = Record<string, unknown>

/** Rows of one version with some of its columns. */
export class RowsInMemory {
  readonly #reader: TableReader
  readonly #fields: readonly TableField[]
  /** By column: the options with which its values are read. */
  #options: readonly (ReadOptions & { readonly name: string })[] = []
  /** The parts of the fragments that were read. */
  readonly #parts = new Map<Fragment, readonly PartInMemory[]>()

  constructor(reader: TableReader, fields: readonly TableField[]) {
    this.#reader = reader
    this.#fields = fields
  }

  /** Set the options with which values are read. */
  setOptions({ int64, vectors }: ReadOptions): void {
    const [first] = this.#options
    if (first !== undefined && first.int64 === int64 && first.vectors === vectors) return
    this.#options = this.#fields.map(({ name }) => ({ int64, vectors, name }))
  }

  /** Return the parts of a fragment. Null: they are not known yet. */
  partsOf(fragment: Fragment): readonly PartInMemory[] | null {
    let parts = this.#parts.get(fragment)
    if (parts === undefined) {
      const found = this.#reader.inMemory(fragment, this.#fields)
      if (found === null) return null
      parts = found
      this.#parts.set(fragment, parts)
    }
    return parts
  }

  /** Return a row of a part as an object. Null: a column is not in memory. Throws as `read` does. */
  rowOf(part: PartInMemory, row: number): RowObject | null {
    const object: RowObject = {}
    for (let i = 0; i < this.#fields.length; i++) {
      const column = part.column(i)
      if (column === null) return null
      const options = this.#options[i]!
      setOwn(object, options.name, valueAt(column, row, options))
    }
    return object
  }

  /** Return the columns of a part, to read several rows. Null: a column is not in memory. */
  columnsOf(part: PartInMemory): readonly Column[] | null {
    const columns: Column[] = []
    for (let i = 0; i < this.#fields.length; i++) {
      const column = part.column(i)
      if (column === null) return null
      columns.push(column)
    }
    return columns
  }

  /** Set the value of column number `i` of `columns` in an object. Throws InvalidInput for a value that the options exclude. */
  read(object: RowObject, columns: readonly Column[], i: number, row: number): void {
    const options = this.#options[i]!
    setOwn(object, options.name, valueAt(columns[i]!, row, options))
  }
}
