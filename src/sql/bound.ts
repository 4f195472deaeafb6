/**
 * Expressions bound to a schema: every name is a column, every node has a type, and constants are folded.
 *
 * A planner can read these nodes as data. In a comparison with a constant, the constant is on the right and
 * has the type of the left side.
 */
import type { DataType } from '../arrow/types.js'
import type { Callee, Chance } from './functions/call.js'
import type { ArithmeticOp, CompareOp } from './syntax/syntax.js'
import type { LiteralNode } from './values/literal-node.js'
import type { Scalar } from './values/scalar.js'

interface Typed {
  readonly type: DataType
}

/** A top-level column (one segment) or a field inside a struct. `type` may be a dictionary. */
export interface ColumnNode extends Typed {
  readonly kind: 'column'
  readonly path: readonly string[]
}

/** A comparison. A constant operand is on the right. */
interface CompareNode extends Typed {
  readonly kind: 'compare'
  readonly op: CompareOp
  readonly left: Bound
  readonly right: Bound
}

/** Used only when the operand is not a plain column. `column BETWEEN a AND b` becomes two comparisons. */
interface BetweenNode extends Typed {
  readonly kind: 'between'
  readonly operand: Bound
  readonly low: Bound
  readonly high: Bound
}

/**
 * `values` are distinct, not null, and of the operand's value type. `others` are the members that depend on
 * the row.
 */
export interface InNode extends Typed {
  readonly kind: 'in'
  readonly operand: Bound
  readonly values: readonly Scalar[]
  readonly hasNull: boolean
  readonly others: readonly Bound[]
}

/** `escape` is a single character. */
export interface LikeNode extends Typed {
  readonly kind: 'like'
  readonly ignoreCase: boolean
  readonly operand: Bound
  readonly pattern: Bound
  readonly escape: string
}

/** `operand IS NULL`, `IS TRUE` or `IS FALSE`. */
export interface IsNode extends Typed {
  readonly kind: 'is'
  readonly operand: Bound
  readonly what: 'null' | 'true' | 'false'
}

export interface LogicNode extends Typed {
  readonly kind: 'and' | 'or'
  readonly operands: readonly Bound[]
}

interface NotNode extends Typed {
  readonly kind: 'not'
  readonly operand: Bound
}

/** Arithmetic. `arithmeticSignature` (arithmetic.ts) defines the types of the operands and of the result. */
interface ArithmeticNode extends Typed {
  readonly kind: 'arithmetic'
  readonly op: ArithmeticOp
  readonly left: Bound
  readonly right: Bound
}

/** An explicit or implied cast. With `try`, a value that does not fit becomes NULL. */
export interface CastNode extends Typed {
  readonly kind: 'cast'
  readonly operand: Bound
  readonly try: boolean
}

/** Element `index` (int64, counted from 1) of a list. NULL if the index is out of range. */
interface ElementNode extends Typed {
  readonly kind: 'element'
  readonly operand: Bound
  readonly index: Bound
}

/** The result of the first condition that is TRUE, else `otherwise`. All results have the same type. */
export interface CaseNode extends Typed {
  readonly kind: 'case'
  readonly branches: readonly { readonly when: Bound; readonly result: Bound }[]
  readonly otherwise: Bound
}

/**
 * A list with at least one element that is not a constant. All elements have the element type of the list.
 */
interface ListNode extends Typed {
  readonly kind: 'list'
  readonly elements: readonly Bound[]
}

/** Field number `index` of a struct value. A field of a struct column is a `column` node instead. */
interface FieldNode extends Typed {
  readonly kind: 'field'
  readonly operand: Bound
  readonly index: number
}

/** A call of a function of functions.ts. The arguments have the types that the function declares. */
export interface CallNode extends Typed {
  readonly kind: 'call'
  readonly callee: Callee
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
  | CaseNode
  | ListNode
  | FieldNode
  | CallNode

/** The result of binding an expression. */
export interface BoundExpression {
  readonly expr: Bound
  readonly type: DataType
  /** Top-level columns that the expression reads, in order of first use. */
  readonly columns: readonly string[]
  /**
   * Notes on text that may have been meant differently. For example, a double-quoted name that was read as a string.
   */
  readonly warnings: readonly string[]
  /** The source of randomness for `random()` and `uuid()`. */
  readonly chance: Chance
}

/** Return the operands of a node, in the order they are written. */
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
    case 'case':
      return [...node.branches.flatMap(({ when, result }) => [when, result]), node.otherwise]
    case 'list':
      return node.elements
    case 'field':
      return [node.operand]
    case 'call':
      return node.args
  }
}

/** Return the node with other operands. `operands` must match `operandsOf(node)` in number and types. */
export function withOperands(node: Bound, operands: readonly Bound[]): Bound {
  const [first, second, third] = operands as [Bound, Bound, Bound]
  switch (node.kind) {
    case 'literal':
    case 'column':
      return node
    case 'compare':
    case 'arithmetic':
      return { ...node, left: first, right: second }
    case 'between':
      return { ...node, operand: first, low: second, high: third }
    case 'in':
      return { ...node, operand: first, others: operands.slice(1) }
    case 'like':
      return { ...node, operand: first, pattern: second }
    case 'is':
    case 'not':
    case 'cast':
    case 'field':
      return { ...node, operand: first }
    case 'element':
      return { ...node, operand: first, index: second }
    case 'and':
    case 'or':
      return { ...node, operands }
    case 'case': {
      const branches = node.branches.map((_, i) => ({ when: operands[2 * i]!, result: operands[2 * i + 1]! }))
      return { ...node, branches, otherwise: operands.at(-1)! }
    }
    case 'list':
      return { ...node, elements: operands }
    case 'call':
      return { ...node, args: operands }
  }
}

/** Return the top-level columns that a node reads, in order of first use. */
export function columnsOf(expr: Bound): readonly string[] {
  const names = new Set<string>()
  const visit = (node: Bound): void => {
    if (node.kind === 'column') names.add(node.path[0]!)
    else operandsOf(node).forEach(visit)
  }
  visit(expr)
  return [...names]
}
