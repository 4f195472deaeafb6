/** A constant of a bound expression. */
import type { DataType } from '../../arrow/types.js'
import type { SourceSpan } from '../../errors.js'
import type { Scalar } from './scalar.js'

export interface LiteralNode {
  readonly type: DataType
  readonly kind: 'literal'
  readonly value: Scalar
  /** A number as it was written, where `value` is the double nearest to it. Integers and decimals it meets take all digits. */
  readonly text?: string
  /** Set where `value` must not be computed with: see `NumberLimit`. */
  readonly limit?: NumberLimit
  /** The elements of a list as they were written, where some of them have a `text`, a `limit` or a type of their own. */
  readonly elements?: readonly LiteralNode[]
}

/**
 * Why a number constant is not what its double says.
 *
 * - `rounded`: a parameter given as a JavaScript number beyond 2^53. Digits may have been lost before it came here, so only floats take it.
 * - `long`: a literal with more digits than a decimal has, or beyond the doubles. It is compared by its text.
 */
export interface NumberLimit {
  readonly kind: 'rounded' | 'long'
  /** The constant as messages name it. */
  readonly name: string
  readonly at: SourceSpan
}
