/** Decode dictionary columns, and convert results per dictionary entry to results per row. */
import type { Column } from '../../arrow/column.js'
import { takeColumn } from '../../arrow/take.js'
import { bitAt, type RowMask, validWords, wordCount } from '../values/vector.js'
import type { Truth } from './truth.js'

/** Convert a dictionary column to a column of its values. Return any other column unchanged. */
export function decoded(column: Column): Column {
  if (column.dictionary === null) return column
  return decoded(takeColumn(column.dictionary, dictionaryRows(column)))
}

/** Return the index of the dictionary entry of each row, -1 for NULL. The caller must not modify the result. */
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

/**
 * Convert a result per dictionary entry to a result per row. `ofNull`: the result for NULL rows, null if no row is
 * NULL. `entryOf`: the entry of each row, as from `dictionaryRows`.
 */
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
  // The bit of entry e is at index e + 1, because NULL rows have the entry -1.
  const byEntry = new Uint8Array(count + 1)
  byEntry[0] = ofNull === null ? 0 : ofNull[0]! & 1
  for (let e = 0; e < count; e++) byEntry[e + 1] = Number(bitAt(bits, e))
  const out = new Uint32Array(wordCount(length))
  // If a word has a requested row, look up all its 32 rows. This is cheaper than a loop over the requested rows.
  for (let w = 0, base = 0; base < length; w++, base += 32) {
    if (rows !== null && rows[w] === 0) continue
    const end = Math.min(32, length - base)
    let word = 0
    for (let bit = 0; bit < end; bit++) word |= byEntry[entryOf[base + bit]! + 1]! << bit
    out[w] = word
  }
  return out
}
