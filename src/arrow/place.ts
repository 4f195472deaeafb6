/** Where in the rows given a value stands, for messages that name column and row. */
import { assert } from '../errors.js'

export class Place {
  /** What messages call the column: `user.tags[]`. */
  readonly path: string
  readonly #parent: Place | null
  /** How the values of a list's child came from rows: offsets, or one size for all; null = one for one. */
  readonly #origin: Int32Array | number | null

  constructor(path: string, parent: Place | null = null, origin: Int32Array | number | null = null) {
    this.path = path
    this.#parent = parent
    this.#origin = origin
  }

  field(name: string): Place {
    return new Place(`${this.path}.${name}`, this)
  }

  /** The elements of lists that end at `origin[i + 1]`, or are `origin` long each. */
  elements(origin: Int32Array | number): Place {
    return new Place(`${this.path}[]`, this, origin)
  }

  /** The row, counted from 0, that the `index`th value belongs to. */
  row(index: number): number {
    if (this.#parent === null) return index
    const origin = this.#origin
    if (origin === null) return this.#parent.row(index)
    if (typeof origin === 'number') return this.#parent.row(Math.floor(index / origin))
    let low = 0
    let high = origin.length - 1
    while (low < high) {
      const middle = (low + high) >>> 1
      if (origin[middle + 1]! > index) high = middle
      else low = middle + 1
    }
    assert(low < origin.length - 1, `element ${index} of no list`)
    return this.#parent.row(low)
  }
}
