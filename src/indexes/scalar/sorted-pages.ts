/**
 * Writes the file of a BTREE: batches ("pages") of values that ascend, each with the ordinal of its row, equal values by
 * ordinal; then pages of nulls; last the directory: the first value of every page of values, with ordinal 0.
 */
import type { Batch, Column } from '../../arrow/column.js'
import { nullColumn } from '../../arrow/fill.js'
import type { Pacer } from '../../primitives/pacer.js'
import { endOfPage, type Ordered, pageRows, rowsBeside, valuesBetween, valuesOf } from './paging.js'
import { ordinalBytes, segmentSchema } from './segment-schema.js'

export async function* sortedPages(ordered: Ordered, pacer: Pacer): AsyncGenerator<Batch> {
  const { values, order } = ordered
  const schema = segmentSchema('BTREE', values.type)
  const page = (column: Column, ordinals: Uint32Array): Batch => {
    return { schema, length: column.length, columns: [column, ordinalColumn(ordinals)] }
  }
  const firsts: number[] = []
  for (let from = 0; from < order.length; ) {
    const to = endOfPage(ordered, from)
    yield page(valuesBetween(ordered, from, to), order.subarray(from, to))
    firsts.push(order[from]!)
    from = to
    await pacer.turn()
  }
  const nulls = await rowsBeside(order, values.length, pacer)
  for (let from = 0; from < nulls.length; from += pageRows) {
    const rows = nulls.subarray(from, from + pageRows)
    yield page(nullColumn(schema.fields[0]!.type, rows.length), rows)
    await pacer.turn()
  }
  yield page(valuesOf(values, Uint32Array.from(firsts)), new Uint32Array(firsts.length))
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
