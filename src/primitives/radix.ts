/**
 * A radix sort of row numbers by 32-bit words, most significant word first. Rows with equal words are sorted by the
 * next word; with varied values those are few. Large inputs are first partitioned by the upper bits of the word, so
 * that later passes stay in the CPU caches. Within a part, passes go from the least significant digit up, and each pass
 * is stable.
 */
import type { Pacer } from './pacer.js'

/** A word has four digits. */
const digitBits = 8
const digits = 2 ** digitBits
const digitsOfWord = 32 / digitBits
const halves = 2 ** 16
/** The most parts to scatter into: about as many write addresses as a core's translation cache (TLB) holds. */
const maxParts = 1024
/** Inputs of up to this many rows fit in the caches anyway. */
const cachedRows = 64 * 1024
/** Rows processed between two checks of the clock. */
const rowsAtOnce = 64 * 1024
/** Up to this many rows use insertion sort: tables of digits would cost more. */
const fewRows = 48

/**
 * Return the numbers `0 .. count-1` sorted by their words; `words[0]` is the most significant. Equal rows keep
 * ascending order.
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
   * The words in sorted order, if there are one or two; else null. Looking them up by row would take as long as the
   * sort.
   */
  readonly words: readonly Uint32Array[] | null
}

/** Like `sortedByWords`, for the given rows, which must ascend. Overwrites the array. */
export async function sortWords(
  words: readonly Uint32Array[],
  rows: Uint32Array,
  pacer: Pacer,
): Promise<SortedWords> {
  if (words.length === 0) return { rows, words: null }
  const { rows: sorted, keys, nexts } = await new Sort(words, rows, pacer).sorted()
  return { rows: sorted, words: words.length > 2 ? null : nexts === null ? [keys] : [keys, nexts] }
}

/** Return the numbers `0 .. numbers.length - 1` sorted by `numbers`, which must be whole and below 2^53. */
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

/** Rows in some order, each with its sort key (the current word), and its next word if there is one. */
interface SortedRows {
  readonly rows: Uint32Array
  /** Keys move with their rows: looking them up by row number would be a random memory access each time. */
  readonly keys: Uint32Array
  readonly nexts: Uint32Array | null
}

class Sort {
  readonly #words: readonly Uint32Array[]
  readonly #pacer: Pacer
  #places: SortedRows
  #spare: SortedRows

  constructor(words: readonly Uint32Array[], rows: Uint32Array, pacer: Pacer) {
    this.#words = words
    this.#pacer = pacer
    this.#places = placesOf(rows, words.length > 1)
    this.#spare = placesOf(new Uint32Array(rows.length), words.length > 1)
  }

  async sorted(): Promise<SortedRows> {
    await this.#sort(0, 0, this.#places.rows.length)
    return this.#places
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
      // The rest starts with a long run, or with one that extends beyond the checked range.
      const { rows, keys, nexts } = this.#places
      const end = endOfRun(keys, at, to)
      if (end - at > fewRows) await this.#sortRun(w + 1, at, end)
      else insert(this.#words, w + 1, nexts!, rows, at, end)
      at = end
    }
  }

  /** Sort a run by word `w` and later words, then restore the key that all of its rows share, and their next words. */
  async #sortRun(w: number, from: number, to: number): Promise<void> {
    const key = this.#places.keys[from]!
    await this.#sort(w, from, to)
    const { keys, nexts } = this.#places
    nexts!.set(keys.subarray(from, to), from)
    keys.fill(key, from, to)
  }

  /** Sort runs of equal keys. Stops before a run that is long, or that reaches `to`, and returns its start. */
  #sortShortRuns(w: number, from: number, to: number): number {
    const { rows, keys, nexts } = this.#places
    for (let at = from; at < to; ) {
      const end = endOfRun(keys, at, to)
      if (end === to || end - at > fewRows) return at
      if (end - at > 1) insert(this.#words, w, nexts!, rows, at, end)
      at = end
    }
    return to
  }

  /** Load word `w` and the next one for the rows. */
  async #loadWords(w: number, from: number, to: number): Promise<void> {
    const { rows, keys, nexts } = this.#places
    const next = this.#words[w + 1]
    for (let at = from; at < to; at += rowsAtOnce) {
      const end = Math.min(to, at + rowsAtOnce)
      loadWord(this.#words[w]!, rows, at, end, keys)
      if (next !== undefined) loadWord(next, rows, at, end, nexts!)
      await this.#pacer.turn()
    }
  }

  /**
   * Partition by the upper 16 bits of the keys, or by the upper 8 if that makes too many parts. Then sort each part.
   */
  async #sortInParts(from: number, to: number): Promise<void> {
    const { keys } = this.#places
    let counts: Int32Array = new Int32Array(halves)
    for (let at = from; at < to; at += rowsAtOnce) {
      countHalves(keys, at, Math.min(to, at + rowsAtOnce), counts)
      await this.#pacer.turn()
    }
    let shift = 16
    if (partsOf(counts) > maxParts) {
      shift += digitBits
      counts = quarters(counts)
    }
    if (partsOf(counts) > 1) {
      await this.#pass(this.#places, this.#spare, shift, from, to, startsOf(counts, from))
      await this.#copyBack(from, to)
    }
    let at = from
    for (const count of counts) {
      if (count > 1) await this.#sortByKeys(at, at + count)
      at += count
    }
  }

  /** Sort digit by digit. */
  async #sortByKeys(from: number, to: number): Promise<void> {
    const counts = new Int32Array(digitsOfWord * digits)
    let [places, spare] = [this.#places, this.#spare]
    for (let at = from; at < to; at += rowsAtOnce) {
      countDigits(places.keys, at, Math.min(to, at + rowsAtOnce), counts)
      await this.#pacer.turn()
    }
    for (let d = 0; d < digitsOfWord; d++) {
      const own = counts.subarray(d * digits, (d + 1) * digits)
      // Skip a digit that all rows share.
      if (own.includes(to - from)) continue
      await this.#pass(places, spare, d * digitBits, from, to, startsOf(own, from))
      ;[places, spare] = [spare, places]
    }
    if (places !== this.#places) await this.#copyBack(from, to)
  }

  /** Move rows to the next free position of their digit: the bits of the word from `shift` on. */
  async #pass(
    places: SortedRows,
    out: SortedRows,
    shift: number,
    from: number,
    to: number,
    next: Int32Array,
  ): Promise<void> {
    const mask = next.length - 1
    for (let at = from; at < to; at += rowsAtOnce) {
      const end = Math.min(to, at + rowsAtOnce)
      if (places.nexts === null) scatter(places, shift, mask, at, end, next, out)
      else scatterWithNexts(places, shift, mask, at, end, next, out)
      await this.#pacer.turn()
    }
  }

  /**
   * After a pass the rows are in the spare arrays. Swap the arrays if the pass moved all rows, else copy the range
   * back.
   */
  async #copyBack(from: number, to: number): Promise<void> {
    const [places, spare] = [this.#places, this.#spare]
    if (to - from === places.rows.length) {
      this.#places = spare
      this.#spare = places
      return
    }
    places.rows.set(spare.rows.subarray(from, to), from)
    places.keys.set(spare.keys.subarray(from, to), from)
    places.nexts?.set(spare.nexts!.subarray(from, to), from)
    await this.#pacer.turn()
  }
}

function placesOf(rows: Uint32Array, hasNexts: boolean): SortedRows {
  const { length } = rows
  return { rows, keys: new Uint32Array(length), nexts: hasNexts ? new Uint32Array(length) : null }
}

function loadWord(word: Uint32Array, rows: Uint32Array, from: number, to: number, out: Uint32Array): void {
  for (let i = from; i < to; i++) out[i] = word[rows[i]!]!
}

function countHalves(keys: Uint32Array, from: number, to: number, counts: Int32Array): void {
  for (let i = from; i < to; i++) counts[keys[i]! >>> 16]! += 1
}

function partsOf(counts: Int32Array): number {
  let parts = 0
  for (let i = 0; i < counts.length; i++) if (counts[i] !== 0) parts++
  return parts
}

function quarters(counts: Int32Array): Int32Array {
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

/** Return where the rows of each digit start; the first digit starts at `from`. */
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

/** Return the end of the run of keys equal to the key at `at`. */
function endOfRun(keys: Uint32Array, at: number, to: number): number {
  const key = keys[at]!
  let end = at + 1
  while (end < to && keys[end]! === key) end++
  return end
}

/** Insertion sort of a few rows by word `w` and later words. `keys` holds word `w`. */
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
