/**
 * An immutable set of row numbers below `length`. A sparse set is stored as ascending numbers, other sets as a bitmap.
 */
import { Bitset } from './bitset.js'
import { lowerBound } from './partition-point.js'

/**
 * Numbers (32 bits per member) take less memory than a bitmap (1 bit per row) if at most 1 of 32 rows is in the set.
 */
const minRowsPerNumber = 32
/**
 * An existing bitmap is converted to numbers only if at most 1 of 512 rows is in the set, because combining bitmaps is
 * fast: each operation combines 32 rows.
 */
const minRowsPerBit = 512

/** A set of row numbers. Sets that are combined must have the same `length`. */
export class RowSet {
  readonly length: number
  /** Number of rows in the set. -1: not yet counted. */
  #count: number
  /** The row numbers, ascending. Null if the set is stored as a bitmap. */
  readonly #numbers: Uint32Array | null
  /** The bitmap. Null if the set is stored as numbers, or if it is a full set whose bitmap was not needed yet. */
  #bits: Bitset | null

  private constructor(length: number, count: number, numbers: Uint32Array | null, bits: Bitset | null) {
    this.length = length
    this.#count = count
    this.#numbers = numbers
    this.#bits = bits
  }

  static none(length: number): RowSet {
    return new RowSet(length, 0, new Uint32Array(0), null)
  }

  static all(length: number): RowSet {
    return new RowSet(length, length, length === 0 ? new Uint32Array(0) : null, null)
  }

  /** Return whether a set of `count` rows is stored as numbers. */
  static areFew(count: number, length: number): boolean {
    return count * minRowsPerNumber <= length
  }

  /**
   * Create a set of `rows`, which must be ascending, distinct and below `length`. The array must not change afterwards.
   */
  static of(length: number, rows: Uint32Array): RowSet {
    if (RowSet.areFew(rows.length, length)) return new RowSet(length, rows.length, rows, null)
    const bits = new Bitset(length)
    for (let i = 0; i < rows.length; i++) bits.add(rows[i]!)
    return new RowSet(length, rows.length, null, bits)
  }

  /** Like `of`, but `rows` may have any order and duplicates. Sorts the array. */
  static ofUnordered(length: number, rows: Uint32Array): RowSet {
    rows.sort()
    let count = 0
    for (let i = 0; i < rows.length; i++) if (i === 0 || rows[i] !== rows[i - 1]) rows[count++] = rows[i]!
    return RowSet.of(length, rows.subarray(0, count))
  }

  /** Create a set from a bitmap, which must not change afterwards. */
  static ofBits(bits: Bitset, count = bits.count()): RowSet {
    if (count * minRowsPerBit > bits.length) return new RowSet(bits.length, count, null, bits)
    return new RowSet(bits.length, count, bits.toIndices(), null)
  }

  /** Create a set from a bitmap without converting it to numbers. Its rows are counted only when needed. */
  static #of(bits: Bitset): RowSet {
    return new RowSet(bits.length, -1, null, bits)
  }

  /** The number of rows in the set. */
  get count(): number {
    if (this.#count === -1) this.#count = this.#bitmap.count()
    return this.#count
  }

  /** Whether the set is empty. Faster than `count === 0`. */
  get isNone(): boolean {
    return this.#count === -1 ? this.#bitmap.isEmpty() : this.#count === 0
  }

  /** Whether the set contains all rows. Faster than `count === length`. */
  get isAll(): boolean {
    return this.#count === -1 ? this.#bitmap.isFull() : this.#count === this.length
  }

  get #bitmap(): Bitset {
    this.#bits ??= Bitset.full(this.length)
    return this.#bits
  }

  has(row: number): boolean {
    if (this.#numbers === null) return this.#bitmap.has(row)
    return this.#numbers[lowerBound(this.#numbers, this.#numbers.length, row)] === row
  }

  and(other: RowSet): RowSet {
    if (this.isNone || other.isAll) return this
    if (other.isNone || this.isAll) return other
    const [few, many] = this.#numbers !== null ? [this, other] : [other, this]
    if (few.#numbers === null) return RowSet.#of(this.#bitmap.intersection(other.#bitmap))
    if (many.#numbers === null) return RowSet.of(this.length, filterByBits(few.#numbers, many.#bitmap, true))
    return RowSet.of(this.length, filterByNumbers(few.#numbers, many.#numbers, true))
  }

  or(other: RowSet): RowSet {
    if (this.isNone || other.isAll) return other
    if (other.isNone || this.isAll) return this
    if (this.#numbers !== null && other.#numbers !== null) {
      return RowSet.of(this.length, union(this.#numbers, other.#numbers))
    }
    const [few, many] = this.#numbers !== null ? [this, other] : [other, this]
    const bits = many.#bitmap.clone()
    if (few.#numbers === null) return RowSet.ofBits(bits.or(few.#bitmap))
    for (let i = 0; i < few.#numbers.length; i++) bits.add(few.#numbers[i]!)
    return RowSet.ofBits(bits)
  }

  andNot(other: RowSet): RowSet {
    if (this.isNone || other.isNone) return this
    if (this.#numbers !== null) {
      const left =
        other.#numbers === null
          ? filterByBits(this.#numbers, other.#bitmap, false)
          : filterByNumbers(this.#numbers, other.#numbers, false)
      return RowSet.of(this.length, left)
    }
    const bits = this.#bitmap.clone()
    if (other.#numbers === null) return RowSet.ofBits(bits.andNot(other.#bitmap))
    for (let i = 0; i < other.#numbers.length; i++) bits.remove(other.#numbers[i]!)
    return RowSet.ofBits(bits)
  }

  /** Return the set of the rows that are also in `bits`. */
  within(bits: Bitset): RowSet {
    if (this.#numbers === null) return RowSet.#of(this.#bitmap.intersection(bits))
    const numbers = filterByBits(this.#numbers, bits, true)
    return numbers.length === this.count ? this : RowSet.of(this.length, numbers)
  }

  /** Return the set of the rows `from` to `to - 1`, renumbered from 0. */
  slice(from: number, to: number): RowSet {
    if (from === 0 && to === this.length) return this
    if (this.isAll) return RowSet.all(to - from)
    const numbers = this.#numbers
    if (numbers !== null) {
      const { length } = numbers
      const own = numbers.subarray(lowerBound(numbers, length, from), lowerBound(numbers, length, to))
      return RowSet.of(to - from, shiftNumbers(own, -from))
    }
    return RowSet.#of(this.#bitmap.view(from, to))
  }

  /** Return a set below `length` with the rows of this set, after adding `by` to each row number. */
  shifted(length: number, by: number): RowSet {
    if (by === 0 && length === this.length) return this
    if (this.#numbers !== null) return RowSet.of(length, shiftNumbers(this.#numbers, by))
    const bits = new Bitset(length)
    bits.addShifted(this.#bitmap, by)
    return RowSet.ofBits(bits)
  }

  /**
   * Add the rows to a bitmap, after adding `by` to each row number. The results must be below the length of the bitmap.
   */
  addTo(bits: Bitset, by: number): void {
    if (this.#numbers !== null) for (const row of this.#numbers) bits.add(row + by)
    else if (this.isAll) bits.addRange(by, by + this.length)
    else bits.addShifted(this.#bitmap, by)
  }

  /** Return the row numbers, ascending. */
  toIndices(): Uint32Array {
    return this.#numbers ?? this.#bitmap.toIndices()
  }

  /** Return the set as a new bitmap, which the caller may change. */
  toBits(): Bitset {
    return this.#numbers === null ? this.#bitmap.clone() : this.asBits()
  }

  /** Return the set as a bitmap that may be shared, so the caller must not change it. */
  asBits(): Bitset {
    if (this.#numbers === null) return this.#bitmap
    const bits = new Bitset(this.length)
    for (let i = 0; i < this.#numbers.length; i++) bits.add(this.#numbers[i]!)
    return bits
  }
}

/** Return the numbers that a bitmap contains (`wanted` true), or that it does not contain (`wanted` false). */
function filterByBits(numbers: Uint32Array, { words }: Bitset, wanted: boolean): Uint32Array {
  const bit = wanted ? 1 : 0
  const kept = new Uint32Array(numbers.length)
  let count = 0
  for (let i = 0; i < numbers.length; i++) {
    const row = numbers[i]!
    kept[count] = row
    if (((words[row >>> 5]! >>> (row & 31)) & 1) === bit) count++
  }
  return kept.subarray(0, count)
}

/**
 * Return the `numbers` that `others` contains (`wanted` true), or does not contain (`wanted` false). Both arrays must
 * ascend.
 */
function filterByNumbers(numbers: Uint32Array, others: Uint32Array, wanted: boolean): Uint32Array {
  const kept = new Uint32Array(numbers.length)
  let [count, at] = [0, 0]
  for (let i = 0; i < numbers.length; i++) {
    const row = numbers[i]!
    while (at < others.length && others[at]! < row) at++
    if ((at < others.length && others[at] === row) === wanted) kept[count++] = row
  }
  return kept.subarray(0, count)
}

function shiftNumbers(numbers: Uint32Array, by: number): Uint32Array {
  if (by === 0) return numbers
  const others = new Uint32Array(numbers.length)
  for (let i = 0; i < numbers.length; i++) others[i] = numbers[i]! + by
  return others
}

function union(a: Uint32Array, b: Uint32Array): Uint32Array {
  const all = new Uint32Array(a.length + b.length)
  let [i, j, count] = [0, 0, 0]
  while (i < a.length && j < b.length) {
    const [x, y] = [a[i]!, b[j]!]
    all[count++] = x < y ? x : y
    // Add the results of comparisons instead of using `if`, because the CPU cannot predict which number is smaller.
    i += Number(x <= y)
    j += Number(y <= x)
  }
  for (; i < a.length; i++) all[count++] = a[i]!
  for (; j < b.length; j++) all[count++] = b[j]!
  return all.subarray(0, count)
}
