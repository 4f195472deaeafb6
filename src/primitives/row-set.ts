/** Some of the rows 0 .. length-1: ascending numbers where they are few, a bitmap where they are many. Immutable. */
import { Bitset } from './bitset.js'

/** One row in so many: from there on a bitmap takes less room than numbers. */
const sparsity = 32

export class RowSet {
  readonly length: number
  /** How many they are. */
  readonly count: number
  /** Ascending; null where there is a bitmap. */
  readonly #numbers: Uint32Array | null
  /** Null beside numbers, and until somebody asks for it where it is full. */
  #bits: Bitset | null

  private constructor(length: number, count: number, numbers: Uint32Array | null, bits: Bitset | null) {
    this.length = length
    this.count = count
    this.#numbers = numbers
    this.#bits = bits
  }

  static none(length: number): RowSet {
    return new RowSet(length, 0, new Uint32Array(0), null)
  }

  static all(length: number): RowSet {
    return new RowSet(length, length, length === 0 ? new Uint32Array(0) : null, null)
  }

  /** `rows`: ascending and distinct, below `length`; not changed from now on. */
  static of(length: number, rows: Uint32Array): RowSet {
    if (rows.length * sparsity <= length) return new RowSet(length, rows.length, rows, null)
    const bits = new Bitset(length)
    for (let i = 0; i < rows.length; i++) bits.add(rows[i]!)
    return new RowSet(length, rows.length, null, bits)
  }

  /** `bits`: not changed from now on. */
  static ofBits(bits: Bitset): RowSet {
    const count = bits.count()
    if (count * sparsity > bits.length) return new RowSet(bits.length, count, null, bits)
    return new RowSet(bits.length, count, bits.toIndices(), null)
  }

  get isAll(): boolean {
    return this.count === this.length
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
    if (this.count === 0 || other.isAll) return this
    if (other.count === 0 || this.isAll) return other
    const [few, many] = this.#numbers !== null ? [this, other] : [other, this]
    if (few.#numbers !== null)
      return RowSet.of(
        this.length,
        few.#numbers.filter(row => many.has(row)),
      )
    return RowSet.ofBits(this.#bitmap.clone().and(other.#bitmap))
  }

  or(other: RowSet): RowSet {
    if (this.count === 0 || other.isAll) return other
    if (other.count === 0 || this.isAll) return this
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
    if (this.count === 0 || other.count === 0) return this
    if (this.#numbers !== null)
      return RowSet.of(
        this.length,
        this.#numbers.filter(row => !other.has(row)),
      )
    const bits = this.#bitmap.clone()
    if (other.#numbers === null) return RowSet.ofBits(bits.andNot(other.#bitmap))
    for (let i = 0; i < other.#numbers.length; i++) bits.remove(other.#numbers[i]!)
    return RowSet.ofBits(bits)
  }

  /** Those that are in a bitmap, too. */
  within(bits: Bitset): RowSet {
    if (this.#numbers === null) return RowSet.ofBits(this.#bitmap.clone().and(bits))
    const numbers = this.#numbers.filter(row => bits.has(row))
    return numbers.length === this.count ? this : RowSet.of(this.length, numbers)
  }

  /** Those from `from` up to `to` (exclusive), numbered from `from` on. */
  slice(from: number, to: number): RowSet {
    if (from === 0 && to === this.length) return this
    if (this.isAll) return RowSet.all(to - from)
    if (this.#numbers !== null) {
      const own = this.#numbers.subarray(firstFrom(this.#numbers, from), firstFrom(this.#numbers, to))
      return RowSet.of(to - from, from === 0 ? own : own.map(row => row - from))
    }
    return RowSet.ofBits(this.#bitmap.slice(from, to))
  }

  /** The same rows, each `by` further on, among `length`. */
  shifted(length: number, by: number): RowSet {
    if (by === 0 && length === this.length) return this
    if (this.#numbers !== null)
      return RowSet.of(length, by === 0 ? this.#numbers : this.#numbers.map(row => row + by))
    const bits = new Bitset(length)
    bits.addShifted(this.#bitmap, by)
    return RowSet.ofBits(bits)
  }

  /** Ascending. */
  toIndices(): Uint32Array {
    return this.#numbers ?? this.#bitmap.toIndices()
  }

  /** As a bitmap that the caller may change. */
  toBits(): Bitset {
    if (this.#numbers === null) return this.#bitmap.clone()
    const bits = new Bitset(this.length)
    for (let i = 0; i < this.#numbers.length; i++) bits.add(this.#numbers[i]!)
    return bits
  }
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
    all[count++] = Math.min(x, y)
    if (x <= y) i++
    if (y <= x) j++
  }
  for (; i < a.length; i++) all[count++] = a[i]!
  for (; j < b.length; j++) all[count++] = b[j]!
  return all.subarray(0, count)
}
