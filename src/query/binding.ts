/**
 * What makes expressions of text. Every function of the dialect comes with it, and not every query has an expression: it is
 * loaded for the first that has one.
 */
import { assert } from '../errors.js'
import { lazyImport } from '../lazy-import.js'
import type { QueryRequest } from '../protocol/query-shapes.js'
import type * as bind from '../sql/binding/bind.js'

export type Binding = Pick<typeof bind, 'bindFilter' | 'bindExpression'>

export const binding = lazyImport(() => import('../sql/binding/bind.js'))

/** Whether some fields of a query are expressions. */
export function hasExpressions({ filter, columns, group_by }: QueryRequest): boolean {
  return (
    filter !== undefined || group_by !== undefined || (columns !== undefined && 'column_aliases' in columns)
  )
}

export interface BindingOptions extends bind.BindOptions {
  /** Null for a query without expressions. */
  readonly binding: Binding | null
}

export function bindingOf({ binding }: BindingOptions): Binding {
  assert(binding !== null, 'a query with expressions is settled without what binds them')
  return binding
}
