/**
 * The first rows in an order, out of many: rows go in batch by batch, their numbers come out.
 *
 * Only rows that can still be among the first are kept. Equal rows stay in the order in which they came.
 */
import type { Column } from '../arrow/column.js'
import type { DataType } from '../arrow/types.js'
import type { Pacer } from '../primitives/pacer.js'
import { sortedByWords } from '../primitives/radix.js'
import { type KeyBatch, type KeyOrder, KeyStore } from './key-store.js'

/** Fewer rows than this are compared: tables of digits would cost more. */
const fewRows = 16 * 1024

/** Rows kept at least before those that cannot be among the first are thrown away. */
const keepAtLeast = 64 * 1024
/** Rows sorted in one go, and merged between two looks at the clock. */
const runRows = 4 * 1024

export class Sorter {
  readonly #keep: number
  #store: KeyStore
  /** What the caller calls each kept row. */
  #tags: Float64Array
  /** The kept row that is the last of those asked for; null while there are not that many. */
  #last: number | null = null

  /** `keep`: how many of the first rows are asked for. `rows`: how many there are at most, so that memory for them is taken once. */
  constructor(types: readonly DataType[], orders: readonly KeyOrder[], keep: number, rows: number) {
    this.#keep = Math.min(keep, rows)
    const room = Math.min(rows, this.#mostKept())
    this.#store = new KeyStore(types, orders, room)
    this.#tags = new Float64Array(Math.max(1, room))
  }

  #mostKept(): number {
    return Math.max(keepAtLeast, 4 * this.#keep)
  }

  /** Adds the rows of the key columns; row `i` is called `tags[i]`. */
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

  /** The tags of the first rows, in order. */
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

  /** The kept rows in order: by their words where those decide, else short runs, then merges of two neighbours. */
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
        await merge(store, rows, from, middle, Math.min(middle + width, count), merged, pacer)
      }
      const spare = rows
      rows = merged
      merged = spare
    }
    return rows
  }
}

/** Merges two sorted neighbours; of equal rows that of the left one comes first. */
async function merge(
  store: KeyStore,
  rows: Uint32Array,
  from: number,
  middle: number,
  end: number,
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
