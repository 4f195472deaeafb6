/**
 * Bound nodes in their normal form: constants folded and in the type of what they meet, the constant of a
 * comparison on the right, AND in AND and OR in OR flattened, NOT pushed into comparisons.
 */
import { parseInstant } from '../arrow/instant.js'
import { equalTypes } from '../arrow/same-type.js'
import { typeName } from '../arrow/type-name.js'
import type { DataType } from '../arrow/types.js'
import {
  ErrorCode,
  invalidInput,
  SheafError,
  type SourceSpan,
  schemaMismatch,
  unsupported,
} from '../errors.js'
import { type Bound, type CastNode, type LiteralNode, operandsOf, type Scalar } from './bound.js'
import { complement, mirrored } from './compare.js'
import { evaluateConstant } from './evaluate.js'
import { equalValue, fitComparison } from './literal.js'
import { printBound } from './print.js'
import type { CompareOp } from './syntax.js'
import { nanosPerUnit } from './temporal.js'
import { boolType, commonType, isNumeric, nameOfType, valueType } from './types.js'

/** NULL as a truth value. */
export const unknownTruth: LiteralNode = { kind: 'literal', type: boolType, value: null }

export function truthLiteral(value: boolean): LiteralNode {
  return { kind: 'literal', type: boolType, value }
}

export function isLiteral(node: Bound): node is LiteralNode {
  return node.kind === 'literal'
}

/** Whether the node is NULL in every row. */
export function isNull(node: Bound): boolean {
  return node.type.kind === 'null' || (isLiteral(node) && node.value === null)
}

/** The node, or its value when it depends on no column. What would fail stays, and fails for the rows that need it. */
export function fold(node: Bound): Bound {
  if (isLiteral(node) || node.kind === 'column' || !operandsOf(node).every(isLiteral)) return node
  try {
    return { kind: 'literal', type: node.type, value: evaluateConstant(node) }
  } catch (error) {
    if (error instanceof SheafError && error.code === ErrorCode.InvalidInput) return node
    throw error
  }
}

/** `node` in a message: its text and type. */
export function describe(node: Bound): string {
  const text = printBound(node)
  return `${text.length > 80 ? `${text.slice(0, 77)}...` : text} (${typeName(node.type)})`
}

export function negated(node: Bound): Bound {
  if (isLiteral(node)) return node.value === null ? node : truthLiteral(node.value !== true)
  if (node.kind === 'compare') return { ...node, op: complement[node.op] }
  return node.kind === 'not' ? node.operand : { kind: 'not', type: boolType, operand: node }
}

/** AND or OR of any number of conditions. */
export function combined(kind: 'and' | 'or', conditions: readonly Bound[]): Bound {
  const neutral = kind === 'and'
  const operands: Bound[] = []
  for (const condition of conditions) {
    for (const operand of condition.kind === kind ? condition.operands : [condition]) {
      if (isLiteral(operand) && operand.value === !neutral) return operand
      if (!(isLiteral(operand) && operand.value === neutral)) operands.push(operand)
    }
  }
  if (operands.length === 0) return truthLiteral(neutral)
  if (operands.every(isLiteral)) return unknownTruth
  return operands.length === 1 ? operands[0]! : { kind, type: boolType, operands }
}

export function compared(op: CompareOp, left: Bound, right: Bound, at: SourceSpan): Bound {
  if (isLiteral(left) && !isLiteral(right)) return compared(mirrored[op], right, left, at)
  if (isNull(left) || isNull(right)) return unknownTruth
  if (!isLiteral(right)) {
    if (!areComparable(left.type, right.type)) throw notComparable(left, right, at)
    return { kind: 'compare', type: boolType, op, left, right }
  }
  if (
    valueType(left.type).kind === 'bool' &&
    (op === '=' || op === '<>') &&
    typeof right.value === 'boolean'
  ) {
    return fold(right.value === (op === '=') ? left : negated(left))
  }
  const fitted = fitComparison(left.type, op, right)
  if (fitted === null) {
    // Two constants: the one on the left may be the text that is read as the other's date.
    const isMirrored = isLiteral(left) && fitComparison(right.type, op, left) !== null
    if (isMirrored) return compared(mirrored[op], right, left, at)
    throw notComparable(left, right, at)
  }
  const constant: LiteralNode = { kind: 'literal', type: valueType(left.type), value: fitted.value }
  return fold({ kind: 'compare', type: boolType, op: fitted.op, left, right: constant })
}

/** `operand IN (values and members)`: constants are brought to the type of the operand. */
export function membership(operand: Bound, members: readonly Bound[], at: SourceSpan): Bound {
  if (members.length === 0) return truthLiteral(false)
  const keys = new Set<unknown>()
  const values: Scalar[] = []
  const others: Bound[] = []
  let hasNull = false
  for (const member of members) {
    if (isNull(member) || operand.type.kind === 'null') {
      hasNull = true
    } else if (!isLiteral(member)) {
      if (!areComparable(operand.type, member.type)) throw notComparable(operand, member, at)
      others.push(member)
    } else {
      const value = equalValue(operand.type, member)
      if (value === null) throw notComparable(operand, member, at)
      if (value === undefined) continue
      const { size } = keys
      if (keys.add(keyOf(value)).size > size) values.push(value)
    }
  }
  if (others.length === 0 && values.length === 0) {
    return hasNull || isNull(operand) ? unknownTruth : neverEqual(operand, members, at)
  }
  if (values.length === 1 && others.length === 0 && !hasNull) {
    return compared('=', operand, { kind: 'literal', type: valueType(operand.type), value: values[0]! }, at)
  }
  return fold({ kind: 'in', type: boolType, operand, values, hasNull, others })
}

/** No member has a value the operand could take: false, but NULL where the operand is. */
function neverEqual(operand: Bound, members: readonly Bound[], at: SourceSpan): Bound {
  return compared('=', operand, members[0]!, at)
}

/** What tells constants of one type apart in a Set; numbers where that is exact, because bigints hash slowly. */
function keyOf(value: Scalar): unknown {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : value
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value
}

export function between(operand: Bound, low: Bound, high: Bound, at: SourceSpan): Bound {
  if (operand.kind === 'column' || isNull(low) || isNull(high)) {
    return combined('and', [compared('>=', operand, low, at), compared('<=', operand, high, at)])
  }
  const [least, greatest] = [low, high].map(bound => {
    const comparison = compared('>=', operand, bound, at)
    const isExact = comparison.kind === 'compare' && comparison.op === '>=' && comparison.left === operand
    return isExact ? comparison.right : bound
  })
  return fold({ kind: 'between', type: boolType, operand, low: least!, high: greatest! })
}

function areComparable(a: DataType, b: DataType): boolean {
  const [first, second] = [valueType(a), valueType(b)]
  if (isOpaque(first) || isOpaque(second)) return false
  const isBinary = (type: DataType) => type.kind === 'binary' || type.kind === 'fixed_size_binary'
  return (isBinary(first) && isBinary(second)) || commonType(first, second) !== null
}

/** Types whose values have no order here. */
function isOpaque({ kind }: DataType): boolean {
  return ['decimal', 'interval', 'list', 'fixed_size_list', 'struct', 'map'].includes(kind)
}

function notComparable(left: Bound, right: Bound, at: SourceSpan): SheafError {
  const [a, b] = [valueType(left.type), valueType(right.type)]
  const opaque = [a, b].find(isOpaque)
  if (opaque !== undefined) return unsupported(`values of type ${typeName(opaque)} are not compared`, { at })
  if (
    isLiteral(right) &&
    typeof right.value === 'string' &&
    nanosPerUnit(a) !== null &&
    parseInstant(right.value, 'ns') === null
  ) {
    return invalidInput(`${printBound(right)} is not a date or timestamp (ISO 8601)`, {
      hint: "write '2026-01-31' or '2026-01-31T12:00:00Z'",
      at,
    })
  }
  const hint = !isLiteral(right)
    ? 'CAST one of them'
    : isNumeric(a) && b.kind === 'utf8'
      ? 'write a number without quotes'
      : a.kind === 'utf8'
        ? 'put a text in single quotes'
        : undefined
  return schemaMismatch(`cannot compare ${describe(left)} with ${describe(right)}`, { hint, at })
}

/** `node` as a value of `type` where that is meant without saying so; null where it is not. */
export function coerced(node: Bound, type: DataType): Bound | null {
  const from = valueType(node.type)
  if (equalTypes(from, type) || (from.kind === 'utf8' && type.kind === 'utf8')) return node
  if (isNull(node)) return { kind: 'literal', type, value: null }
  if (isLiteral(node)) {
    if (Array.isArray(node.value) && type.kind === 'list') return coercedList(node, type)
    const value = equalValue(type, node)
    if (value !== undefined && value !== null) return { kind: 'literal', type, value }
  }
  if (commonType(from, type) === null || nameOfType(type) === null) return null
  return fold(castNode(node, type, false))
}

function coercedList(node: LiteralNode, type: DataType & { kind: 'list' }): Bound | null {
  const from = (node.type as DataType & { kind: 'list' }).child.type
  const values: Scalar[] = []
  for (const value of node.value as readonly Scalar[]) {
    const element = coerced({ kind: 'literal', type: from, value }, type.child.type)
    if (element === null || !isLiteral(element)) return null
    values.push(element.value)
  }
  return { kind: 'literal', type, value: values }
}

export function castNode(operand: Bound, type: DataType, isTry: boolean): CastNode {
  return { kind: 'cast', type, operand, try: isTry }
}
