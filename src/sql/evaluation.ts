/**
 * Evaluates expressions for queries. The evaluation of operations is a lazy import: the binder loads it with all SQL
 * functions, and queries without expressions read plain columns.
 */
import type { Batch, Column } from '../arrow/column.js'
import { assert } from '../errors.js'
import { lazyImport } from '../lazy-import.js'
import type { Bitset } from '../primitives/bitset.js'
import { columnAt } from './batch-columns.js'
import type { BoundExpression } from './bound-expression.js'

/** The evaluation of operations. The binder sets it, so every bound operation can be evaluated without waiting. */
export const evaluating = lazyImport(() => import('./evaluate.js'))

/** Return the value of an expression for every row of `batch`, like `evaluate` in `evaluate.ts`. */
export function evaluate(bound: BoundExpression, batch: Batch): Column {
  const { expr } = bound
  return expr.kind === 'column' ? columnAt(batch, expr.path) : operations().evaluate(bound, batch)
}

/** Return the rows of `batch` for which `filter` is TRUE, like `selectRows` in `evaluate.ts`. */
export function selectRows(filter: BoundExpression, batch: Batch, within?: Bitset): Bitset {
  return operations().selectRows(filter, batch, within)
}

function operations() {
  const module = evaluating()
  assert(!(module instanceof Promise), 'the binder has loaded the evaluation of operations')
  return module
}
