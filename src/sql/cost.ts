/**
 * Estimates the cost of an expression, and whether it can fail, from its operators and types. AND and OR use the
 * estimate to order their operands. Every node computes its cost when it is created (bound.ts).
 */

import { equalTypes } from '../arrow/same-type.js'
import type { DataType } from '../arrow/types.js'
import { elementType, valueType } from './values/types.js'

/** The estimated cost and the properties of a node, including its operands. */
export interface Cost {
  /** Approximate nanoseconds per row on one core. Comparing a number with a constant costs 1. */
  readonly weight: number
  /** Whether the evaluation can throw for some row. */
  readonly mayFail: boolean
  /**
   * Whether two evaluations for the same row may have different results. Such a node is not folded to a constant, and
   * its result is not shared between rows.
   */
  readonly isVolatile: boolean
  /** Whether every row has the same value: the node reads no column and is not volatile. */
  readonly isConstant: boolean
}

/** The cost of a node without its operands. */
export type OwnCost = Pick<Cost, 'weight'> & Partial<Pick<Cost, 'mayFail' | 'isVolatile'>>

interface Typed {
  readonly kind: string
  readonly type: DataType
}

interface Costed {
  readonly cost: Cost
}

export const costOfColumn: Cost = { weight: 0, mayFail: false, isVolatile: false, isConstant: false }

/** Return the cost of a node, including its operands. */
export function costWith(own: OwnCost, operands: readonly Costed[]): Cost {
  let { weight, mayFail = false, isVolatile = false } = own
  let isConstant = !isVolatile
  for (const { cost } of operands) {
    weight += cost.weight
    mayFail ||= cost.mayFail
    isVolatile ||= cost.isVolatile
    isConstant &&= cost.isConstant
  }
  return { weight, mayFail, isVolatile, isConstant }
}

/** Return the operands of an AND or OR in evaluation order: first operands that cannot fail, then by ascending cost. */
export function inOrder<T extends Costed>(operands: readonly T[]): readonly T[] {
  const order = (a: Cost, b: Cost) => Number(a.mayFail) - Number(b.mayFail) || a.weight - b.weight
  return operands.toSorted((a, b) => order(a.cost, b.cost))
}

export function comparisonWeight(left: Typed, right: Typed): number {
  const [a, b] = [valueType(left.type), valueType(right.type)]
  if (a.kind === 'interval' || b.kind === 'interval' || elementType(a) !== null) return 100
  if (a.kind === 'decimal' || b.kind === 'decimal') return a.kind === b.kind ? 10 : 300
  const weight = isBytes(a) ? 6 : 1
  if (right.kind === 'literal') return weight
  return equalTypes(a, b) ? 4 * weight : 10 * weight
}

/** Return the weight of looking up a value of the type in a set of constants. */
export function lookupWeight(type: DataType): number {
  return isBytes(type) ? 8 : 2
}

function isBytes(type: DataType): boolean {
  const { kind } = valueType(type)
  return kind === 'utf8' || kind === 'binary' || kind === 'fixed_size_binary'
}

export function arithmeticWeight({ kind }: DataType): number {
  if (kind === 'float') return 5
  return kind === 'int' ? 15 : kind === 'decimal' ? 500 : 120
}

export function castWeight(from: DataType, to: DataType): number {
  if (from.kind === 'utf8' && to.kind === 'utf8') return 0
  if (from.kind === 'utf8' || to.kind === 'utf8' || from.kind === 'decimal' || to.kind === 'decimal')
    return 300
  const isNumber = ({ kind }: DataType) => kind === 'int' || kind === 'float' || kind === 'bool'
  return isNumber(from) && isNumber(to) ? 10 : 50
}

/** Names of functions that parse a language (JSON, regular expressions), or process every byte many times. */
const heavyCalls = /^(json_|regexp_|md5|sha|digest)/

export function callWeight(name: string, type: DataType, args: readonly Typed[]): number {
  if (heavyCalls.test(name)) return 2000
  const weight = isBytes(type) ? 200 : args.some(arg => isBytes(arg.type)) ? 100 : 50
  return weight * Math.max(1, args.length / 2)
}
