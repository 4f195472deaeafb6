/**
 * Loads the binder of expressions on the first query with an expression. The binder brings every function of the dialect, and
 * many queries have no expression.
 */
import { assert } from '../errors.js'
import { lazyImport } from '../lazy-import.js'
import type { QueryRequest } from '../protocol/query-shapes.js'
import type * as bind from '../sql/binding/bind.js'

/** The functions that bind expressions. */
export type Binding = Pick<typeof bind, 'bindFilter' | 'bindExpression' | 'bindCondition'>

/** Load the binder. */
export const binding = lazyImport(() => import('../sql/binding/bind.js'))

/** Return whether a query has expressions. An order may have: a name with a special character may be an expression. */
export function hasExpressions({ filter, columns, group_by, order_by }: QueryRequest): boolean {
  return (
    filter !== undefined ||
    group_by !== undefined ||
    (columns !== undefined && 'column_aliases' in columns) ||
    order_by?.some(({ column_name }) => /[^\w.]/.test(column_name)) === true
  )
}

export interface BindingOptions extends bind.BindOptions {
  /** Null for a query without expressions. */
  readonly binding: Binding | null
}

/** Return the binder; fails for a query that was planned without one. */
export function bindingOf({ binding }: BindingOptions): Binding {
  assert(binding !== null, 'a query with expressions is planned without a binding')
  return binding
}
