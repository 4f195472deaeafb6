/**
 * Joins the conditions of several `where` calls with AND. A request has only one list of parameter values, so the
 * parameters of the conditions are renumbered or renamed. This module is loaded when a query has a second `where`.
 */
import { invalidInput, quote, type SourceSpan } from '../errors.js'
import type { Request } from '../protocol/calls.js'
import { parseExpression } from '../sql/syntax/parse.js'
import { Lexer } from '../sql/syntax/tokens.js'

type Values = NonNullable<Request<'queryTable'>['parameters']>

/** The SQL text of a condition, and the values of its parameters. */
export interface Condition {
  readonly filter: string
  readonly parameters?: Values | undefined
}

type Fields = Pick<Request<'queryTable'>, 'filter' | 'parameters' | 'columns' | 'group_by'>

/**
 * Join `request.filter` and all `others` with AND, and return the joined filter with the values of its parameters.
 * Parameters in selected expressions and groups of `request` stay valid. Throws `InvalidInput` if a condition is not
 * exactly one expression, or if its parameters do not match its values.
 */
export function joinConditions(
  request: Fields,
  others: readonly Condition[],
): { readonly filter: string; readonly parameters?: Values } {
  const { filter = '', parameters, columns, group_by = [] } = request
  const joined = new JoinedValues(parameters)
  // Check that these texts have values for their parameters. Otherwise they would get values of another condition.
  for (const text of [...Object.values(columns?.column_aliases ?? {}), ...group_by]) {
    if (/[?$]/.test(text)) rewritten({ filter: text, parameters }, joined.known, false)
  }
  const texts = [rewritten({ filter, parameters }, joined.known, false)]
  for (const other of others) {
    const names = new Map<string | number, string>()
    const name = (key: string | number, value: unknown) => {
      const known = names.get(key) ?? joined.add(value)
      names.set(key, known)
      return known
    }
    texts.push(rewritten(other, name, true))
  }
  const values = joined.values()
  return {
    filter: texts.map(text => `(${text}${text.includes('--') ? '\n' : ''})`).join(' AND '),
    ...(values !== undefined && { parameters: values }),
  }
}

/** The parameter values of all conditions: an object if the first condition has named values, otherwise a list. */
class JoinedValues {
  readonly #list: unknown[] | null
  readonly #named: Record<string, unknown>
  #next = 1

  constructor(first: Values | undefined) {
    this.#list = first === undefined ? [] : Array.isArray(first) ? [...first] : null
    this.#named = this.#list === null ? { ...(first as Readonly<Record<string, unknown>>) } : {}
  }

  /** Return the parameter, as SQL text, for the value at `key` of the first condition. */
  readonly known = (key: string | number) => (typeof key === 'number' ? `$${key + 1}` : `:${key}`)

  /** Add a value, and return the parameter for it as SQL text. */
  add(value: unknown): string {
    if (this.#list !== null) return `$${this.#list.push(value)}`
    while (Object.hasOwn(this.#named, `where_${this.#next}`)) this.#next++
    const name = `where_${this.#next}`
    this.#named[name] = value
    return `:${name}`
  }

  values(): Values | undefined {
    if (this.#list === null) return this.#named
    return this.#list.length === 0 ? undefined : this.#list
  }
}

/**
 * Return the text of a condition with new names of its parameters. `nameOf` returns the new name for a value.
 * `ownsValues`: whether only this text uses the values. If so, an unused value is an error.
 */
function rewritten(
  { filter, parameters }: Condition,
  nameOf: (key: string | number, value: unknown) => string,
  ownsValues: boolean,
): string {
  // Check the text before parentheses are added, because `a) OR (b` becomes valid SQL inside parentheses.
  parseExpression(filter)
  const used = new Set<string | number>()
  let style: string | null = null
  let questionMarks = 0
  let text = ''
  let end = 0
  for (const token = new Lexer(filter); token.kind !== 'end'; token.advance()) {
    if (token.kind !== 'parameter') continue
    if (style !== null && style !== token.quote) {
      throw invalidInput(
        `where: one condition has parameters written with ${style} and with ${token.quote}`,
        {
          hint: 'write all parameters of the condition in one style: ?, $1 or :name',
          at: token.at(),
        },
      )
    }
    style = token.quote
    const key = style === ':' ? token.value : style === '?' ? questionMarks++ : Number(token.value) - 1
    const parameter = style === '?' ? `parameter ${questionMarks}` : `${style}${token.value}`
    used.add(key)
    text += filter.slice(end, token.start) + nameOf(key, valueFor(parameters, key, parameter, token.at()))
    end = token.end
  }
  if (ownsValues || style === '?') checkUsed(parameters, used, style)
  return text + filter.slice(end)
}

function valueFor(
  values: Values | undefined,
  key: string | number,
  parameter: string,
  at: SourceSpan,
): unknown {
  if (values !== undefined && Array.isArray(values) !== (typeof key === 'number')) {
    const [given, wanted] = Array.isArray(values) ? ['an array', 'an object'] : ['an object', 'an array']
    throw invalidInput(`where: the parameter values are ${given}, but ${parameter} needs ${wanted}`, { at })
  }
  if (values === undefined || !Object.hasOwn(values, key)) {
    throw invalidInput(`where: no value is given for ${parameter}`, { at })
  }
  return (values as Readonly<Record<string | number, unknown>>)[key]
}

function checkUsed(
  values: Values | undefined,
  used: ReadonlySet<string | number>,
  style: string | null,
): void {
  if (values === undefined) return
  if (Array.isArray(values)) {
    if (style === '$' || values.length <= used.size) return
    throw invalidInput(`where: ${values.length} parameters are given, ${used.size} are used`)
  }
  const unused = Object.keys(values).find(name => !used.has(name))
  if (unused === undefined) return
  throw invalidInput(`where: the parameter ${quote(unused)} is given, but the condition does not use it`, {
    hint: `use the value in the condition as :${unused}, or leave it out`,
  })
}
