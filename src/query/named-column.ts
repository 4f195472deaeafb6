/** Resolves column names in requests, outside of expressions. */
import type { Schema } from '../arrow/types.js'
import { columnNotFound, SheafError } from '../errors.js'
import { pathTo, resolveColumn } from '../sql/binding/names.js'
import { BoundExpression, type ColumnNode } from '../sql/bound.js'
import type { Chance } from '../sql/functions/call.js'
import { parseExpression } from '../sql/syntax/parse.js'

/**
 * Return the column of that name; else the only one that is equal without case; else the struct field of that path (`a.b`, names
 * with dots in backticks: rules ). Throws `ColumnNotFound` with the nearest name.
 */
export function namedColumn(name: string, schema: Schema): ColumnNode {
  const at = { offset: 0, length: name.length }
  try {
    return resolveColumn([{ name, quote: '`', at }], schema, at)
  } catch (error) {
    const path = /[.`]/.test(name) ? pathIn(name) : null
    if (path !== null) return resolveColumn(path, schema, at)
    if (!(error instanceof SheafError) || error.at === undefined) throw error
    // The error has an offset in a filter; here the name is the whole text.
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
