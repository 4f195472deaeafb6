/**
 * Sorts many rows and returns only the first of them. The caller adds rows batch by batch, each with a number (its
 * tag), and gets back the tags of the first rows in order.
 *
 * The sorter drops rows that cannot be among the first rows. The sort is stable.
 */
import type { Column } from '../arrow/column.js'
import type { DataType } from '../arrow/types.js'
import type { Pacer } from '../primitives/pacer.js'
import { sortedByWords } from '../primitives/radix.js'
import { type KeyBatch, type KeyOrder, KeyStore } from './key-store.js'

/** Minimum number of rows for which radix sort is faster than a sort with comparisons. */
const fewRows = 16 * 1024

/** Minimum number of kept rows at which the sorter drops rows that cannot be among the first rows. */
const keepAtLeast = 64 * 1024
/** Number of rows that are sorted or merged between two checks whether to let the event loop run. */
const runRows = 4 * 1024

/** Sorts rows of key columns. Call `add` for each batch, then `finish` once. */
export class Sorter {
  readonly #keep: number
  #store: KeyStore
  /** By kept row: the tag that the caller gave it. */
  #tags: Float64Array
  /**
   * After rows were dropped: index of the last kept row. New rows that do not sort before it are not needed. Null: no
   * rows were dropped yet.
   */
  #last: number | null = null

  /**
   * `keep`: number of rows to return. `rows`: maximum number of rows that will be added; it limits the memory to
   * allocate.
   */
  constructor(types: readonly DataType[], orders: readonly KeyOrder[], keep: number, rows: number) {
    this.#keep = Math.min(keep, rows)
    const capacity = Math.min(rows, this.#mostKept())
    this.#store = new KeyStore(types, orders, capacity)
    this.#tags = new Float64Array(Math.max(1, capacity))
  }

  #mostKept(): number {
    return Math.max(keepAtLeast, 4 * this.#keep)
  }

  /** Add rows. `columns`: their key columns. `tags[i]`: the tag of row `i`. */
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

  /** Return the tags of the first rows in order. */
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

  /**
   * Return the kept rows in order. Uses radix sort if the words of the keys alone decide the order. Otherwise it sorts
   * short ranges of rows and merges adjacent ranges.
   */
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

/** Two adjacent sorted ranges of rows: from `from` to `middle - 1`, and from `middle` to `end - 1`. */
interface Runs {
  readonly from: number
  readonly middle: number
  readonly end: number
}

/** Merge two sorted ranges of `rows` into `out`. Of equal rows, the row of the left range comes first. */
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
