/** Converts the selected columns of a query to wire fields. */
import { invalidInput, quote } from '../errors.js'
import { lazyImport } from '../lazy-import.js'
import { type MaybePromise, whenResolved } from '../primitives/task.js'
import type { Request } from '../protocol/calls.js'
import { isObject, parse } from '../protocol/parse.js'
import { array, either, record, string } from '../protocol/shape.js'
import { isSqlFragment, type SqlFragment } from '../sql/syntax/sql-fragment.js'
import { filterFields } from './filter-fields.js'
import type { OwnSql } from './join-conditions.js'

const importAggregates = lazyImport(() => import('../sql/binding/aggregates.js'))

type Selected = Pick<Request<'queryTable'>, 'columns'>

/** Names of columns, or SQL expressions keyed by column name. */
type Columns = readonly string[] | Readonly<Record<string, string>>

export const columnsShape = either<Columns>(
  { is: Array.isArray, shape: array(string('nonEmpty'), { distinct: name => name }) },
  { is: value => typeof value === 'object' && value !== null, shape: record(string('nonBlank')) },
)

/** Return the wire field of selected columns. `call`: the name of the method, for messages. */
export function columnsField(call: string, columns: Columns): Selected {
  if (typeof columns !== 'object' || columns === null) {
    const hint = typeof columns === 'string' ? `name them in an array: [${quote(columns)}]` : undefined
    throw invalidInput(
      `${call}: columns must be an array of names, or an object of SQL expressions by name, got ${quote(columns)}`,
      { hint },
    )
  }
  if (Object.values<unknown>(columns).includes(true)) {
    throw invalidInput(`${call}: true is not an SQL expression`, {
      hint: `name columns in an array: ${quote(Object.keys(columns))}`,
    })
  }
  const checked = parse(columnsShape, columns, call)
  if (Object.keys(checked).length === 0) {
    throw invalidInput(`${call}: the list of columns is empty`, {
      hint: `name at least one column; to get all columns, do not call ${call}`,
    })
  }
  return { columns: isNames(checked) ? { column_names: checked } : { column_aliases: checked } }
}

/**
 * Return the wire field of selected columns, including fragments of the tag `sql`, and the fragments that have values of
 * their own. `joinConditions` numbers their parameters when the query runs.
 */
export function selectedFields(
  call: string,
  columns: readonly string[] | Readonly<Record<string, string | SqlFragment>>,
): { readonly fields: Selected; readonly withValues: readonly OwnSql[] } {
  const withValues: OwnSql[] = []
  if (!isObject(columns) || !Object.values(columns).some(isSqlFragment)) {
    return { fields: columnsField(call, columns as Columns), withValues }
  }
  const texts: Record<string, string> = {}
  for (const [column, expression] of Object.entries(columns)) {
    const isFragment = isSqlFragment(expression)
    texts[column] = isFragment ? expression.text : expression
    if (isFragment && expression.parameters.length > 0) {
      withValues.push({ call, column, ...filterFields(call, expression) })
    }
  }
  return { fields: columnsField(call, texts), withValues }
}

/** Return whether a generated column such as `_rowid` is selected. */
export function selects({ columns }: Selected, name: string): boolean {
  if (columns === undefined) return false
  const names = 'column_names' in columns ? columns.column_names! : Object.keys(columns.column_aliases!)
  return names.some(selected => selected.toLowerCase() === name)
}

/**
 * Return whether the answer has one row per group. Loads the SQL parser if a selected expression has a function call.
 */
export function isOfGroups({
  group_by,
  columns,
}: Pick<Request<'queryTable'>, 'columns' | 'group_by'>): MaybePromise<boolean> {
  if (group_by !== undefined) return true
  if (columns === undefined || !('column_aliases' in columns)) return false
  const calls = Object.values(columns.column_aliases!).filter(text => text.includes('('))
  if (calls.length === 0) return false
  return whenResolved(importAggregates(), ({ isAggregate }) => calls.some(isAggregate))
}

function isNames(columns: Columns): columns is readonly string[] {
  return Array.isArray(columns)
}
