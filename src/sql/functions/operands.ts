/** The arguments of a call row by row, where a constant stands for every row and is not laid out for each. */

import type { Column } from '../../arrow/column.js'
import { invalidInput } from '../../errors.js'
import { ByteBuilder, textAt } from '../kernels/byte-builder.js'
import { type Needle, needleOf } from '../kernels/like.js'
import { allRows, strictValidity } from '../kernels/truth.js'
import { bitAt, byteRowsOf, type Operand } from '../values/vector.js'
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

/** Bytes of a text that a function reads as a string: far from the most that the engine can hold in one. */
const maxString = 2 ** 24

/** Constants as strings: they are asked for again in every row. */
const constantTexts = new WeakMap<Column, string>()

/** Row `row` as a string. Throws code 13 for one of more than 16 MiB. */
export function textOf({ column, constant }: Operand, row: number): string {
  if (!constant) return shortText(column, row)
  let text = constantTexts.get(column)
  if (text === undefined) {
    text = shortText(column, 0)
    constantTexts.set(column, text)
  }
  return text
}

function shortText(column: Column, row: number): string {
  const size = column.offsets![row + 1]! - column.offsets![row]!
  if (size > maxString) {
    throw invalidInput(`a text of ${size} bytes is too long for this function`, {
      hint: `it reads texts of at most ${maxString} bytes; substr gives a part of one`,
    })
  }
  return textAt(column, row)
}

/** Bytes of a constant text that may be read over in all rows of a batch. */
const maxRead = 2 ** 30

/** Throws code 13 for a constant that is too long to be searched anew in every row of a batch. */
export function checkReadings(text: Operand, length: number): void {
  const size = text.constant ? heldBytes(text) : 0
  if (size * length <= maxRead) return
  throw invalidInput(
    `a constant text of ${size} bytes is too long to be searched in each of ${length} rows`,
    {
      hint: `make it shorter: at most ${Math.floor(maxRead / length)} bytes for so many rows`,
    },
  )
}

/** The text to look for in each row; that of a constant is made once. */
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

/** An int64 argument as a number: exact up to 2**53, beyond that on the same side of every such number. */
export function numberOf({ column, constant }: Operand, row: number): number {
  return Number((column.values as BigInt64Array)[constant ? 0 : row]!)
}

export function wideOf({ column, constant }: Operand, row: number): bigint {
  return BigInt((column.values as BigInt64Array)[constant ? 0 : row]!)
}

/** The bytes that the values of a text argument take in memory: those of a constant once. */
function heldBytes({ column }: Operand): number {
  return byteRowsOf(column).offsets[column.length]!
}

/** The bytes of all the text arguments in each row. */
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

/** The text that `write` gives every row whose arguments hold values. */
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

/** As `writeRows`, for texts that may outgrow `texts`, the arguments they are made of. */
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

/** A builder for texts made of arguments; one that stands there often counts once. */
export function growingFrom(texts: readonly Operand[], length: number): ByteBuilder {
  const largest = texts.reduce((size, text) => Math.max(size, heldBytes(text)), 0)
  return ByteBuilder.growing(length, largest)
}
