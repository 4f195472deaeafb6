/** Build columns from rows of other columns. */
import type { Column } from '../../arrow/column.js'
import { concatColumns } from '../../arrow/concat.js'
import { nullColumn } from '../../arrow/fill.js'
import { columnBytes } from '../../arrow/layout.js'
import { takeColumn } from '../../arrow/take.js'
import type { DataType } from '../../arrow/types.js'
import { assert, invalidInput } from '../../errors.js'
import { columnOf, type Operand } from '../values/vector.js'

/** Maximum bytes of a constant that is repeated for all rows of a batch. */
const maxSpread = 128 * 1024 * 1024

/** Check that a constant, repeated `times` times, takes at most 128 MiB. Throws `InvalidInput` if it takes more. */
export function checkSpread({ column, constant }: Operand, times: number): void {
  const bytes = constant && column.length > 0 ? columnBytes(column) : 0
  if (bytes > 1024 && bytes * times > maxSpread) {
    throw invalidInput(`a constant of ${bytes} bytes would be repeated for ${times} rows`, {
      hint: 'use shorter constants in CASE, coalesce and lists',
    })
  }
}

/** Convert an operand to a column of `length` rows. A constant is repeated. */
export function spread(operand: Operand, length: number): Column {
  checkSpread(operand, length)
  const { column, constant } = operand
  return constant ? takeColumn(column, new Uint32Array(length)) : column
}

/**
 * Build a column whose row i is row i of `operands[choice[i]]`, or NULL if `choice[i]` is 255. `type`: the type of all
 * operands.
 */
export function choose(operands: readonly Operand[], choice: Uint8Array, type: DataType): Column {
  for (const operand of operands) checkSpread(operand, choice.length)
  const starts = startsOf(operands)
  const rows = new Int32Array(choice.length)
  for (let i = 0; i < choice.length; i++) {
    const chosen = choice[i]!
    rows[i] = chosen === 255 ? -1 : starts[chosen]! + (operands[chosen]!.constant ? 0 : i)
  }
  return gather(
    operands.map(({ column }) => column),
    rows,
    type,
  )
}

/** Build a list per row, with the values of all operands in this row as elements. `type`: the type of the lists. */
export function interleave(operands: readonly Operand[], type: DataType, length: number): Column {
  assert(type.kind === 'list', `${type.kind} is not a list`)
  for (const operand of operands) checkSpread(operand, length)
  const count = operands.length
  const starts = startsOf(operands)
  const rows = new Int32Array(length * count)
  for (let k = 0; k < count; k++) {
    const start = operands[k]!.column.type.kind === 'null' ? -1 : starts[k]!
    const step = start === -1 || operands[k]!.constant ? 0 : 1
    for (let i = 0; i < length; i++) rows[i * count + k] = start + i * step
  }
  const child = gather(
    operands.map(({ column }) => column),
    rows,
    type.child.type,
  )
  const offsets = Int32Array.from({ length: length + 1 }, (_, i) => i * count)
  return columnOf(type, length, { offsets, children: [child] }, null)
}

/** Return the index at which the rows of each operand begin in the concatenation of all operands. */
function startsOf(operands: readonly Operand[]): readonly number[] {
  const starts: number[] = []
  let total = 0
  for (const { column } of operands) {
    starts.push(total)
    total += column.type.kind === 'null' ? 0 : column.length
  }
  return starts
}

/**
 * Concatenate columns of the type `type` and return the given rows of the result. A negative row number gives NULL.
 * Columns of the null type are left out of the concatenation.
 */
export function gather(columns: readonly Column[], rows: Int32Array, type: DataType): Column {
  const typed = columns.filter(column => column.type.kind !== 'null')
  if (typed.length === 0) return nullColumn(type, rows.length)
  return takeColumn(concatColumns(typed.map(column => ({ ...column, type }))), rows)
}

/** Builds a column from rows of several operands. Each row comes from at most one operand. */
export class Patchwork {
  readonly #type: DataType
  readonly #rows: Int32Array
  readonly #columns: Column[] = []
  #total = 0

  /** Start a column of `length` rows. A row is NULL if no operand provides it. */
  constructor(type: DataType, length: number) {
    this.#type = type
    this.#rows = new Int32Array(length).fill(-1)
  }

  /**
   * Use the operand for the rows `rows` of the column. Only these rows are copied, so that all operands together take
   * no more memory than one column.
   */
  add({ column, constant }: Operand, rows: Uint32Array): void {
    if (rows.length === 0 || column.type.kind === 'null') return
    const kept = constant ? column : takeColumn(column, rows)
    for (let k = 0; k < rows.length; k++) this.#rows[rows[k]!] = this.#total + (constant ? 0 : k)
    this.#columns.push(kept)
    this.#total += kept.length
  }

  finish(): Column {
    return gather(this.#columns, this.#rows, this.#type)
  }
}
