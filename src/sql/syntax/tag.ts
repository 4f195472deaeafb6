/**
 * Implements the template tag `sql`. It creates expressions whose values are parameters, so a value can never become
 * part of the text.
 *
 * - Every fragment is one complete expression. This is checked when it is created. A fragment inside another fragment
 *   is one operand.
 * - A value is a parameter. An array can be the list of `IN ${ids}`.
 * - `"x"` is the name of a column, never a string.
 */

import { invalidInput, quote, type SheafError, type SourceSpan } from '../../errors.js'
import { inBackticks } from '../../primitives/in-backticks.js'
import { syntaxError } from './excerpt.js'
import { parseExpression } from './parse.js'
import { isSqlFragment, joinPieces, makeFragment, piecesOf, type SqlFragment } from './sql-fragment.js'
import { Lexer } from './tokens.js'

/** The type of the template tag `sql`. */
export interface SqlTag {
  /**
   * Create a fragment: `` sql`id = ${id} AND ${condition}` ``. A value becomes a parameter, a fragment
   * becomes an operand. `V` declares the type of the expression's values for rows of a `select`; the compiler
   * believes the caller.
   *
   * Throws `InvalidInput` if the text is not one expression, if the text contains a parameter (`?`, `$1`, `:name`), or
   * if a value is undefined.
   */
  <V = unknown>(strings: TemplateStringsArray, ...values: readonly unknown[]): SqlFragment<V>
  /**
   * Create a fragment that is a column, or a field of a struct column. For example, `sql.name('meta', 'status.code')`
   * is the field `status.code` of the column `meta`. Throws `InvalidInput` if there are no names, or if a name is
   * empty.
   */
  readonly name: (...segments: readonly string[]) => SqlFragment
  /**
   * Join conditions with AND or OR, for example `` sql.join([sql`a = 1`, sql`b = 2`], 'OR') ``. Throws `InvalidInput`
   * if there are no conditions. For no conditions, the caller can leave out the filter.
   */
  readonly join: (conditions: readonly SqlFragment[], operator: 'AND' | 'OR') => SqlFragment
}

/** The template tag for SQL expressions with values, for example `` table.countRows(sql`year > ${year}`) ``. */
export const sql: SqlTag = Object.defineProperties(tag, {
  name: { value: nameFragment },
  join: { value: joinFragments },
}) as unknown as SqlTag

function tag(strings: TemplateStringsArray, ...values: readonly unknown[]): SqlFragment {
  if (!Array.isArray(strings) || !Array.isArray(strings.raw)) {
    throw invalidInput('sql must be called as a template tag', { hint: 'write sql`id = 1`' })
  }
  const invalid = strings.findIndex(part => typeof part !== 'string')
  if (invalid !== -1) throw invalidInput(`invalid escape sequence in the template: ${strings.raw[invalid]}`)
  return compose(strings, values)
}

function nameFragment(...segments: readonly string[]): SqlFragment {
  if (segments.length === 0) throw invalidInput('sql.name needs at least one name')
  for (const segment of segments) {
    if (typeof segment !== 'string' || segment === '') {
      throw invalidInput(`a name in sql.name must be a non-empty string, got ${quote(segment)}`)
    }
  }
  return fragment([segments.map(inBackticks).join('.')], [], true)
}

function joinFragments(conditions: readonly SqlFragment[], operator: 'AND' | 'OR'): SqlFragment {
  if (operator !== 'AND' && operator !== 'OR') {
    throw invalidInput(`the operator of sql.join must be AND or OR, got ${quote(operator)}`)
  }
  if (!Array.isArray(conditions) || conditions.length === 0) {
    throw invalidInput('sql.join needs at least one condition', { hint: 'leave the filter out instead' })
  }
  const notFragment = conditions.findIndex(condition => !isSqlFragment(condition))
  if (notFragment !== -1) {
    throw invalidInput(`condition ${notFragment + 1} of sql.join is not a fragment`, {
      hint: 'write sql`id = 1`',
    })
  }
  const between = conditions.slice(1).map(() => ` ${operator} `)
  return compose(['', ...between, ''], conditions)
}

/** A fragment under construction. */
interface Draft {
  readonly pieces: string[]
  readonly parameters: unknown[]
  tokens: number
  isOperand: boolean
}

/**
 * Build a fragment from the `parts` of a template and the values between them. The text is parsed with `$1`, `$2`, ...
 * in place of the values. Each value must be exactly one token.
 */
function compose(parts: readonly string[], values: readonly unknown[]): SqlFragment {
  const text = joinPieces(parts, 1)
  const positions = positionsOf(parts)
  const missing = values.indexOf(undefined)
  if (missing !== -1) {
    throw syntaxError(text, positions[missing]!, `value ${missing + 1} is undefined`, 'pass null for NULL')
  }
  const draft: Draft = { pieces: [''], parameters: [], tokens: 0, isOperand: true }
  let next = 0
  let end = 0
  let before = 'symbol'
  for (const token = new Lexer(text); ; token.advance()) {
    const position = positions[next]
    if (position !== undefined && position.offset < token.start) throw hidden(text, position, next)
    if (token.kind === 'end') break
    addText(draft, blankFor(text.slice(end, token.start), before !== 'symbol' && token.kind !== 'symbol'))
    draft.tokens++
    if (token.kind === 'parameter') {
      checkValueToken(token, position, next)
      addValue(draft, values[next++])
    } else {
      addToken(draft, token)
    }
    end = token.end
    before = token.kind
  }
  // Parse the text with one parameter per value. This checks that the template uses every value and fragment as an
  // operand.
  parseExpression(text)
  return fragment(draft.pieces, draft.parameters, draft.isOperand)
}

function addText(draft: Draft, more: string): void {
  draft.pieces[draft.pieces.length - 1] += more
}

/**
 * Return the text between two tokens without comments, because a comment could hide the text after the fragment.
 * `isNeeded`: whether there must be a blank.
 */
function blankFor(gap: string, isNeeded: boolean): string {
  if (gap === '') return isNeeded ? ' ' : ''
  return /^\s+$/.test(gap) ? gap : ' '
}

function addToken(draft: Draft, token: Lexer): void {
  const isQuoted = token.kind === 'quoted'
  addText(draft, isQuoted ? inBackticks(token.value) : token.text.slice(token.start, token.end))
  const isConstant = token.kind !== 'symbol' && token.kind !== 'name' && draft.tokens === 1
  draft.isOperand &&= isQuoted || isConstant || token.value === '.'
}

function addValue(draft: Draft, value: unknown): void {
  const inner = isSqlFragment(value) ? piecesOf(value) : null
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

/** Check that `token` is exactly the parameter of the next value. Throws `InvalidInput` otherwise. */
function checkValueToken(token: Lexer, position: SourceSpan | undefined, index: number): void {
  if (position?.offset !== token.start) {
    const hint = 'write the value itself into the template'
    throw syntaxError(token.text, token.at(), 'the text of sql`..` must not contain parameters', hint)
  }
  if (position.offset + position.length !== token.end) {
    const message = `value ${index + 1} is not separated from the text after it`
    throw syntaxError(token.text, token.at(), message, 'put a blank between them')
  }
}

function fragment(
  pieces: readonly string[],
  parameters: readonly unknown[],
  isOperand: boolean,
): SqlFragment {
  parseExpression(joinPieces(pieces, 1))
  return makeFragment({ pieces, isOperand }, parameters)
}

/** Return the positions of the values in the text. */
function positionsOf(parts: readonly string[]): readonly SourceSpan[] {
  const positions: SourceSpan[] = []
  let offset = 0
  for (let i = 1; i < parts.length; i++) {
    offset += parts[i - 1]!.length
    const length = `$${i}`.length
    positions.push({ offset, length })
    offset += length
  }
  return positions
}

function hidden(text: string, position: SourceSpan, index: number): SheafError {
  const message = `value ${index + 1} is inside a string, a quoted name or a comment`
  return syntaxError(text, position, message, 'write a value without quotes, and a column as sql.name(..)')
}

/** Copy a value, so that later changes of the value do not change the fragment. */
function snapshot(value: unknown): unknown {
  if (Array.isArray(value)) return Object.freeze(Array.from(value, snapshot))
  if (value instanceof Date) return new Date(value)
  // Do not use `slice` here, because `Buffer.slice` does not copy.
  if (value instanceof Uint8Array) return new Uint8Array(value)
  return ArrayBuffer.isView(value) && !(value instanceof DataView) ? (value as Int32Array).slice() : value
}
