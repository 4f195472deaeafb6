/** The columns of an answer as the handles take them, and as the field of a request. */
import type { Request } from '../protocol/calls.js'
import { containsAggregate } from '../sql/binding/aggregates.js'
import { parseExpression } from '../sql/syntax/parse.js'

type Selected = Pick<Request<'queryTable'>, 'columns'>

/** Names of columns, or expressions (SQL) by the names they get. */
export function columnsField(columns: readonly string[] | Readonly<Record<string, string>>): Selected {
  return { columns: isNames(columns) ? { column_names: columns } : { column_aliases: columns } }
}

/** Whether a column that queries make is among those selected. */
export function selects({ columns }: Selected, name: string): boolean {
  if (columns === undefined) return false
  const names = 'column_names' in columns ? columns.column_names! : Object.keys(columns.column_aliases!)
  return names.some(selected => selected.toLowerCase() === name)
}

/** Whether a row of the answer is one of a group. */
export function isOfGroups({
  group_by,
  columns,
}: Pick<Request<'queryTable'>, 'columns' | 'group_by'>): boolean {
  if (group_by !== undefined) return true
  if (columns === undefined || !('column_aliases' in columns)) return false
  return Object.values(columns.column_aliases!).some(text => {
    try {
      return containsAggregate(parseExpression(text))
    } catch {
      // The query will say what is wrong with it.
      return false
    }
  })
}

function isNames(
  columns: readonly string[] | Readonly<Record<string, string>>,
): columns is readonly string[] {
  return Array.isArray(columns)
}
