/** Tracks the position of a value in the input rows, for messages that name column and row. */
import { assert } from '../errors.js'
import { partitionPoint } from '../primitives/partition-point.js'

/**
 * Row numbers: the number of the first row of a call, the number of each row, or (Float64Array) the row id in the
 * table.
 */
export type RowNumbering = number | Uint32Array | Float64Array

/** The position of a column's values in the input. `field` and `elements` return those of nested values. */
export class Place {
  /** The name of the column in messages: `user.tags[]`. */
  readonly path: string
  readonly #parent: Place | null
  /** How values map to rows of the parent: the offsets of a list, or the size of all lists; null = one to one. */
  readonly #origin: Int32Array | number | null
  /** Of a top-level column: the number of its first row, or of each row; Float64Array: row ids. */
  readonly #numbers: RowNumbering

  private constructor(
    path: string,
    parent: Place | null,
    origin: Int32Array | number | null,
    numbers: RowNumbering,
  ) {
    this.path = path
    this.#parent = parent
    this.#origin = origin
    this.#numbers = numbers
  }

  static column(name: string, numbers: RowNumbering = 0): Place {
    return new Place(name, null, null, numbers)
  }

  field(name: string): Place {
    return new Place(`${this.path}.${name}`, this, null, 0)
  }

  /** Return the place of the elements of lists that end at `origin[i + 1]`, or have length `origin`. */
  elements(origin: Int32Array | number): Place {
    return new Place(`${this.path}[]`, this, origin, 0)
  }

  /** Return the name in messages of the row that contains value number `index`. */
  rowName(index: number): string {
    return `${this.#isStored() ? 'the row with _rowid' : 'row'} ${this.row(index)}`
  }

  #isStored(): boolean {
    return this.#parent === null ? this.#numbers instanceof Float64Array : this.#parent.#isStored()
  }

  /** Return the number, from 0, of the row that contains value number `index`. */
  row(index: number): number {
    const origin = this.#origin
    const numbers = this.#numbers
    if (this.#parent === null) return typeof numbers === 'number' ? numbers + index : numbers[index]!
    if (origin === null) return this.#parent.row(index)
    if (typeof origin === 'number') return this.#parent.row(Math.floor(index / origin))
    const list = partitionPoint(origin.length - 1, i => origin[i + 1]! <= index)
    assert(list < origin.length - 1, `element ${index} of no list`)
    return this.#parent.row(list)
  }
}
