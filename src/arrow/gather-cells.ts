/** Merges rows of several columns into one column. Only for types whose values have a fixed width, such as numbers. */
import { bitmapBytes } from './bits.js'
import { type Column, isValid } from './column.js'
import { aligned, asBytes, cellBytes, hasCells, viewCells } from './layout.js'
import type { DataType } from './types.js'

/** Builds one column of `length` rows from rows of other columns, in any order. The position of each row is given. */
export class CellGatherer {
  /**
   * Return whether columns of a type can be gathered. Dictionary columns cannot be gathered, because the same value may
   * have different indices in two columns.
   */
  static takes(type: DataType): boolean {
    return hasCells(type) && type.kind !== 'dictionary'
  }

  readonly #type: DataType
  readonly #width: number
  readonly #length: number
  readonly #cells: Uint8Array
  #validity: Uint8Array | null = null
  #nullCount = 0

  constructor(type: DataType, length: number) {
    this.#type = type
    this.#width = cellBytes(type)
    this.#length = length
    this.#cells = new Uint8Array(this.#width * length)
  }

  /** Copy row `rows[i]` of `column` to row `positions[i]` of the result. A position may be given only once. */
  add(column: Column, rows: Uint32Array, positions: Uint32Array): void {
    const source = asBytes(column.values!)
    if (this.#width === 4) copyWords(source, rows, this.#cells, positions, 1)
    else if (this.#width === 8) copyWords(source, rows, this.#cells, positions, 2)
    else copyRuns(source, rows, this.#cells, positions, this.#width)
    if (column.validity !== null) this.#addNulls(column, rows, positions)
  }

  /** Return the column. The caller must have added a row for each position. */
  column(): Column {
    return {
      type: this.#type,
      length: this.#length,
      nullCount: this.#nullCount,
      validity: this.#validity,
      values: viewCells(this.#type, this.#cells, this.#length),
      offsets: null,
      children: [],
      dictionary: null,
    }
  }

  #addNulls(column: Column, rows: Uint32Array, positions: Uint32Array): void {
    for (let i = 0; i < rows.length; i++) {
      if (isValid(column, rows[i]!)) continue
      const position = positions[i]!
      this.#validity ??= new Uint8Array(bitmapBytes(this.#length)).fill(0xff)
      this.#validity[position >>> 3]! &= ~(1 << (position & 7))
      this.#nullCount++
    }
  }
}

/**
 * Copy values of `words` 32-bit words each. Copies integers, because reading a NaN as a float might change its bits.
 */
function copyWords(
  source: Uint8Array,
  rows: Uint32Array,
  target: Uint8Array,
  positions: Uint32Array,
  words: 1 | 2,
): void {
  const bytes = aligned(source, 4, source.length >>> 2)
  const from = new Uint32Array(bytes.buffer, bytes.byteOffset, source.length >>> 2)
  const to = new Uint32Array(target.buffer, 0, target.length >>> 2)
  for (let i = 0; i < rows.length; i++) {
    const at = rows[i]! * words
    const position = positions[i]! * words
    to[position] = from[at]!
    if (words === 2) to[position + 1] = from[at + 1]!
  }
}

function copyRuns(
  source: Uint8Array,
  rows: Uint32Array,
  target: Uint8Array,
  positions: Uint32Array,
  width: number,
): void {
  for (let i = 0; i < rows.length; i++) {
    const at = rows[i]! * width
    target.set(source.subarray(at, at + width), positions[i]! * width)
  }
}
