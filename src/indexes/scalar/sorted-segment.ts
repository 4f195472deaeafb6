/** Reads what sorted-pages.ts wrote: the segments of a BTREE. */
import { corrupted, unreachable } from '../../errors.js'
import { Bitset } from '../../primitives/bitset.js'
import type { Pacer } from '../../primitives/pacer.js'
import { RowSet } from '../../primitives/row-set.js'
import type { Scalar } from '../../sql/bound.js'
import { scalarAt } from '../../sql/values/vector.js'
import { exactMembers, fewRows } from './costs.js'
import { Pages, type Run } from './pages.js'
import type { ScalarProbe } from './probe.js'
import type { ScalarSegment, SegmentFile } from './segment.js'
import { ordinalBytes } from './segment-schema.js'

export class SortedSegment implements ScalarSegment {
  readonly rows: number
  readonly #pages: Pages
  /** Who has asked how many rows a probe finds mostly asks for them next. */
  #last: { readonly probe: ScalarProbe; readonly runs: readonly Run[] } | null = null

  constructor(rows: number, file: SegmentFile) {
    this.rows = rows
    this.#pages = new Pages(file)
    if (this.#pages.entries !== rows) throw damaged(`has ${this.#pages.entries} ordinals for ${rows} rows`)
  }

  async estimate(probe: ScalarProbe, pacer: Pacer): Promise<number> {
    if (probe.kind !== 'members' || probe.values.length <= exactMembers) {
      return rowsIn(await this.#runsOf(probe, pacer))
    }
    let rows = 0
    for (const page of await this.#pages.pagesWith(probe.values, pacer)) rows += this.#pages.rowsOf(page)
    return rows
  }

  async find(probe: ScalarProbe, pacer: Pacer): Promise<RowSet> {
    const runs = await this.#runsOf(probe, pacer)
    const count = rowsIn(runs)
    if (count === 0) return RowSet.none(this.rows)
    if (count === this.rows) return RowSet.all(this.rows)
    if (fewRows(count, this.rows))
      return RowSet.ofUnordered(this.rows, await this.#numbers(runs, count, pacer))
    if (2 * count <= this.rows) return RowSet.ofBits(await this.#bits(runs, pacer))
    return RowSet.ofBits((await this.#bits(between(runs, this.rows), pacer)).not())
  }

  async valueAt(rank: number, fromEnd: boolean, pacer: Pacer): Promise<Scalar> {
    const { values } = this.#pages
    if (rank >= values) return null
    const entry = fromEnd ? values - 1 - rank : rank
    const [piece] = this.#pages.pieces([{ from: entry, to: entry + 1 }])
    return scalarAt(await this.#pages.column(piece!.page, 0, pacer), piece!.from)
  }

  async #runsOf(probe: ScalarProbe, pacer: Pacer): Promise<readonly Run[]> {
    if (this.#last?.probe === probe) return this.#last.runs
    const runs = await this.#found(probe, pacer)
    this.#last = { probe, runs }
    return runs
  }

  async #found(probe: ScalarProbe, pacer: Pacer): Promise<readonly Run[]> {
    switch (probe.kind) {
      case 'range':
        return [await this.#pages.between(probe.low, probe.high, pacer)]
      case 'members':
        return this.#pages.equalTo(probe.values, pacer)
      case 'null':
        return [{ from: this.#pages.values, to: this.rows }]
      default:
        return unreachable(probe.kind as never)
    }
  }

  async #numbers(runs: readonly Run[], count: number, pacer: Pacer): Promise<Uint32Array> {
    const numbers = new Uint32Array(count)
    let at = 0
    let loaded = -1
    let ordinals: Uint8Array = noBytes
    for (const { page, from, to } of this.#pages.pieces(runs)) {
      if (page !== loaded) ordinals = (await this.#pages.column(page, 1, pacer)).values as Uint8Array
      loaded = page
      copyOrdinals(ordinals, from, to, numbers, at)
      at += to - from
      if (pacer.due()) await pacer.pause()
    }
    for (let i = 0; i < count; i++) if (numbers[i]! >= this.rows) throw this.#beyond(numbers[i]!)
    return numbers
  }

  async #bits(runs: readonly Run[], pacer: Pacer): Promise<Bitset> {
    const bits = new Bitset(this.rows)
    for (const { page, from, to } of this.#pages.pieces(runs)) {
      const ordinals = (await this.#pages.column(page, 1, pacer)).values as Uint8Array
      const largest = addOrdinals(ordinals, from, to, bits.words)
      if (largest >= this.rows) throw this.#beyond(largest)
      if (pacer.due()) await pacer.pause()
    }
    return bits
  }

  #beyond(ordinal: number) {
    return damaged(`of ${this.rows} rows has the ordinal ${ordinal}`)
  }
}

const noBytes = new Uint8Array(0)

function damaged(what: string) {
  return corrupted(`an index segment ${what}`)
}

function rowsIn(runs: readonly Run[]): number {
  let rows = 0
  for (const { from, to } of runs) rows += to - from
  return rows
}

/** The entries below `length` that are in no run. */
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
  const end = to * ordinalBytes
  for (let at = from * ordinalBytes, i = start; at < end; at += ordinalBytes) {
    out[i++] = ordinals[at]! | (ordinals[at + 1]! << 8) | (ordinals[at + 2]! << 16)
  }
}

/** Gives the largest of them; words that are not there are passed over. */
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
