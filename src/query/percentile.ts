/**
 * Implements `percentile` and `median`, which interpolate between the two nearest values (`percentile_cont` in SQL).
 */
import type { Column } from '../arrow/column.js'
import { invalidInput } from '../errors.js'
import type { Pacer } from '../primitives/pacer.js'
import type { AggregateFunction } from '../sql/binding/aggregates.js'
import { float64 } from '../sql/values/types.js'
import { columnOfScalars } from '../sql/values/vector.js'
import { type Accumulator, doublesOfNumbers, present, results } from './accumulator.js'
import { sortedPositions } from './group-order.js'
import { selectRank } from './select-rank.js'

/** Maximum number of values of all groups. A value takes 12 bytes, and 8 more when all rows are added. */
const maxValues = 16 * 1024 * 1024

/** Maximum number of values that are sorted in one call, which takes a few milliseconds. */
const maxSorted = 32 * 1024

/** Number of values that are sorted between two checks whether to let the event loop run. */
const valuesAtOnce = 16 * 1024

export class Percentile implements Accumulator {
  readonly #fn: AggregateFunction
  readonly #fraction: number
  readonly #owners: Uint32Array[] = []
  readonly #values: Float64Array[] = []
  #length = 0
  #results = new Float64Array(0)
  /** By group: whether it has a value. */
  #hasValue = new Uint8Array(0)

  constructor(fn: AggregateFunction, fraction: number) {
    this.#fn = fn
    this.#fraction = fraction
  }

  add(groups: Uint32Array, arg: Column | null): void {
    const [owners, column] = present(groups, arg!)
    if (owners.length === 0) return
    this.#length += owners.length
    if (this.#length > maxValues) {
      throw invalidInput(`${this.#fn} keeps at most ${maxValues} values of all groups in memory`, {
        hint: 'aggregate fewer rows per query: filter them with where, or with FILTER',
      })
    }
    this.#owners.push(owners)
    this.#values.push(doublesOfNumbers(column))
  }

  async prepare(count: number, pacer: Pacer): Promise<void> {
    const { ends, positions } = await sortedPositions(this.#owners, count, pacer)
    const byGroup = new Float64Array(this.#length)
    for (const [p, piece] of this.#values.entries()) {
      const at = positions[p]!
      for (let i = 0; i < piece.length; i++) byGroup[at[i]!] = piece[i]!
      await pacer.turn()
    }
    this.#owners.length = 0
    this.#values.length = 0
    this.#results = new Float64Array(count)
    this.#hasValue = new Uint8Array(count)
    let unchecked = 0
    for (let group = 0, from = 0; group < count; group++) {
      const to = ends[group]!
      if (to > from) {
        this.#results[group] = await percentileOf(byGroup.subarray(from, to), this.#fraction, pacer)
        this.#hasValue[group] = 1
      }
      unchecked += to - from
      from = to
      if (unchecked < valuesAtOnce) continue
      unchecked = 0
      await pacer.turn()
    }
  }

  finish(from: number, to: number): Column {
    const scalars = results(from, to, group => (this.#hasValue[group] === 1 ? this.#results[group]! : null))
    return columnOfScalars(float64, scalars)
  }
}

/** Return a percentile of at least one value. Reorders `values`. NaN counts as the greatest value. */
function percentileOf(values: Float64Array, fraction: number, pacer: Pacer): number | Promise<number> {
  const rank = fraction * (values.length - 1)
  const lower = Math.floor(rank)
  if (values.length > maxSorted) {
    return selectRank(values, lower, pacer).then(([value, next]) => between(value, next, rank - lower))
  }
  values.sort()
  return between(values[lower]!, values[Math.min(values.length - 1, lower + 1)]!, rank - lower)
}

/** Return the value at `part`, 0 to 1, of the way from `low` to `high`. */
function between(low: number, high: number, part: number): number {
  if (part === 0 || low === high) return low + 0
  const distance = high - low
  // The difference of two large numbers with different signs overflows.
  return Number.isFinite(distance) ? low + distance * part : low * (1 - part) + high * part
}
