/** Functions that choose among their arguments. */
import type { Column } from '../../arrow/column.js'
import { nullColumn } from '../../arrow/fill.js'
import { compareOperands } from '../kernels/compare.js'
import { choose, spread } from '../kernels/gather.js'
import { allRows } from '../kernels/truth.js'
import { bitAt, columnOf, type Operand, type RowMask, validWords } from '../values/vector.js'
import type { Call, Kernel } from './call.js'

/** Arguments a choice may have: one byte per row says which it is. */
export const maxChoices = 255

/** The first argument that is not null; one is evaluated only for rows that the ones before left null. */
export function coalesce(
  args: readonly ((rows: RowMask) => Operand)[],
  { type, length, rows }: Omit<Call, 'args'>,
): Column {
  const choice = new Uint8Array(length).fill(255)
  const open = rows === null ? allRows(length) : rows.slice()
  const operands: Operand[] = []
  for (const [a, evaluate] of args.entries()) {
    const operand = ofType(evaluate(open), type)
    operands.push(operand)
    const valid = validWords(operand.column)
    for (let i = 0; i < length; i++) {
      if (!bitAt(open, i) || !(valid === null || bitAt(valid, operand.constant ? 0 : i))) continue
      choice[i] = a
      open[i >>> 5]! &= ~(1 << (i & 31))
    }
  }
  return choose(operands, choice, type)
}

/** A null of a type that has no constants is a column without a type. */
function ofType({ column, constant }: Operand, type: Column['type']): Operand {
  return { column: column.type.kind === 'null' ? nullColumn(type, column.length) : column, constant }
}

/** The first argument, null where the second equals it. */
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

/** The greatest argument (`op` is >) or the least (<) of those that are not null. NaN is the greatest float. */
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
