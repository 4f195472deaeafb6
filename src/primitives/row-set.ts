/** Some of the rows 0 .. length-1: ascending numbers where they are few, a bitmap where they are many. Immutable. */
import { Bitset } from './bitset.js'

/** One row in so many: from there on a bitmap takes less room than numbers; */
const sparsity = 32
/** a bitmap that is there is taken apart only where it holds far fewer: whole words are combined sooner than numbers. */
const sparseBits = 512

export class RowSet {
  readonly length: number
  /** -1 until somebody asks. */
  #count: number
  /** Ascending; null where there is a bitmap. */
  readonly #numbers: Uint32Array | null
  /** Null beside numbers, and until somebody asks for it where it is full. */
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

  /** Whether so many are kept as numbers. */
  static areFew(count: number, length: number): boolean {
    return count * sparsity <= length
  }

  /** `rows`: ascending and distinct, below `length`; not changed from now on. */
  static of(length: number, rows: Uint32Array): RowSet {
    if (RowSet.areFew(rows.length, length)) return new RowSet(length, rows.length, rows, null)
    const bits = new Bitset(length)
    for (let i = 0; i < rows.length; i++) bits.add(rows[i]!)
    return new RowSet(length, rows.length, null, bits)
  }

  /** As `of`, but in any order, and a row may come several times. The array is sorted. */
  static ofUnordered(length: number, rows: Uint32Array): RowSet {
    rows.sort()
    let count = 0
    for (let i = 0; i < rows.length; i++) if (i === 0 || rows[i] !== rows[i - 1]) rows[count++] = rows[i]!
    return RowSet.of(length, rows.subarray(0, count))
  }

  /** `bits`: not changed from now on. */
  static ofBits(bits: Bitset, count = bits.count()): RowSet {
    if (count * sparseBits > bits.length) return new RowSet(bits.length, count, null, bits)
    return new RowSet(bits.length, count, bits.toIndices(), null)
  }

  /** Those of a bitmap that is not changed from now on, and not taken apart either: nobody counts it unless asked. */
  static #of(bits: Bitset): RowSet {
    return new RowSet(bits.length, -1, null, bits)
  }

  /** How many they are. */
  get count(): number {
    if (this.#count === -1) this.#count = this.#bitmap.count()
    return this.#count
  }

  /** Sooner known than the count. */
  get isNone(): boolean {
    return this.#count === -1 ? this.#bitmap.isEmpty() : this.#count === 0
  }

  /** Sooner known than the count. */
  get isAll(): boolean {
    return this.#count === -1 ? this.#bitmap.isFull() : this.#count === this.length
  }

  get #bitmap(): Bitset {
    this.#bits ??= Bitset.full(this.length)
    return this.#bits
  }

  has(row: number): boolean {
    if (this.#numbers === null) return this.#bitmap.has(row)
    const at = firstFrom(this.#numbers, row)
    return this.#numbers[at] === row
  }

  and(other: RowSet): RowSet {
    if (this.isNone || other.isAll) return this
    if (other.isNone || this.isAll) return other
    const [few, many] = this.#numbers !== null ? [this, other] : [other, this]
    if (few.#numbers === null) return RowSet.#of(this.#bitmap.intersection(other.#bitmap))
    if (many.#numbers === null) return RowSet.of(this.length, thoseIn(few.#numbers, many.#bitmap, true))
    return RowSet.of(this.length, compared(few.#numbers, many.#numbers, true))
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
          ? thoseIn(this.#numbers, other.#bitmap, false)
          : compared(this.#numbers, other.#numbers, false)
      return RowSet.of(this.length, left)
    }
    const bits = this.#bitmap.clone()
    if (other.#numbers === null) return RowSet.ofBits(bits.andNot(other.#bitmap))
    for (let i = 0; i < other.#numbers.length; i++) bits.remove(other.#numbers[i]!)
    return RowSet.ofBits(bits)
  }

  /** Those that are in a bitmap, too. */
  within(bits: Bitset): RowSet {
    if (this.#numbers === null) return RowSet.#of(this.#bitmap.intersection(bits))
    const numbers = thoseIn(this.#numbers, bits, true)
    return numbers.length === this.count ? this : RowSet.of(this.length, numbers)
  }

  /** Those from `from` up to `to` (exclusive), numbered from `from` on. */
  slice(from: number, to: number): RowSet {
    if (from === 0 && to === this.length) return this
    if (this.isAll) return RowSet.all(to - from)
    if (this.#numbers !== null) {
      const own = this.#numbers.subarray(firstFrom(this.#numbers, from), firstFrom(this.#numbers, to))
      return RowSet.of(to - from, moved(own, -from))
    }
    return RowSet.#of(this.#bitmap.view(from, to))
  }

  /** The same rows, each `by` further on, among `length`. */
  shifted(length: number, by: number): RowSet {
    if (by === 0 && length === this.length) return this
    if (this.#numbers !== null) return RowSet.of(length, moved(this.#numbers, by))
    const bits = new Bitset(length)
    bits.addShifted(this.#bitmap, by)
    return RowSet.ofBits(bits)
  }

  /** Adds these rows to a bitmap, each `by` further on; it has room for all of them. */
  addTo(bits: Bitset, by: number): void {
    if (this.#numbers !== null) for (const row of this.#numbers) bits.add(row + by)
    else if (this.isAll) bits.addRange(by, by + this.length)
    else bits.addShifted(this.#bitmap, by)
  }

  /** Ascending. */
  toIndices(): Uint32Array {
    return this.#numbers ?? this.#bitmap.toIndices()
  }

  /** As a bitmap that the caller may change. */
  toBits(): Bitset {
    return this.#numbers === null ? this.#bitmap.clone() : this.asBits()
  }

  /** As a bitmap that nobody changes. */
  asBits(): Bitset {
    if (this.#numbers === null) return this.#bitmap
    const bits = new Bitset(this.length)
    for (let i = 0; i < this.#numbers.length; i++) bits.add(this.#numbers[i]!)
    return bits
  }
}

/** Those of some numbers that are in a bitmap, or those that are not. */
function thoseIn(numbers: Uint32Array, { words }: Bitset, wanted: boolean): Uint32Array {
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

/** Those of ascending numbers that are among others, which ascend too, or those that are not. */
function compared(numbers: Uint32Array, others: Uint32Array, wanted: boolean): Uint32Array {
  const kept = new Uint32Array(numbers.length)
  let [count, at] = [0, 0]
  for (let i = 0; i < numbers.length; i++) {
    const row = numbers[i]!
    while (at < others.length && others[at]! < row) at++
    if ((at < others.length && others[at] === row) === wanted) kept[count++] = row
  }
  return kept.subarray(0, count)
}

function moved(numbers: Uint32Array, by: number): Uint32Array {
  if (by === 0) return numbers
  const others = new Uint32Array(numbers.length)
  for (let i = 0; i < numbers.length; i++) others[i] = numbers[i]! + by
  return others
}

/** The place of the first number that is not below `least`. */
function firstFrom(numbers: Uint32Array, least: number): number {
  let [low, high] = [0, numbers.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (numbers[middle]! < least) low = middle + 1
    else high = middle
  }
  return low
}

function union(a: Uint32Array, b: Uint32Array): Uint32Array {
  const all = new Uint32Array(a.length + b.length)
  let [i, j, count] = [0, 0, 0]
  while (i < a.length && j < b.length) {
    const [x, y] = [a[i]!, b[j]!]
    all[count++] = x < y ? x : y
    // Added, not branched on: which is less, nobody can foretell.
    i += Number(x <= y)
    j += Number(y <= x)
  }
  for (; i < a.length; i++) all[count++] = a[i]!
  for (; j < b.length; j++) all[count++] = b[j]!
  return all.subarray(0, count)
}
