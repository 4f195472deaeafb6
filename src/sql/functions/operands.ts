/** Read the arguments of a call row by row. A constant argument is not copied for each row. */

import type { Column } from '../../arrow/column.js'
import { invalidInput } from '../../errors.js'
import { ByteBuilder, textAt } from '../kernels/byte-builder.js'
import { type Needle, needleOf } from '../kernels/like.js'
import { allRows, strictValidity } from '../kernels/truth.js'
import { bitAt, byteRowsOf, type Operand } from '../values/vector.js'
import type { Call } from './call.js'

/** The rows to compute of a function whose result is NULL if an argument is NULL. */
interface StrictRows {
  /** Bitmap of the rows in which no argument is NULL. Null: all rows. */
  readonly valid: Uint32Array | null
  /** Bitmap of the requested rows in which no argument is NULL. */
  readonly needed: Uint32Array
}

/** Return the rows to compute of a call whose result is NULL if an argument is NULL. */
export function strictRows({ args, length, rows }: Call): StrictRows {
  const valid = strictValidity(args, length)
  if (valid === null) return { valid, needed: rows ?? allRows(length) }
  const needed = valid.slice()
  if (rows !== null) for (let w = 0; w < needed.length; w++) needed[w]! &= rows[w]!
  return { valid, needed }
}

/** Maximum bytes of a text that is converted to a JavaScript string. It bounds the memory and time of a call. */
const maxString = 2 ** 24

/** Return row `row` of a text argument as a string. Throws `InvalidInput` if the text has more than 16 MiB. */
export function textOf(operand: Operand, row: number): string {
  return operand.constant ? operand.once(constantText) : shortText(operand.column, row)
}

function constantText(column: Column): string {
  return shortText(column, 0)
}

/** Return row `row` of a text column as a string. Throws `InvalidInput` if the text has more than 16 MiB. */
export function shortText(column: Column, row: number): string {
  const size = column.offsets![row + 1]! - column.offsets![row]!
  if (size > maxString) {
    throw invalidInput(`a text of ${size} bytes is too long for this function`, {
      hint: `the function takes texts of at most ${maxString} bytes; substr returns a part of a text`,
    })
  }
  return textAt(column, row)
}

/** Maximum bytes that all rows of a batch together may read of a constant text. */
const maxRead = 2 ** 30

/**
 * Check that a constant text is short enough to be searched once per row of a batch. Throws `InvalidInput` if it is
 * not.
 */
export function checkReadings(text: Operand, length: number): void {
  const size = text.constant ? memoryBytes(text) : 0
  if (size * length <= maxRead) return
  throw invalidInput(
    `a constant text of ${size} bytes is too long to be searched in each of ${length} rows`,
    {
      hint: `use a text of at most ${Math.floor(maxRead / length)} bytes for this number of rows`,
    },
  )
}

/** Return a function that returns the text of a row, prepared for a search. A constant text is prepared once. */
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

/**
 * Return row `row` of an int64 argument as a number. Safe integers are exact. Other integers are rounded, but their
 * order relative to safe integers stays the same.
 */
export function numberOf({ column, constant }: Operand, row: number): number {
  return Number((column.values as BigInt64Array)[constant ? 0 : row]!)
}

/** Return row `row` of an integer argument as a bigint. */
export function wideOf({ column, constant }: Operand, row: number): bigint {
  return BigInt((column.values as BigInt64Array)[constant ? 0 : row]!)
}

/** Return the bytes of the texts of an argument. A constant counts once. */
function memoryBytes({ column }: Operand): number {
  return byteRowsOf(column).offsets[column.length]!
}

/** Return a function that returns the bytes of all given text arguments together in a row. */
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

/**
 * Build a text column. `write`: appends the text of a row. It is called only for requested rows without NULL arguments.
 */
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

/**
 * Build a text column as `writeRows` does, for a function whose results may be longer than its arguments `texts`. The
 * size of the results is limited (`ByteBuilder.growing`).
 */
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

/**
 * Create a builder for results that may be longer than the arguments `texts`. The size of the largest argument
 * determines the maximum size of the results.
 */
export function growingFrom(texts: readonly Operand[], length: number): ByteBuilder {
  const largest = texts.reduce((size, text) => Math.max(size, memoryBytes(text)), 0)
  return ByteBuilder.growing(length, largest)
}
