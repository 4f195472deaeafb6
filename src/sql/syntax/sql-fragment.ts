/**
 * Defines the fragments that the template tag `sql` creates. The tag itself is in another module, because it needs the
 * parser, which a client that only sends fragments must not load.
 */

import { sharedState } from '../../primitives/shared-state.js'

declare const valueType: unique symbol

/**
 * An expression and the values of its parameters `$1`, `$2`, ... It is frozen. Only `sql` creates fragments. `V` is the
 * type of the values of the expression, as the caller declared it. `V` exists only for the compiler.
 */
export interface SqlFragment<out V = unknown> {
  /** The expression without comments. Names that were in double quotes are in backticks. */
  readonly text: string
  /** The values of `$1`, `$2`, ... in order. */
  readonly parameters: readonly unknown[]
  readonly [valueType]?: () => V
}

/** The text of a fragment, split at its parameters. */
interface Pieces {
  /** The text between the parameters: one piece more than there are parameters. */
  readonly pieces: readonly string[]
  /** Whether the text needs no parentheses when it is an operand of any operator. */
  readonly isOperand: boolean
}

/** All fragments that `sql` created. The map distinguishes them from objects of requests with the same fields. */
const fragments = sharedState('sql fragments', () => new WeakMap<object, Pieces>())

/**
 * Create a fragment from the text between its parameters. The caller must have checked that the text is one expression.
 */
export function makeFragment(pieces: Pieces, parameters: readonly unknown[]): SqlFragment {
  const text = joinPieces(pieces.pieces, 1)
  const created: SqlFragment = Object.freeze({ text, parameters: Object.freeze(parameters) })
  fragments.set(created, pieces)
  return created
}

/** Return whether `sql` created this value. */
export function isSqlFragment(value: unknown): value is SqlFragment {
  return typeof value === 'object' && value !== null && fragments.has(value)
}

/** Return the pieces of a fragment. */
export function piecesOf(fragment: SqlFragment): Pieces {
  return fragments.get(fragment)!
}

/**
 * Return the text of a fragment with its parameters numbered from `$first`. This is needed if several fragments share a
 * list of values.
 */
export function textFrom(fragment: SqlFragment, first: number): string {
  return joinPieces(piecesOf(fragment).pieces, first)
}

/** Join pieces with parameters between them, which are numbered from `$first`. */
export function joinPieces(pieces: readonly string[], first: number): string {
  let text = pieces[0]!
  for (let i = 1; i < pieces.length; i++) text += `$${first + i - 1}${pieces[i]}`
  return text
}
