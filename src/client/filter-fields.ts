/** Converts SQL conditions of the client to wire fields. */
import { cut, invalidInput, quote } from '../errors.js'
import { type Parameters, writeParameters } from '../protocol/parameters.js'
import { isObject } from '../protocol/parse.js'
import { either, given, string } from '../protocol/shape.js'
import { isSqlFragment, type SqlFragment, textFrom } from '../sql/syntax/sql-fragment.js'

/** The shape of an option that is an SQL condition. */
export const conditionShape = either<string | SqlFragment>(
  { is: isSqlFragment, shape: given<SqlFragment>('a fragment made by the tag sql', isSqlFragment) },
  { is: () => true, shape: string('nonBlank') },
)

/** Parameter values as wire fields. */
type Values = ReturnType<typeof writeParameters>

/**
 * Return the wire fields of a condition: SQL text with the values of its parameters, or a fragment of the tag `sql`,
 * which brings its own values. `call`: the name of the method, for messages. `known`: a list of values of other SQL in the
 * request, which the values of a fragment follow.
 */
export function filterFields(
  call: string,
  filter: string | SqlFragment,
  parameters?: Parameters | undefined,
  known?: Values,
): { readonly filter: string; readonly parameters?: Values } {
  if (typeof filter === 'string') {
    if (filter.trim() === '') throw invalidInput(`${call}: the condition is blank`)
    if (parameters === undefined) return { filter }
    return { filter, parameters: writeParameters(parameters) }
  }
  if (!isSqlFragment(filter)) {
    throw invalidInput(
      `${call}: a condition must be SQL text, or a fragment made by the tag sql, got ${quote(filter)}`,
      { hint: `write ${call}(${exampleOf(filter)})` },
    )
  }
  if (parameters !== undefined)
    throw invalidInput(
      `${call}: parameters are not allowed with a fragment of the tag sql, which has its own values`,
    )
  if (filter.parameters.length === 0) return { filter: filter.text }
  const values = writeParameters(filter.parameters as Parameters)
  if (!Array.isArray(known)) return { filter: filter.text, parameters: values }
  return { filter: textFrom(filter, known.length + 1), parameters: known.concat(values) }
}

/** Return the arguments for a condition that a caller wrote as an object of values. */
function exampleOf(filter: unknown): string {
  const entries = isObject(filter) ? Object.entries(filter).slice(0, 3) : []
  const isReadable = entries.every(([, value]) => ['string', 'number', 'boolean'].includes(typeof value))
  if (entries.length === 0 || !isReadable) return "'id = ?', [7]"
  const condition = entries.map(([name]) => `${name} = ?`).join(' AND ')
  return `'${condition}', [${entries.map(([, value]) => quoted(value)).join(', ')}]`
}

function quoted(value: unknown): string {
  return typeof value === 'string' ? `'${cut(value)}'` : String(value)
}
