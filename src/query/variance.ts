/** Implements the aggregates for variance and standard deviation. */
import type { Column } from '../arrow/column.js'
import { float64 } from '../sql/values/types.js'
import { columnOfScalars } from '../sql/values/vector.js'
import { type Accumulator, doublesOfNumbers, grown, present, results } from './accumulator.js'

/**
 * Computes the variance with Welford's method (Note on a method for calculating corrected sums of squares and products,
 * 1962). Its rounding errors are small, because it never subtracts two large sums. The caller must add the values in
 * row order, because the rounding errors depend on the order.
 */
export class Variance implements Accumulator {
  readonly #isSample: boolean
  readonly #isRoot: boolean
  #counts = new Float64Array(1)
  #means = new Float64Array(1)
  /** By group: the sum of the squared distances from the mean. */
  #squares = new Float64Array(1)

  /**
   * `isSample`: whether to divide by the number of values minus 1. `isRoot`: whether to return the standard deviation.
   */
  constructor({ isSample, isRoot }: { readonly isSample: boolean; readonly isRoot: boolean }) {
    this.#isSample = isSample
    this.#isRoot = isRoot
  }

  add(groups: Uint32Array, arg: Column | null, count: number): void {
    this.#counts = grown(this.#counts, count)
    this.#means = grown(this.#means, count)
    this.#squares = grown(this.#squares, count)
    const [counts, means, squares] = [this.#counts, this.#means, this.#squares]
    const [owners, column] = present(groups, arg!)
    const values = doublesOfNumbers(column)
    for (let i = 0; i < owners.length; i++) {
      const group = owners[i]!
      const value = values[i]!
      counts[group]! += 1
      const distance = value - means[group]!
      means[group]! += distance / counts[group]!
      squares[group]! += distance * (value - means[group]!)
    }
  }

  finish(from: number, to: number): Column {
    const [counts, squares] = [grown(this.#counts, to), grown(this.#squares, to)]
    const scalars = results(from, to, group => {
      const divisor = counts[group]! - (this.#isSample ? 1 : 0)
      if (divisor <= 0) return null
      const variance = squares[group]! / divisor
      return this.#isRoot ? Math.sqrt(variance) : variance
    })
    return columnOfScalars(float64, scalars)
  }
}
