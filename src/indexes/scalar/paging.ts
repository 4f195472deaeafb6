/** Splits sorted values into pieces: pages, and the strides of which a page consists (pages.ts). */
import type { Column } from '../../arrow/column.js'
import { hasOffsets } from '../../arrow/layout.js'
import { sliceColumn } from '../../arrow/slice.js'
import { takeColumn } from '../../arrow/take.js'
import { Bitset } from '../../primitives/bitset.js'
import type { Pacer } from '../../primitives/pacer.js'
import { decoded } from '../../sql/kernels/dictionary.js'
import { valueType } from '../../sql/values/types.js'

/** Maximum size of a piece of sorted values: a number of values, and for texts also a number of bytes. */
export interface Cut {
  readonly rows: number
  readonly textBytes: number
}

/**
 * Minimum number of texts in a piece, also if they are long. The directory of a segment has one text per piece, so larger
 * pieces keep the directory small.
 */
const fewestTexts = 16

/** A column and its sort order. */
export interface Ordered {
  readonly values: Column
  /** The non-null rows, ascending by value; equal values ascend by row. */
  readonly order: Uint32Array
  /** The values in the order of `order`. Null: they must be looked up in `values`. */
  readonly sorted: Column | null
}

/** Return the end of the piece that begins at `from`. */
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

/** Return the values at positions `from` to `to - 1` of the sort order. */
export function valuesBetween({ values, order, sorted }: Ordered, from: number, to: number): Column {
  return sorted === null ? valuesOf(values, order.subarray(from, to)) : sliceColumn(sorted, from, to - from)
}

/** Return the values of `rows`, without dictionary encoding. */
export function valuesOf(values: Column, rows: Uint32Array): Column {
  return decoded(takeColumn(values, rows))
}

/** Return the rows below `length` that are not in `order`. They are the rows with a null value. */
export async function rowsNotIn(order: Uint32Array, length: number, pacer: Pacer): Promise<Uint32Array> {
  if (order.length === length) return new Uint32Array(0)
  const missing = Bitset.full(length)
  for (let from = 0; from < order.length; from += rowsAtOnce) {
    const to = Math.min(order.length, from + rowsAtOnce)
    for (let at = from; at < to; at++) missing.remove(order[at]!)
    await pacer.turn()
  }
  return missing.toIndices()
}

/** Rows processed between two checks of the clock. */
export const rowsAtOnce = 64 * 1024
