/**
 * Implements the aggregates `first` and `last`: the value of the first or last row of each group, which may be NULL.
 */
import type { Column } from '../arrow/column.js'
import { concatColumns } from '../arrow/concat.js'
import { emptyColumn } from '../arrow/fill.js'
import { takeColumn } from '../arrow/take.js'
import type { DataType } from '../arrow/types.js'
import { decoded } from '../sql/kernels/dictionary.js'
import { type Accumulator, rowsOfGroups } from './accumulator.js'

/**
 * Values that later rows have replaced are removed from memory when there are more of them than this number plus the
 * number of groups.
 */
const maxReplaced = 16 * 1024

export class EndRow implements Accumulator {
  readonly #type: DataType
  readonly #isLast: boolean
  /** Values of rows that were the first or last row of their group when they were added. Some are replaced by now. */
  #pieces: Column[] = []
  #length = 0
  /** By group: the row of its value in `#pieces`; -1 if the group has no row yet. */
  #rows = new Int32Array(0)

  constructor(type: DataType, isLast: boolean) {
    this.#type = type
    this.#isLast = isLast
  }

  add(groups: Uint32Array, arg: Column | null, count: number): void {
    if (this.#rows.length < count) {
      const larger = new Int32Array(2 * count).fill(-1)
      larger.set(this.#rows)
      this.#rows = larger
    }
    const rows = this.#isLast ? this.#addLast(groups) : this.#addFirst(groups)
    if (rows.length === 0) return
    this.#pieces.push(decoded(takeColumn(arg!, rows)))
    this.#length += rows.length
    if (this.#length > 2 * count + maxReplaced) this.#removeReplaced(count)
  }

  finish(from: number, to: number): Column {
    return takeColumn(this.#joined(), rowsOfGroups(this.#rows, from, to))
  }

  #addFirst(groups: Uint32Array): Uint32Array {
    const taken: number[] = []
    for (let row = 0; row < groups.length; row++) {
      if (this.#rows[groups[row]!] !== -1) continue
      this.#rows[groups[row]!] = this.#length + taken.length
      taken.push(row)
    }
    return Uint32Array.from(taken)
  }

  #addLast(groups: Uint32Array): Uint32Array {
    const taken: number[] = []
    for (let row = groups.length - 1; row >= 0; row--) {
      if (this.#rows[groups[row]!]! >= this.#length) continue
      this.#rows[groups[row]!] = this.#length + taken.length
      taken.push(row)
    }
    return Uint32Array.from(taken)
  }

  #joined(): Column {
    if (this.#pieces.length !== 1) {
      this.#pieces = [this.#pieces.length === 0 ? emptyColumn(this.#type) : concatColumns(this.#pieces)]
    }
    return this.#pieces[0]!
  }

  #removeReplaced(count: number): void {
    const rows = this.#rows.subarray(0, count).filter(row => row !== -1)
    this.#pieces = [takeColumn(this.#joined(), rows)]
    this.#length = rows.length
    let next = 0
    for (let group = 0; group < count; group++) if (this.#rows[group] !== -1) this.#rows[group] = next++
  }
}
