/** Decode dictionary columns, and expand per-entry results to rows. */
import type { Column } from '../../arrow/column.js'
import { takeColumn } from '../../arrow/take.js'
import { bitAt, type RowMask, validWords, wordCount } from '../values/vector.js'
import type { Truth } from './truth.js'

/** Return a dictionary column as a column of its values, and any other column as it is. */
export function decoded(column: Column): Column {
  if (column.dictionary === null) return column
  return decoded(takeColumn(column.dictionary, dictionaryRows(column)))
}

/** Return the dictionary entry of every row, -1 for NULL. The result must not be modified. */
export function dictionaryRows(column: Column): Int32Array {
  const { values, length } = column
  if (values instanceof Int32Array && column.validity === null) return values.subarray(0, length)
  const rows = new Int32Array(length)
  if (values instanceof BigInt64Array || values instanceof BigUint64Array) {
    for (let i = 0; i < length; i++) rows[i] = Number(values[i])
  } else {
    rows.set((values as Int32Array).subarray(0, length))
  }
  const valid = validWords(column)
  if (valid !== null) for (let i = 0; i < length; i++) if (!bitAt(valid, i)) rows[i] = -1
  return rows
}

/** Expand the truth of entries to rows. `ofNull` is the truth of NULL rows, null if there are none. */
export function truthPerRow(
  truth: Truth,
  ofNull: Truth | null,
  entryOf: Int32Array,
  length: number,
  rows: RowMask,
): Truth {
  const isTrue = bitPerRow(truth.isTrue, ofNull?.isTrue ?? null, truth.length, entryOf, length, rows)
  const hasNull = truth.isNull !== null || (ofNull !== null && ofNull.isNull !== null)
  if (!hasNull) return { length, isTrue, isNull: null }
  const none = new Uint32Array(wordCount(truth.length))
  const isNull = bitPerRow(truth.isNull ?? none, ofNull?.isNull ?? null, truth.length, entryOf, length, rows)
  return { length, isTrue, isNull }
}

function bitPerRow(
  bits: Uint32Array,
  ofNull: Uint32Array | null,
  count: number,
  entryOf: Int32Array,
  length: number,
  rows: RowMask,
): Uint32Array {
  // Index 0 stands for entry -1.
  const byEntry = new Uint8Array(count + 1)
  byEntry[0] = ofNull === null ? 0 : ofNull[0]! & 1
  for (let e = 0; e < count; e++) byEntry[e + 1] = Number(bitAt(bits, e))
  const out = new Uint32Array(wordCount(length))
  // Looking up every row is cheaper than selecting the requested rows of a word.
  for (let w = 0, base = 0; base < length; w++, base += 32) {
    if (rows !== null && rows[w] === 0) continue
    const end = Math.min(32, length - base)
    let word = 0
    for (let bit = 0; bit < end; bit++) word |= byEntry[entryOf[base + bit]! + 1]! << bit
    out[w] = word
  }
  return out
}
