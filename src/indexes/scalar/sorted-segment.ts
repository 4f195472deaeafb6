/** Reads the segments of a BTREE, which sorted-pages.ts writes. */
import { corrupted, unreachable } from '../../errors.js'
import { Bitset } from '../../primitives/bitset.js'
import type { Pacer } from '../../primitives/pacer.js'
import { RowSet } from '../../primitives/row-set.js'
import { type MaybePromise, runTask, type Task, wait } from '../../primitives/task.js'
import type { Scalar } from '../../sql/values/scalar.js'
import { scalarAt } from '../../sql/values/vector.js'
import { exactMembers, fewRows } from './costs.js'
import { Pages, type Run } from './pages.js'
import type { Key } from './place-of.js'
import type { ScalarProbe } from './probe.js'
import type { RowRun, ScalarSegment, SegmentFile } from './segment.js'
import { nullsPerPage, ordinalAt, ordinalBytes, strideRows, stridesPerPage } from './segment-schema.js'

/** The column of a page that has the ordinals. */
const ordinalColumn = 1

/** An opened BTREE segment. */
export class SortedSegment implements ScalarSegment {
  readonly rows: number
  readonly #pages: Pages
  /**
   * The runs of the previous probe. They are kept because callers usually call `estimate` and then `find` with one
   * probe.
   */
  #last: { readonly probe: ScalarProbe; readonly runs: readonly Run[] } | null = null

  constructor(rows: number, file: SegmentFile) {
    this.rows = rows
    this.#pages = new Pages(file, stridesPerPage, ordinalColumn)
    const { entries, values, strides, count } = this.#pages
    if (entries !== rows) throw damaged(`has ${entries} ordinals for ${rows} rows`)
    if (values > strideRows * strides) throw damaged(`has ${strides} strides for ${values} values`)
    for (let page = count; page < file.batchRows.length - 2; page++) {
      const nulls = this.#pages.rowsOf(page)
      if (nulls !== nullsPerPage) throw damaged(`has a page of ${nulls} nulls that is not the last`)
    }
  }

  estimate(probe: ScalarProbe, pacer: Pacer): MaybePromise<number> {
    return runTask(this.#estimated(probe, pacer))
  }

  *#estimated(probe: ScalarProbe, pacer: Pacer): Task<number> {
    if (probe.kind !== 'members' || probe.values.length <= exactMembers) {
      return rowsIn(yield* this.#runsOf(probe, pacer))
    }
    let rows = 0
    for (const stride of yield* wait(this.#pages.stridesWith(probe.values, pacer)))
      rows += yield* wait(this.#pages.rowsOfStride(stride, pacer))
    return rows
  }

  seek(key: Key, ordinals: number[], most: number): boolean {
    const run = this.#pages.seek(key)
    if (run === null || run.to - run.from > most) return false
    for (let entry = run.from; entry < run.to; entry++) {
      const { page, start } = this.#pages.pageOf(entry)
      const column = this.#pages.peek(page, ordinalColumn)
      if (column === undefined) return false
      const ordinal = ordinalAt(column.values as Uint8Array, entry - start)
      if (ordinal >= this.rows) throw this.#invalidOrdinal(ordinal)
      ordinals.push(ordinal)
    }
    return true
  }

  find(probe: ScalarProbe, pacer: Pacer): MaybePromise<RowSet> {
    return runTask(this.#found(probe, pacer))
  }

  *#found(probe: ScalarProbe, pacer: Pacer): Task<RowSet> {
    const runs = yield* this.#runsOf(probe, pacer)
    const count = rowsIn(runs)
    if (count === 0) return RowSet.none(this.rows)
    if (count === this.rows) return RowSet.all(this.rows)
    if (fewRows(count, this.rows)) {
      const numbers = yield* this.#numbers(runs, count, pacer)
      return count === 1 ? RowSet.of(this.rows, numbers) : RowSet.ofUnordered(this.rows, numbers)
    }
    if (2 * count <= this.rows) return RowSet.ofBits(yield* this.#bits(runs, pacer))
    return RowSet.ofBits((yield* this.#bits(between(runs, this.rows), pacer)).not())
  }

  async valueAt(rank: number, fromEnd: boolean, pacer: Pacer): Promise<Scalar> {
    const { values } = this.#pages
    if (rank >= values) return null
    const entry = fromEnd ? values - 1 - rank : rank
    const pieces = this.#pages.pieces([{ from: entry, to: entry + 1 }])
    const [rows] = await this.#pages.rows(pieces, 0, pacer)
    return scalarAt(rows!.column, pieces[0]!.from - rows!.from)
  }

  *#runsOf(probe: ScalarProbe, pacer: Pacer): Task<readonly Run[]> {
    if (this.#last?.probe === probe) return this.#last.runs
    const runs = yield* this.#runsFor(probe, pacer)
    this.#last = { probe, runs }
    return runs
  }

  *#runsFor(probe: ScalarProbe, pacer: Pacer): Task<readonly Run[]> {
    switch (probe.kind) {
      case 'range':
        return [yield* wait(this.#pages.between(probe.low, probe.high, pacer))]
      case 'members':
        return yield* wait(this.#pages.equalTo(probe.values, pacer))
      case 'null':
        return [{ from: this.#pages.values, to: this.rows }]
      default:
        return unreachable(probe.kind as never)
    }
  }

  *#numbers(runs: readonly Run[], count: number, pacer: Pacer): Task<Uint32Array> {
    const numbers = new Uint32Array(count)
    let at = 0
    for (const pieces of this.#pieces(runs)) {
      const rows = yield* wait(this.#pages.rows(pieces, ordinalColumn, pacer))
      for (const [i, { column, from }] of rows.entries()) {
        const piece = pieces[i]!
        copyOrdinals(column.values as Uint8Array, piece.from - from, piece.to - from, numbers, at)
        at += piece.to - piece.from
      }
      if (pacer.due()) yield pacer.pause()
    }
    for (let i = 0; i < count; i++) if (numbers[i]! >= this.rows) throw this.#invalidOrdinal(numbers[i]!)
    return numbers
  }

  *#bits(runs: readonly Run[], pacer: Pacer): Task<Bitset> {
    const bits = new Bitset(this.rows)
    for (const pieces of this.#pieces(runs)) {
      const rows = yield* wait(this.#pages.rows(pieces, ordinalColumn, pacer))
      for (const [i, { column, from }] of rows.entries()) {
        const piece = pieces[i]!
        const ordinals = column.values as Uint8Array
        const largest = addOrdinals(ordinals, piece.from - from, piece.to - from, bits.words)
        if (largest >= this.rows) throw this.#invalidOrdinal(largest)
      }
      if (pacer.due()) yield pacer.pause()
    }
    return bits
  }

  /** Split runs at page boundaries, and group the pieces whose ordinals are read together. */
  *#pieces(runs: readonly Run[]): Generator<readonly RowRun[]> {
    const pieces = this.#pages.pieces(runs)
    for (let i = 0; i < pieces.length; i += piecesAtOnce) yield pieces.slice(i, i + piecesAtOnce)
  }

  #invalidOrdinal(ordinal: number) {
    return damaged(`of ${this.rows} rows has the ordinal ${ordinal}`)
  }
}

/** Maximum number of pieces whose ordinals are read together. */
const piecesAtOnce = 256

function damaged(what: string) {
  return corrupted(`an index segment ${what}`)
}

function rowsIn(runs: readonly Run[]): number {
  let rows = 0
  for (const { from, to } of runs) rows += to - from
  return rows
}

/** Return the entries below `length` that are not in `runs`, as runs. */
function between(runs: readonly Run[], length: number): Run[] {
  const others: Run[] = []
  let from = 0
  for (const run of runs) {
    if (from < run.from) others.push({ from, to: run.from })
    from = run.to
  }
  if (from < length) others.push({ from, to: length })
  return others
}

function copyOrdinals(ordinals: Uint8Array, from: number, to: number, out: Uint32Array, start: number): void {
  for (let i = from; i < to; i++) out[start + i - from] = ordinalAt(ordinals, i)
}

/**
 * Add ordinals to a bitmap, and return the largest ordinal. Ignores ordinals beyond the bitmap. The caller must check
 * the largest ordinal.
 */
function addOrdinals(ordinals: Uint8Array, from: number, to: number, words: Uint32Array): number {
  const end = to * ordinalBytes
  let largest = 0
  for (let at = from * ordinalBytes; at < end; at += ordinalBytes) {
    const ordinal = ordinals[at]! | (ordinals[at + 1]! << 8) | (ordinals[at + 2]! << 16)
    words[ordinal >>> 5]! |= 1 << (ordinal & 31)
    if (ordinal > largest) largest = ordinal
  }
  return largest
}
