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
type OpenFields = Fields & Pick<Request<'queryTable'>, 'having'>

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
    filter: conjunction(texts),
    ...(values !== undefined && { parameters: values }),
  }
}

/** The joined conditions of a prepared query. */
export interface OpenConditions {
  readonly filter: string
  /** Return the values of the request: `values` of the call, and the values that the conditions have themselves. */
  readonly parameters: (values: Values) => Values
}

/**
 * Join the conditions of a prepared query with AND. Conditions without values share the values of a call: the first `?`
 * of the second condition continues the numbers of the first condition. Conditions with values keep these values.
 *
 * Throws `InvalidInput` if conditions without values have parameters of different styles, or if other SQL of the request
 * has values of its own.
 */
export function openConditions(request: OpenFields, others: readonly Condition[]): OpenConditions {
  const { filter, parameters, columns, group_by = [], having = '' } = request
  const first = filter === undefined ? [] : [{ filter, parameters }]
  const conditions: readonly Condition[] = [...first, ...others]
  const elsewhere = [...Object.values(columns?.column_aliases ?? {}), ...group_by, having]
  const otherStyles = elsewhere.flatMap(text => parametersIn(text).map(({ style }) => style))
  if (parameters !== undefined && otherStyles.length > 0) throw mixedValues()
  const open = conditions.filter(condition => condition.parameters === undefined)
  const styles = new Set([
    ...otherStyles,
    ...open.flatMap(each => parametersIn(each.filter).map(({ style }) => style)),
  ])
  if (styles.size > 1 || (styles.has('?') && otherStyles.length > 0)) {
    throw invalidInput('where: a prepared query with several conditions needs one style of parameters', {
      hint: 'write $1 or :name in all SQL of the query',
    })
  }
  const names = new OpenNames(open, styles.has(':'))
  const texts = conditions.map(condition => {
    if (condition.parameters === undefined) {
      return renamed(condition.filter, key => names.open(key, styles.has('?'))).text
    }
    const own = new Map<string | number, string>()
    const nameOf = (key: string | number, value: unknown) => {
      const name = own.get(key) ?? names.fixed(value)
      own.set(key, name)
      return name
    }
    return rewritten(condition, nameOf, true)
  })
  return { filter: conjunction(texts), parameters: values => names.parameters(values) }
}

/**
 * Names the parameters of a prepared query. Values of a call keep their numbers or names. The fixed values, which the
 * conditions have themselves, follow after them.
 */
class OpenNames {
  readonly #count: number
  readonly #names: ReadonlySet<string>
  readonly #fixed: unknown[] = []
  readonly #isNamed: boolean
  #next = 0

  constructor(open: readonly Condition[], isNamed: boolean) {
    const all = open.flatMap(({ filter }) => parametersIn(filter))
    this.#isNamed = isNamed
    this.#names = new Set(all.map(({ value }) => value))
    this.#count = Math.max(0, ...all.map(({ style, value }, i) => (style === '?' ? i + 1 : Number(value))))
  }

  /** Return the text of a parameter whose value is given by the call. `isCounted`: whether it is written `?`. */
  open(key: string | number, isCounted: boolean): string {
    if (this.#isNamed) return `:${key}`
    return isCounted ? `$${++this.#next}` : `$${Number(key) + 1}`
  }

  /** Add a fixed value, and return the text of its parameter. */
  fixed(value: unknown): string {
    const number = this.#fixed.push(value)
    return this.#isNamed ? `:${this.#nameOf(number)}` : `$${this.#count + number}`
  }

  parameters(values: Values): Values {
    if (Array.isArray(values) === this.#isNamed) {
      const [given, wanted] = this.#isNamed ? ['an array', 'an object'] : ['an object', 'an array']
      throw invalidInput(`the values are ${given}; the parameters of the query need ${wanted}`)
    }
    if (this.#isNamed) {
      const fixed = this.#fixed.map((value, i) => [this.#nameOf(i + 1), value] as const)
      return { ...values, ...Object.fromEntries(fixed) }
    }
    const list = values as readonly unknown[]
    if (list.length !== this.#count) {
      throw invalidInput(`the query takes ${this.#count} values, got ${list.length}`)
    }
    return [...list, ...this.#fixed]
  }

  #nameOf(number: number): string {
    let name = `where_${number}`
    while (this.#names.has(name)) name = `_${name}`
    return name
  }
}

/** Return the parameters in a text, in order. `value`: the name, or the number from 1. */
function parametersIn(text: string): readonly { readonly style: string; readonly value: string }[] {
  const found: { readonly style: string; readonly value: string }[] = []
  if (!/[?$:]/.test(text)) return found
  for (const token = new Lexer(text); token.kind !== 'end'; token.advance()) {
    if (token.kind === 'parameter') found.push({ style: token.quote, value: token.value })
  }
  return found
}

function conjunction(texts: readonly string[]): string {
  return texts.map(text => `(${text}${text.includes('--') ? '\n' : ''})`).join(' AND ')
}

function mixedValues() {
  return invalidInput(
    'prepare: SQL of the query has values of its own, and values are given to the prepared query, too',
    { hint: 'write $1 in the SQL, and give all values when the query runs' },
  )
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
  const used = new Set<string | number>()
  const { text, style } = renamed(filter, (key, parameter, at) => {
    used.add(key)
    return nameOf(key, valueFor(parameters, key, parameter, at))
  })
  if (ownsValues || style === '?') checkUsed(parameters, used, style)
  return text
}

/**
 * Return a condition with other parameters. `nameOf` receives the name or the number (from 0) of a parameter, its text
 * for messages and its position. Throws `InvalidInput` for a text that is not one expression.
 */
function renamed(
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
    text += filter.slice(end, token.start) + nameOf(key, parameter, token.at())
    end = token.end
  }
  return { text: text + filter.slice(end), style }
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
