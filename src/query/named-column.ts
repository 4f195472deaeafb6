/** Resolves column names of requests that are not part of an expression. */
import type { Schema } from '../arrow/types.js'
import { columnNotFound, SheafError } from '../errors.js'
import { pathTo, resolveColumn } from '../sql/binding/names.js'
import { BoundExpression } from '../sql/bound-expression.js'
import type { ColumnNode } from '../sql/column-node.js'
import type { Chance } from '../sql/functions/call.js'
import { parseExpression } from '../sql/syntax/parse.js'

/**
 * Resolve a column name (rules ). The first of these matches is the result:
 * 1. the column with exactly this name,
 * 2. the only column whose name differs only in upper and lower case,
 * 3. the struct field with this path (`a.b`; names with dots are in backticks).
 *
 * Throws `ColumnNotFound`. Its hint has the most similar name.
 */
export function namedColumn(name: string, schema: Schema): ColumnNode {
  const at = { offset: 0, length: name.length }
  try {
    return resolveColumn([{ name, quote: '`', at }], schema, at)
  } catch (error) {
    const path = /[.`]/.test(name) ? pathIn(name) : null
    if (path !== null) return resolveColumn(path, schema, at)
    if (!(error instanceof SheafError) || error.at === undefined) throw error
    // The caught error has an offset in an expression. Here there is no expression, so throw an error without an
    // offset.
    throw columnNotFound(
      name,
      schema.fields.map(field => field.name),
      undefined,
      pathTo(name, schema.fields),
    )
  }
}

function pathIn(name: string) {
  try {
    const tree = parseExpression(name)
    return tree.kind === 'column' ? tree.path : null
  } catch {
    return null
  }
}

/** Return an expression that reads a column. */
export function columnExpression(column: ColumnNode, chance: Chance): BoundExpression {
  return new BoundExpression(column, chance)
}
