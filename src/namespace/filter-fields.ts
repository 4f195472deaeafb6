/** Conditions as the handles take them, as the fields of a request. */
import { invalidInput, quote } from '../errors.js'
import { type Parameters, writeParameters } from '../protocol/parameters.js'
import type { SqlFragment } from '../sql/syntax/tag.js'

/** SQL with the values of its parameters, or what the tag `sql` makes, which brings its own. `call`: whose argument it is. */
export function filterFields(
  call: string,
  filter: string | SqlFragment,
  parameters: Parameters | undefined,
): { readonly filter: string; readonly parameters?: ReturnType<typeof writeParameters> } {
  if (typeof filter === 'string') {
    if (filter.trim() === '') throw invalidInput(`${call}: the condition is blank`)
    return { filter, ...(parameters !== undefined && { parameters: writeParameters(parameters) }) }
  }
  if (typeof filter?.text !== 'string' || !Array.isArray(filter.parameters)) {
    throw invalidInput(`${call}: a condition is SQL text, or what the tag sql makes, not ${quote(filter)}`)
  }
  if (parameters !== undefined)
    throw invalidInput(`${call}: parameters are given beside a condition that has its own`)
  const own = filter.parameters as Parameters & readonly unknown[]
  return { filter: filter.text, ...(own.length > 0 && { parameters: writeParameters(own) }) }
}
