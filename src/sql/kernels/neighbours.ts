/** Which rows of a column in order begin another value. */
import type { Column } from '../../arrow/column.js'
import { sliceColumn } from '../../arrow/slice.js'
import { compareOperands } from './compare.js'

/** Bit `i`: row `i` is equal to row `i + 1`. The column is no dictionary and has no nulls. */
export function equalNeighbours(column: Column): Uint32Array {
  const count = Math.max(0, column.length - 1)
  const left = { column: sliceColumn(column, 0, count), constant: false }
  const right = { column: sliceColumn(column, column.length - count, count), constant: false }
  return compareOperands('=', left, right, count, null).isTrue
}
