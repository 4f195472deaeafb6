/** Find expressions that are monotonically increasing in one operand. */
import type { DataType } from '../../arrow/types.js'
import type { Operation } from '../bound.js'
import { valueType } from '../values/types.js'

/** Functions that increase with their last argument. */
const risingFunctions: ReadonlySet<string> = new Set(['ceil', 'date_trunc', 'floor'])

/**
 * Return the position of the operand that the node increases with, if this is the only operand that is not a constant.
 * Else return null. Values for which the node fails or is NULL do not count.
 */
export function risingOperand(node: Operation): number | null {
  const { operands } = node
  const at = operands.findIndex(operand => operand.kind !== 'literal')
  if (at === -1 || operands.some((operand, i) => i !== at && operand.kind !== 'literal')) return null
  const type = valueType(operands[at]!.type)
  return isRising(node, at, operands.length, type) ? at : null
}

function isRising(node: Operation, at: number, count: number, type: DataType): boolean {
  switch (node.kind) {
    case 'cast':
      return isRisingCast(type, node.type)
    case 'arithmetic':
      return isExact(node.type) && isExact(type) && (node.op === '+' || (node.op === '-' && at === 0))
    case 'call':
      return risingFunctions.has(node.callee.name) && at === count - 1 && !isZoned(type)
    default:
      return false
  }
}

/**
 * Return whether a cast keeps the order: casts between numbers, and between instants if both or neither have a zone. A
 * zone can set its clocks back.
 */
function isRisingCast(from: DataType, to: DataType): boolean {
  const isNumber = (type: DataType) => isExact(type) || type.kind === 'float'
  const isInstant = (type: DataType) => type.kind === 'date' || type.kind === 'timestamp'
  if (isNumber(from) && isNumber(to)) return true
  return isInstant(from) && isInstant(to) && isZoned(from) === isZoned(to)
}

function isExact({ kind }: DataType): boolean {
  return kind === 'int' || kind === 'decimal'
}

function isZoned(type: DataType): boolean {
  return type.kind === 'timestamp' && type.timezone !== null
}
