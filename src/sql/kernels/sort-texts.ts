/**
 * Sort strings by their bytes, eight bytes at a time. The next eight bytes are read only for strings whose previous
 * bytes are equal.
 */

import { orderOfBytes } from '../../primitives/order-of-bytes.js'
import type { Pacer } from '../../primitives/pacer.js'
import { sortedByWords } from '../../primitives/radix.js'
import type { ByteRows } from '../values/vector.js'

/** Number of bytes of a string that are sorted in one step, as two 32-bit words. */
export const prefixBytes = 8

/**
 * Maximum number of strings that are sorted by comparing them directly. For so few strings, creating words takes
 * longer.
 */
const fewTexts = 32
/** Number of rows that are processed between two calls of the time slicer. */
const rowsAtOnce = 16 * 1024
/** Number of bytes that are compared between two calls of the time slicer. */
const bytesAtOnce = 1024 * 1024

/**
 * The positions `from` to `to - 1` of the sorted rows. Their strings are longer than `depth` bytes and share these
 * bytes.
 */
interface Tie {
  readonly from: number
  readonly to: number
  readonly depth: number
}

/**
 * Sort row numbers by all bytes of their strings. The sort is stable. `rows`: row numbers that are already sorted by
 * the first eight bytes. `words`: for each row, two words with these bytes, and the size of the string but at most nine
 * (query/key-store.ts).
 */
export async function sortTexts(
  texts: ByteRows,
  rows: Uint32Array,
  words: readonly Uint32Array[],
  pacer: Pacer,
): Promise<void> {
  await sortTies(texts, rows, await tiesOf(words, rows, 0, 0, pacer), pacer)
}

/** Return the row numbers `0 .. count-1`, sorted by their strings. The row numbers of equal strings ascend. */
export async function sortedTexts(texts: ByteRows, count: number, pacer: Pacer): Promise<Uint32Array> {
  const rows = new Uint32Array(count)
  for (let i = 0; i < count; i++) rows[i] = i
  await sortTies(texts, rows, [{ from: 0, to: count, depth: 0 }], pacer)
  return rows
}

async function sortTies(texts: ByteRows, rows: Uint32Array, ties: Tie[], pacer: Pacer): Promise<void> {
  const compare = (a: number, b: number) => orderOfRows(texts, a, b)
  for (let tie = ties.pop(); tie !== undefined; tie = ties.pop()) {
    const own = rows.subarray(tie.from, tie.to)
    if (own.length <= fewTexts) own.sort(compare)
    else for (const next of await sortTie(texts, own, tie, pacer)) ties.push(next)
    await pacer.turn()
  }
}

/**
 * Sort the rows of a tie by the eight bytes after their common prefix. Return the rows whose order is still unknown.
 */
async function sortTie(
  texts: ByteRows,
  rows: Uint32Array,
  { from: first, depth }: Tie,
  pacer: Pacer,
): Promise<Tie[]> {
  const common = await commonBytes(texts, rows, depth, pacer)
  const words = [0, 1, 2].map(() => new Uint32Array(rows.length))
  for (let at = 0; at < rows.length; at += rowsAtOnce) {
    fillWords(texts, rows, common, at, Math.min(rows.length, at + rowsAtOnce), words)
    await pacer.turn()
  }
  const order = await sortedByWords(words, rows.length, pacer)
  const before = rows.slice()
  for (let from = 0; from < rows.length; from += rowsAtOnce) {
    const to = Math.min(rows.length, from + rowsAtOnce)
    for (let at = from; at < to; at++) rows[at] = before[order[at]!]!
    await pacer.turn()
  }
  return tiesOf(words, order, first, common, pacer)
}

function fillWords(
  { bytes, offsets }: ByteRows,
  rows: Uint32Array,
  depth: number,
  from: number,
  to: number,
  words: readonly Uint32Array[],
): void {
  const [first, second, sizes] = words as [Uint32Array, Uint32Array, Uint32Array]
  for (let i = from; i < to; i++) {
    const start = offsets[rows[i]!]! + depth
    const size = Math.min(prefixBytes + 1, offsets[rows[i]! + 1]! - start)
    sizes[i] = size
    let [upper, lower] = [0, 0]
    for (let k = 0; k < 4; k++) {
      if (k < size) upper |= bytes[start + k]! << (24 - 8 * k)
      if (k + 4 < size) lower |= bytes[start + k + 4]! << (24 - 8 * k)
    }
    first[i] = upper
    second[i] = lower
  }
}

/** Return the size of the common prefix of all strings. They must share at least `depth` bytes. */
async function commonBytes(
  { bytes, offsets }: ByteRows,
  rows: Uint32Array,
  depth: number,
  pacer: Pacer,
): Promise<number> {
  const start = offsets[rows[0]!]!
  let common = offsets[rows[0]! + 1]! - start
  let comparedBytes = 0
  for (let i = 1; i < rows.length && common > depth; i++) {
    const other = offsets[rows[i]!]!
    const most = Math.min(common, offsets[rows[i]! + 1]! - other)
    for (common = depth; common < most && bytes[start + common] === bytes[other + common]; common++) {}
    comparedBytes += common - depth + 64
    if (comparedBytes < bytesAtOnce) continue
    comparedBytes = 0
    await pacer.turn()
  }
  return common
}

/**
 * Return the ties: runs of strings with equal words that have more bytes than the words. `order`: sorted indexes into
 * `words`. `first`: position of the run in all rows. `depth`: number of bytes before the words.
 */
async function tiesOf(
  words: readonly Uint32Array[],
  order: Uint32Array,
  first: number,
  depth: number,
  pacer: Pacer,
): Promise<Tie[]> {
  const ties: Tie[] = []
  const sizes = words.at(-1)!
  let begin = 0
  for (let at = 1; at <= order.length; at++) {
    if (at % rowsAtOnce === 0) await pacer.turn()
    if (at < order.length && haveEqualWords(words, order[at - 1]!, order[at]!)) continue
    if (at - begin > 1 && sizes[order[begin]!]! > prefixBytes)
      ties.push({ from: first + begin, to: first + at, depth: depth + prefixBytes })
    begin = at
  }
  return ties
}

function haveEqualWords(words: readonly Uint32Array[], a: number, b: number): boolean {
  for (let w = 0; w < words.length; w++) if (words[w]![a] !== words[w]![b]) return false
  return true
}

function orderOfRows({ bytes, offsets }: ByteRows, a: number, b: number): number {
  const order = orderOfBytes(bytes, offsets[a]!, offsets[a + 1]!, bytes, offsets[b]!, offsets[b + 1]!)
  return order === 0 ? a - b : order
}
