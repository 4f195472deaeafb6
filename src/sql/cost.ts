/**
 * Estimate what an expression costs and whether it can fail, from its shape alone. AND and OR use this to
 * order their operands.
 */

import { equalTypes } from '../arrow/same-type.js'
import type { DataType } from '../arrow/types.js'
import { type Bound, type CallNode, operandsOf } from './bound.js'
import { isLossless } from './kernels/cast.js'
import { elementType, valueType } from './values/types.js'

/** The estimated cost and the properties of a node, including its operands. */
interface Cost {
  /** Rough nanoseconds per row on one core. Comparing a number with a constant costs 1. */
  readonly weight: number
  /** Whether the evaluation can throw for some row. */
  readonly mayFail: boolean
  /**
   * Whether the same row can give another result next time. Then the node is never folded, nor shared between
   * rows.
   */
  readonly isVolatile: boolean
  /** Whether every row has the same value: the node reads no column and is not volatile. */
  readonly isConstant: boolean
}

const costs = new WeakMap<Bound, Cost>()
const ofLiteral: Cost = { weight: 0, mayFail: false, isVolatile: false, isConstant: true }
const ofColumn: Cost = { ...ofLiteral, isConstant: false }

/** Return the cost of a node, including its operands. The cost is cached per node. */
export function costOf(node: Bound): Cost {
  if (node.kind === 'literal') return ofLiteral
  if (node.kind === 'column') return ofColumn
  let cost = costs.get(node)
  if (cost === undefined) {
    let weight = ownWeight(node)
    let mayFail = canFail(node)
    let isVolatile = node.kind === 'call' && node.callee.volatile === true
    let isConstant = !isVolatile
    for (const operand of operandsOf(node)) {
      const operandCost = costOf(operand)
      weight += operandCost.weight
      mayFail ||= operandCost.mayFail
      isVolatile ||= operandCost.isVolatile
      isConstant &&= operandCost.isConstant
    }
    cost = { weight, mayFail, isVolatile, isConstant }
    costs.set(node, cost)
  }
  return cost
}

/** Return the operands of an AND or OR in evaluation order: first operands that cannot fail, then by ascending cost. */
export function inOrder(operands: readonly Bound[]): readonly Bound[] {
  const ranked = operands.map(operand => ({ operand, cost: costOf(operand) }))
  const order = (a: Cost, b: Cost) => Number(a.mayFail) - Number(b.mayFail) || a.weight - b.weight
  return ranked.sort((a, b) => order(a.cost, b.cost)).map(({ operand }) => operand)
}

function ownWeight(node: Bound): number {
  switch (node.kind) {
    case 'literal':
    case 'column':
    case 'and':
    case 'or':
    case 'not':
    case 'is':
    case 'field':
      return 0
    case 'compare':
      return comparisonWeight(node.left, node.right)
    case 'between':
      return comparisonWeight(node.operand, node.low) + comparisonWeight(node.operand, node.high)
    case 'in': {
      const others = node.others.reduce((sum, other) => sum + comparisonWeight(node.operand, other), 0)
      return (isBytes(node.operand.type) ? 8 : 2) + others
    }
    case 'like':
      return node.ignoreCase ? 50 : 15
    case 'arithmetic':
      return arithmeticWeight(node.type)
    case 'cast':
      return castWeight(valueType(node.operand.type), node.type)
    case 'element':
      return 50
    case 'case':
      return 50 + 5 * node.branches.length
    case 'list':
      return 50 * node.elements.length
    case 'call':
      return callWeight(node)
  }
}

function comparisonWeight(left: Bound, right: Bound): number {
  const [a, b] = [valueType(left.type), valueType(right.type)]
  if (a.kind === 'interval' || b.kind === 'interval' || elementType(a) !== null) return 100
  if (a.kind === 'decimal' || b.kind === 'decimal') return a.kind === b.kind ? 10 : 300
  const weight = isBytes(a) ? 6 : 1
  if (right.kind === 'literal') return weight
  return equalTypes(a, b) ? 4 * weight : 10 * weight
}

function isBytes(type: DataType): boolean {
  const { kind } = valueType(type)
  return kind === 'utf8' || kind === 'binary' || kind === 'fixed_size_binary'
}

function arithmeticWeight({ kind }: DataType): number {
  if (kind === 'float') return 5
  return kind === 'int' ? 15 : kind === 'decimal' ? 500 : 120
}

function castWeight(from: DataType, to: DataType): number {
  if (from.kind === 'utf8' && to.kind === 'utf8') return 0
  if (from.kind === 'utf8' || to.kind === 'utf8' || from.kind === 'decimal' || to.kind === 'decimal')
    return 300
  const isNumber = ({ kind }: DataType) => kind === 'int' || kind === 'float' || kind === 'bool'
  return isNumber(from) && isNumber(to) ? 10 : 50
}

/** Functions that parse a language of their own, or read every byte many times. */
const heavyCalls = /^(json_|regexp_|md5|sha|digest)/

function callWeight({ callee: { name }, type, args }: CallNode): number {
  if (heavyCalls.test(name)) return 2000
  const weight = isBytes(type) ? 200 : args.some(arg => isBytes(arg.type)) ? 100 : 50
  return weight * Math.max(1, args.length / 2)
}

function canFail(node: Bound): boolean {
  switch (node.kind) {
    case 'arithmetic':
      return node.type.kind !== 'float'
    case 'cast':
      return !node.try && !isLossless(valueType(node.operand.type), node.type)
    case 'call':
      return node.callee.mayFail === true
    default:
      return false
  }
}
