/**
 * A radix sort of row numbers by 32-bit words. Rows are sorted by the most significant word first. Then rows with equal
 * words are sorted by the next word; if the values vary, few rows have equal words.
 *
 * Large inputs are first partitioned by the upper bits of the word, so that each part fits into the CPU caches. A part
 * is sorted by one stable pass per digit (byte), from the least significant digit to the most significant digit.
 */
import type { Pacer } from './pacer.js'

/** A word has four digits. */
const digitBits = 8
const digits = 2 ** digitBits
const digitsOfWord = 32 / digitBits
const upperHalves = 2 ** 16
/**
 * Maximum number of parts. It is about the number of memory pages that the translation cache (TLB) of a core can hold.
 */
const maxParts = 1024
/** Inputs of at most this number of rows are not partitioned, because they fit into the CPU caches. */
const cachedRows = 64 * 1024
/** Number of rows that are processed between two checks of the clock. */
const rowsAtOnce = 64 * 1024
/** Runs of at most this number of rows are sorted by insertion sort, because counting digits would take longer. */
const fewRows = 48

/**
 * Return the row numbers `0 .. count-1` sorted by their words. `words[w][row]` is word `w` of a row; `words[0]` is the
 * most significant word. Rows with equal words are in ascending order.
 */
export async function sortedByWords(
  words: readonly Uint32Array[],
  count: number,
  pacer: Pacer,
): Promise<Uint32Array> {
  const rows = new Uint32Array(count)
  for (let i = 0; i < count; i++) rows[i] = i
  return (await sortWords(words, rows, pacer)).rows
}

/** The result of `sortWords`. */
interface SortedWords {
  readonly rows: Uint32Array
  /**
   * The words in the order of the sorted rows, if the rows have one or two words; otherwise null. Callers use this
   * array, because looking up the words by row number would take as long as the sort.
   */
  readonly words: readonly Uint32Array[] | null
}

/** Like `sortedByWords`, but sort only the given rows, which must ascend. Overwrites the array `rows`. */
export async function sortWords(
  words: readonly Uint32Array[],
  rows: Uint32Array,
  pacer: Pacer,
): Promise<SortedWords> {
  if (words.length === 0) return { rows, words: null }
  const { rows: sorted, keys, nexts } = await new Sort(words, rows, pacer).sorted()
  return { rows: sorted, words: words.length > 2 ? null : nexts === null ? [keys] : [keys, nexts] }
}

/** Return the indexes of `numbers`, sorted by number. The numbers must be integers from 0 to 2^53 - 1. */
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

/** Rows in some order. Each row has a sort key (the current word), and the next word if there is a next word. */
interface SortedRows {
  readonly rows: Uint32Array
  /**
   * The keys in the order of `rows`. Keys are moved together with rows, to avoid random memory access by row number.
   */
  readonly keys: Uint32Array
  readonly nexts: Uint32Array | null
}

class Sort {
  readonly #words: readonly Uint32Array[]
  readonly #pacer: Pacer
  #current: SortedRows
  #spare: SortedRows

  constructor(words: readonly Uint32Array[], rows: Uint32Array, pacer: Pacer) {
    this.#words = words
    this.#pacer = pacer
    this.#current = newSortedRows(rows, words.length > 1)
    this.#spare = newSortedRows(new Uint32Array(rows.length), words.length > 1)
  }

  async sorted(): Promise<SortedRows> {
    await this.#sort(0, 0, this.#current.rows.length)
    return this.#current
  }

  /** Sort the rows at positions `from` to `to - 1`, which have equal words before word `w`. */
  async #sort(w: number, from: number, to: number): Promise<void> {
    await this.#loadWords(w, from, to)
    if (to - from <= cachedRows) await this.#sortByKeys(from, to)
    else await this.#sortInParts(from, to)
    if (w + 1 === this.#words.length) return
    for (let at = from; at < to; ) {
      at = this.#sortShortRuns(w + 1, at, Math.min(to, at + rowsAtOnce))
      await this.#pacer.turn()
      if (at === to) return
      // A run starts at `at` that is long, or that continues after the checked range.
      const { rows, keys, nexts } = this.#current
      const end = endOfRun(keys, at, to)
      if (end - at > fewRows) await this.#sortRun(w + 1, at, end)
      else insert(this.#words, w + 1, nexts!, rows, at, end)
      at = end
    }
  }

  /**
   * Sort a run by word `w` and later words. Then restore the common key of the run, and set the next words to word `w`.
   */
  async #sortRun(w: number, from: number, to: number): Promise<void> {
    const key = this.#current.keys[from]!
    await this.#sort(w, from, to)
    const { keys, nexts } = this.#current
    nexts!.set(keys.subarray(from, to), from)
    keys.fill(key, from, to)
  }

  /**
   * Sort short runs of equal keys. Return the start of the first run that is long or that ends at `to`, otherwise `to`.
   */
  #sortShortRuns(w: number, from: number, to: number): number {
    const { rows, keys, nexts } = this.#current
    for (let at = from; at < to; ) {
      const end = endOfRun(keys, at, to)
      if (end === to || end - at > fewRows) return at
      if (end - at > 1) insert(this.#words, w, nexts!, rows, at, end)
      at = end
    }
    return to
  }

  /** Load word `w` of the rows as keys, and the next word as next words. */
  async #loadWords(w: number, from: number, to: number): Promise<void> {
    const { rows, keys, nexts } = this.#current
    const next = this.#words[w + 1]
    for (let at = from; at < to; at += rowsAtOnce) {
      const end = Math.min(to, at + rowsAtOnce)
      loadWord(this.#words[w]!, rows, at, end, keys)
      if (next !== undefined) loadWord(next, rows, at, end, nexts!)
      await this.#pacer.turn()
    }
  }

  /**
   * Partition the rows by the upper 16 bits of their keys, or by the upper 8 bits if there would be too many parts.
   * Then sort each part.
   */
  async #sortInParts(from: number, to: number): Promise<void> {
    const { keys } = this.#current
    let counts: Int32Array = new Int32Array(upperHalves)
    for (let at = from; at < to; at += rowsAtOnce) {
      countUpperHalves(keys, at, Math.min(to, at + rowsAtOnce), counts)
      await this.#pacer.turn()
    }
    let shift = 16
    if (partsOf(counts) > maxParts) {
      shift += digitBits
      counts = countsByUpperByte(counts)
    }
    if (partsOf(counts) > 1) {
      await this.#pass(this.#current, this.#spare, shift, from, to, startsOf(counts, from))
      await this.#copyBack(from, to)
    }
    let at = from
    for (const count of counts) {
      if (count > 1) await this.#sortByKeys(at, at + count)
      at += count
    }
  }

  /** Sort rows by their keys, with one pass per digit. */
  async #sortByKeys(from: number, to: number): Promise<void> {
    const counts = new Int32Array(digitsOfWord * digits)
    let [current, spare] = [this.#current, this.#spare]
    for (let at = from; at < to; at += rowsAtOnce) {
      countDigits(current.keys, at, Math.min(to, at + rowsAtOnce), counts)
      await this.#pacer.turn()
    }
    for (let d = 0; d < digitsOfWord; d++) {
      const own = counts.subarray(d * digits, (d + 1) * digits)
      // Skip a digit that is equal in all rows.
      if (own.includes(to - from)) continue
      await this.#pass(current, spare, d * digitBits, from, to, startsOf(own, from))
      ;[current, spare] = [spare, current]
    }
    if (current !== this.#current) await this.#copyBack(from, to)
  }

  /**
   * Copy rows to `out`, each to the next free position of its digit. The digit is the bits of the key from `shift` on.
   */
  async #pass(
    current: SortedRows,
    out: SortedRows,
    shift: number,
    from: number,
    to: number,
    next: Int32Array,
  ): Promise<void> {
    const mask = next.length - 1
    for (let at = from; at < to; at += rowsAtOnce) {
      const end = Math.min(to, at + rowsAtOnce)
      if (current.nexts === null) scatter(current, shift, mask, at, end, next, out)
      else scatterWithNexts(current, shift, mask, at, end, next, out)
      await this.#pacer.turn()
    }
  }

  /**
   * Move the sorted rows from the spare arrays back. If the range contains all rows, swap the arrays. Otherwise copy
   * the range.
   */
  async #copyBack(from: number, to: number): Promise<void> {
    const [current, spare] = [this.#current, this.#spare]
    if (to - from === current.rows.length) {
      this.#current = spare
      this.#spare = current
      return
    }
    current.rows.set(spare.rows.subarray(from, to), from)
    current.keys.set(spare.keys.subarray(from, to), from)
    current.nexts?.set(spare.nexts!.subarray(from, to), from)
    await this.#pacer.turn()
  }
}

function newSortedRows(rows: Uint32Array, hasNexts: boolean): SortedRows {
  const { length } = rows
  return { rows, keys: new Uint32Array(length), nexts: hasNexts ? new Uint32Array(length) : null }
}

function loadWord(word: Uint32Array, rows: Uint32Array, from: number, to: number, out: Uint32Array): void {
  for (let i = from; i < to; i++) out[i] = word[rows[i]!]!
}

function countUpperHalves(keys: Uint32Array, from: number, to: number, counts: Int32Array): void {
  for (let i = from; i < to; i++) counts[keys[i]! >>> 16]! += 1
}

function partsOf(counts: Int32Array): number {
  let parts = 0
  for (let i = 0; i < counts.length; i++) if (counts[i] !== 0) parts++
  return parts
}

function countsByUpperByte(counts: Int32Array): Int32Array {
  const sums = new Int32Array(digits)
  for (let i = 0; i < counts.length; i++) sums[i >>> digitBits]! += counts[i]!
  return sums
}

function countDigits(keys: Uint32Array, from: number, to: number, counts: Int32Array): void {
  for (let i = from; i < to; i++) {
    const key = keys[i]! | 0
    counts[key & 0xff]! += 1
    counts[digits + ((key >>> 8) & 0xff)]! += 1
    counts[2 * digits + ((key >>> 16) & 0xff)]! += 1
    counts[3 * digits + (key >>> 24)]! += 1
  }
}

/** Return the position at which the rows of each digit start. `from`: position of the first digit. */
function startsOf(counts: Int32Array, from: number): Int32Array {
  const starts = new Int32Array(counts.length)
  starts[0] = from
  for (let digit = 1; digit < starts.length; digit++) starts[digit] = starts[digit - 1]! + counts[digit - 1]!
  return starts
}

function scatter(
  { rows, keys }: SortedRows,
  shift: number,
  mask: number,
  from: number,
  to: number,
  next: Int32Array,
  { rows: outRows, keys: outKeys }: SortedRows,
): void {
  for (let i = from; i < to; i++) {
    const key = keys[i]! | 0
    const digit = (key >>> shift) & mask
    const at = next[digit]!
    next[digit] = at + 1
    outKeys[at] = key
    outRows[at] = rows[i]!
  }
}

function scatterWithNexts(
  { rows, keys, nexts }: SortedRows,
  shift: number,
  mask: number,
  from: number,
  to: number,
  next: Int32Array,
  { rows: outRows, keys: outKeys, nexts: outNexts }: SortedRows,
): void {
  for (let i = from; i < to; i++) {
    const key = keys[i]! | 0
    const digit = (key >>> shift) & mask
    const at = next[digit]!
    next[digit] = at + 1
    outKeys[at] = key
    outRows[at] = rows[i]!
    outNexts![at] = nexts![i]!
  }
}

/** Return the position after the last of the consecutive keys that equal the key at `at`. */
function endOfRun(keys: Uint32Array, at: number, to: number): number {
  const key = keys[at]!
  let end = at + 1
  while (end < to && keys[end]! === key) end++
  return end
}

/** Sort a few rows by word `w` and later words, by insertion sort. `keys`: word `w` of the rows. */
function insert(
  words: readonly Uint32Array[],
  w: number,
  keys: Uint32Array,
  rows: Uint32Array,
  from: number,
  to: number,
): void {
  for (let i = from + 1; i < to; i++) {
    const row = rows[i]!
    const key = keys[i]!
    let at = i
    for (; at > from; at--) {
      const other = keys[at - 1]!
      if (other < key || (other === key && !isBefore(words, w + 1, row, rows[at - 1]!))) break
      keys[at] = other
      rows[at] = rows[at - 1]!
    }
    keys[at] = key
    rows[at] = row
  }
}

function isBefore(words: readonly Uint32Array[], from: number, a: number, b: number): boolean {
  for (let w = from; w < words.length; w++) {
    const x = words[w]![a]!
    const y = words[w]![b]!
    if (x !== y) return x < y
  }
  return false
}
