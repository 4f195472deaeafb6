/** Converts SQL conditions of the client to wire fields. */
import { invalidInput, quote } from '../errors.js'
import { type Parameters, writeParameters } from '../protocol/parameters.js'
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
 * Return the wire fields of a condition. The condition is an SQL text with the values of its parameters, or a fragment
 * made by the tag `sql`, which has its own values. `call`: the name of the method, for messages. `known`: parameter
 * values that other SQL of the request uses. Undefined: no other SQL has values.
 */
export function filterFields(
  call: string,
  filter: string | SqlFragment,
  parameters: Parameters | undefined,
  known?: Values,
): { readonly filter: string; readonly parameters?: Values } {
  if (typeof filter === 'string') {
    if (filter.trim() === '') throw invalidInput(`${call}: the condition is blank`)
    if (parameters === undefined) return { filter }
    if (known !== undefined) throw severalValues(call)
    return { filter, parameters: writeParameters(parameters) }
  }
  if (typeof filter?.text !== 'string' || !Array.isArray(filter.parameters)) {
    throw invalidInput(
      `${call}: a condition must be SQL text, or a fragment made by the tag sql, got ${quote(filter)}`,
    )
  }
  if (parameters !== undefined)
    throw invalidInput(
      `${call}: parameters are not allowed with a fragment of the tag sql, which has its own values`,
    )
  const { text, values } = fragmentFields(call, filter, known)
  return { filter: text, ...(values !== undefined && { parameters: values }) }
}

/**
 * Return the text of a fragment, and all values of the request: the values `known` of other SQL, then the values of the
 * fragment. Throws `InvalidInput` if the `known` values are named.
 */
export function fragmentFields(
  call: string,
  fragment: SqlFragment,
  known: Values | undefined,
): { readonly text: string; readonly values: Values | undefined } {
  const own = fragment.parameters as Parameters & readonly unknown[]
  if (own.length === 0) return { text: fragment.text, values: known }
  if (known === undefined) return { text: fragment.text, values: writeParameters(own) }
  if (!Array.isArray(known) || !isSqlFragment(fragment)) throw mixedValues(call)
  const values = [...known, ...(writeParameters(own) as readonly unknown[])]
  return { text: textFrom(fragment, known.length + 1), values }
}

function severalValues(call: string) {
  return invalidInput(`${call}: other SQL of the query already has parameter values`, {
    hint: 'write the SQL of both calls with the tag sql, with the values inside',
  })
}

function mixedValues(call: string) {
  return invalidInput(`${call}: SQL with parameters cannot be combined with fragments of the tag sql`, {
    hint: 'write all SQL of the call with the tag sql, with its values inside',
  })
}
