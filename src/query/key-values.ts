/** Decodes the words of key-store.ts back into values. */
import type { Column, Values } from '../arrow/column.js'
import type { DataType } from '../arrow/types.js'
import type { Pacer } from '../primitives/pacer.js'
import { columnOf, isWide, narrowArray } from '../sql/values/vector.js'

const rowsAtOnce = 64 * 1024
const signBit = 0x80000000

/**
 * Decode the words of a key column. `words`: two arrays, the high and the low word of each row. Values are the original
 * ones, except that every NaN becomes the same NaN and -0 becomes 0. Returns null for all types but floats and 64-bit
 * types.
 */
export async function columnOfWords(
  type: DataType,
  words: readonly Uint32Array[],
  pacer: Pacer,
): Promise<Column | null> {
  const [high, low] = words
  const { length } = high!
  let values: Values
  if (type.kind === 'float' && low !== undefined) {
    const doubles = new Float64Array(length)
    const pairs = new Uint32Array(doubles.buffer)
    for (let from = 0; from < length; from += rowsAtOnce) {
      writeDoubles(high!, low, from, Math.min(length, from + rowsAtOnce), pairs)
      await pacer.turn()
    }
    values = narrowArray(type, doubles)
  } else if (isWide(type) && low !== undefined) {
    const isUnsigned = type.kind === 'int' && !type.signed
    values = isUnsigned ? new BigUint64Array(length) : new BigInt64Array(length)
    const pairs = new Uint32Array(values.buffer)
    for (let from = 0; from < length; from += rowsAtOnce) {
      writePairs(high!, low, isUnsigned ? 0 : signBit, from, Math.min(length, from + rowsAtOnce), pairs)
      await pacer.turn()
    }
  } else return null
  return columnOf(type, length, { values }, null)
}

function writeDoubles(
  high: Uint32Array,
  low: Uint32Array,
  from: number,
  to: number,
  pairs: Uint32Array,
): void {
  for (let i = from; i < to; i++) {
    const upper = high[i]! | 0
    // The encoding flipped the sign bit of positive numbers, and all bits of negative numbers.
    const mask = ~(upper >> 31)
    pairs[2 * i] = low[i]! ^ mask
    pairs[2 * i + 1] = upper ^ (mask | signBit)
  }
}

function writePairs(
  high: Uint32Array,
  low: Uint32Array,
  flip: number,
  from: number,
  to: number,
  pairs: Uint32Array,
): void {
  for (let i = from; i < to; i++) {
    pairs[2 * i] = low[i]!
    pairs[2 * i + 1] = high[i]! ^ flip
  }
}
