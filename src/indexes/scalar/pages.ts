/** Finds values among those that ascend over the pages of a segment: through the directory, and one page. */
import type { Column } from '../../arrow/column.js'
import { columnBytes } from '../../arrow/layout.js'
import { corrupted } from '../../errors.js'
import type { Pacer } from '../../primitives/pacer.js'
import { arrival, begun, type Soon, type Waits, whenThere } from '../../primitives/soon.js'
import type { Scalar } from '../../sql/values/scalar.js'
import { orderOfScalars, sortedScalars } from '../../sql/values/scalar-order.js'
import { endOfEqual, keyOf, placeOf } from './place-of.js'
import type { ProbeEnd } from './probe.js'
import type { SegmentFile } from './segment.js'

/** Entries `from` to `to - 1`, which are counted over all pages. */
export interface Run {
  readonly from: number
  readonly to: number
}

/** Some entries of one page, counted from its first. */
export interface Piece {
  readonly page: number
  readonly from: number
  readonly to: number
}

/** A directory of no more bytes stays with its segment, beside what the memory keeps. */
const keptBytes = 16 * 1024

export class Pages {
  readonly #file: SegmentFile
  /** Pages of values; those of nulls come after them. */
  readonly count: number
  /** By page, the entries before it; at the end, all entries. */
  readonly #starts: Uint32Array

  /** The first values of the pages, where they are few: every question begins with them. */
  #firsts: Column | null = null

  /** @throws corrupted where the batches cannot be pages and their directory. */
  constructor(file: SegmentFile) {
    this.#file = file
    const pages = file.batchRows.length - 1
    const count = file.batchRows[pages]
    if (count === undefined || count > pages) {
      throw corrupted(`the directory of an index segment has ${count ?? 'no'} entries for ${pages} pages`)
    }
    this.count = count
    this.#starts = new Uint32Array(pages + 1)
    for (let page = 0; page < pages; page++) {
      this.#starts[page + 1] = this.#starts[page]! + file.batchRows[page]!
    }
  }

  /** Entries, nulls included. */
  get entries(): number {
    return this.#starts.at(-1)!
  }

  /** Entries that are not null. */
  get values(): number {
    return this.#starts[this.count]!
  }

  rowsOf(page: number): number {
    return this.#file.batchRows[page]!
  }

  column(page: number, column: number, pacer: Pacer): Soon<Column> {
    return this.#file.column(page, column, pacer.signal)
  }

  directory(column: number, pacer: Pacer): Soon<Column> {
    return this.column(this.#starts.length - 1, column, pacer)
  }

  #firstValues(pacer: Pacer): Soon<Column> {
    if (this.#firsts !== null) return this.#firsts
    return whenThere(this.directory(0, pacer), firsts => {
      if (columnBytes(firsts) <= keptBytes) this.#firsts = firsts
      return firsts
    })
  }

  /** The values between two ends. */
  between(low: ProbeEnd | null, high: ProbeEnd | null, pacer: Pacer): Soon<Run> {
    return begun(this.#between(low, high, pacer))
  }

  *#between(low: ProbeEnd | null, high: ProbeEnd | null, pacer: Pacer): Waits<Run> {
    const directory = yield* arrival(this.#firstValues(pacer))
    const { type } = directory
    let [from, to] = [0, this.values]
    let page = -1
    let column: Column | null = null
    if (low !== null) {
      const key = keyOf(type, low.value)
      page = this.#pageOf(directory, key, !low.inclusive)
      if (page >= 0) {
        column = yield* arrival(this.column(page, 0, pacer))
        from = this.#starts[page]! + placeOf(column, key, !low.inclusive, 0, column.length)
      }
    }
    if (high !== null) {
      const key = keyOf(type, high.value)
      const last = this.#pageOf(directory, key, high.inclusive)
      if (last < 0) to = 0
      else {
        if (last !== page || column === null) column = yield* arrival(this.column(last, 0, pacer))
        to = this.#starts[last]! + placeOf(column, key, high.inclusive, 0, column.length)
      }
    }
    return { from, to: Math.max(from, to) }
  }

  /** The values equal to one of some: a run for each of those that are there, ascending. */
  equalTo(values: readonly Scalar[], pacer: Pacer): Soon<Run[]> {
    return begun(this.#equalTo(values, pacer))
  }

  *#equalTo(values: readonly Scalar[], pacer: Pacer): Waits<Run[]> {
    const directory = yield* arrival(this.#firstValues(pacer))
    const { type } = directory
    const runs: Run[] = []
    let page = -1
    let column: Column | null = null
    let done = 0
    const sorted = sortedScalars(values, type, orderOfScalars)
    for (let i = 0; i < sorted.length; i++) {
      const key = keyOf(type, sorted[i]!)
      const first = placeOf(directory, key, false, Math.max(0, page), this.count) - 1
      let from = 0
      let begin = 0
      if (first >= 0) {
        if (first !== page || column === null) column = yield* arrival(this.column(first, 0, pacer))
        begin = placeOf(column, key, false, 0, column.length)
        from = this.#starts[first]! + begin
        page = first
      }
      const last = endOfEqual(directory, key, first + 1, this.count) - 1
      if (last >= 0) {
        if (last !== page || column === null) column = yield* arrival(this.column(last, 0, pacer))
        const to = this.#starts[last]! + endOfEqual(column, key, last === first ? begin : 0, column.length)
        page = last
        // Of two constants that are equal (0 and -0), the second finds nothing more.
        from = Math.max(from, done)
        if (from < to) runs.push({ from, to })
        done = Math.max(done, to)
      }
      if (pacer.due()) yield pacer.pause()
    }
    return runs
  }

  /** Pages that may have values equal to one of some, as the directory tells. */
  async pagesWith(values: readonly Scalar[], pacer: Pacer): Promise<number[]> {
    const directory = await this.directory(0, pacer)
    const { type } = directory
    const pages: number[] = []
    let next = 0
    const sorted = sortedScalars(values, type, orderOfScalars)
    for (let i = 0; i < sorted.length; i++) {
      const key = keyOf(type, sorted[i]!)
      const last = placeOf(directory, key, true, 0, this.count) - 1
      next = Math.max(next, placeOf(directory, key, false, 0, this.count) - 1)
      for (; next <= last; next++) pages.push(next)
      if (pacer.due()) await pacer.pause()
    }
    return pages
  }

  /** Runs, which ascend, cut where pages end. */
  pieces(runs: readonly Run[]): Piece[] {
    const starts = this.#starts
    const pieces: Piece[] = []
    let page = 0
    for (const { from, to } of runs) {
      for (let at = from; at < to; ) {
        if (starts[page + 1]! <= at) page = this.#pageAt(at, page + 1)
        const end = Math.min(to, starts[page + 1]!)
        pieces.push({ page, from: at - starts[page]!, to: end - starts[page]! })
        at = end
      }
    }
    return pieces
  }

  /** The last page with a value before the key, or with `after`, not after it; -1 where there is none. */
  #pageOf(directory: Column, key: ReturnType<typeof keyOf>, after: boolean): number {
    return placeOf(directory, key, after, 0, this.count) - 1
  }

  /** The page with an entry, which is not before `least`. */
  #pageAt(entry: number, least: number): number {
    let [low, high] = [least, this.#starts.length - 1]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#starts[middle + 1]! <= entry) low = middle + 1
      else high = middle
    }
    return low
  }
}
