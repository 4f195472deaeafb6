/** The batches of a segment's file, made from a column and the order of its values. */
import type { Batch, Column } from '../../arrow/column.js'
import { assert } from '../../errors.js'
import type { Pacer } from '../../primitives/pacer.js'
import { postingPages } from './posting-pages.js'
import type { ScalarKind } from './probe.js'
import { maxSegmentRows } from './segment-schema.js'
import { sortedPages } from './sorted-pages.js'

/**
 * Batches of `segmentSchema(kind, values.type)`, made as they are asked for.
 *
 * - `values`: what is indexed, at most `maxSegmentRows` rows; a row's number is its ordinal.
 * - `order`: the rows that are not null, ascending by value, equal ones by row. For a LABEL_LIST: the elements, of all
 *   lists one after the other, that are not null (write/sort-column gives both this and `sorted`).
 * - `sorted`: the values of `order`, where they are at hand; else they are looked up.
 */
export function buildSegment(
  kind: ScalarKind,
  values: Column,
  order: Uint32Array,
  pacer: Pacer,
  sorted: Column | null = null,
): AsyncGenerator<Batch> {
  assert(values.length <= maxSegmentRows, `${values.length} rows in one segment`)
  const isList = kind === 'LABEL_LIST'
  const ordered = { values: isList ? values.children[0]! : values, order, sorted }
  return kind === 'BTREE' ? sortedPages(ordered, pacer) : postingPages(ordered, isList ? values : null, pacer)
}
