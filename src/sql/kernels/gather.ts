/** Build columns from rows of other columns. */
import type { Column } from '../../arrow/column.js'
import { concatColumns } from '../../arrow/concat.js'
import { nullColumn } from '../../arrow/fill.js'
import { columnBytes } from '../../arrow/layout.js'
import { takeColumn } from '../../arrow/take.js'
import type { DataType } from '../../arrow/types.js'
import { assert, invalidInput } from '../../errors.js'
import { columnOf, type Operand } from '../values/vector.js'

/** Maximum bytes to which a constant may be expanded at once. */
const maxSpread = 128 * 1024 * 1024

/** Throws `InvalidInput` if repeating a constant `times` times would take more than 128 MiB. */
export function checkSpread({ column, constant }: Operand, times: number): void {
  const bytes = constant && column.length > 0 ? columnBytes(column) : 0
  if (bytes > 1024 && bytes * times > maxSpread) {
    throw invalidInput(`a constant of ${bytes} bytes would be repeated for ${times} rows`, {
      hint: 'use shorter constants in CASE, coalesce and lists',
    })
  }
}

/** Expand the operand to a column of `length` rows. */
export function spread(operand: Operand, length: number): Column {
  checkSpread(operand, length)
  const { column, constant } = operand
  return constant ? takeColumn(column, new Uint32Array(length)) : column
}

/**
 * Build a column whose row i is row i of `operands[choice[i]]`, or NULL if the choice is 255. The values of all
 * operands have the type `type`.
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

/** Build lists with one element from each operand, in order. `type` is the type of the lists. */
export function interleave(operands: readonly Operand[], type: DataType, length: number): Column {
  assert(type.kind === 'list', `${type.kind} is no list`)
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

/** Return the first row of each operand in their concatenation. */
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
 * Take rows of the concatenation of columns of `type`. A negative row is NULL. Columns of the null type add no rows.
 */
export function gather(columns: readonly Column[], rows: Int32Array, type: DataType): Column {
  const typed = columns.filter(column => column.type.kind !== 'null')
  if (typed.length === 0) return nullColumn(type, rows.length)
  return takeColumn(concatColumns(typed.map(column => ({ ...column, type }))), rows)
}

/** Builds a column from several operands. Each row comes from at most one of them. */
export class Patchwork {
  readonly #type: DataType
  readonly #rows: Int32Array
  readonly #columns: Column[] = []
  #total = 0

  /** Create `length` rows that are NULL until an operand provides them. */
  constructor(type: DataType, length: number) {
    this.#type = type
    this.#rows = new Int32Array(length).fill(-1)
  }

  /**
   * Take the rows `rows` from the operand. Only these rows are kept, so all operands together need no more memory than
   * one column.
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
