/**
 * The template tag `sql`: an expression whose values stand beside its text and cannot become part of it.
 *
 * - Every fragment is one whole expression, checked where it is written; inside of another one it stays one operand.
 * - A value is a parameter; an array is the list of `IN ${ids}`.
 * - `"x"` is the name of a column, never a text (rule A-058).
 */
import { invalidInput, quote, type SheafError, type SourceSpan } from '../../errors.js'
import { syntaxError } from './excerpt.js'
import { parseExpression } from './parse.js'
import { Lexer } from './tokens.js'

/** An expression and the values of its `$1`, `$2`, ... Frozen; only `sql` makes them. */
export interface SqlFragment {
  /** Without comments; names that were in double quotes are in backticks. */
  readonly text: string
  readonly parameters: readonly unknown[]
}

export interface SqlTag {
  /**
   * `` sql`id = ${id} AND ${condition}` ``: a value becomes a parameter, a fragment an operand. Throws code 13 for text
   * that is no expression, that writes a parameter itself, and for a value that is undefined.
   */
  (strings: TemplateStringsArray, ...values: readonly unknown[]): SqlFragment
  /** The column of this name, or the field inside of it: `sql.name('meta', 'status.code')`. */
  readonly name: (...segments: readonly string[]) => SqlFragment
  /** All conditions, or any of them. Throws code 13 for none: nothing says what they would mean. */
  readonly join: (conditions: readonly SqlFragment[], operator: 'AND' | 'OR') => SqlFragment
}

/** The text of a fragment in the pieces between its parameters. */
interface Pieces {
  readonly pieces: readonly string[]
  /** Whether it can stand anywhere without parentheses. */
  readonly isOperand: boolean
}

/** Every fragment there is: nothing that a request brings along is taken for one. */
const fragments = new WeakMap<object, Pieces>()

export const sql: SqlTag = Object.defineProperties(tag, {
  name: { value: nameFragment },
  join: { value: joinFragments },
}) as unknown as SqlTag

export function isSqlFragment(value: unknown): value is SqlFragment {
  return typeof value === 'object' && value !== null && fragments.has(value)
}

/** The text with its parameters counted from `$first`, for a fragment that shares its list of values with others. */
export function textFrom(fragment: SqlFragment, first: number): string {
  return joinPieces(fragments.get(fragment)!.pieces, first)
}

function tag(strings: TemplateStringsArray, ...values: readonly unknown[]): SqlFragment {
  if (!Array.isArray(strings) || !Array.isArray(strings.raw)) {
    throw invalidInput('sql is a tag of a template', { hint: 'write sql`id = 1`' })
  }
  const unread = strings.findIndex(part => typeof part !== 'string')
  if (unread !== -1) throw invalidInput(`an escape sequence of the template is none: ${strings.raw[unread]}`)
  return compose(strings, values)
}

function nameFragment(...segments: readonly string[]): SqlFragment {
  if (segments.length === 0) throw invalidInput('sql.name needs at least one name')
  for (const segment of segments) {
    if (typeof segment !== 'string' || segment === '') {
      throw invalidInput(`a name is a text that is not empty, not ${quote(segment)}`)
    }
  }
  return fragment([segments.map(quoted).join('.')], [], true)
}

function joinFragments(conditions: readonly SqlFragment[], operator: 'AND' | 'OR'): SqlFragment {
  if (operator !== 'AND' && operator !== 'OR') {
    throw invalidInput(`conditions are joined with AND or OR, not ${quote(operator)}`)
  }
  if (!Array.isArray(conditions) || conditions.length === 0) {
    throw invalidInput('sql.join needs at least one condition', { hint: 'leave the filter out instead' })
  }
  const stranger = conditions.findIndex(condition => !isSqlFragment(condition))
  if (stranger !== -1) {
    throw invalidInput(`condition ${stranger + 1} of sql.join is no fragment`, {
      hint: 'write sql`id = 1`',
    })
  }
  const between = conditions.slice(1).map(() => ` ${operator} `)
  return compose(['', ...between, ''], conditions)
}

/** A fragment that is being made. */
interface Draft {
  readonly pieces: string[]
  readonly parameters: unknown[]
  tokens: number
  isOperand: boolean
}

/**
 * The expression that `parts` are with the values between them. A value stands as `$1`, `$2`, ... among the tokens, and
 * must be exactly one of them.
 */
function compose(parts: readonly string[], values: readonly unknown[]): SqlFragment {
  const text = joinPieces(parts, 1)
  const places = placesOf(parts)
  const missing = values.indexOf(undefined)
  if (missing !== -1) {
    throw syntaxError(text, places[missing]!, `value ${missing + 1} is undefined`, 'NULL is written null')
  }
  const draft: Draft = { pieces: [''], parameters: [], tokens: 0, isOperand: true }
  let next = 0
  let end = 0
  let before = 'symbol'
  for (const token = new Lexer(text); ; token.advance()) {
    const place = places[next]
    if (place !== undefined && place.offset < token.start) throw hidden(text, place, next)
    if (token.kind === 'end') break
    addText(draft, blankFor(text.slice(end, token.start), before !== 'symbol' && token.kind !== 'symbol'))
    draft.tokens++
    if (token.kind === 'parameter') {
      checkValueToken(token, place, next)
      addValue(draft, values[next++])
    } else {
      addToken(draft, token)
    }
    end = token.end
    before = token.kind
  }
  // With a value in place of every fragment it is an expression only if they are all operands of it.
  parseExpression(text)
  return fragment(draft.pieces, draft.parameters, draft.isOperand)
}

function addText(draft: Draft, more: string): void {
  draft.pieces[draft.pieces.length - 1] += more
}

/** What stands between two tokens: no comment, which could hide what comes after the fragment, and a blank if they need it. */
function blankFor(gap: string, isNeeded: boolean): string {
  if (gap === '') return isNeeded ? ' ' : ''
  return /^\s+$/.test(gap) ? gap : ' '
}

function addToken(draft: Draft, token: Lexer): void {
  const isQuoted = token.kind === 'quoted'
  addText(draft, isQuoted ? quoted(token.value) : token.text.slice(token.start, token.end))
  const isConstant = token.kind !== 'symbol' && token.kind !== 'name' && draft.tokens === 1
  draft.isOperand &&= isQuoted || isConstant || token.value === '.'
}

function addValue(draft: Draft, value: unknown): void {
  const inner = isSqlFragment(value) ? fragments.get(value)! : null
  draft.isOperand &&= draft.tokens === 1 && (inner === null || inner.isOperand)
  if (inner === null) {
    draft.parameters.push(snapshot(value))
    draft.pieces.push('')
    return
  }
  const [first, ...others] = inner.pieces
  addText(draft, inner.isOperand ? first! : `(${first}`)
  for (const piece of others) draft.pieces.push(piece)
  for (const parameter of (value as SqlFragment).parameters) draft.parameters.push(parameter)
  if (!inner.isOperand) addText(draft, ')')
}

/** `token` must be the parameter that stands for the next value, and nothing but that. */
function checkValueToken(token: Lexer, place: SourceSpan | undefined, index: number): void {
  if (place?.offset !== token.start) {
    const hint = 'write the value itself into the template'
    throw syntaxError(token.text, token.at(), 'the sql tag numbers its parameters itself', hint)
  }
  if (place.offset + place.length !== token.end) {
    const message = `value ${index + 1} runs into what follows it`
    throw syntaxError(token.text, token.at(), message, 'put a blank between')
  }
}

function fragment(
  pieces: readonly string[],
  parameters: readonly unknown[],
  isOperand: boolean,
): SqlFragment {
  const text = joinPieces(pieces, 1)
  parseExpression(text)
  const made: SqlFragment = Object.freeze({ text, parameters: Object.freeze(parameters) })
  fragments.set(made, { pieces, isOperand })
  return made
}

function joinPieces(pieces: readonly string[], first: number): string {
  let text = pieces[0]!
  for (let i = 1; i < pieces.length; i++) text += `$${first + i - 1}${pieces[i]}`
  return text
}

/** Where the values stand in the text. */
function placesOf(parts: readonly string[]): readonly SourceSpan[] {
  const places: SourceSpan[] = []
  let offset = 0
  for (let i = 1; i < parts.length; i++) {
    offset += parts[i - 1]!.length
    const length = `$${i}`.length
    places.push({ offset, length })
    offset += length
  }
  return places
}

function hidden(text: string, place: SourceSpan, index: number): SheafError {
  const message = `value ${index + 1} stands inside of a text, a name or a comment`
  return syntaxError(text, place, message, 'a value stands without quotes; a column is sql.name(..)')
}

/** What later changes of the value cannot reach. */
function snapshot(value: unknown): unknown {
  if (Array.isArray(value)) return Object.freeze(Array.from(value, snapshot))
  if (value instanceof Date) return new Date(value)
  // The slice of a Buffer is no copy.
  if (value instanceof Uint8Array) return new Uint8Array(value)
  return ArrayBuffer.isView(value) && !(value instanceof DataView) ? (value as Int32Array).slice() : value
}

function quoted(name: string): string {
  return `\`${name.replaceAll('`', '``')}\``
}
