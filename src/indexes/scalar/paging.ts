/** What pages of values that ascend are cut from. */
import type { Column } from '../../arrow/column.js'
import { hasOffsets } from '../../arrow/layout.js'
import { sliceColumn } from '../../arrow/slice.js'
import { takeColumn } from '../../arrow/take.js'
import { Bitset } from '../../primitives/bitset.js'
import type { Pacer } from '../../primitives/pacer.js'
import { decoded } from '../../sql/kernels/dictionary.js'
import { valueType } from '../../sql/values/types.js'

/** Where values are cut: after so many, or after texts of so many bytes. */
export interface Cut {
  readonly rows: number
  readonly textBytes: number
}

/** However long texts are: the directory has one of each piece. */
const fewestTexts = 16

/** A column in the order of its values. */
export interface Ordered {
  readonly values: Column
  /** The rows that are not null, ascending by value, equal ones by number. */
  readonly order: Uint32Array
  /** The values of these rows, where they are at hand. */
  readonly sorted: Column | null
}

/** Where the piece that begins at `from` ends. */
export function endOfPiece({ values, order }: Ordered, from: number, { rows, textBytes }: Cut): number {
  const most = Math.min(order.length, from + rows)
  if (!hasOffsets(valueType(values.type))) return most
  const { offsets } = values.dictionary ?? values
  const entries = values.dictionary === null ? null : values.values!
  let bytes = 0
  for (let at = from; at < most; at++) {
    const row = entries === null ? order[at]! : Number(entries[order[at]!])
    bytes += offsets![row + 1]! - offsets![row]!
    if (bytes > textBytes && at + 1 - from >= fewestTexts) return at + 1
  }
  return most
}

/** The values at `from` to `to - 1` of the order. */
export function valuesBetween({ values, order, sorted }: Ordered, from: number, to: number): Column {
  return sorted === null ? valuesOf(values, order.subarray(from, to)) : sliceColumn(sorted, from, to - from)
}

/** The values of some rows, as themselves. */
export function valuesOf(values: Column, rows: Uint32Array): Column {
  return decoded(takeColumn(values, rows))
}

/** The rows below `length` that are not in `order`. */
export async function rowsBeside(order: Uint32Array, length: number, pacer: Pacer): Promise<Uint32Array> {
  if (order.length === length) return new Uint32Array(0)
  const missing = Bitset.full(length)
  for (let from = 0; from < order.length; from += rowsAtOnce) {
    const to = Math.min(order.length, from + rowsAtOnce)
    for (let at = from; at < to; at++) missing.remove(order[at]!)
    await pacer.turn()
  }
  return missing.toIndices()
}

/** Rows handled between two looks at the clock. */
export const rowsAtOnce = 64 * 1024
