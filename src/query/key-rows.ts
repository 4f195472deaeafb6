/**
 * Reads the rows of one version that have given values in an indexed column. Finds the rows in memory, without waiting. If
 * the data for this is not in memory, the query must be executed. The answer is that of a query with the same condition.
 */
import type { DataType } from '../arrow/types.js'
import type { ReadOptions } from '../arrow/values.js'
import type { Key } from '../indexes/scalar/place-of.js'
import type { TableField } from '../manifest/table-schema.js'
import type { MaybePromise } from '../primitives/task.js'
import { valueType } from '../sql/values/types.js'
import type { InlineRows } from '../table/inline-keys.js'
import type { FoundRows, IndexReader } from '../table/table-index.js'
import type { KnownPart, TableReader } from '../table/table-reader.js'
import { type PlacedRow, type RowObject, StoredRows } from './stored-rows.js'

/** Factor that joins the position of a fragment and the offset of a row into one number. */
const offsetsMax = 2 ** 32

/** Maximum number of rows with the keys, deleted rows included. Finding more in one step would block the event loop. */
const rowsMax = 4 * 1024

/** Rows of one version by the values of a column. */
export class KeyRows {
  /** The type of the keys. */
  readonly type: DataType
  readonly #reader: TableReader
  readonly #stored: StoredRows
  readonly #index: IndexReader
  readonly #inline: InlineRows

  private constructor(
    reader: TableReader,
    type: DataType,
    fields: readonly TableField[],
    index: IndexReader,
    inline: InlineRows,
  ) {
    this.type = type
    this.#reader = reader
    this.#stored = new StoredRows(reader, fields)
    this.#index = index
    this.#inline = inline
  }

  /**
   * Return the rows of a version by the values of `column`, with the columns `names`; null: all columns. Return null if
   * a name is not the exact name of a column, or if the rows cannot be found in memory. A later call may succeed.
   *
   * `needsIndex`: whether to return null if no index finds the rows of a large data file. Default true.
   */
  static of(
    reader: TableReader,
    column: string,
    names: readonly string[] | null,
    needsIndex = true,
  ): KeyRows | null {
    const { fields } = reader.schema
    const named = (wanted: string) => fields.find(({ name }) => name === wanted)
    const field = named(column)
    const selected = names === null ? fields : names.map(named).filter(known => known !== undefined)
    if (field === undefined || selected.length < (names ?? fields).length) return null
    const isOfColumn = ({ kind, path }: IndexReader) => {
      return kind === 'BTREE' && path.length === 1 && path[0] === column
    }
    const index =
      reader.indexes.find(isOfColumn) ??
      reader.inlineIndexes.find(isOfColumn) ??
      (needsIndex ? undefined : reader.noIndex(field))
    if (index === undefined) return null
    const inline = reader.inlineRowsNow(index, field)
    // Rows that neither the index nor the map of inline rows finds must be evaluated.
    if (inline === null || inline.others.size > 0) return null
    return new KeyRows(reader, valueType(field.type), selected, index, inline)
  }

  /**
   * Return the rows with one of the keys, in row order. `offset`, `limit`: the window of the rows. Reads columns that are
   * not in memory. Return null if other data is not in memory. Throws what the query throws.
   */
  rows(
    keys: readonly Key[],
    offset: number,
    limit: number,
    options: ReadOptions,
  ): MaybePromise<RowObject[]> | null {
    const found = this.#find(keys)
    if (found === null) return null
    const placed: PlacedRow[] = []
    let skip = offset
    for (let i = 0; i < found.length && placed.length < limit; i++) {
      const part = this.#partOf(found[i]!)
      const live = part?.live()
      if (part == null || live === undefined) return null
      const row = (found[i]! % offsetsMax) - part.part.first
      if (live !== null && !live.has(row)) continue
      if (skip > 0) skip--
      else placed.push({ part, row })
    }
    return this.#stored.rows(placed, options)
  }

  /** Return the number of rows with one of the keys. Return null if needed data is not in memory. */
  count(keys: readonly Key[]): number | null {
    const found = this.find(keys)
    if (found === null) return null
    let count = 0
    for (const { part, row } of found) {
      const live = part.live()
      if (live === undefined) return null
      if (live === null || live.has(row)) count++
    }
    return count
  }

  /**
   * Return the rows with one of the keys, deleted rows included, in row order. Return null if needed data is not in
   * memory, or if there are more than `most` rows. Default: no maximum.
   */
  find(keys: readonly Key[], most = Number.POSITIVE_INFINITY): readonly PlacedRow[] | null {
    const found = this.#find(keys)
    if (found === null || found.length > most) return null
    const rows: PlacedRow[] = []
    for (const address of found) {
      const part = this.#partOf(address)
      if (part === null) return null
      rows.push({ part, row: (address % offsetsMax) - part.part.first })
    }
    return rows
  }

  /**
   * Return the addresses of the rows with one of the keys, deleted rows included: ascending and distinct. Return null if
   * needed data is not in memory, or if there are more than `rowsMax` rows.
   */
  #find(keys: readonly Key[]): (ArrayLike<number> & Iterable<number>) | null {
    const found: FoundRows = { fragments: [], offsets: [] }
    for (const key of keys) {
      if (!this.#index.seek(key, found, rowsMax)) return null
      this.#inline.seek(key, found)
      if (found.offsets.length > rowsMax) return null
    }
    const { fragments, offsets } = found
    const addresses: number[] = []
    for (let i = 0; i < fragments.length; i++) {
      addresses.push(this.#reader.positionOf(fragments[i]!)! * offsetsMax + offsets[i]!)
    }
    if (addresses.length < 2) return addresses
    const sorted = Float64Array.from(addresses).sort()
    return sorted.filter((address, i) => i === 0 || address !== sorted[i - 1])
  }

  #partOf(address: number): KnownPart | null {
    const fragment = this.#reader.layout.fragments[Math.floor(address / offsetsMax)]!
    const parts = this.#stored.partsOf(fragment)
    if (parts === null) return null
    const offset = address % offsetsMax
    for (let i = parts.length - 1; i > 0; i--) if (parts[i]!.part.first <= offset) return parts[i]!
    return parts[0] ?? null
  }
}
