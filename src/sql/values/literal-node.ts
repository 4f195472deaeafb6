/** The constants of bound expressions. */
import type { DataType } from '../../arrow/types.js'
import type { SourceSpan } from '../../errors.js'
import type { Scalar } from './scalar.js'
import { Constant, columnOfScalars } from './vector.js'

/** The parts of the written form of a constant that are not in its value. */
interface Written {
  /**
   * The text of a number whose `value` is only the nearest double. Comparisons with integers and decimals use this
   * text.
   */
  readonly text?: string | undefined
  /** The reason why `value` must not be used in computations. Undefined if it may be used. */
  readonly limit?: NumberLimit | undefined
  /**
   * The elements of a list as written. Set if an element has a `text`, a `limit`, or another type than the list
   * elements.
   */
  readonly elements?: readonly LiteralNode[] | undefined
}

/** A constant of a bound expression. */
export class LiteralNode {
  readonly kind = 'literal'
  readonly type: DataType
  readonly value: Scalar
  readonly text: Written['text']
  readonly limit: Written['limit']
  readonly elements: Written['elements']
  #constant: Constant | null = null

  constructor(type: DataType, value: Scalar, { text, limit, elements }: Written = asValue) {
    this.type = type
    this.value = value
    this.text = text
    this.limit = limit
    this.elements = elements
  }

  get operands(): readonly never[] {
    return noOperands
  }

  /** The cost of a constant (cost.ts), which is the same for all constants. */
  get cost() {
    return constantCost
  }

  withOperands(): LiteralNode {
    return this
  }

  /**
   * The constant as an operand of kernels. It is created on first use, and caches results that kernels compute from it.
   */
  get constant(): Constant {
    this.#constant ??= new Constant(columnOfScalars(this.type, [this.value]))
    return this.#constant
  }
}

const asValue: Written = {}
const constantCost = { weight: 0, mayFail: false, isVolatile: false, isConstant: true }
const noOperands: readonly never[] = []

/**
 * The reason why the double of a number constant must not be used in place of the number.
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
