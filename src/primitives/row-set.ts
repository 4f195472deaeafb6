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
  readonly #bits: Bitset | null

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
    return new RowSet(length, length, null, Bitset.full(length))
  }

  /** `rows`: ascending and distinct, below `length`; not changed from now on. */
  static of(length: number, rows: Uint32Array): RowSet {
    if (rows.length * sparsity <= length) return new RowSet(length, rows.length, rows, null)
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
  static ofBits(bits: Bitset): RowSet {
    const count = bits.count()
    if (count * sparsity > bits.length) return new RowSet(bits.length, count, null, bits)
    return new RowSet(bits.length, count, bits.toIndices(), null)
  }

  get isAll(): boolean {
    return this.count === this.length
  }

  has(row: number): boolean {
    if (this.#bits !== null) return this.#bits.has(row)
    const numbers = this.#numbers!
    const at = firstFrom(numbers, row)
    return numbers[at] === row
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
    return RowSet.ofBits(this.#bits!.clone().and(other.#bits!))
  }

  or(other: RowSet): RowSet {
    if (this.count === 0 || other.isAll) return other
    if (other.count === 0 || this.isAll) return this
    if (this.#numbers !== null && other.#numbers !== null) {
      return RowSet.of(this.length, union(this.#numbers, other.#numbers))
    }
    const [few, many] = this.#numbers !== null ? [this, other] : [other, this]
    const bits = many.#bits!.clone()
    if (few.#numbers === null) return RowSet.ofBits(bits.or(few.#bits!))
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
    const bits = this.#bits!.clone()
    if (other.#numbers === null) return RowSet.ofBits(bits.andNot(other.#bits!))
    for (let i = 0; i < other.#numbers.length; i++) bits.remove(other.#numbers[i]!)
    return RowSet.ofBits(bits)
  }

  /** Those from `from` up to `to` (exclusive), numbered from `from` on. */
  slice(from: number, to: number): RowSet {
    if (from === 0 && to === this.length) return this
    if (this.#numbers !== null) {
      const own = this.#numbers.subarray(firstFrom(this.#numbers, from), firstFrom(this.#numbers, to))
      return RowSet.of(to - from, from === 0 ? own : own.map(row => row - from))
    }
    return RowSet.ofBits(this.#bits!.slice(from, to))
  }

  /** Ascending. */
  toIndices(): Uint32Array {
    return this.#numbers ?? this.#bits!.toIndices()
  }

  /** As a bitmap that the caller may change. */
  toBits(): Bitset {
    if (this.#bits !== null) return this.#bits.clone()
    const bits = new Bitset(this.length)
    const numbers = this.#numbers!
    for (let i = 0; i < numbers.length; i++) bits.add(numbers[i]!)
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
