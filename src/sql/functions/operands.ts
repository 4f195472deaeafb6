/** The arguments of a call row by row, where a constant stands for every row and is not laid out for each. */

import { textAt } from '../kernels/byte-builder.js'
import { allRows, strictValidity } from '../kernels/truth.js'
import { byteRowsOf, type Operand } from '../values/vector.js'
import type { Call } from './call.js'

/** The rows of a result whose arguments all hold a value (null: all rows), and those of them that are asked for. */
export interface StrictRows {
  readonly valid: Uint32Array | null
  readonly needed: Uint32Array
}

export function strictRows({ args, length, rows }: Call): StrictRows {
  const valid = strictValidity(args, length)
  if (valid === null) return { valid, needed: rows ?? allRows(length) }
  const needed = valid.slice()
  if (rows !== null) for (let w = 0; w < needed.length; w++) needed[w]! &= rows[w]!
  return { valid, needed }
}

export function textOf({ column, constant }: Operand, row: number): string {
  return textAt(column, constant ? 0 : row)
}

/** An int64 argument as a number: exact up to 2**53, beyond that on the same side of every such number. */
export function numberOf({ column, constant }: Operand, row: number): number {
  return Number((column.values as BigInt64Array)[constant ? 0 : row]!)
}

export function wideOf({ column, constant }: Operand, row: number): bigint {
  return BigInt((column.values as BigInt64Array)[constant ? 0 : row]!)
}

/** The bytes of all values of a text argument, once per row. */
export function totalBytes({ column, constant }: Operand, length: number): number {
  const { offsets } = byteRowsOf(column)
  return constant ? offsets[1]! * length : offsets[column.length]!
}
