/** Converts the assignments of an update to wire fields. Plain values are sent as parameters, never as SQL text. */
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
    throw invalidInput(`update: the changes must be an object { column: value }, got ${quote(set)}`)
  }
  const updates: (readonly [string, string])[] = []
  const values: ParameterValue[] = []
  for (const [column, value] of Object.entries(set)) {
    if (value === undefined) {
      throw invalidInput(`update: the value of column ${quote(column)} is undefined`, {
        hint: 'to set NULL, use null',
      })
    }
    if (isObject(value) && !isSqlFragment(value)) {
      throw invalidInput(`update: the value of column ${quote(column)} is an object`, {
        hint: "write update({ column: value }, 'id = ?', [5])",
      })
    }
    if (typeof value === 'string' && !value.isWellFormed()) {
      throw invalidInput(
        `update: the value of column ${quote(column)} holds half of a surrogate pair: ${quote(value)}`,
        {
          hint: 'cut texts only between characters; value.toWellFormed() replaces half of a pair with U+FFFD',
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
    throw invalidInput('update: the changes are empty', {
      hint: 'set at least one column: update({ column: value })',
    })
  }
  return { updates, update_parameters: writeParameters(values) }
}
