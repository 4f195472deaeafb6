/** Find operations whose value never decreases when one operand increases. */
import type { DataType } from '../../arrow/types.js'
import type { Operation } from '../bound.js'
import { valueType } from '../values/types.js'

/** Functions whose value never decreases when their last argument increases. */
const risingFunctions: ReadonlySet<string> = new Set(['ceil', 'date_trunc', 'floor'])

/**
 * Return the index of the only operand that is not constant, if the value of the operation never decreases when this
 * operand increases. Otherwise return null. Values for which the operation fails or is NULL are not considered.
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
 * Return whether a cast keeps the order of values. Casts between numbers do. Casts between dates and timestamps do if
 * both types have a zone, or neither type has one. Otherwise the order can change where a zone sets its clocks back.
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
