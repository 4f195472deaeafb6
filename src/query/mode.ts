/** Implements the aggregate `mode`: the most frequent value of each group. */
import type { Column } from '../arrow/column.js'
import { takeColumn } from '../arrow/take.js'
import type { DataType } from '../arrow/types.js'
import type { Pacer } from '../primitives/pacer.js'
import { uint32 } from '../sql/values/types.js'
import { type Accumulator, columnOfGroups, grown, present, rowsOfGroups } from './accumulator.js'
import { Grouper } from './group.js'

/** Number of pairs that are processed between two checks whether to let the event loop run. */
const pairsAtOnce = 64 * 1024

/**
 * Counts pairs of group and value. If several values are equally frequent, the result is the one that appears first.
 */
export class Mode implements Accumulator {
  /** The distinct pairs, numbered in order of appearance. */
  readonly #pairs: Grouper
  /** By pair: the number of its rows. */
  #counts = new Float64Array(1)
  #values: Column | null = null
  /** By group: the number of its most frequent pair; -1 for a group without a value. */
  #best = new Int32Array(0)

  constructor(type: DataType, seed: number) {
    this.#pairs = new Grouper([uint32, type], seed)
  }

  add(groups: Uint32Array, arg: Column | null): void {
    const [owners, column] = present(groups, arg!)
    const pairs = this.#pairs.add([columnOfGroups(owners), column])
    this.#counts = grown(this.#counts, this.#pairs.count)
    const counts = this.#counts
    for (let i = 0; i < pairs.length; i++) counts[pairs[i]!]! += 1
  }

  async prepare(count: number, pacer: Pacer): Promise<void> {
    const [owners, values] = this.#pairs.keys() as [Column, Column]
    this.#values = values
    const groups = owners.values as Uint32Array
    const best = new Int32Array(count).fill(-1)
    for (let from = 0; from < owners.length; from += pairsAtOnce) {
      const to = Math.min(owners.length, from + pairsAtOnce)
      for (let pair = from; pair < to; pair++) {
        const known = best[groups[pair]!]!
        if (known === -1 || this.#counts[pair]! > this.#counts[known]!) best[groups[pair]!] = pair
      }
      await pacer.turn()
    }
    this.#best = best
  }

  finish(from: number, to: number): Column {
    return takeColumn(this.#values!, rowsOfGroups(this.#best, from, to))
  }
}
