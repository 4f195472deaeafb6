/** Sorts row numbers by 32-bit words, without comparing: least significant digits first, each pass keeping the order. */
import type { Pacer } from '../primitives/pacer.js'

const digitBits = 16
const digits = 2 ** digitBits
/** Rows handled between two looks at the clock. */
const rowsAtOnce = 128 * 1024

/** The numbers `0 .. count-1` in the order of their words, `words[0]` being the most significant; equal ones ascending. */
export async function sortedByWords(
  words: readonly Uint32Array[],
  count: number,
  pacer: Pacer,
): Promise<Uint32Array> {
  let rows = new Uint32Array(count)
  for (let i = 0; i < count; i++) rows[i] = i
  let spare = new Uint32Array(count)
  const starts = new Uint32Array(digits)
  for (const word of words.toReversed()) {
    for (const shift of [0, digitBits]) {
      starts.fill(0)
      for (let from = 0; from < count; from += rowsAtOnce) {
        countDigits(word, shift, from, Math.min(count, from + rowsAtOnce), starts)
        await pacer.turn()
      }
      // A digit that all rows share tells nothing.
      if (starts[digitOf(word[0]!, shift)] === count) continue
      let total = 0
      for (let digit = 0; digit < digits; digit++) {
        const own = starts[digit]!
        starts[digit] = total
        total += own
      }
      for (let from = 0; from < count; from += rowsAtOnce) {
        scatter(word, shift, rows, from, Math.min(count, from + rowsAtOnce), starts, spare)
        await pacer.turn()
      }
      const sorted = spare
      spare = rows
      rows = sorted
    }
  }
  return rows
}

/** The numbers `0 .. numbers.length - 1` in the order of `numbers`: whole ones below 2^53. */
export async function sortedByNumbers(numbers: Float64Array, pacer: Pacer): Promise<Uint32Array> {
  const words = [new Uint32Array(numbers.length), new Uint32Array(numbers.length)] as const
  for (let from = 0; from < numbers.length; from += rowsAtOnce) {
    const to = Math.min(numbers.length, from + rowsAtOnce)
    for (let i = from; i < to; i++) {
      words[0][i] = numbers[i]! / 2 ** 32
      words[1][i] = numbers[i]!
    }
    await pacer.turn()
  }
  return sortedByWords(words, numbers.length, pacer)
}

function digitOf(word: number, shift: number): number {
  return (word >>> shift) & (digits - 1)
}

function countDigits(word: Uint32Array, shift: number, from: number, to: number, counts: Uint32Array): void {
  for (let i = from; i < to; i++) counts[(word[i]! >>> shift) & (digits - 1)]! += 1
}

function scatter(
  word: Uint32Array,
  shift: number,
  rows: Uint32Array,
  from: number,
  to: number,
  next: Uint32Array,
  out: Uint32Array,
): void {
  for (let i = from; i < to; i++) {
    const row = rows[i]!
    const digit = (word[row]! >>> shift) & (digits - 1)
    out[next[digit]!] = row
    next[digit]! += 1
  }
}
