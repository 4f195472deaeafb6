/**
 * Joins the conditions of several `where` calls with AND, and makes one list of the values of all SQL of a query. Each
 * condition and each fragment keeps its own values, because its parameters are renumbered or renamed. This file is loaded
 * only for queries with several conditions or several lists of values.
 */
import { cut, invalidInput, quote, type SourceSpan } from '../errors.js'
import type { Request } from '../protocol/calls.js'
import { parseExpression } from '../sql/syntax/parse.js'
import { Lexer } from '../sql/syntax/tokens.js'

type Values = NonNullable<Request<'queryTable'>['parameters']>

/** An SQL text, and the values of its parameters. */
interface SqlWithValues {
  readonly filter: string
  readonly parameters?: Values | undefined
}

/** SQL of a step of a query that has its own values: a condition, or a selected expression. */
export interface OwnSql extends SqlWithValues {
  /** The method that received the SQL: `where`, `having` or `select`. */
  readonly call: string
  /** The name of the selected expression. */
  readonly column?: string
}

type Fields = Pick<Request<'queryTable'>, 'filter' | 'parameters' | 'columns' | 'group_by' | 'having'>

/**
 * Add the SQL of all `others` to the fields of a query, and return the fields with all values. Parameters in other texts
 * of `request` stay valid. Throws `InvalidInput` if a text is not exactly one expression, or if its parameters do not
 * match its values.
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
  // Check that these texts have values for their parameters. Otherwise they would get values of other SQL.
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
    ...(first.length + filters.length > 0 && { filter: conjunction([...first, ...filters]) }),
    ...(onGroups !== undefined && { having: onGroups }),
    ...(columns !== undefined &&
      'column_aliases' in columns && { columns: { column_aliases: { ...aliases, ...selected } } }),
    ...(values !== undefined && { parameters: values }),
  }
}

function conjunction(texts: readonly string[]): string {
  return texts.map(text => `(${text}${text.includes('--') ? '\n' : ''})`).join(' AND ')
}

/** The fields of a prepared query whose conditions are joined. */
export interface OpenQuery {
  readonly fields: Fields
  /** Return the values of a request: `values` of the call, and the values that other SQL of the query has itself. */
  readonly withValues: (values: Values) => Values
}

/**
 * Join the SQL of a prepared query. SQL without values shares the values of a call: the first `?` of the second
 * condition continues the numbers of the first condition. SQL with values keeps these values.
 *
 * Throws `InvalidInput` if SQL without values has parameters of different styles, if `?` is used in more than one kind of
 * SQL, or if SQL without values would take the values of the first condition.
 */
export function openQuery(request: Fields, own: readonly OwnSql[]): OpenQuery {
  const { filter, parameters, columns, group_by = [], having } = request
  const first = filter === undefined ? [] : [{ call: 'where', filter, parameters }]
  const all: readonly OwnSql[] = [...first, ...own]
  const fixed = all.filter(each => each.parameters !== undefined)
  const conditions = all.filter(each => each.parameters === undefined)
  const ownColumns = new Set(own.map(({ column }) => column))
  const others = [
    ...Object.entries(columns?.column_aliases ?? {}).flatMap(([name, text]) =>
      ownColumns.has(name) ? [] : [text],
    ),
    ...group_by,
    ...(having === undefined || own.some(({ call }) => call === 'having') ? [] : [having]),
  ].flatMap(parametersIn)
  if (parameters !== undefined && others.length > 0) throw sharedValues()
  const inConditions = conditions.flatMap(each => parametersIn(each.filter))
  const styles = new Set([...others, ...inConditions].map(({ style }) => style))
  if (styles.size > 1 || (styles.has('?') && others.length > 0)) {
    throw invalidInput('a prepared query with several texts of SQL needs one style of parameters', {
      hint: 'write $1 or :name in all SQL of the query',
    })
  }
  let questionMarks = 0
  const nameOf = (key: string | number) => {
    if (typeof key === 'string') return `:${key}`
    return styles.has('?') ? `$${++questionMarks}` : `$${key + 1}`
  }
  const texts = conditions.map(each => renamed(each.call, each.filter, nameOf).text)
  const open = openValues([...others, ...inConditions], styles.has(':'))
  const joined = joinConditions(
    {
      ...request,
      filter: texts.length === 0 ? undefined : conjunction(texts),
      parameters: open.placeholders,
    },
    fixed,
  )
  return { fields: joined, withValues: values => open.replaced(values, joined.parameters) }
}

/** Maximum number of values of a prepared query by position. */
const mostValues = 1_000_000

/** Return the values if they have exactly these names. Throws `InvalidInput` otherwise. */
function checkedNames(
  values: Readonly<Record<string, unknown>>,
  names: ReadonlySet<string>,
): Readonly<Record<string, unknown>> {
  const missing = [...names].find(name => !Object.hasOwn(values, name))
  if (missing !== undefined) throw invalidInput(`no value is given for :${missing}`)
  const unknown = Object.keys(values).find(name => !names.has(name))
  if (unknown === undefined) return values
  throw invalidInput(`the parameter :${cut(unknown)} is given, but no expression uses it`)
}

/** The values of a call, before they are known. */
function openValues(parameters: readonly ParameterText[], isNamed: boolean) {
  const names = new Set(parameters.map(({ value }) => value))
  const count = Math.max(
    0,
    ...parameters.map(({ style, value }, i) => (style === '?' ? i + 1 : Number(value))),
  )
  if (count > mostValues) {
    throw invalidInput(
      `the query has the parameter $${count}, but a prepared query takes at most ${mostValues} values`,
    )
  }
  const placeholders: Values = isNamed
    ? Object.fromEntries([...names].map(name => [name, null]))
    : new Array(count).fill(null)
  return {
    placeholders,
    /** Return `all` values of a query, with those of the call in place of the placeholders. */
    replaced(values: Values, all: Values = placeholders): Values {
      if (Array.isArray(values) === isNamed) {
        const [given, wanted] = isNamed ? ['an array', 'an object'] : ['an object', 'an array']
        throw invalidInput(`the values are ${given}, but the parameters of the query need ${wanted}`)
      }
      if (isNamed) return { ...all, ...checkedNames(values as Record<string, unknown>, names) }
      if (values.length === count) return [...(values as unknown[]), ...(all as unknown[]).slice(count)]
      throw invalidInput(`the query takes ${count} values, got ${values.length}`)
    },
  }
}

/** A parameter in a text. `value`: its name, or its number from 1. */
interface ParameterText {
  readonly style: string
  readonly value: string
}

/** Return the parameters of a text, in order. */
export function parametersIn(text: string): readonly ParameterText[] {
  const found: ParameterText[] = []
  if (!/[?$:]/.test(text)) return found
  for (const token = new Lexer(text); token.kind !== 'end'; token.advance()) {
    if (token.kind === 'parameter') found.push({ style: token.quote, value: token.value })
  }
  return found
}

function sharedValues() {
  return invalidInput(
    'a prepared query has SQL with parameters that share the values of the first where, which are given already',
    { hint: 'give all values when the query runs, or write the condition with the tag sql' },
  )
}

/** The parameter values of all SQL: an object if the first condition has named values, otherwise a list. */
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
 * Return a text with other parameters. `call`: the method that received the text, for messages. `nameOf` returns the new
 * parameter of a value. `ownsValues`: whether no other text uses the values, so that each value must be used.
 */
function rewritten(
  call: string,
  { filter, parameters }: SqlWithValues,
  nameOf: (key: string | number, value: unknown) => string,
  ownsValues: boolean,
): string {
  const used = new Set<string | number>()
  const { text, style } = renamed(call, filter, (key, parameter, at) => {
    used.add(key)
    return nameOf(key, valueFor(call, parameters, { key, parameter, at }))
  })
  if (ownsValues || style === '?') checkUsed(call, parameters, used, style)
  return text
}

/**
 * Return a condition with other parameters. `nameOf` receives the name or the number (from 0) of a parameter, its text
 * for messages and its position. Throws `InvalidInput` for a text that is not one expression.
 */
function renamed(
  call: string,
  filter: string,
  nameOf: (key: string | number, parameter: string, at: SourceSpan) => string,
): { readonly text: string; readonly style: string | null } {
  // Check the text before parentheses are added, because `a) OR (b` becomes valid SQL inside parentheses.
  parseExpression(filter)
  let style: string | null = null
  let questionMarks = 0
  let text = ''
  let end = 0
  for (const token = new Lexer(filter); token.kind !== 'end'; token.advance()) {
    if (token.kind !== 'parameter') continue
    if (style !== null && style !== token.quote) {
      throw invalidInput(
        `${call}: one condition has parameters written with ${style} and with ${token.quote}`,
        {
          hint: 'write all parameters of the condition in one style: ?, $1 or :name',
          at: token.at(),
        },
      )
    }
    style = token.quote
    const key = style === ':' ? token.value : style === '?' ? questionMarks++ : Number(token.value) - 1
    const parameter = style === '?' ? `parameter ${questionMarks}` : `${style}${token.value}`
    text += filter.slice(end, token.start) + nameOf(key, parameter, token.at())
    end = token.end
  }
  return { text: text + filter.slice(end), style }
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
    throw invalidInput(`${call}: the parameter values are ${given}, but ${parameter} needs ${wanted}`, { at })
  }
  if (values === undefined || !Object.hasOwn(values, key)) {
    const hint =
      typeof key === 'string'
        ? `pass the values in an object, for example ${call}(sql, { ${key}: value })`
        : `pass the values in an array, for example ${call}(sql, [value])`
    throw invalidInput(`${call}: no value is given for ${parameter}`, {
      hint: values === undefined ? hint : undefined,
      at,
    })
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
    hint: `use the value in the condition as :${unused}, or leave it out`,
  })
}
