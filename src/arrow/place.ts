/** Finds the column and the row of a (possibly nested) value in the input of a caller. Error messages name them. */
import { assert } from '../errors.js'
import { partitionPoint } from '../primitives/partition-point.js'

/**
 * The numbers of rows in messages: the number of the first row (number), the number of each row (Uint32Array), or the
 * row id of each row (Float64Array).
 */
export type RowNumbering = number | Uint32Array | Float64Array

/** The place of a column in the input. `field` and `elements` return the places of nested columns. */
export class Place {
  /** Name of the column in messages, for example `user.tags[]`. */
  readonly path: string
  readonly #parent: Place | null
  /**
   * Maps the values of a list's elements to rows of the parent: the offsets of the lists, or the common size of all
   * lists. Null: value `i` is in row `i` of the parent.
   */
  readonly #origin: Int32Array | number | null
  /** Numbers of the rows. Used only in the place of a top-level column. */
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

  /** Return the place of the elements of lists. `origin`: the offsets of the lists, or the common size of all lists. */
  elements(origin: Int32Array | number): Place {
    return new Place(`${this.path}[]`, this, origin, 0)
  }

  /** Return a name, for messages, of the row that contains the value with the number `index` in the column. */
  rowName(index: number): string {
    return `${this.#isStored() ? 'the row with _rowid' : 'row'} ${this.row(index)}`
  }

  #isStored(): boolean {
    return this.#parent === null ? this.#numbers instanceof Float64Array : this.#parent.#isStored()
  }

  /** Return the number of the row that contains the value with the number `index` in the column. */
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
