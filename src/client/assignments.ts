/** Converts the assignments of an update to wire fields. Plain values travel as parameters, never inside SQL. */
import { invalidInput, quote } from '../errors.js'
import { type ParameterValue, writeParameters } from '../protocol/parameters.js'
import { isObject } from '../protocol/parse.js'
import { isSqlFragment, textFrom } from '../sql/syntax/sql-fragment.js'
import type { Assignments } from './row-types.js'

export function updateFields(set: Assignments): {
  readonly updates: readonly (readonly [string, string])[]
  readonly update_parameters: ReturnType<typeof writeParameters>
} {
  if (!isObject(set)) {
    throw invalidInput(`update: columns are set by name, as { column: value }, not ${quote(set)}`)
  }
  const updates: (readonly [string, string])[] = []
  const values: ParameterValue[] = []
  for (const [column, value] of Object.entries(set)) {
    if (value === undefined) {
      throw invalidInput(`update: the value of column ${quote(column)} is undefined`, {
        hint: 'NULL is written null',
      })
    }
    if (typeof value === 'string' && !value.isWellFormed()) {
      throw invalidInput(
        `update: the value of column ${quote(column)} holds half of a surrogate pair: ${quote(value)}`,
        {
          hint: 'cut texts between characters; toWellFormed() puts U+FFFD in place of each half',
        },
      )
    }
    updates.push([
      column,
      isSqlFragment(value) ? textFrom(value, values.length + 1) : `$${values.length + 1}`,
    ])
    if (isSqlFragment(value)) values.push(...(value.parameters as readonly ParameterValue[]))
    else values.push(value)
  }
  if (updates.length === 0) {
    throw invalidInput('update: no column is set', { hint: 'name one or more: update({ column: value })' })
  }
  return { updates, update_parameters: writeParameters(values) }
}
