/** Read the arguments of a call row by row. A constant is not repeated for each row. */

import type { Column } from '../../arrow/column.js'
import { invalidInput } from '../../errors.js'
import { ByteBuilder, textAt } from '../kernels/byte-builder.js'
import { type Needle, needleOf } from '../kernels/like.js'
import { allRows, strictValidity } from '../kernels/truth.js'
import { bitAt, byteRowsOf, type Operand } from '../values/vector.js'
import type { Call } from './call.js'

/** `valid`: rows where all arguments hold a value (null: all rows). `needed`: the requested rows among them. */
interface StrictRows {
  readonly valid: Uint32Array | null
  readonly needed: Uint32Array
}

/** Return the rows of a result that is NULL if any argument is NULL. */
export function strictRows({ args, length, rows }: Call): StrictRows {
  const valid = strictValidity(args, length)
  if (valid === null) return { valid, needed: rows ?? allRows(length) }
  const needed = valid.slice()
  if (rows !== null) for (let w = 0; w < needed.length; w++) needed[w]! &= rows[w]!
  return { valid, needed }
}

/** Maximum bytes of a text that is read as a string. The engine could hold far longer strings. */
const maxString = 2 ** 24

/** Return row `row` as a string. Throws `InvalidInput` if the text has more than 16 MiB. */
export function textOf(operand: Operand, row: number): string {
  return operand.constant ? operand.once(constantText) : shortText(operand.column, row)
}

function constantText(column: Column): string {
  return shortText(column, 0)
}

/** As `textOf`, for a column. */
export function shortText(column: Column, row: number): string {
  const size = column.offsets![row + 1]! - column.offsets![row]!
  if (size > maxString) {
    throw invalidInput(`a text of ${size} bytes is too long for this function`, {
      hint: `it reads texts of at most ${maxString} bytes; substr gives a part of one`,
    })
  }
  return textAt(column, row)
}

/** Maximum bytes of a constant text that all rows of a batch together may search. */
const maxRead = 2 ** 30

/** Throws `InvalidInput` if a constant text is too long to be searched once per row of a batch. */
export function checkReadings(text: Operand, length: number): void {
  const size = text.constant ? memoryBytes(text) : 0
  if (size * length <= maxRead) return
  throw invalidInput(
    `a constant text of ${size} bytes is too long to be searched in each of ${length} rows`,
    {
      hint: `make it shorter: at most ${Math.floor(maxRead / length)} bytes for this number of rows`,
    },
  )
}

/** Return the needle of each row. The needle of a constant is created once. */
export function needlesOf({ column, constant }: Operand): (row: number) => Needle {
  const { bytes, offsets } = byteRowsOf(column)
  let needle: Needle | null = null
  return row => {
    if (constant && needle !== null) return needle
    const at = constant ? 0 : row
    needle = needleOf(bytes.subarray(offsets[at]!, offsets[at + 1]!))
    return needle
  }
}

/** Return an int64 argument as a number. Exact up to 2^53; beyond that, its order relative to safe integers is kept. */
export function numberOf({ column, constant }: Operand, row: number): number {
  return Number((column.values as BigInt64Array)[constant ? 0 : row]!)
}

/** Return an int64 argument. */
export function wideOf({ column, constant }: Operand, row: number): bigint {
  return BigInt((column.values as BigInt64Array)[constant ? 0 : row]!)
}

/** Return the bytes of a text argument in memory. A constant counts once. */
function memoryBytes({ column }: Operand): number {
  return byteRowsOf(column).offsets[column.length]!
}

/** Return a function for the total bytes of the text arguments of each row. */
export function rowSizesOf(texts: readonly Operand[]): (row: number) => number {
  const columns = texts.map(({ column, constant }) => ({ offsets: byteRowsOf(column).offsets, constant }))
  return row => {
    let size = 0
    for (const { offsets, constant } of columns) {
      const at = constant ? 0 : row
      size += offsets[at + 1]! - offsets[at]!
    }
    return size
  }
}

/** Build a text column: call `write` for every requested row whose arguments hold values. */
export function writeRows(
  call: Call,
  builder: ByteBuilder,
  write: (builder: ByteBuilder, row: number) => void,
): Column {
  const { valid, needed } = strictRows(call)
  for (let i = 0; i < call.length; i++) {
    if (bitAt(needed, i)) write(builder, i)
    builder.endRow()
  }
  return builder.finish(call.type, valid)
}

/** As `writeRows`, for texts that may be longer than `texts`, the arguments they are built from. */
export function growRows(
  call: Call,
  texts: readonly Operand[],
  write: (builder: ByteBuilder, row: number) => void,
): Column {
  const sizeOf = rowSizesOf(texts)
  return writeRows(call, growingFrom(texts, call.length), (builder, row) => {
    builder.startRow(sizeOf(row))
    write(builder, row)
  })
}

/** Create a builder for texts built from arguments. A constant argument counts once. */
export function growingFrom(texts: readonly Operand[], length: number): ByteBuilder {
  const largest = texts.reduce((size, text) => Math.max(size, memoryBytes(text)), 0)
  return ByteBuilder.growing(length, largest)
}
