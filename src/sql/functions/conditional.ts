/** Functions that choose one of their arguments. */
import type { Column } from '../../arrow/column.js'
import { nullColumn } from '../../arrow/fill.js'
import { compareOperands } from '../kernels/compare.js'
import { choose, spread } from '../kernels/gather.js'
import { allRows } from '../kernels/truth.js'
import { bitAt, columnOf, type Operand, operandOf, type RowMask, validWords } from '../values/vector.js'
import type { Call, Kernel } from './call.js'

/**
 * Maximum number of arguments, because one byte per row stores the index of the chosen argument, and 255 means NULL.
 */
export const maxChoices = 255

/**
 * Compute `coalesce(value, ...)`: the first argument that is not NULL. Each argument is evaluated only for the rows
 * where all earlier arguments are NULL.
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

/**
 * Convert an operand of the null type to `type`. A NULL argument has the null type if constants of its own type do not
 * exist, as for structs.
 */
function ofType(operand: Operand, type: Column['type']): Operand {
  const { column, constant } = operand
  return column.type.kind === 'null' ? operandOf(nullColumn(type, column.length), constant) : operand
}

/** Compute `nullif(value, other)`: NULL if both arguments are equal, otherwise the first argument. */
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
 * Return the kernel of `greatest` (`op` is >) or `least` (<). NULL arguments are ignored. NaN is greater than all other
 * floats.
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
