/**
 * Joins the conditions of several `where` calls with AND, and gives one list of values to all SQL of a query. Each condition
 * and each fragment keeps its own values: their parameters are renumbered or renamed. Loaded only for such queries.
 */
import { invalidInput, quote, type SourceSpan } from '../errors.js'
import type { Request } from '../protocol/calls.js'
import { parseExpression } from '../sql/syntax/parse.js'
import { Lexer } from '../sql/syntax/tokens.js'

type Values = NonNullable<Request<'queryTable'>['parameters']>

/** An SQL text, and the values of its parameters. */
interface SqlWithValues {
  readonly filter: string
  readonly parameters?: Values | undefined
}

/** SQL of a step of a query that has values of its own: a condition, or a selected expression. */
export interface OwnSql extends SqlWithValues {
  /** The method that it was passed to: `where`, `having` or `select`. */
  readonly call: string
  /** The name of the selected expression. */
  readonly column?: string
}

type Fields = Pick<Request<'queryTable'>, 'filter' | 'parameters' | 'columns' | 'group_by' | 'having'>

/**
 * Return the fields of a query with the SQL of all `others` and all values. Other texts of `request` keep its parameters.
 * Throws `InvalidInput` for a condition that is not one expression, or that has other parameters than values.
 */
export function joinConditions(request: Fields, others: readonly OwnSql[]): Fields {
  const { filter, parameters, columns, group_by = [], having } = request
  const joined = new JoinedValues(parameters)
  const first = filter === undefined ? [] : [rewritten('where', { filter, parameters }, joined.known, false)]
  const filters: string[] = []
  let onGroups: string | undefined
  const selected: Record<string, string> = {}
  for (const other of others) {
    const names = new Map<string | number, string>()
    const name = (key: string | number, value: unknown) => {
      const known = names.get(key) ?? joined.add(value)
      names.set(key, known)
      return known
    }
    const text = rewritten(other.call, other, name, true)
    if (other.column !== undefined) selected[other.column] = text
    else if (other.call === 'having') onGroups = text
    else filters.push(text)
  }
  const aliases = columns?.column_aliases ?? {}
  // A parameter without a value must not take a value of other SQL.
  const rest = Object.keys(aliases).filter(column => !Object.hasOwn(selected, column))
  const texts = [
    ...rest.map(column => aliases[column]!),
    ...group_by,
    ...(onGroups === undefined && having !== undefined ? [having] : []),
  ]
  for (const text of texts) {
    if (/[?$]/.test(text)) rewritten('where', { filter: text, parameters }, joined.known, false)
  }
  const values = joined.values()
  return {
    ...(first.length + filters.length > 0 && { filter: allOf([...first, ...filters]) }),
    ...(onGroups !== undefined && { having: onGroups }),
    ...(columns !== undefined &&
      'column_aliases' in columns && { columns: { column_aliases: { ...aliases, ...selected } } }),
    ...(values !== undefined && { parameters: values }),
  }
}

function allOf(conditions: readonly string[]): string {
  return conditions.map(text => `(${text}${text.includes('--') ? '\n' : ''})`).join(' AND ')
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
 * Return a text with other parameters. `call`: the method that it was passed to, for messages. `nameOf` returns the new
 * parameter of a value. `ownsValues`: whether no other text uses the values, so that each value must be used.
 */
function rewritten(
  call: string,
  { filter, parameters }: SqlWithValues,
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
      throw invalidInput(`${call}: parameters are written ${style} and ${token.quote} in one condition`, {
        hint: 'use one style',
        at: token.at(),
      })
    }
    style = token.quote
    const key = style === ':' ? token.value : style === '?' ? questionMarks++ : Number(token.value) - 1
    const parameter = style === '?' ? `parameter ${questionMarks}` : `${style}${token.value}`
    used.add(key)
    text +=
      filter.slice(end, token.start) +
      nameOf(key, valueFor(call, parameters, { key, parameter, at: token.at() }))
    end = token.end
  }
  if (ownsValues || style === '?') checkUsed(call, parameters, used, style)
  return text + filter.slice(end)
}

function valueFor(
  call: string,
  values: Values | undefined,
  {
    key,
    parameter,
    at,
  }: { readonly key: string | number; readonly parameter: string; readonly at: SourceSpan },
): unknown {
  if (values !== undefined && Array.isArray(values) !== (typeof key === 'number')) {
    const [given, wanted] = Array.isArray(values) ? ['an array', 'an object'] : ['an object', 'an array']
    throw invalidInput(`${call}: the values are ${given}; ${parameter} needs ${wanted}`, { at })
  }
  if (values === undefined || !Object.hasOwn(values, key)) {
    throw invalidInput(`${call}: no value is given for ${parameter}`, { at })
  }
  return (values as Readonly<Record<string | number, unknown>>)[key]
}

function checkUsed(
  call: string,
  values: Values | undefined,
  used: ReadonlySet<string | number>,
  style: string | null,
): void {
  if (values === undefined) return
  if (Array.isArray(values)) {
    if (style === '$' || values.length <= used.size) return
    throw invalidInput(`${call}: ${values.length} parameters are given, ${used.size} are used`)
  }
  const unused = Object.keys(values).find(name => !used.has(name))
  if (unused === undefined) return
  throw invalidInput(`${call}: the parameter ${quote(unused)} is given, but the condition does not use it`, {
    hint: 'write a named parameter as :name in the text',
  })
}
