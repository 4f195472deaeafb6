/**
 * Joins the conditions of several `where` calls with AND. Each condition keeps its own parameters: the request has one
 * list of values, so the parameters of the conditions are renumbered or renamed. Loaded only for a second `where`.
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
 * Return a filter for which `request.filter` and all `others` are true, and its values. Selected expressions and groups
 * keep the parameters of `request`. Throws `InvalidInput` for a condition that is not one expression, or that has other
 * parameters than values.
 */
export function joinConditions(
  request: Fields,
  others: readonly Condition[],
): { readonly filter: string; readonly parameters?: Values } {
  const { filter = '', parameters, columns, group_by = [] } = request
  const joined = new JoinedValues(parameters)
  // A parameter without a value must not take a value of another condition.
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

/** The values of all conditions: a list if the first values are a list, otherwise an object. */
class JoinedValues {
  readonly #list: unknown[] | null
  readonly #named: Record<string, unknown>
  #next = 1

  constructor(first: Values | undefined) {
    this.#list = first === undefined ? [] : Array.isArray(first) ? [...first] : null
    this.#named = this.#list === null ? { ...(first as Readonly<Record<string, unknown>>) } : {}
  }

  /** Return the parameter for a value of the first condition. */
  readonly known = (key: string | number) => (typeof key === 'number' ? `$${key + 1}` : `:${key}`)

  /** Add a value, and return its parameter. */
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
 * Return the text of a condition with other parameters. `nameOf` returns the new parameter of a value. `ownsValues`:
 * whether no other text uses the values, so that each value must be used.
 */
function rewritten(
  { filter, parameters }: Condition,
  nameOf: (key: string | number, value: unknown) => string,
  ownsValues: boolean,
): string {
  // The text alone must be one expression: `a) OR (b` must not become one between parentheses.
  parseExpression(filter)
  const used = new Set<string | number>()
  let style: string | null = null
  let questionMarks = 0
  let text = ''
  let end = 0
  for (const token = new Lexer(filter); token.kind !== 'end'; token.advance()) {
    if (token.kind !== 'parameter') continue
    if (style !== null && style !== token.quote) {
      throw invalidInput(`where: parameters are written ${style} and ${token.quote} in one condition`, {
        hint: 'use one style',
        at: token.at(),
      })
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
    throw invalidInput(`where: the values are ${given}; ${parameter} needs ${wanted}`, { at })
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
    hint: 'write a named parameter as :name in the text',
  })
}
