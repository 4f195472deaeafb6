/** Builds the record batches of a scalar segment's file from a column and its sort order. */
import type { Batch, Column } from '../../arrow/column.js'
import { assert } from '../../errors.js'
import type { Pacer } from '../../primitives/pacer.js'
import { postingPages } from './posting-pages.js'
import type { ScalarKind } from './probe.js'
import { maxSegmentRows } from './segment-schema.js'
import { sortedPages } from './sorted-pages.js'

/**
 * Build the record batches of a segment, with the schema `segmentSchema(kind, values.type)`. Each batch is built when
 * the consumer requests it.
 *
 * - `values`: the indexed column, with at most `maxSegmentRows` rows. The row number is the ordinal.
 * - `order`: the non-null rows, ascending by value; equal values ascend by row. For a LABEL_LIST: the non-null elements
 *   of the concatenated lists. write/sort-column returns `order` and `sorted`.
 * - `sorted`: the values in the order of `order`. Null (default): the builder looks up the values.
 */
export function buildSegment(
  kind: ScalarKind,
  values: Column,
  order: Uint32Array,
  pacer: Pacer,
  sorted: Column | null = null,
): AsyncGenerator<Batch> {
  assert(
    values.length <= maxSegmentRows,
    `a segment of ${values.length} rows, at most ${maxSegmentRows} are allowed`,
  )
  const isList = kind === 'LABEL_LIST'
  const ordered = { values: isList ? values.children[0]! : values, order, sorted }
  return kind === 'BTREE' ? sortedPages(ordered, pacer) : postingPages(ordered, isList ? values : null, pacer)
}
