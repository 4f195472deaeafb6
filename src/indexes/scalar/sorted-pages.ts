/**
 * Writes the file of a BTREE segment, as record batches ("pages"):
 *
 * - Pages of values. Each value is stored with the ordinal of its row. The values ascend; equal values ascend by
 *   ordinal. A page has 64 strides. A lookup reads one stride.
 * - Pages of nulls.
 * - Last, the directory: the first value of every stride, and the number of values before the stride.
 */
import type { Batch, Column } from '../../arrow/column.js'
import { nullColumn } from '../../arrow/fill.js'
import type { Pacer } from '../../primitives/pacer.js'
import { type Cut, endOfPiece, type Ordered, rowsNotIn, valuesBetween, valuesOf } from './paging.js'
import { nullsPerPage, ordinalBytes, segmentSchema, strideRows, stridesPerPage } from './segment-schema.js'

const stride: Cut = { rows: strideRows, textBytes: 4 * 1024 }

/** Write the pages of a segment. */
export async function* sortedPages(ordered: Ordered, pacer: Pacer): AsyncGenerator<Batch> {
  const { values, order } = ordered
  const schema = segmentSchema('BTREE', values.type)
  const page = (column: Column, ordinals: Uint32Array): Batch => {
    return { schema, length: column.length, columns: [column, ordinalColumn(ordinals)] }
  }
  const starts: number[] = []
  for (let from = 0; from < order.length; ) {
    let to = from
    for (let i = 0; i < stridesPerPage && to < order.length; i++) {
      starts.push(to)
      to = endOfPiece(ordered, to, stride)
    }
    yield page(valuesBetween(ordered, from, to), order.subarray(from, to))
    from = to
    await pacer.turn()
  }
  const nulls = await rowsNotIn(order, values.length, pacer)
  for (let from = 0; from < nulls.length; from += nullsPerPage) {
    const rows = nulls.subarray(from, from + nullsPerPage)
    yield page(nullColumn(schema.fields[0]!.type, rows.length), rows)
    await pacer.turn()
  }
  const firsts = Uint32Array.from(starts, start => order[start]!)
  yield page(valuesOf(values, firsts), Uint32Array.from(starts))
}

function ordinalColumn(ordinals: Uint32Array): Column {
  const { length } = ordinals
  const values = new Uint8Array(ordinalBytes * length)
  for (let i = 0, at = 0; i < length; i++, at += ordinalBytes) {
    const ordinal = ordinals[i]!
    values[at] = ordinal
    values[at + 1] = ordinal >>> 8
    values[at + 2] = ordinal >>> 16
  }
  const type = { kind: 'fixed_size_binary', width: ordinalBytes } as const
  return { type, length, nullCount: 0, validity: null, values, offsets: null, children: [], dictionary: null }
}
