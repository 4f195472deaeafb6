/** Sorts the rows of a column by their values. Index builds use it for scalar indexes. */
import { type Column, isValid } from '../arrow/column.js'
import { sliceColumn } from '../arrow/slice.js'
import { takeColumn } from '../arrow/take.js'
import type { Pacer } from '../primitives/pacer.js'
import { sortedByWords, sortWords } from '../primitives/radix.js'
import { type KeyOrder, keyBatch } from '../query/key-store.js'
import { columnOfWords } from '../query/key-values.js'
import { dictionaryRows } from '../sql/kernels/dictionary.js'
import { equalNeighbours } from '../sql/kernels/neighbours.js'
import { prefixBytes, sortTexts } from '../sql/kernels/sort-texts.js'
import { bitAt, byteRowsOf } from '../sql/values/vector.js'

const order: KeyOrder = { ascending: true, nullsFirst: false }
/** Number of rows that are processed before the pacer checks whether to pause. */
const rowsAtOnce = 32 * 1024

/** A sorted column. */
interface SortedColumn {
  /**
   * Numbers of the rows that are not null, in the order in which filters compare values (sql/kernels/compare), then by
   * row number.
   */
  readonly rows: Uint32Array
  /**
   * The values in the order of `rows`, if the sort has them in memory; else null. With them the caller does not have to
   * look up each row, which would take as long as the sort.
   */
  readonly values: Column | null
}

/** Return the rows of `sortColumn` without the values. */
export async function sortedRows(column: Column, pacer: Pacer): Promise<Uint32Array> {
  return (await sortColumn(column, pacer)).rows
}

/** Sort the rows of a column by their values. Omits null rows. */
export async function sortColumn(column: Column, pacer: Pacer): Promise<SortedColumn> {
  if (column.dictionary !== null) {
    return { rows: await sortedByEntry(column, column.dictionary, pacer), values: null }
  }
  const { type, length } = column
  const present = await presentRows(column, pacer)
  let words: readonly Uint32Array[] = []
  let areLong = false
  for (let from = 0; from < length; from += rowsAtOnce) {
    const part = sliceColumn(column, from, Math.min(rowsAtOnce, length - from))
    const batch = keyBatch([part], [order])
    // The first word of a key encodes null. Null rows are not sorted, so skip this word.
    const own = batch.words.slice(1)
    if (from === 0) words = own.map(() => new Uint32Array(length))
    for (const [w, word] of own.entries()) words[w]!.set(word, from)
    areLong ||= batch.texts.at(-1) != null && own.at(-1)!.some(size => size > prefixBytes)
    await pacer.turn()
  }
  const { rows, words: inOrder } = await sortWords(words, present, pacer)
  if (areLong) await sortTexts(byteRowsOf(column), rows, words, pacer)
  return { rows, values: inOrder === null ? null : await columnOfWords(type, inOrder, pacer) }
}

/** Return the numbers of the rows that are not null. */
async function presentRows(column: Column, pacer: Pacer): Promise<Uint32Array> {
  const rows = new Uint32Array(column.length - column.nullCount)
  let count = 0
  for (let from = 0; from < column.length; from += rowsAtOnce) {
    const to = Math.min(column.length, from + rowsAtOnce)
    if (column.nullCount === 0) for (let row = from; row < to; row++) rows[row] = row
    else for (let row = from; row < to; row++) if (isValid(column, row)) rows[count++] = row
    await pacer.turn()
  }
  return rows
}

/**
 * Sort the rows of a dictionary column. Only the dictionary values are compared. The rows are sorted by the ranks of
 * their values.
 */
async function sortedByEntry(column: Column, dictionary: Column, pacer: Pacer): Promise<Uint32Array> {
  const { ranks, count: ranksUsed } = await ranksOf(dictionary, pacer)
  const word = new Uint32Array(column.length)
  let count = 0
  for (let from = 0; from < word.length; from += rowsAtOnce) {
    const entries = dictionaryRows(sliceColumn(column, from, Math.min(rowsAtOnce, word.length - from)))
    for (let i = 0; i < entries.length; i++) {
      const rank = entries[i]! < 0 ? ranksUsed : ranks[entries[i]!]!
      word[from + i] = rank
      if (rank < ranksUsed) count++
    }
    await pacer.turn()
  }
  return (await sortedByWords([word], word.length, pacer)).subarray(0, count)
}

/**
 * Return the rank of each dictionary value among the distinct values. `count`: number of distinct values, and rank of a
 * null.
 */
async function ranksOf(
  dictionary: Column,
  pacer: Pacer,
): Promise<{ readonly ranks: Uint32Array; readonly count: number }> {
  const entries = await sortedRows(dictionary, pacer)
  const ranks = new Uint32Array(dictionary.length)
  let rank = 0
  for (let from = 0; from < entries.length; from += rowsAtOnce) {
    const end = Math.min(entries.length, from + rowsAtOnce)
    const isEqual = equalNeighbours(takeColumn(dictionary, entries.subarray(from, end + 1)))
    for (let i = from; i < end; i++) {
      ranks[entries[i]!] = rank
      if (i + 1 === entries.length || !bitAt(isEqual, i - from)) rank++
    }
    await pacer.turn()
  }
  if (entries.length === ranks.length) return { ranks, count: rank }
  const isNull = new Uint8Array(ranks.length).fill(1)
  for (let i = 0; i < entries.length; i++) isNull[entries[i]!] = 0
  for (let i = 0; i < ranks.length; i++) if (isNull[i] === 1) ranks[i] = rank
  return { ranks, count: rank }
}
