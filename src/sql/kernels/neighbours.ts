/** Find equal neighbours in a sorted column. */
import type { Column } from '../../arrow/column.js'
import { sliceColumn } from '../../arrow/slice.js'
import { operandOf } from '../values/vector.js'
import { compareOperands } from './compare.js'

/**
 * Return a bitmap whose bit `i` is set if row `i` equals row `i + 1`. The column must not be a dictionary and must have
 * no NULLs.
 */
export function equalNeighbours(column: Column): Uint32Array {
  const count = Math.max(0, column.length - 1)
  const left = operandOf(sliceColumn(column, 0, count), false)
  const right = operandOf(sliceColumn(column, column.length - count, count), false)
  return compareOperands('=', left, right, count, null).isTrue
}
