/**
 * Loads the binder of expressions when a query first has an expression. The binder imports every SQL function, and many
 * queries have no expression.
 */
import { assert } from '../errors.js'
import { lazyImport } from '../lazy-import.js'
import type { QueryRequest } from '../protocol/query-shapes.js'
import type * as bind from '../sql/binding/bind.js'

/** The functions that bind expressions. */
export type Binding = Pick<typeof bind, 'bindFilter' | 'bindExpression' | 'bindCondition' | 'parseFilter'>

/** Load the binder. */
export const binding = lazyImport(() => import('../sql/binding/bind.js'))

/** Return whether a query may have expressions. An `order_by` name with a special character may be an expression. */
export function hasExpressions({ filter, columns, group_by, order_by }: QueryRequest): boolean {
  return (
    filter !== undefined ||
    group_by !== undefined ||
    (columns !== undefined && 'column_aliases' in columns) ||
    order_by?.some(({ column_name }) => /[^\w.]/.test(column_name)) === true
  )
}

export interface BindingOptions extends bind.BindOptions {
  /** The loaded binder. Null for a query without expressions. */
  readonly binding: Binding | null
}

/** Return the binder. Throws if the caller did not load it: callers must do this if `hasExpressions` is true. */
export function bindingOf({ binding }: BindingOptions): Binding {
  assert(binding !== null, 'a query with expressions is planned without a binding')
  return binding
}
