/**
 * Finds values in the sorted pages of a scalar segment. A page is a record batch of the file, and consists of strides.
 * A lookup searches the directory, which has the first value of each stride, and then reads one stride. An entry is a
 * row of a page. Entries are numbered consecutively over all pages.
 */
import type { Column } from '../../arrow/column.js'
import { columnBytes } from '../../arrow/layout.js'
import { corrupted } from '../../errors.js'
import type { Pacer } from '../../primitives/pacer.js'
import { partitionPoint } from '../../primitives/partition-point.js'
import { type MaybePromise, runTask, type Task, wait } from '../../primitives/task.js'
import type { Scalar } from '../../sql/values/scalar.js'
import { orderOfScalars, sortedScalars } from '../../sql/values/scalar-order.js'
import { endOfEqual, type Key, keyOf, placeOf } from './place-of.js'
import type { ProbeEnd } from './probe.js'
import type { ColumnRows, RowRun, SegmentFile } from './segment.js'
import { ordinalAt } from './segment-schema.js'

/** The entries `from` to `to - 1`. */
export interface Run {
  readonly from: number
  readonly to: number
}

/** Maximum bytes of a directory that a segment keeps in memory even if the cache evicts it. */
const keptDirectoryBytes = 256 * 1024

/** Maximum number of keys whose strides are read together. */
const keysAtOnce = 256

/** The first value and the first entry of each stride. */
interface Directory {
  readonly firsts: Column
  /** The number of entries before each stride, stored as ordinals (`ordinalAt`). Null if each page is one stride. */
  readonly starts: Uint8Array | null
}

/** The values of a stride. They are the rows `from` to `to - 1` of `column`. */
interface Stride {
  readonly column: Column
  readonly from: number
  readonly to: number
  /** Entry number of row `from`. */
  readonly first: number
}

/** Looks up values in the pages of one segment. */
export class Pages {
  readonly #file: SegmentFile
  readonly #stridesPerPage: number
  readonly #entryColumn: number | null
  /** Number of strides. The directory has one row per stride. */
  readonly strides: number
  /** Number of pages of values. The pages of nulls follow. */
  readonly count: number
  /** Number of entries before each page; the last element is the number of all entries. */
  readonly #starts: Uint32Array
  /** The directory, if it is small enough to be kept in memory. Every lookup begins with it. */
  #directory: Directory | null = null

  /**
   * `stridesPerPage`: number of strides in each page of values except the last. If it is 1, the directory has no column
   * of start entries. `entryColumn`: the column of which callers read the rows of the values that they find. Null: none.
   * Throws Internal if the batch sizes of the file do not fit a segment.
   */
  constructor(file: SegmentFile, stridesPerPage = 1, entryColumn: number | null = null) {
    this.#file = file
    this.#entryColumn = entryColumn
    this.#stridesPerPage = stridesPerPage
    const pages = file.batchRows.length - 1
    const strides = file.batchRows[pages]
    if (strides === undefined || strides > pages * stridesPerPage) {
      throw corrupted(`the directory of an index segment has ${strides ?? 'no'} entries for ${pages} pages`)
    }
    this.strides = strides
    this.count = Math.ceil(strides / stridesPerPage)
    this.#starts = new Uint32Array(pages + 1)
    for (let page = 0; page < pages; page++) {
      this.#starts[page + 1] = this.#starts[page]! + file.batchRows[page]!
    }
  }

  /** Number of entries, including nulls. */
  get entries(): number {
    return this.#starts.at(-1)!
  }

  /** Number of entries that are not null. */
  get values(): number {
    return this.#starts[this.count]!
  }

  rowsOf(page: number): number {
    return this.#file.batchRows[page]!
  }

  column(page: number, column: number, pacer: Pacer): MaybePromise<Column> {
    return this.#file.column(page, column, pacer.signal)
  }

  /** Read several runs of rows of a column together. The result has, for each run, at least the requested rows. */
  rows(runs: readonly RowRun[], column: number, pacer: Pacer): MaybePromise<readonly ColumnRows[]> {
    return this.#file.rows(runs, column, pacer)
  }

  directory(column: number, pacer: Pacer): MaybePromise<Column> {
    return this.column(this.#starts.length - 1, column, pacer)
  }

  /** Return the number of entries of a stride. */
  async rowsOfStride(stride: number, pacer: Pacer): Promise<number> {
    const directory = await this.#opened(pacer)
    return this.#startOf(directory, stride + 1) - this.#startOf(directory, stride)
  }

  #opened(pacer: Pacer): MaybePromise<Directory> {
    return this.#directory ?? runTask(this.#readDirectory(pacer))
  }

  *#readDirectory(pacer: Pacer): Task<Directory> {
    const firsts = yield* wait(this.directory(0, pacer))
    const ordinals = this.#stridesPerPage === 1 ? null : yield* wait(this.directory(1, pacer))
    const directory = { firsts, starts: ordinals === null ? null : (ordinals.values as Uint8Array) }
    if (columnBytes(firsts) <= keptDirectoryBytes) this.#directory = directory
    return directory
  }

  /** Return the number of entries before a stride. For `stride === this.strides`, return the number of values. */
  #startOf({ starts }: Directory, stride: number): number {
    if (stride === this.strides) return this.values
    return starts === null ? this.#starts[stride]! : ordinalAt(starts, stride)
  }

  *#stride(directory: Directory, number: number, pacer: Pacer): Task<Stride> {
    return (yield* this.#strides(directory, [number], pacer))[0]!
  }

  /** Read several strides together. */
  *#strides(directory: Directory, numbers: readonly number[], pacer: Pacer): Task<readonly Stride[]> {
    const runs = numbers.map(number => this.#runOf(directory, number))
    if (this.#entryColumn !== null) this.#file.expect?.(runs, this.#entryColumn, pacer)
    const rows = yield* wait(this.rows(runs, 0, pacer))
    return rows.map(({ column, from }, i) => ({
      column,
      from: runs[i]!.from - from,
      to: runs[i]!.to - from,
      first: this.#startOf(directory, numbers[i]!),
    }))
  }

  #runOf(directory: Directory, number: number): RowRun {
    const first = this.#startOf(directory, number)
    const end = this.#startOf(directory, number + 1)
    const batch = Math.floor(number / this.#stridesPerPage)
    const begin = this.#starts[batch]!
    if (first < begin || end <= first || end > this.#starts[batch + 1]!) {
      throw corrupted(`stride ${number} of an index segment claims the entries ${first} to ${end}`)
    }
    return { batch, from: first - begin, to: end - begin }
  }

  /** Return the entries whose values are between two bounds. A null bound does not limit the values. */
  between(low: ProbeEnd | null, high: ProbeEnd | null, pacer: Pacer): MaybePromise<Run> {
    return runTask(this.#between(low, high, pacer))
  }

  *#between(low: ProbeEnd | null, high: ProbeEnd | null, pacer: Pacer): Task<Run> {
    const directory = yield* wait(this.#opened(pacer))
    const { type } = directory.firsts
    let [from, to] = [0, this.values]
    let number = -1
    let stride: Stride | null = null
    if (low !== null) {
      const key = keyOf(type, low.value)
      number = this.#strideOf(directory, key, !low.inclusive)
      if (number >= 0) {
        stride = yield* this.#stride(directory, number, pacer)
        from = entryOf(stride, placeOf(stride.column, key, !low.inclusive, stride.from, stride.to))
      }
    }
    if (high !== null) {
      const key = keyOf(type, high.value)
      const last = this.#strideOf(directory, key, high.inclusive)
      if (last < 0) to = 0
      else {
        if (last !== number || stride === null) stride = yield* this.#stride(directory, last, pacer)
        to = entryOf(stride, placeOf(stride.column, key, high.inclusive, stride.from, stride.to))
      }
    }
    return { from, to: Math.max(from, to) }
  }

  /**
   * Return the entries equal to any of `values`. The result has one run for each value that the segment has, ascending.
   */
  equalTo(values: readonly Scalar[], pacer: Pacer): MaybePromise<Run[]> {
    return runTask(this.#equalTo(values, pacer))
  }

  *#equalTo(values: readonly Scalar[], pacer: Pacer): Task<Run[]> {
    const directory = yield* wait(this.#opened(pacer))
    const { type } = directory.firsts
    const sorted = sortedScalars(values, type, orderOfScalars)
    const runs: Run[] = []
    for (let from = 0; from < sorted.length; from += keysAtOnce) {
      const length = Math.min(keysAtOnce, sorted.length - from)
      const keys = Array.from({ length }, (_, i) => keyOf(type, sorted[from + i]!))
      yield* this.#addEqual(directory, keys, runs, pacer)
      if (pacer.due()) yield pacer.pause()
    }
    return runs
  }

  /** Append to `runs` the runs of the entries that are equal to `keys`. The keys must ascend. */
  *#addEqual(directory: Directory, keys: readonly Key[], runs: Run[], pacer: Pacer): Task<void> {
    const { firsts } = directory
    /** For each key, the first and the last stride that may contain the key. */
    const begins: number[] = []
    const ends: number[] = []
    const wanted: number[] = []
    let number = 0
    for (const key of keys) {
      number = placeOf(firsts, key, false, Math.max(0, number), this.strides) - 1
      const last = endOfEqual(firsts, key, number + 1, this.strides) - 1
      begins.push(number)
      ends.push(last)
      for (const each of [number, last]) if (each >= 0 && each !== wanted.at(-1)) wanted.push(each)
    }
    const strides = yield* this.#strides(directory, wanted, pacer)
    let at = 0
    const strideOf = (wantedNumber: number) => {
      while (wanted[at] !== wantedNumber) at++
      return strides[at]!
    }
    for (const [i, key] of keys.entries()) {
      if (ends[i]! < 0) continue
      let from = 0
      let begin = -1
      if (begins[i]! >= 0) {
        const stride = strideOf(begins[i]!)
        begin = placeOf(stride.column, key, false, stride.from, stride.to)
        from = entryOf(stride, begin)
      }
      const stride = strideOf(ends[i]!)
      const to = endOfEqual(stride.column, key, ends[i] === begins[i] ? begin : stride.from, stride.to)
      // If two keys are equal (0 and -0), the second key must not add the same entries again.
      from = Math.max(from, runs.at(-1)?.to ?? 0)
      const end = entryOf(stride, to)
      if (from < end) runs.push({ from, to: end })
    }
  }

  /** Return the entries equal to `key`. Reads only memory; null if a needed page is not in memory. */
  seek(key: Key): Run | null {
    const directory = this.#directory
    if (directory === null) return null
    const { firsts } = directory
    const begin = placeOf(firsts, key, false, 0, this.strides) - 1
    const end = endOfEqual(firsts, key, begin + 1, this.strides) - 1
    if (end < 0) return noEntries
    let from = 0
    let after = -1
    if (begin >= 0) {
      const stride = this.#peekStride(directory, begin)
      if (stride === null) return null
      const place = placeOf(stride.column, key, false, stride.from, stride.to)
      from = entryOf(stride, place)
      if (begin === end) after = entryOf(stride, endOfEqual(stride.column, key, place, stride.to))
    }
    if (after < 0) {
      const stride = this.#peekStride(directory, end)
      if (stride === null) return null
      after = entryOf(stride, endOfEqual(stride.column, key, stride.from, stride.to))
    }
    return { from, to: after }
  }

  #peekStride(directory: Directory, number: number): Stride | null {
    const { batch, from, to } = this.#runOf(directory, number)
    const column = this.#file.peek(batch, 0)
    return column === undefined ? null : { column, from, to, first: this.#startOf(directory, number) }
  }

  /** Return a column of a page if it is in memory. */
  peek(page: number, column: number): Column | undefined {
    return this.#file.peek(page, column)
  }

  /** Return the page of an entry, and the number of entries before the page. */
  pageOf(entry: number): { readonly page: number; readonly start: number } {
    const page = this.#pageAt(entry, 0)
    return { page, start: this.#starts[page]! }
  }

  /** Return the strides that may contain any of `values`. Reads only the directory. */
  async stridesWith(values: readonly Scalar[], pacer: Pacer): Promise<number[]> {
    const { firsts } = await this.#opened(pacer)
    const { type } = firsts
    const found: number[] = []
    let next = 0
    const sorted = sortedScalars(values, type, orderOfScalars)
    for (let i = 0; i < sorted.length; i++) {
      const key = keyOf(type, sorted[i]!)
      const last = placeOf(firsts, key, true, 0, this.strides) - 1
      next = Math.max(next, placeOf(firsts, key, false, 0, this.strides) - 1)
      for (; next <= last; next++) found.push(next)
      if (pacer.due()) await pacer.pause()
    }
    return found
  }

  /** Split ascending runs at page boundaries. */
  pieces(runs: readonly Run[]): RowRun[] {
    const starts = this.#starts
    const pieces: RowRun[] = []
    let page = 0
    for (const { from, to } of runs) {
      for (let at = from; at < to; ) {
        if (starts[page + 1]! <= at) page = this.#pageAt(at, page + 1)
        const end = Math.min(to, starts[page + 1]!)
        pieces.push({ batch: page, from: at - starts[page]!, to: end - starts[page]! })
        at = end
      }
    }
    return pieces
  }

  /**
   * Return the last stride whose first value is less than the key. With `after`, return the last stride whose first
   * value is not greater than the key. Return -1 if there is no such stride.
   */
  #strideOf({ firsts }: Directory, key: Key, after: boolean): number {
    return placeOf(firsts, key, after, 0, this.strides) - 1
  }

  /** Return the page of an entry. `least`: a page before which the entry cannot be. */
  #pageAt(entry: number, least: number): number {
    const starts = this.#starts
    return least + partitionPoint(starts.length - 1 - least, i => starts[least + i + 1]! <= entry)
  }
}

const noEntries: Run = { from: 0, to: 0 }

/** Return the entry number of a row of a stride's column. */
function entryOf({ first, from }: Stride, row: number): number {
  return first + row - from
}
