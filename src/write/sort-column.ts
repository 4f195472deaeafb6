/** The rows of a column in the order of their values: what a scalar index is built from. */
import type { Column } from '../arrow/column.js'
import { sliceColumn } from '../arrow/slice.js'
import { takeColumn } from '../arrow/take.js'
import type { Pacer } from '../primitives/pacer.js'
import { sortedByWords } from '../primitives/radix.js'
import { type KeyOrder, keyBatch, prefixBytes } from '../query/key-store.js'
import { dictionaryRows } from '../sql/kernels/dictionary.js'
import { equalNeighbours } from '../sql/kernels/neighbours.js'
import { bitAt, byteRowsOf } from '../sql/values/vector.js'
import { sortTexts } from './sort-texts.js'

const order: KeyOrder = { ascending: true, nullsFirst: false }
/** Rows handled between two looks at the clock. */
const rowsAtOnce = 32 * 1024

/** The rows that hold a value, ascending as filters compare (sql/kernels/compare); equal ones by number. */
export async function sortedRows(column: Column, pacer: Pacer): Promise<Uint32Array> {
  if (column.dictionary !== null) return sortedByEntry(column, column.dictionary, pacer)
  const { length } = column
  let nulls: Uint32Array | null = null
  let words: readonly Uint32Array[] = []
  let areLong = false
  for (let from = 0; from < length; from += rowsAtOnce) {
    const part = sliceColumn(column, from, Math.min(rowsAtOnce, length - from))
    const batch = keyBatch([part], [order])
    const [ownNulls, ...own] = batch.words
    if (from === 0) words = own.map(() => new Uint32Array(length))
    for (const [w, word] of own.entries()) words[w]!.set(word, from)
    if (part.nullCount > 0) nulls ??= new Uint32Array(length).fill(ownNulls![0]!)
    nulls?.set(ownNulls!, from)
    areLong ||= batch.texts.at(-1) != null && own.at(-1)!.some(size => size > prefixBytes)
    await pacer.turn()
  }
  const sorted = await sortedByWords(nulls === null ? words : [nulls, ...words], length, pacer)
  const rows = sorted.subarray(0, length - column.nullCount)
  if (areLong) await sortTexts(byteRowsOf(column), rows, words, pacer)
  return rows
}

/** Only the entries are compared; a row goes where its entry does. */
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

/** Of each entry, how many distinct values come before its own; of null, how many there are. */
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
