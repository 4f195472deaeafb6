/** Reads the segments of a BITMAP or LABEL_LIST, which posting-pages.ts writes. */
import type { Column } from '../../arrow/column.js'
import { assert, corrupted } from '../../errors.js'
import { Bitset } from '../../primitives/bitset.js'
import type { Pacer } from '../../primitives/pacer.js'
import { RowSet } from '../../primitives/row-set.js'
import type { Scalar } from '../../sql/values/scalar.js'
import { exactMembers, fewRows } from './costs.js'
import { addRows, type EncodedRows, writeRows } from './encoded-rows.js'
import { Pages, type Run } from './pages.js'
import type { ScalarProbe } from './probe.js'
import type { ScalarSegment, SegmentFile } from './segment.js'

const countColumn = 1
const rowsColumn = 2
/**
 * Maximum number of sets that are united one after the other, if all sets together have few rows. More sets are
 * concatenated and then sorted.
 */
const fewSets = 4

/** An opened BITMAP or LABEL_LIST segment. */
export class PostingSegment implements ScalarSegment {
  readonly rows: number
  readonly #pages: Pages

  constructor(rows: number, file: SegmentFile) {
    this.rows = rows
    this.#pages = new Pages(file)
    const nulls = this.#pages.entries - this.#pages.values
    if (nulls > 1) throw corrupted(`an index segment has ${nulls} entries for null`)
  }

  async estimate(probe: ScalarProbe, pacer: Pacer): Promise<number> {
    switch (probe.kind) {
      case 'range':
        if (probe.low === null && probe.high === null)
          return this.rows - (await this.#count(this.#nulls(), pacer))
        return this.#count([await this.#pages.between(probe.low, probe.high, pacer)], pacer)
      case 'members':
      case 'any': {
        const { values } = probe
        const count =
          values.length > exactMembers
            ? await this.#countOfPages(values, pacer)
            : await this.#count(await this.#pages.equalTo(values, pacer), pacer)
        return Math.min(this.rows, count)
      }
      case 'all': {
        let least = this.rows
        for (const value of probe.values)
          least = Math.min(least, await this.#count(await this.#pages.equalTo([value], pacer), pacer))
        return least
      }
      case 'null':
        return this.#count(this.#nulls(), pacer)
    }
  }

  async find(probe: ScalarProbe, pacer: Pacer): Promise<RowSet> {
    switch (probe.kind) {
      case 'range':
        if (probe.low === null && probe.high === null)
          return RowSet.all(this.rows).andNot(await this.#union(this.#nulls(), pacer))
        return this.#union([await this.#pages.between(probe.low, probe.high, pacer)], pacer)
      case 'members':
      case 'any':
        return this.#union(await this.#pages.equalTo(probe.values, pacer), pacer)
      case 'all':
        return this.#intersection(probe.values, pacer)
      case 'null':
        return this.#union(this.#nulls(), pacer)
    }
  }

  #nulls(): readonly Run[] {
    return [{ from: this.#pages.values, to: this.#pages.entries }]
  }

  /** Sum the row counts of all entries in `runs`. A row that has several of their values counts several times. */
  async #count(runs: readonly Run[], pacer: Pacer): Promise<number> {
    let rows = 0
    let whole: Uint32Array | null = null
    let loaded = -1
    let counts: Uint32Array = noNumbers
    for (const { batch: page, from, to } of this.#pages.pieces(runs)) {
      if (page < this.#pages.count && to - from === this.#pages.rowsOf(page)) {
        whole ??= (await this.#pages.directory(countColumn, pacer)).values as Uint32Array
        rows += whole[page]!
        continue
      }
      if (page !== loaded) counts = (await this.#pages.column(page, countColumn, pacer)).values as Uint32Array
      loaded = page
      for (let i = from; i < to; i++) rows += counts[i]!
      if (pacer.due()) await pacer.pause()
    }
    return rows
  }

  /**
   * Sum the row counts of all pages that may contain `values`. The result is an upper bound of the matching rows. This
   * is faster than looking up each value.
   */
  async #countOfPages(values: readonly Scalar[], pacer: Pacer): Promise<number> {
    const counts = (await this.#pages.directory(countColumn, pacer)).values as Uint32Array
    let rows = 0
    for (const page of await this.#pages.stridesWith(values, pacer)) rows += counts[page]!
    return rows
  }

  async #union(runs: readonly Run[], pacer: Pacer): Promise<RowSet> {
    const { rows: length } = this
    const pieces = this.#pages.pieces(runs)
    const count = await this.#count(runs, pacer)
    const sets = runs.reduce((sum, { from, to }) => sum + to - from, 0)
    const isSorted = sets <= fewSets
    const numbers = (isSorted ? RowSet.areFew : fewRows)(count, length) ? new Uint32Array(count) : null
    const bits = numbers === null ? new Bitset(length) : null
    // The start of each set in `numbers`. Used only if `isSorted`.
    const starts: number[] = []
    let at = 0
    let loaded = -1
    let counts: Uint32Array = noNumbers
    let column: Column | null = null
    for (const { batch: page, from, to } of pieces) {
      if (page !== loaded || column === null) {
        counts = (await this.#pages.column(page, countColumn, pacer)).values as Uint32Array
        column = await this.#pages.column(page, rowsColumn, pacer)
        loaded = page
      }
      const encoded: EncodedRows = { bytes: column.values as Uint8Array, length }
      const offsets = column.offsets!
      for (let i = from; i < to; i++) {
        if (bits !== null) addRows(encoded, offsets[i]!, offsets[i + 1]!, counts[i]!, bits)
        else {
          if (at + counts[i]! > numbers!.length)
            throw corrupted('an index segment records fewer rows for a value than it has')
          if (isSorted) starts.push(at)
          writeRows(encoded, offsets[i]!, offsets[i + 1]!, counts[i]!, numbers!, at)
          at += counts[i]!
        }
        if (i % 64 === 0 && pacer.due()) await pacer.pause()
      }
    }
    if (bits !== null) return RowSet.ofBits(bits, sets === 1 ? count : undefined)
    if (!isSorted) return RowSet.ofUnordered(length, numbers!.subarray(0, at))
    let union = RowSet.none(length)
    for (const [i, start] of starts.entries())
      union = union.or(RowSet.of(length, numbers!.subarray(start, starts[i + 1] ?? at)))
    return union
  }

  /** Return the rows that have all values. Begins with the rarest value, so that the intermediate sets are small. */
  async #intersection(values: readonly Scalar[], pacer: Pacer): Promise<RowSet> {
    assert(values.length > 0, 'a probe of kind "all" has no values')
    const found: { readonly runs: readonly Run[]; readonly count: number }[] = []
    for (const value of values) {
      const runs = await this.#pages.equalTo([value], pacer)
      if (runs.length === 0) return RowSet.none(this.rows)
      found.push({ runs, count: await this.#count(runs, pacer) })
    }
    found.sort((a, b) => a.count - b.count)
    let rows = await this.#union(found[0]!.runs, pacer)
    for (let i = 1; i < found.length && rows.count > 0; i++) {
      rows = rows.and(await this.#union(found[i]!.runs, pacer))
    }
    return rows
  }
}

const noNumbers = new Uint32Array(0)
