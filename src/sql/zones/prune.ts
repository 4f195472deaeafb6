/**
 * Compute the truth values that a condition can have in a set of rows, from the min/max statistics (zone maps) of its
 * columns. If the condition cannot be TRUE, a query skips the rows. If it can only be TRUE, a query does not evaluate
 * it.
 *
 * - A truth value that is reported as impossible never occurs. A truth value that is reported as possible may not
 *   occur.
 * - The operands of AND and OR are treated as independent of each other, and so are both sides of a comparison.
 * - An expression of an unknown form can have any value, and so can an operation that fails. So a query raises no
 *   errors of rows that it skips. In the same way, AND raises no errors of rows that an earlier operand decides
 *   (evaluate.ts).
 */
import { ErrorCode, SheafError } from '../../errors.js'
import { partitionPoint } from '../../primitives/partition-point.js'
import type { Bound, CallNode, CaseNode, InNode, LikeNode, LogicNode, Operation } from '../bound.js'
import type { ColumnNode } from '../column-node.js'
import { evaluateConstant } from '../evaluate.js'
import type { CompareOp } from '../syntax/syntax.js'
import { LiteralNode } from '../values/literal-node.js'
import type { Scalar } from '../values/scalar.js'
import { type Order, orderBetween, orderOfScalars } from '../values/scalar-order.js'
import { valueType } from '../values/types.js'
import { type Prefix, prefixOfPattern, prefixOfText } from './like-prefix.js'
import { risingOperand } from './rising.js'
import { textAbove } from './text-bounds.js'
import type { Zone } from './zone.js'

/** The truth values that the rows can have: each field says whether a row may be TRUE, FALSE or NULL. */
export interface PossibleTruth {
  readonly isTrue: boolean
  readonly isFalse: boolean
  readonly isNull: boolean
}

/** The statistics of a column in a set of rows, including deleted rows. */
export interface KnownColumn {
  /** The zone map. Null if the column has none for these rows. */
  readonly zone: Zone | null
  /** Number of rows. */
  readonly rows: number
}

/** The range of the values of an expression. A null `least` or `greatest` means that there is no such bound. */
interface Range {
  readonly least: Scalar
  readonly greatest: Scalar
  readonly hasValue: boolean
  readonly hasNull: boolean
}

/** Returns the statistics of a column, or null if there are none. */
export type Known = (column: ColumnNode) => KnownColumn | null

const anything: PossibleTruth = { isTrue: true, isFalse: true, isNull: true }
const onlyNull: PossibleTruth = { isTrue: false, isFalse: false, isNull: true }
const anyValue: Range = { least: null, greatest: null, hasValue: true, hasNull: true }

/** Return the truth values that a condition can have. `known`: returns the statistics of a column. */
export function possibleTruth(node: Bound, known: Known): PossibleTruth {
  switch (node.kind) {
    case 'and':
    case 'or':
      return logic(node, known)
    case 'not': {
      const { isTrue, isFalse, isNull } = possibleTruth(node.operand, known)
      return { isTrue: isFalse, isFalse: isTrue, isNull }
    }
    case 'compare':
      return compared(node.op, node.left, node.right, known)
    case 'between':
      return both(
        compared('>=', node.operand, node.low, known),
        compared('<=', node.operand, node.high, known),
      )
    case 'in':
      return membership(node, known)
    case 'like':
      return likeness(node, known)
    case 'is': {
      if (valueType(node.operand.type).kind === 'bool')
        return is(node.what, possibleTruth(node.operand, known))
      const { hasValue, hasNull } = rangeOf(node.operand, known)
      return { isTrue: hasNull, isFalse: hasValue, isNull: false }
    }
    case 'call':
      return called(node, known)
    default: {
      const { least, greatest, hasValue, hasNull } = rangeOf(node, known)
      return { isTrue: hasValue && greatest !== false, isFalse: hasValue && least !== true, isNull: hasNull }
    }
  }
}

function logic({ kind, operands }: LogicNode, known: Known): PossibleTruth {
  const combine = kind === 'and' ? both : either
  return operands.map(operand => possibleTruth(operand, known)).reduce(combine)
}

/** Combine two operands of AND. The result is FALSE if an operand is FALSE, otherwise NULL if an operand is NULL. */
function both(a: PossibleTruth, b: PossibleTruth): PossibleTruth {
  return {
    isTrue: a.isTrue && b.isTrue,
    isFalse: a.isFalse || b.isFalse,
    isNull: (a.isNull && (b.isNull || b.isTrue)) || (b.isNull && a.isTrue),
  }
}

/** Combine two operands of OR. The result is TRUE if an operand is TRUE, otherwise NULL if an operand is NULL. */
function either(a: PossibleTruth, b: PossibleTruth): PossibleTruth {
  return {
    isTrue: a.isTrue || b.isTrue,
    isFalse: a.isFalse && b.isFalse,
    isNull: (a.isNull && (b.isNull || b.isFalse)) || (b.isNull && a.isFalse),
  }
}

function is(what: 'null' | 'true' | 'false', { isTrue, isFalse, isNull }: PossibleTruth): PossibleTruth {
  switch (what) {
    case 'null':
      return { isTrue: isNull, isFalse: isTrue || isFalse, isNull: false }
    case 'true':
      return { isTrue, isFalse: isFalse || isNull, isNull: false }
    case 'false':
      return { isTrue: isFalse, isFalse: isTrue || isNull, isNull: false }
  }
}

// ---- ranges of values

function rangeOf(node: Bound, known: Known): Range {
  switch (node.kind) {
    case 'literal':
      return rangeOfLiteral(node)
    case 'column': {
      const column = known(node)
      if (column === null || column.zone === null) return anyValue
      const { least, greatest, nulls } = column.zone
      return { least, greatest, hasValue: nulls < column.rows, hasNull: nulls > 0 }
    }
    case 'case':
      return rangeOfCase(node, known)
    case 'cast':
    case 'arithmetic':
    case 'call':
      return rangeOfRising(node, known)
    case 'and':
    case 'or':
    case 'not':
    case 'compare':
    case 'between':
    case 'in':
    case 'like':
    case 'is': {
      const { isTrue, isFalse, isNull } = possibleTruth(node, known)
      return { least: !isFalse, greatest: isTrue, hasValue: isTrue || isFalse, hasNull: isNull }
    }
    default:
      return anyValue
  }
}

function rangeOfLiteral({ value }: LiteralNode): Range {
  return { least: value, greatest: value, hasValue: value !== null, hasNull: value === null }
}

/**
 * Return the range of an operation that increases with its only operand that is not constant. The bounds are the
 * results of the operation for the two bounds of this operand.
 */
function rangeOfRising(node: Operation, known: Known): Range {
  const at = risingOperand(node)
  if (at === null) return anyValue
  const { operands } = node
  const operand = operands[at]!
  const range = rangeOf(operand, known)
  const valueAt = (value: Scalar): Scalar => {
    if (value === null) return null
    const end = new LiteralNode(valueType(operand.type), value)
    return evaluateConstant(node.withOperands(operands.with(at, end)))
  }
  try {
    const hasNull = range.hasNull || (node.kind === 'cast' && node.try)
    return { ...range, least: valueAt(range.least), greatest: valueAt(range.greatest), hasNull }
  } catch (error) {
    if (error instanceof SheafError && error.code === ErrorCode.InvalidInput) return anyValue
    throw error
  }
}

/** Return the range of a CASE: the union of the ranges of all branches that a row can take. */
function rangeOfCase({ branches, otherwise, type }: CaseNode, known: Known): Range {
  const results: Range[] = []
  let isOpen = true
  for (const { when, result } of branches) {
    const { isTrue, isFalse, isNull } = possibleTruth(when, known)
    if (isTrue) results.push(rangeOf(result, known))
    isOpen = isFalse || isNull
    if (!isOpen) break
  }
  if (isOpen) results.push(rangeOf(otherwise, known))
  const order = orderBetween(type, type)
  return results.reduce((a, b) => joined(a, b, order))
}

function joined(a: Range, b: Range, order: Order | null): Range {
  const hasNull = a.hasNull || b.hasNull
  if (!a.hasValue) return { ...b, hasNull }
  if (!b.hasValue) return { ...a, hasNull }
  const isBelow = order === null || a.least === null || b.least === null
  const isAbove = order === null || a.greatest === null || b.greatest === null
  return {
    least: isBelow ? null : order(a.least, b.least) <= 0 ? a.least : b.least,
    greatest: isAbove ? null : order(a.greatest, b.greatest) >= 0 ? a.greatest : b.greatest,
    hasValue: true,
    hasNull,
  }
}

// ---- comparisons

function compared(op: CompareOp, left: Bound, right: Bound, known: Known): PossibleTruth {
  return comparedRanges(op, rangeOf(left, known), rangeOf(right, known), orderBetween(left.type, right.type))
}

/**
 * Compare two ranges. `order`: compares values of the two types. If it is null, values cannot be compared, and the
 * result can have every truth value.
 */
function comparedRanges(op: CompareOp, a: Range, b: Range, order: Order | null): PossibleTruth {
  if (!a.hasValue || !b.hasValue) return onlyNull
  // Compare the minimum of `a` with the maximum of `b`, and the maximum of `a` with the minimum of `b`.
  const lower = order === null || a.least === null || b.greatest === null ? -1 : order(a.least, b.greatest)
  const upper = order === null || a.greatest === null || b.least === null ? 1 : order(a.greatest, b.least)
  const less = lower < 0
  const greater = upper > 0
  const equal = lower <= 0 && upper >= 0
  const isNull = a.hasNull || b.hasNull
  switch (op) {
    case '=':
      return { isTrue: equal, isFalse: less || greater, isNull }
    case '<>':
      return { isTrue: less || greater, isFalse: equal, isNull }
    case '<':
      return { isTrue: less, isFalse: greater || equal, isNull }
    case '>=':
      return { isTrue: greater || equal, isFalse: less, isNull }
    case '>':
      return { isTrue: greater, isFalse: less || equal, isNull }
    case '<=':
      return { isTrue: less || equal, isFalse: greater, isNull }
  }
}

// ---- sets and patterns

function membership(node: InNode, known: Known): PossibleTruth {
  const range = rangeOf(node.operand, known)
  if (!range.hasValue) return onlyNull
  const order = orderBetween(node.operand.type, node.operand.type)
  const { least, greatest, hasNull } = range
  let isMember = true
  let isNonMember = true
  const values = order === null ? null : node.sortedValues
  if (order !== null && values !== null) {
    // Find the first list value that is not below the range. A row can be a member only if this value is not above the
    // range.
    const at = least === null ? 0 : partitionPoint(values.length, i => order(values[i]!, least) < 0)
    const isPoint = least !== null && greatest !== null && order(least, greatest) === 0
    isMember = at < values.length && (greatest === null || order(values[at]!, greatest) <= 0)
    isNonMember = !(isPoint && isMember)
  }
  // If the list contains NULL, a row that equals no other member is NULL, not FALSE.
  let truth: PossibleTruth = {
    isTrue: isMember,
    isFalse: isNonMember && !node.hasNull,
    isNull: hasNull || (isNonMember && node.hasNull),
  }
  for (const other of node.others) truth = either(truth, compared('=', node.operand, other, known))
  return truth
}

function likeness(node: LikeNode, known: Known): PossibleTruth {
  const { operand, pattern, ignoreCase } = node
  if (valueType(operand.type).kind !== 'utf8' || pattern.kind !== 'literal') return anything
  const { least } = rangeOfLiteral(pattern)
  if (typeof least !== 'string') return onlyNull
  const range = rangeOf(operand, known)
  if (!range.hasValue) return onlyNull
  if (ignoreCase) return { isTrue: true, isFalse: true, isNull: range.hasNull }
  const prefix = prefixOfPattern(least, node.escape)
  return prefix.rest === 'nothing' ? equalTo(range, prefix.text) : beginning(range, prefix)
}

function called({ callee: { name }, args }: CallNode, known: Known): PossibleTruth {
  const [text, start] = args
  if (name !== 'starts_with' || start?.kind !== 'literal') return anything
  const { least } = rangeOfLiteral(start)
  const range = rangeOf(text!, known)
  return typeof least === 'string' && range.hasValue ? beginning(range, prefixOfText(least)) : onlyNull
}

function equalTo(range: Range, text: string): PossibleTruth {
  const point: Range = { least: text, greatest: text, hasValue: true, hasNull: false }
  return comparedRanges('=', range, point, orderOfScalars)
}

function beginning({ least, greatest, hasNull }: Range, { text, rest }: Prefix): PossibleTruth {
  const above = textAbove(text)
  const startsBelow = least === null || above === null || orderOfScalars(least, above) < 0
  const endsAbove = greatest === null || orderOfScalars(greatest, text) >= 0
  const startsWithin = text === '' || (least !== null && orderOfScalars(least, text) >= 0)
  const endsWithin = above === null || (greatest !== null && orderOfScalars(greatest, above) < 0)
  return {
    isTrue: startsBelow && endsAbove,
    isFalse: !(rest === 'anything' && startsWithin && endsWithin),
    isNull: hasNull,
  }
}
