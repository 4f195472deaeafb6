/**
 * An expression bound to a schema: every name a column, every node of a known type, every constant folded into
 * a value of the type it meets. Plain data, so that a planner can read it: a comparison with a constant has the
 * constant on the right, already in the type of the left side.
 */
import type { DataType } from '../arrow/types.js'
import type { ArithmeticOp, CompareOp } from './syntax.js'

/**
 * One value: bool as boolean; every integer, date and timestamp (in units of its type) as bigint; floats as
 * number; utf8 as string; binary as bytes; a list as an array.
 */
export type Scalar = null | boolean | bigint | number | string | Uint8Array | readonly Scalar[]

interface Typed {
  readonly type: DataType
}

export interface LiteralNode extends Typed {
  readonly kind: 'literal'
  readonly value: Scalar
}

/** A top-level column (one segment) or a field inside a struct. `type` may be a dictionary. */
export interface ColumnNode extends Typed {
  readonly kind: 'column'
  readonly path: readonly string[]
}

export interface CompareNode extends Typed {
  readonly kind: 'compare'
  readonly op: CompareOp
  readonly left: Bound
  readonly right: Bound
}

/** Only where the operand is more than a column; `column BETWEEN a AND b` is two comparisons. */
export interface BetweenNode extends Typed {
  readonly kind: 'between'
  readonly operand: Bound
  readonly low: Bound
  readonly high: Bound
}

/** `values` are distinct, not null, of the operand's value type; `others` are the members known only per row. */
export interface InNode extends Typed {
  readonly kind: 'in'
  readonly operand: Bound
  readonly values: readonly Scalar[]
  readonly hasNull: boolean
  readonly others: readonly Bound[]
}

/** `escape` is one character. */
export interface LikeNode extends Typed {
  readonly kind: 'like'
  readonly ignoreCase: boolean
  readonly operand: Bound
  readonly pattern: Bound
  readonly escape: string
}

export interface IsNode extends Typed {
  readonly kind: 'is'
  readonly operand: Bound
  readonly what: 'null' | 'true' | 'false'
}

export interface LogicNode extends Typed {
  readonly kind: 'and' | 'or'
  readonly operands: readonly Bound[]
}

export interface NotNode extends Typed {
  readonly kind: 'not'
  readonly operand: Bound
}

/** Both sides and the result are of one type: int64, uint64 or float64. */
export interface ArithmeticNode extends Typed {
  readonly kind: 'arithmetic'
  readonly op: ArithmeticOp
  readonly left: Bound
  readonly right: Bound
}

/** Written or implied; `try`: null where the value does not fit. */
export interface CastNode extends Typed {
  readonly kind: 'cast'
  readonly operand: Bound
  readonly try: boolean
}

/** Element `index` (int64, from 1) of a list; null outside of it. */
export interface ElementNode extends Typed {
  readonly kind: 'element'
  readonly operand: Bound
  readonly index: Bound
}

/** A function of functions.ts under its own name, arguments in the types it declares. */
export interface CallNode extends Typed {
  readonly kind: 'call'
  readonly name: string
  readonly args: readonly Bound[]
}

export type Bound =
  | LiteralNode
  | ColumnNode
  | CompareNode
  | BetweenNode
  | InNode
  | LikeNode
  | IsNode
  | LogicNode
  | NotNode
  | ArithmeticNode
  | CastNode
  | ElementNode
  | CallNode

export interface BoundExpression {
  readonly expr: Bound
  readonly type: DataType
  /** Top-level columns it reads, in order of first use. */
  readonly columns: readonly string[]
  /** What was understood differently from how it may have been meant. */
  readonly warnings: readonly string[]
}

/** The operands of a node, in the order they are written. */
export function operandsOf(node: Bound): readonly Bound[] {
  switch (node.kind) {
    case 'literal':
    case 'column':
      return []
    case 'compare':
    case 'arithmetic':
      return [node.left, node.right]
    case 'between':
      return [node.operand, node.low, node.high]
    case 'in':
      return [node.operand, ...node.others]
    case 'like':
      return [node.operand, node.pattern]
    case 'is':
    case 'not':
    case 'cast':
      return [node.operand]
    case 'element':
      return [node.operand, node.index]
    case 'and':
    case 'or':
      return node.operands
    case 'call':
      return node.args
  }
}
