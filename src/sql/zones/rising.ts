/** Expressions that never fall while a value they are made of grows. */
import type { DataType } from '../../arrow/types.js'
import { type Bound, operandsOf } from '../bound.js'
import { valueType } from '../values/types.js'

/** Functions that grow with their last argument. */
const risingFunctions: ReadonlySet<string> = new Set(['ceil', 'date_trunc', 'floor'])

/**
 * Which of a node's operands it grows with, where that is the only one that is no constant; null where none is known.
 * A value that makes it fail, or NULL, is not counted.
 */
export function risingOperand(node: Bound): number | null {
  const operands = operandsOf(node)
  const at = operands.findIndex(operand => operand.kind !== 'literal')
  if (at === -1 || operands.some((operand, i) => i !== at && operand.kind !== 'literal')) return null
  const type = valueType(operands[at]!.type)
  return isRising(node, at, operands.length, type) ? at : null
}

function isRising(node: Bound, at: number, count: number, type: DataType): boolean {
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

/** Among numbers, and among points in time where both have a zone or none: clocks of a zone are put back now and then. */
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
