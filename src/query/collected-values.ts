/** Implements the aggregates that keep the values of groups in row order: `array_agg` and `string_agg`. */
import type { Column } from '../arrow/column.js'
import { concatColumns } from '../arrow/concat.js'
import { emptyColumn } from '../arrow/fill.js'
import { columnBytes } from '../arrow/layout.js'
import { sliceColumn } from '../arrow/slice.js'
import { takeColumn } from '../arrow/take.js'
import type { DataType } from '../arrow/types.js'
import { invalidInput } from '../errors.js'
import type { Pacer } from '../primitives/pacer.js'
import { decoded } from '../sql/kernels/dictionary.js'
import { elementType } from '../sql/values/types.js'
import { byteRowsOf, columnOf, wordCount } from '../sql/values/vector.js'
import { type Accumulator, present } from './accumulator.js'
import { sortedPositions } from './group-order.js'

/** Maximum size of the values of all groups. Joining more values would block the event loop. */
const maxMebibytes = 32
const maxBytes = maxMebibytes * 1024 * 1024
/** Number of bytes of values that are copied between two checks whether to let the event loop run. */
const bytesAtOnce = 1024 * 1024
/** Number of texts that are joined between two checks whether to let the event loop run. */
const textsAtOnce = 4096

/** Collects the values of all groups, and sorts them by group after the last row. */
class CollectedValues {
  readonly #fn: string
  readonly #type: DataType
  /** Bytes to count for each value in addition to its own bytes: its group number, and the separator in the result. */
  readonly #extraBytes: number
  #owners: Uint32Array[] = []
  #pieces: Column[] = []
  #bytes = 0

  constructor(fn: string, type: DataType, extraBytes = 0) {
    this.#fn = fn
    this.#type = type
    this.#extraBytes = 4 + extraBytes
  }

  /** Add values. `owners`: group of each value. `values` must not share memory with the cache, because it is kept. */
  add(owners: Uint32Array, values: Column): void {
    if (owners.length === 0) return
    this.#bytes += columnBytes(values) + owners.length * this.#extraBytes
    if (this.#bytes > maxBytes) {
      throw invalidInput(`${this.#fn} keeps at most ${maxMebibytes} MiB of values of all groups in memory`, {
        hint: 'aggregate fewer rows per query: filter them with where, or with FILTER; or read the rows with batches()',
      })
    }
    this.#owners.push(owners)
    this.#pieces.push(values)
  }

  /**
   * Return all values, sorted by group and within a group in row order, and for each group the index after its last
   * value.
   */
  async sorted(
    count: number,
    pacer: Pacer,
  ): Promise<{ readonly values: Column; readonly ends: Uint32Array }> {
    const { ends, positions } = await sortedPositions(this.#owners, count, pacer)
    if (this.#pieces.length === 0) return { values: emptyColumn(this.#type), ends }
    const all = concatColumns(this.#pieces)
    await pacer.turn()
    const rows = new Uint32Array(all.length)
    let first = 0
    for (const own of positions) {
      for (let i = 0; i < own.length; i++) rows[own[i]!] = first + i
      first += own.length
      await pacer.turn()
    }
    this.#owners = []
    this.#pieces = []
    const step = Math.max(1, Math.floor(bytesAtOnce / Math.max(4, this.#bytes / all.length)))
    const sorted: Column[] = []
    for (let from = 0; from < all.length; from += step) {
      sorted.push(takeColumn(all, rows.subarray(from, from + step)))
      await pacer.turn()
    }
    return { values: concatColumns(sorted), ends }
  }
}

/** `array_agg`: collects the values of each group in a list. NULLs are included. */
export class ListOfValues implements Accumulator {
  readonly #type: DataType
  readonly #collected: CollectedValues
  #values: Column | null = null
  #ends: Uint32Array = new Uint32Array(0)

  constructor(type: DataType) {
    this.#type = type
    this.#collected = new CollectedValues('array_agg', elementType(type)!)
  }

  add(groups: Uint32Array, arg: Column | null): void {
    this.#collected.add(groups, decoded(takeColumn(arg!, allRowsOf(arg!))))
  }

  async prepare(count: number, pacer: Pacer): Promise<void> {
    const { values, ends } = await this.#collected.sorted(count, pacer)
    this.#values = values
    this.#ends = ends
  }

  finish(from: number, to: number): Column {
    const { offsets, valid, first, last } = listRows(this.#ends, from, to)
    const child = sliceColumn(this.#values!, first, last - first)
    return columnOf(this.#type, to - from, { offsets, children: [child] }, valid)
  }
}

/** `string_agg`: joins the texts of each group with a separator between them. */
export class JoinedTexts implements Accumulator {
  readonly #type: DataType
  readonly #separator: Uint8Array
  readonly #collected: CollectedValues
  /** The joined texts of all groups, one after the other. */
  #bytes = new Uint8Array(0)
  /** By group: the end of its joined text in `#bytes`. */
  #ends: Uint32Array = new Uint32Array(0)
  /** By group: the number of texts up to and including this group. It tells which groups have no text. */
  #texts: Uint32Array = new Uint32Array(0)

  constructor(type: DataType, separator: string) {
    this.#type = type
    this.#separator = new TextEncoder().encode(separator)
    this.#collected = new CollectedValues('string_agg', type, this.#separator.length)
  }

  add(groups: Uint32Array, arg: Column | null): void {
    const [owners, column] = present(groups, arg!)
    if (owners.length === 0) return
    this.#collected.add(owners, column === arg ? takeColumn(column, allRowsOf(column)) : column)
  }

  async prepare(count: number, pacer: Pacer): Promise<void> {
    const { values, ends } = await this.#collected.sorted(count, pacer)
    const { bytes, offsets } = byteRowsOf(values)
    const separator = this.#separator
    const joined = new Uint8Array(offsets[values.length]! + separator.length * values.length)
    const joinedEnds = new Uint32Array(count)
    let at = 0
    let unchecked = 0
    for (let group = 0, first = 0; group < count; group++) {
      const end = ends[group]!
      for (let row = first; row < end; row++) {
        if (row > first) {
          joined.set(separator, at)
          at += separator.length
        }
        joined.set(bytes.subarray(offsets[row]!, offsets[row + 1]!), at)
        at += offsets[row + 1]! - offsets[row]!
        if (++unchecked % textsAtOnce === 0) await pacer.turn()
      }
      joinedEnds[group] = at
      first = end
    }
    this.#bytes = joined
    this.#ends = joinedEnds
    this.#texts = ends
  }

  finish(from: number, to: number): Column {
    const { valid } = listRows(this.#texts, from, to)
    const { offsets, first, last } = listRows(this.#ends, from, to)
    return columnOf(this.#type, to - from, { values: this.#bytes.subarray(first, last), offsets }, valid)
  }
}

function allRowsOf({ length }: Column): Uint32Array {
  const rows = new Uint32Array(length)
  for (let row = 0; row < length; row++) rows[row] = row
  return rows
}

/**
 * Compute the list offsets of the groups from `from` to `to - 1` from the ends of all groups. An empty group is NULL.
 */
function listRows(ends: Uint32Array, from: number, to: number) {
  const first = from === 0 ? 0 : ends[from - 1]!
  const offsets = new Int32Array(to - from + 1)
  const valid = new Uint32Array(wordCount(to - from))
  for (let i = 0; i < to - from; i++) {
    offsets[i + 1] = ends[from + i]! - first
    if (offsets[i + 1]! > offsets[i]!) valid[i >>> 5]! |= 1 << (i & 31)
  }
  return { offsets, valid, first, last: first + offsets[to - from]! }
}
