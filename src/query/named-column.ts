/** Columns by the names that requests have for them, outside of expressions. */
import type { Schema } from '../arrow/types.js'
import { columnNotFound, SheafError } from '../errors.js'
import { pathTo, resolveColumn } from '../sql/binding/names.js'
import type { BoundExpression, ColumnNode } from '../sql/bound.js'
import type { Chance } from '../sql/functions/call.js'
import { parseExpression } from '../sql/syntax/parse.js'

/**
 * The column of that name, else the only one that equals it when case is ignored, else the field of a struct that it is
 * the path of (`a.b`, names with dots in backticks: rules ). Throws code 12 with the nearest name.
 */
export function namedColumn(name: string, schema: Schema): ColumnNode {
  const at = { offset: 0, length: name.length }
  try {
    return resolveColumn([{ name, quote: '`', at }], schema, at)
  } catch (error) {
    const path = /[.`]/.test(name) ? pathIn(name) : null
    if (path !== null) return resolveColumn(path, schema, at)
    if (!(error instanceof SheafError) || error.at === undefined) throw error
    // The place is one in a filter; here the name is all there is.
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

export function columnExpression(column: ColumnNode, chance: Chance): BoundExpression {
  return { expr: column, type: column.type, columns: [column.path[0]!], warnings: [], chance }
}
