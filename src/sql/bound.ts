/**
 * Defines expressions that are bound to a schema: every name is resolved to a column, every node has a type, and
 * constants are folded.
 *
 * Planners rely on this form: in a comparison with a constant, the constant is on the right and has the type of the
 * left side.
 *
 * A node is immutable, but it also caches values that are derived from it. Its cost and `soleColumn` are computed when
 * it is created. Values that take longer to compute, or are seldom needed, are computed on first use.
 */
import type { Column } from '../arrow/column.js'
import type { DataType } from '../arrow/types.js'
import type { ColumnNode } from './column-node.js'
import {
  arithmeticWeight,
  type Cost,
  callWeight,
  castWeight,
  comparisonWeight,
  costWith,
  lookupWeight,
  type OwnCost,
} from './cost.js'
import type { Callee } from './functions/call.js'
import { isLossless } from './kernels/cast.js'
import { compileLike, type LikePattern, withBackslash } from './kernels/like.js'
import { type Members, membersOf } from './kernels/members.js'
import type { Truth } from './kernels/truth.js'
import { EntryCache } from './per-entry.js'
import type { ArithmeticOp, CompareOp } from './syntax/syntax.js'
import type { LiteralNode } from './values/literal-node.js'
import type { Scalar } from './values/scalar.js'
import { orderBetween, sortedScalars } from './values/scalar-order.js'
import { boolType, valueType } from './values/types.js'

/** A node that computes its value from other nodes. */
abstract class OperationNode {
  abstract readonly kind: string
  readonly type: DataType
  readonly cost: Cost
  /** The column that the node reads, if it reads exactly one column. Null if it reads no column or several columns. */
  readonly soleColumn: ColumnNode | null
  #entryTruths: EntryCache<Truth> | null = null
  #entryValues: EntryCache<Column> | null = null

  constructor(type: DataType, own: OwnCost, operands: readonly Bound[]) {
    this.type = type
    this.cost = costWith(own, operands)
    this.soleColumn = soleColumnOf(operands)
  }

  /** The operands in the order of the SQL text. */
  abstract readonly operands: readonly Bound[]

  /** Return the node with other operands, which must match `operands` in number and types. */
  abstract withOperands(operands: readonly Bound[]): Bound

  /** Cached results of this predicate for the entries of dictionaries. */
  get entryTruths(): EntryCache<Truth> {
    this.#entryTruths ??= new EntryCache(this.cost)
    return this.#entryTruths
  }

  /** Cached results of this expression for the entries of dictionaries, if it is not a predicate. */
  get entryValues(): EntryCache<Column> {
    this.#entryValues ??= new EntryCache(this.cost)
    return this.#entryValues
  }
}

function soleColumnOf(operands: readonly Bound[]): ColumnNode | null {
  let sole: ColumnNode | null = null
  for (const operand of operands) {
    if (operand.kind === 'literal') continue
    const column = operand.kind === 'column' ? operand : operand.soleColumn
    if (column === null || (sole !== null && !isSamePath(column.path, sole.path))) return null
    sole = column
  }
  return sole
}

function isSamePath(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((name, i) => name === b[i])
}

/** A comparison. A constant operand is on the right. */
export class CompareNode extends OperationNode {
  readonly kind = 'compare'
  readonly op: CompareOp
  readonly left: Bound
  readonly right: Bound

  constructor(op: CompareOp, left: Bound, right: Bound) {
    super(boolType, { weight: comparisonWeight(left, right) }, [left, right])
    this.op = op
    this.left = left
    this.right = right
  }

  get operands(): readonly Bound[] {
    return [this.left, this.right]
  }

  withOperands([left, right]: readonly Bound[]): CompareNode {
    return new CompareNode(this.op, left!, right!)
  }
}

/**
 * BETWEEN with an operand that is not a plain column. `column BETWEEN a AND b` becomes two comparisons instead, which
 * indexes and statistics can answer.
 */
export class BetweenNode extends OperationNode {
  readonly kind = 'between'
  readonly operand: Bound
  readonly low: Bound
  readonly high: Bound

  constructor(operand: Bound, low: Bound, high: Bound) {
    const weight = comparisonWeight(operand, low) + comparisonWeight(operand, high)
    super(boolType, { weight }, [operand, low, high])
    this.operand = operand
    this.low = low
    this.high = high
  }

  get operands(): readonly Bound[] {
    return [this.operand, this.low, this.high]
  }

  withOperands([operand, low, high]: readonly Bound[]): BetweenNode {
    return new BetweenNode(operand!, low!, high!)
  }
}

/**
 * Maximum number of strings in a list that is sorted. Sorting more would block the event loop. Lists of numbers have no
 * limit, because numbers are sorted ten times as fast.
 */
const maxSortedTexts = 16 * 1024

/** The members of an IN list. */
interface MemberList {
  /** The constant members except NULL, without duplicates. They have the operand's value type. */
  readonly values: readonly Scalar[]
  /** Whether NULL is a member. */
  readonly hasNull: boolean
  /** The members that are not constant. */
  readonly others: readonly Bound[]
}

export class InNode extends OperationNode implements MemberList {
  readonly kind = 'in'
  readonly operand: Bound
  readonly values: MemberList['values']
  readonly hasNull: boolean
  readonly others: MemberList['others']
  #members: Members | null = null
  #sortedValues: ArrayLike<Scalar> | null = null

  constructor(operand: Bound, { values, hasNull, others }: MemberList) {
    const compared = others.reduce((sum, other) => sum + comparisonWeight(operand, other), 0)
    super(boolType, { weight: lookupWeight(operand.type) + compared }, [operand, ...others])
    this.operand = operand
    this.values = values
    this.hasNull = hasNull
    this.others = others
  }

  get operands(): readonly Bound[] {
    return [this.operand, ...this.others]
  }

  withOperands([operand, ...others]: readonly Bound[]): InNode {
    return new InNode(operand!, { ...this, others })
  }

  /** `values` as a set. */
  get members(): Members {
    this.#members ??= membersOf(valueType(this.operand.type), this.values)
    return this.#members
  }

  /**
   * `values` in ascending order. Null if their type has no order, or if there are more than `maxSortedTexts` strings.
   */
  get sortedValues(): ArrayLike<Scalar> | null {
    if (this.#sortedValues !== null) return this.#sortedValues
    const { values } = this
    const type = valueType(this.operand.type)
    const order = orderBetween(type, type)
    if (order === null || (values.length > maxSortedTexts && typeof values[0] === 'string')) return null
    this.#sortedValues = sortedScalars(values, type, order)
    return this.#sortedValues
  }
}

/** The options of a LIKE pattern. */
interface LikeOptions {
  readonly ignoreCase: boolean
  /** The escape character, a single character. */
  readonly escape: string
}

export class LikeNode extends OperationNode implements LikeOptions {
  readonly kind = 'like'
  readonly operand: Bound
  readonly pattern: Bound
  readonly ignoreCase: boolean
  readonly escape: string
  #compiled: LikePattern | null = null

  constructor(operand: Bound, pattern: Bound, { ignoreCase, escape: escapeCharacter }: LikeOptions) {
    super(boolType, { weight: ignoreCase ? 50 : 15 }, [operand, pattern])
    this.operand = operand
    this.pattern = pattern
    this.ignoreCase = ignoreCase
    this.escape = escapeCharacter
  }

  get operands(): readonly Bound[] {
    return [this.operand, this.pattern]
  }

  withOperands([operand, pattern]: readonly Bound[]): LikeNode {
    return new LikeNode(operand!, pattern!, this)
  }

  /** Return the compiled form of the pattern, which must be constant. `text`: the pattern. It is compiled only once. */
  compiled(text: string): LikePattern {
    this.#compiled ??= this.compile(text)
    return this.#compiled
  }

  /**
   * Compile the pattern of one row. With `ignoreCase`, it first replaces the escape character by a backslash, and then
   * converts the pattern to lower case. Otherwise an escape character `A` would also match `a`.
   */
  compile(text: string): LikePattern {
    return this.ignoreCase
      ? compileLike(withBackslash(text, this.escape).toLowerCase(), '\\')
      : compileLike(text, this.escape)
  }
}

/** `operand IS NULL`, `IS TRUE` or `IS FALSE`. */
export class IsNode extends OperationNode {
  readonly kind = 'is'
  readonly operand: Bound
  readonly what: 'null' | 'true' | 'false'

  constructor(operand: Bound, what: IsNode['what']) {
    super(boolType, { weight: 0 }, [operand])
    this.operand = operand
    this.what = what
  }

  get operands(): readonly Bound[] {
    return [this.operand]
  }

  withOperands([operand]: readonly Bound[]): IsNode {
    return new IsNode(operand!, this.what)
  }
}

export class LogicNode extends OperationNode {
  readonly kind: 'and' | 'or'
  readonly operands: readonly Bound[]
  #negation: Bound | null = null

  constructor(kind: LogicNode['kind'], operands: readonly Bound[]) {
    super(boolType, { weight: 0 }, operands)
    this.kind = kind
    this.operands = operands
  }

  withOperands(operands: readonly Bound[]): LogicNode {
    return new LogicNode(this.kind, operands)
  }

  /**
   * Return the negation of this node. `create` is called once, and its result is cached. This node is cached as the
   * negation of the result, so that a chain of NOTs takes constant time per NOT.
   */
  negation(create: () => Bound): Bound {
    if (this.#negation === null) {
      const negation = create()
      this.#negation = negation
      if (negation instanceof LogicNode) negation.#negation ??= this
    }
    return this.#negation
  }
}

export class NotNode extends OperationNode {
  readonly kind = 'not'
  readonly operand: Bound

  constructor(operand: Bound) {
    super(boolType, { weight: 0 }, [operand])
    this.operand = operand
  }

  get operands(): readonly Bound[] {
    return [this.operand]
  }

  withOperands([operand]: readonly Bound[]): NotNode {
    return new NotNode(operand!)
  }
}

/**
 * An arithmetic operation. `arithmeticSignature` (arithmetic.ts) defines the types of the operands and of the result.
 */
export class ArithmeticNode extends OperationNode {
  readonly kind = 'arithmetic'
  readonly op: ArithmeticOp
  readonly left: Bound
  readonly right: Bound

  constructor(type: DataType, op: ArithmeticOp, left: Bound, right: Bound) {
    super(type, { weight: arithmeticWeight(type), mayFail: type.kind !== 'float' }, [left, right])
    this.op = op
    this.left = left
    this.right = right
  }

  get operands(): readonly Bound[] {
    return [this.left, this.right]
  }

  withOperands([left, right]: readonly Bound[]): ArithmeticNode {
    return new ArithmeticNode(this.type, this.op, left!, right!)
  }
}

/** A cast, which the SQL text contains or the binder adds. With `try`, a value that does not fit becomes NULL. */
export class CastNode extends OperationNode {
  readonly kind = 'cast'
  readonly operand: Bound
  readonly try: boolean

  constructor(type: DataType, operand: Bound, isTry: boolean) {
    const from = valueType(operand.type)
    super(type, { weight: castWeight(from, type), mayFail: !isTry && !isLossless(from, type) }, [operand])
    this.operand = operand
    this.try = isTry
  }

  get operands(): readonly Bound[] {
    return [this.operand]
  }

  withOperands([operand]: readonly Bound[]): CastNode {
    return new CastNode(this.type, operand!, this.try)
  }
}

/** An element of a list. `index` is an int64, counted from 1. The result is NULL if the index is out of range. */
export class ElementNode extends OperationNode {
  readonly kind = 'element'
  readonly operand: Bound
  readonly index: Bound

  constructor(type: DataType, operand: Bound, index: Bound) {
    super(type, { weight: 50 }, [operand, index])
    this.operand = operand
    this.index = index
  }

  get operands(): readonly Bound[] {
    return [this.operand, this.index]
  }

  withOperands([operand, index]: readonly Bound[]): ElementNode {
    return new ElementNode(this.type, operand!, index!)
  }
}

/** A condition of CASE with its result. */
export interface Branch {
  readonly when: Bound
  readonly result: Bound
}

/**
 * A CASE expression: the result of the first condition that is TRUE, else `otherwise`. All results have the same type.
 */
export class CaseNode extends OperationNode {
  readonly kind = 'case'
  readonly branches: readonly Branch[]
  readonly otherwise: Bound

  constructor(type: DataType, branches: readonly Branch[], otherwise: Bound) {
    super(type, { weight: 50 + 5 * branches.length }, operandsOfCase(branches, otherwise))
    this.branches = branches
    this.otherwise = otherwise
  }

  get operands(): readonly Bound[] {
    return operandsOfCase(this.branches, this.otherwise)
  }

  withOperands(operands: readonly Bound[]): CaseNode {
    const branches = this.branches.map((_, i) => ({ when: operands[2 * i]!, result: operands[2 * i + 1]! }))
    return new CaseNode(this.type, branches, operands.at(-1)!)
  }
}

function operandsOfCase(branches: readonly Branch[], otherwise: Bound): readonly Bound[] {
  return [...branches.flatMap(({ when, result }) => [when, result]), otherwise]
}

/**
 * A list with at least one element that is not a constant. All elements have the element type of the list.
 */
export class ListNode extends OperationNode {
  readonly kind = 'list'
  readonly elements: readonly Bound[]

  constructor(type: DataType, elements: readonly Bound[]) {
    super(type, { weight: 50 * elements.length }, elements)
    this.elements = elements
  }

  get operands(): readonly Bound[] {
    return this.elements
  }

  withOperands(elements: readonly Bound[]): ListNode {
    return new ListNode(this.type, elements)
  }
}

/** A field of a struct value. `index`: number of the field. A field of a struct column is a `column` node instead. */
export class FieldNode extends OperationNode {
  readonly kind = 'field'
  readonly operand: Bound
  readonly index: number

  constructor(type: DataType, operand: Bound, index: number) {
    super(type, { weight: 0 }, [operand])
    this.operand = operand
    this.index = index
  }

  get operands(): readonly Bound[] {
    return [this.operand]
  }

  withOperands([operand]: readonly Bound[]): FieldNode {
    return new FieldNode(this.type, operand!, this.index)
  }
}

/** A function call. The arguments have the types that the function declares. */
export class CallNode extends OperationNode {
  readonly kind = 'call'
  readonly callee: Callee
  readonly args: readonly Bound[]

  constructor(type: DataType, callee: Callee, args: readonly Bound[]) {
    const { name, mayFail = false, volatile: isVolatile = false } = callee
    super(type, { weight: callWeight(name, type, args), mayFail, isVolatile }, args)
    this.callee = callee
    this.args = args
  }

  get operands(): readonly Bound[] {
    return this.args
  }

  withOperands(args: readonly Bound[]): CallNode {
    return new CallNode(this.type, this.callee, args)
  }
}

/** A node with operands. */
export type Operation =
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

export type Bound = LiteralNode | ColumnNode | Operation
