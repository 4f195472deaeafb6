/** What an expression costs and whether it can fail, from its shape alone: the order in which conditions run. */
import type { DataType } from '../arrow/types.js'
import { type Bound, type LogicNode, operandsOf } from './bound.js'
import { isLossless } from './cast.js'
import { functionNamed } from './functions.js'
import { valueType } from './types.js'

/** Rough cost per row, relative to comparing a number with a constant, and whether some row can be an error. */
export interface Cost {
  readonly weight: number
  readonly mayFail: boolean
}

const costs = new WeakMap<Bound, Cost>()
const orders = new WeakMap<LogicNode, readonly Bound[]>()

/** The operands of an AND or OR as they are run: what cannot fail first, then what is cheap. */
export function inOrder(node: LogicNode): readonly Bound[] {
  let order = orders.get(node)
  if (order === undefined) {
    order = [...node.operands].sort((a, b) => {
      const x = costOf(a)
      const y = costOf(b)
      return x.mayFail === y.mayFail ? x.weight - y.weight : Number(x.mayFail) - Number(y.mayFail)
    })
    orders.set(node, order)
  }
  return order
}

export function costOf(node: Bound): Cost {
  let cost = costs.get(node)
  if (cost === undefined) {
    let weight = ownWeight(node)
    let mayFail = canFail(node)
    for (const operand of operandsOf(node)) {
      weight += costOf(operand).weight
      mayFail ||= costOf(operand).mayFail
    }
    cost = { weight, mayFail }
    costs.set(node, cost)
  }
  return cost
}

function ownWeight(node: Bound): number {
  switch (node.kind) {
    case 'literal':
    case 'column':
    case 'and':
    case 'or':
    case 'not':
    case 'is':
      return 0
    case 'compare':
    case 'between':
      return isBytes(operandsOf(node)[0]!.type) ? 4 : 1
    case 'in':
      return isBytes(node.operand.type) ? 6 : 3
    case 'arithmetic':
      return 4
    case 'like':
      return node.ignoreCase ? 20 : 8
    case 'cast':
    case 'element':
    case 'call':
      return 10
  }
}

function isBytes(type: DataType): boolean {
  const { kind } = valueType(type)
  return kind === 'utf8' || kind === 'binary' || kind === 'fixed_size_binary'
}

function canFail(node: Bound): boolean {
  switch (node.kind) {
    case 'arithmetic':
      return node.type.kind === 'int'
    case 'cast':
      return !node.try && !isLossless(valueType(node.operand.type), node.type)
    case 'call':
      return functionNamed(node.name)!.mayFail === true
    default:
      return false
  }
}
