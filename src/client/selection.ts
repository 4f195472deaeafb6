/** Converts the selected columns of a query to wire fields. */
import { invalidInput, quote } from '../errors.js'
import { lazyImport } from '../lazy-import.js'
import { type MaybePromise, whenResolved } from '../primitives/task.js'
import type { Request } from '../protocol/calls.js'
import { isObject, parse } from '../protocol/parse.js'
import { array, either, record, string } from '../protocol/shape.js'
import { isSqlFragment, type SqlFragment } from '../sql/syntax/sql-fragment.js'
import { fragmentFields } from './filter-fields.js'

const importAggregates = lazyImport(() => import('../sql/binding/aggregates.js'))

type Selected = Pick<Request<'queryTable'>, 'columns'>
type Values = Request<'queryTable'>['parameters']

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
  const checked = parse(columnsShape, columns, call)
  if (Object.keys(checked).length === 0) {
    throw invalidInput(`${call}: the list of columns is empty`, {
      hint: `name at least one column; to get all columns, do not call ${call}`,
    })
  }
  return { columns: isNames(checked) ? { column_names: checked } : { column_aliases: checked } }
}

/**
 * Return the wire fields of selected columns, which may be fragments made by the tag `sql`. `known`: parameter values
 * that other SQL of the request uses. Undefined: no other SQL has values.
 */
export function selectedFields(
  call: string,
  columns: readonly string[] | Readonly<Record<string, string | SqlFragment>>,
  known: Values,
): Selected & { readonly parameters?: Values } {
  if (!isObject(columns) || !Object.values(columns).some(isSqlFragment)) {
    return columnsField(call, columns as Columns)
  }
  let values = known
  const texts: Record<string, string> = {}
  for (const [name, expression] of Object.entries(columns)) {
    if (!isSqlFragment(expression)) {
      texts[name] = expression
      continue
    }
    const fields = fragmentFields(call, expression, values)
    texts[name] = fields.text
    values = fields.values
  }
  return { ...columnsField(call, texts), ...(values !== undefined && { parameters: values }) }
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
