/** Binds the filter of operations that have no other expression, such as delete and count. */
import type { TableSchema } from '../manifest/table-schema.js'
import { type Clock, systemClock } from '../primitives/clock.js'
import type { QueryRequest } from '../protocol/query-shapes.js'
import { bindFilter } from '../sql/binding/bind.js'
import type { BoundExpression } from '../sql/bound-expression.js'
import { parametersOf } from './plan-query.js'
import { sourceSchema } from './source.js'

/**
 * Bind a filter to the columns of a table, `_rowid` and `_rowoffset`. `parameters`: values of the placeholders, encoded
 * as in the request.
 */
export function bindTableFilter(
  text: string,
  schema: TableSchema,
  parameters?: QueryRequest['parameters'],
  clock: Clock = systemClock,
): BoundExpression {
  const list = parametersOf(parameters)
  const filter = bindFilter(text, sourceSchema(schema), { parameters: list, clock })
  list.checkUsed()
  return filter
}
