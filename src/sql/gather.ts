/** Columns made of rows of other columns. */
import type { Column } from '../arrow/column.js'
import { concatColumns } from '../arrow/concat.js'
import { takeColumn } from '../arrow/take.js'
import type { DataType } from '../arrow/types.js'
import type { Operand } from './vector.js'

/** The operand with one row for each of `length` rows. */
export function spread({ column, constant }: Operand, length: number): Column {
  return constant ? takeColumn(column, new Uint32Array(length)) : column
}

/**
 * Row i of the result is row i of `operands[choice[i]]`, or null where the choice is 255. The values
 * of all operands are of `type`.
 */
export function choose(operands: readonly Operand[], choice: Uint8Array, type: DataType): Column {
  const starts: number[] = []
  let total = 0
  for (const { column } of operands) {
    starts.push(total)
    total += column.length
  }
  const rows = new Int32Array(choice.length)
  for (let i = 0; i < choice.length; i++) {
    const chosen = choice[i]!
    rows[i] = chosen === 255 ? -1 : starts[chosen]! + (operands[chosen]!.constant ? 0 : i)
  }
  return takeColumn(concatColumns(operands.map(operand => ({ ...operand.column, type }))), rows)
}
