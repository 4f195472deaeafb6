/**
 * Finds the first rows in an order, out of many. The caller adds rows batch by batch and gets back their tags in order.
 *
 * Keeps only rows that can still be among the first. The sort is stable.
 */
import type { Column } from '../arrow/column.js'
import type { DataType } from '../arrow/types.js'
import type { Pacer } from '../primitives/pacer.js'
import { sortedByWords } from '../primitives/radix.js'
import { type KeyBatch, type KeyOrder, KeyStore } from './key-store.js'

/** Fewer rows are sorted by comparison: radix sort would cost more. */
const fewRows = 16 * 1024

/** Minimum number of rows kept before rows that cannot be among the first are discarded. */
const keepAtLeast = 64 * 1024
/** Rows sorted, or merged, between two checks of the clock. */
const runRows = 4 * 1024

/** Call `add` for each batch, then `finish` once. */
export class Sorter {
  readonly #keep: number
  #store: KeyStore
  /** The caller's tag of each kept row. */
  #tags: Float64Array
  /** Index of the last of the wanted rows; null while there are fewer rows. */
  #last: number | null = null

  /** `keep`: number of wanted rows. `rows`: maximum number of added rows, so that memory is allocated once. */
  constructor(types: readonly DataType[], orders: readonly KeyOrder[], keep: number, rows: number) {
    this.#keep = Math.min(keep, rows)
    const capacity = Math.min(rows, this.#mostKept())
    this.#store = new KeyStore(types, orders, capacity)
    this.#tags = new Float64Array(Math.max(1, capacity))
  }

  #mostKept(): number {
    return Math.max(keepAtLeast, 4 * this.#keep)
  }

  /** Add rows by their key columns; `tags[i]` identifies row `i`. */
  async add(columns: readonly Column[], tags: Float64Array, pacer: Pacer): Promise<void> {
    if (this.#keep === 0) return
    const batch = this.#store.batch(columns)
    const length = columns[0]!.length
    for (let row = 0; row < length; row++) {
      if (this.#last !== null && this.#store.compareWith(this.#last, batch, row) <= 0) continue
      this.#push(batch, row, tags[row]!)
      if (this.#store.count >= this.#mostKept()) await this.#discard(pacer)
    }
  }

  /** Return the tags of the first rows, in order. */
  async finish(pacer: Pacer): Promise<Float64Array> {
    const order = await this.#sorted(pacer)
    return this.#tagsOf(order.subarray(0, this.#keep), pacer)
  }

  #push(batch: KeyBatch, row: number, tag: number): void {
    const at = this.#store.add(batch, row)
    if (at === this.#tags.length) {
      const larger = new Float64Array(2 * at)
      larger.set(this.#tags)
      this.#tags = larger
    }
    this.#tags[at] = tag
  }

  async #tagsOf(rows: Uint32Array, pacer: Pacer): Promise<Float64Array> {
    const all = this.#tags
    const tags = new Float64Array(rows.length)
    for (let from = 0; from < rows.length; from += 16 * runRows) {
      const to = Math.min(rows.length, from + 16 * runRows)
      for (let i = from; i < to; i++) tags[i] = all[rows[i]!]!
      await pacer.turn()
    }
    return tags
  }

  async #discard(pacer: Pacer): Promise<void> {
    const first = (await this.#sorted(pacer)).slice(0, this.#keep)
    const store = this.#store.emptied(this.#mostKept())
    for (let from = 0; from < first.length; from += runRows) {
      store.addAll(this.#store.picked(first.subarray(from, from + runRows)))
      await pacer.turn()
    }
    const tags = new Float64Array(this.#tags.length)
    tags.set(await this.#tagsOf(first, pacer))
    this.#store = store
    this.#tags = tags
    this.#last = this.#keep - 1
  }

  /** The kept rows in order: by radix sort if the words alone decide the order, else by sorting short runs and merging neighbours. */
  async #sorted(pacer: Pacer): Promise<Uint32Array> {
    const store = this.#store
    const { count } = store
    const words = count < fewRows ? null : store.decisiveWords()
    if (words !== null) return sortedByWords(words, count, pacer)
    let rows = new Uint32Array(count)
    for (let i = 0; i < count; i++) rows[i] = i
    const compare = (a: number, b: number) => store.compare(a, b) || a - b
    for (let from = 0; from < count; from += runRows) {
      rows.subarray(from, from + runRows).sort(compare)
      await pacer.turn()
    }
    let merged = new Uint32Array(count)
    for (let width = runRows; width < count; width *= 2) {
      for (let from = 0; from < count; from += 2 * width) {
        const middle = Math.min(from + width, count)
        const end = Math.min(middle + width, count)
        await merge(store, rows, { from, middle, end }, merged, pacer)
      }
      const spare = rows
      rows = merged
      merged = spare
    }
    return rows
  }
}

/** Two adjacent sorted runs: the rows from `from` up to `middle`, and from there up to `end`. */
interface Runs {
  readonly from: number
  readonly middle: number
  readonly end: number
}

/** Merge two sorted runs of `rows` into `out`; of equal rows, that of the left run comes first. */
async function merge(
  store: KeyStore,
  rows: Uint32Array,
  { from, middle, end }: Runs,
  out: Uint32Array,
  pacer: Pacer,
): Promise<void> {
  let left = from
  let right = middle
  let at = from
  while (at < end) {
    const until = Math.min(end, at + runRows)
    for (; at < until; at++) {
      const takesLeft = left < middle && (right === end || store.compare(rows[left]!, rows[right]!) <= 0)
      out[at] = takesLeft ? rows[left++]! : rows[right++]!
    }
    await pacer.turn()
  }
}
