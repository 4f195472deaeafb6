/** Functions that choose one of their arguments. */
import type { Column } from '../../arrow/column.js'
import { nullColumn } from '../../arrow/fill.js'
import { compareOperands } from '../kernels/compare.js'
import { choose, spread } from '../kernels/gather.js'
import { allRows } from '../kernels/truth.js'
import { bitAt, columnOf, type Operand, operandOf, type RowMask, validWords } from '../values/vector.js'
import type { Call, Kernel } from './call.js'

/** Maximum number of arguments: one byte per row stores the chosen argument. */
export const maxChoices = 255

/**
 * Return the first argument that is not NULL. Each argument is evaluated only for rows where the earlier ones are NULL.
 */
export function coalesce(
  args: readonly ((rows: RowMask) => Operand)[],
  { type, length, rows }: Omit<Call, 'args'>,
): Column {
  const choice = new Uint8Array(length).fill(255)
  const pending = rows === null ? allRows(length) : rows.slice()
  const operands: Operand[] = []
  for (const [a, evaluate] of args.entries()) {
    const operand = ofType(evaluate(pending), type)
    operands.push(operand)
    const valid = validWords(operand.column)
    for (let i = 0; i < length; i++) {
      if (!bitAt(pending, i) || !(valid === null || bitAt(valid, operand.constant ? 0 : i))) continue
      choice[i] = a
      pending[i >>> 5]! &= ~(1 << (i & 31))
    }
  }
  return choose(operands, choice, type)
}

/** A NULL argument of a type without constants has the null type. Give it the type `type`. */
function ofType(operand: Operand, type: Column['type']): Operand {
  const { column, constant } = operand
  return column.type.kind === 'null' ? operandOf(nullColumn(type, column.length), constant) : operand
}

/** Return the first argument, or NULL where the second argument equals it. */
export function nullif({ args, length, rows }: Call): Column {
  const [value, other] = args as [Operand, Operand]
  const column = spread(value, length)
  const { isTrue } = compareOperands('=', { column, constant: false }, other, length, rows)
  const valid = validWords(column) ?? allRows(length)
  for (let w = 0; w < valid.length; w++) valid[w]! &= ~isTrue[w]!
  const { values, offsets, children } = column
  const buffers = { children, ...(values !== null && { values }), ...(offsets !== null && { offsets }) }
  return columnOf(column.type, length, buffers, valid)
}

/**
 * Return a kernel for the greatest (`op` is >) or least (<) of the arguments that are not NULL. NaN is the greatest
 * float.
 */
export function extreme(op: '<' | '>'): Kernel {
  return ({ args, type, length, rows }) => {
    let best: Operand = { column: nullColumn(type, length), constant: false }
    for (const operand of args) {
      const { isTrue } = compareOperands(op, operand, best, length, rows)
      const [known, valid] = [validWords(best.column), validWords(operand.column)]
      const choice = new Uint8Array(length)
      for (let i = 0; i < length; i++) {
        const isKnown = known === null || bitAt(known, i)
        const isValid = valid === null || bitAt(valid, operand.constant ? 0 : i)
        choice[i] = isValid && (!isKnown || bitAt(isTrue, i)) ? 1 : 0
      }
      best = { column: choose([best, operand], choice, type), constant: false }
    }
    return best.column
  }
}
