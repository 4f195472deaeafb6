/** The constants of bound expressions. */
import type { DataType } from '../../arrow/types.js'
import type { SourceSpan } from '../../errors.js'
import type { Scalar } from './scalar.js'

/** A constant of a bound expression. */
export interface LiteralNode {
  readonly type: DataType
  readonly kind: 'literal'
  readonly value: Scalar
  /** A number as written, if `value` is only the nearest double. Integers and decimals use all its digits. */
  readonly text?: string
  /** Set if `value` must not be used in computations; see `NumberLimit`. */
  readonly limit?: NumberLimit
  /** The elements of a list as written. Set if some of them have a `text`, a `limit` or a type of their own. */
  readonly elements?: readonly LiteralNode[]
}

/**
 * Why a number constant is not exactly its double.
 *
 * - `rounded`: a parameter that is a JavaScript number beyond 2^53. It may have lost digits before it was passed, so
 *   only floats accept it.
 * - `long`: a literal with more digits than a decimal has, or outside the range of doubles. It is compared by its text.
 */
export interface NumberLimit {
  readonly kind: 'rounded' | 'long'
  /** The name of the constant in messages. */
  readonly name: string
  readonly at: SourceSpan
}
