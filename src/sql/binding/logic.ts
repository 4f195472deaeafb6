/**
 * Create conditions in normal form:
 *
 * - nested ANDs and nested ORs are flattened, and operands are in evaluation order (cost.ts)
 * - NOT is pushed down to comparisons
 * - equalities with constants are merged into IN
 * - duplicates and constant conditions are removed
 *
 * Each step keeps the truth value of every row, including NULL.
 */
import type { DataType } from '../../arrow/types.js'
import { type Bound, type Branch, CaseNode, CompareNode, InNode, LogicNode, NotNode } from '../bound.js'
import { inOrder } from '../cost.js'
import { complement } from '../kernels/compare.js'
import { printBound } from '../print.js'
import { LiteralNode } from '../values/literal-node.js'
import type { Scalar } from '../values/scalar.js'
import { boolType, valueType } from '../values/types.js'

/** NULL as a truth value. */
export const unknownTruth = new LiteralNode(boolType, null)

/** Create a boolean constant. */
export function truthLiteral(value: boolean): LiteralNode {
  return new LiteralNode(boolType, value)
}

export function isLiteral(node: Bound): node is LiteralNode {
  return node.kind === 'literal'
}

/** Return whether the node is NULL in every row. */
export function isNull(node: Bound): boolean {
  return node.type.kind === 'null' || (isLiteral(node) && node.value === null)
}

/** Create the negation of a condition, with NOT pushed down to comparisons. */
export function negated(node: Bound): Bound {
  switch (node.kind) {
    case 'literal':
      return node.value === null ? node : truthLiteral(node.value !== true)
    case 'compare':
      return new CompareNode(complement[node.op], node.left, node.right)
    case 'not':
      return node.operand
    case 'and':
    case 'or':
      return node.negation(() => combined(node.kind === 'and' ? 'or' : 'and', node.operands.map(negated)))
    default:
      return new NotNode(node)
  }
}

/** Join any number of conditions with AND or OR. */
export function combined(kind: 'and' | 'or', conditions: readonly Bound[]): Bound {
  const neutral = kind === 'and'
  const operands: Bound[] = []
  let hasNull = false
  for (const condition of conditions) {
    for (const operand of condition.kind === kind ? condition.operands : [condition]) {
      if (!isLiteral(operand)) operands.push(operand)
      else if (operand.value === !neutral) return operand
      else if (operand.value === null) hasNull = true
    }
  }
  if (operands.length === 0) return hasNull ? unknownTruth : truthLiteral(neutral)
  const distinct = withoutRepeats(mergedMemberships(kind, operands))
  if (hasNull) distinct.push(unknownTruth)
  return distinct.length === 1 ? distinct[0]! : new LogicNode(kind, inOrder(distinct))
}

/** Create a CASE without the branches that no row can take. `type`: the type of all results. */
export function conditional(type: DataType, branches: readonly Branch[], otherwise: Bound): Bound {
  const open: Branch[] = []
  for (const branch of branches) {
    if (!isLiteral(branch.when)) open.push(branch)
    else if (branch.when.value === true) return conditional(type, open, branch.result)
  }
  return open.length === 0 ? otherwise : new CaseNode(type, open, otherwise)
}

/**
 * Merge `value = a OR value IN (b)` into `value IN (a, b)`, and `value <> a AND value NOT IN (b)` into
 * `value NOT IN (a, b)`.
 */
function mergedMemberships(kind: 'and' | 'or', operands: readonly Bound[]): Bound[] {
  const out: Bound[] = []
  const groups = new Map<string, { at: number; list: InNode; merged: MergedList | null }>()
  for (const operand of operands) {
    const list = asMembership(kind, operand)
    const key = list === null ? null : shortText(list.operand)
    if (list === null || key === null) {
      out.push(operand)
      continue
    }
    const known = groups.get(key)
    if (known === undefined) {
      groups.set(key, { at: out.length, list, merged: null })
      out.push(operand)
    } else {
      known.merged ??= new MergedList(known.list)
      known.merged.add(list)
    }
  }
  for (const { at, merged } of groups.values()) {
    if (merged !== null) out[at] = kind === 'or' ? merged.finish() : negated(merged.finish())
  }
  return out
}

/**
 * Convert an operand of OR to a test `value IN (constants)`. For an operand of AND, return the test whose negation is
 * the operand. Return null if the operand has no such form.
 */
function asMembership(kind: 'and' | 'or', condition: Bound): InNode | null {
  const node = kind === 'and' && condition.kind === 'not' ? condition.operand : condition
  if (node.kind === 'in')
    return (node === condition) === (kind === 'or') && node.others.length === 0 ? node : null
  if (node !== condition || node.kind !== 'compare' || node.op !== (kind === 'or' ? '=' : '<>')) return null
  if (!isLiteral(node.right) || !hasMembers(node.right.type)) return null
  return new InNode(node.left, { values: [node.right.value], hasNull: false, others: [] })
}

/** Return whether constants of the type are looked up in a set. Constants of other types are compared one by one. */
export function hasMembers({ kind }: DataType): boolean {
  return !['interval', 'list', 'fixed_size_list', 'struct', 'map'].includes(kind)
}

/** Merges the lists of several IN tests of the same operand into one list. */
class MergedList {
  readonly #first: InNode
  readonly #values: Scalar[]
  readonly #keys: Set<unknown>
  #hasNull: boolean

  constructor(first: InNode) {
    this.#first = first
    this.#values = [...first.values]
    this.#keys = new Set(first.values.map(keyOf))
    this.#hasNull = first.hasNull
  }

  add({ values, hasNull }: InNode): void {
    this.#hasNull ||= hasNull
    for (const value of values) if (isNew(this.#keys, value)) this.#values.push(value)
  }

  finish(): Bound {
    const { operand, others } = this.#first
    const values = this.#values
    if (values.length > 1 || this.#hasNull) {
      return new InNode(operand, { values, hasNull: this.#hasNull, others })
    }
    return new CompareNode('=', operand, new LiteralNode(valueType(operand.type), values[0]!))
  }
}

/** Add the key of a constant to a set of keys. Return false if the set already contains the key. */
export function isNew(keys: Set<unknown>, value: Scalar): boolean {
  const { size } = keys
  return keys.add(keyOf(value)).size > size
}

/**
 * Return the key by which a Set identifies a constant. A bigint becomes a number if it is safe, because bigints hash
 * slowly.
 */
function keyOf(value: Scalar): unknown {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : value
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value
}

function withoutRepeats(operands: readonly Bound[]): Bound[] {
  const texts = new Set<string>()
  return operands.filter(operand => {
    const text = operands.length === 1 ? null : shortText(operand)
    return text === null || texts.size < texts.add(text).size
  })
}

/** Maximum number of nodes of an expression that is compared with other expressions by its text. */
const shortSize = 24
/** Maximum length of each constant in such an expression, in characters, bytes or elements. */
const shortConstant = 100

/** Return the text of an expression to find equal expressions. Return null if the expression is long or volatile. */
function shortText(node: Bound): string | null {
  return sizeOf(node, shortSize) < 0 || node.cost.isVolatile ? null : printBound(node)
}

/**
 * Subtract the number of nodes of an expression from `budget` and return the rest. Return a negative number if the
 * expression has more nodes, or a constant longer than `shortConstant`.
 */
function sizeOf(node: Bound, budget: number): number {
  let remaining = budget - 1
  if (node.kind === 'in') remaining -= node.values.length
  if (remaining < 0 || (node.kind === 'in' && !node.values.every(isShort))) return -1
  if (node.kind === 'literal' && !isShort(node.value)) return -1
  const { operands } = node
  for (let i = 0; i < operands.length && remaining >= 0; i++) remaining = sizeOf(operands[i]!, remaining)
  return remaining
}

function isShort(value: Scalar): boolean {
  return (
    !(typeof value === 'string' || value instanceof Uint8Array || Array.isArray(value)) ||
    value.length <= shortConstant
  )
}
