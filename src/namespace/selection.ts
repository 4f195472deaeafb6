/** The columns of an answer as the handles take them, and as the field of a request. */
import type { Request } from '../protocol/calls.js'

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

function isNames(
  columns: readonly string[] | Readonly<Record<string, string>>,
): columns is readonly string[] {
  return Array.isArray(columns)
}
