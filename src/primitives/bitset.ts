/** A fixed-length set of row numbers, one bit per row, least significant bit first (the layout of an Arrow bitmap). */
export class Bitset {
  readonly length: number
  /** 32 bits per word. Bits past `length` are always 0, so that methods need no special case for the last word. */
  readonly words: Uint32Array

  constructor(length: number, words: Uint32Array = new Uint32Array((length + 31) >>> 5)) {
    this.length = length
    this.words = words
  }

  /** Create a set of all rows 0 .. length-1. */
  static full(length: number): Bitset {
    const set = new Bitset(length)
    set.words.fill(0xffffffff)
    set.#clearTail()
    return set
  }

  /** Create a set of the rows `from` to `to - 1`. */
  static range(length: number, from: number, to: number): Bitset {
    const set = new Bitset(length)
    set.addRange(from, to)
    return set
  }

  /** Copy an Arrow validity bitmap, in which a set bit is a present value. */
  static fromBytes(bytes: Uint8Array, length: number): Bitset {
    const set = new Bitset(length)
    new Uint8Array(set.words.buffer).set(bytes.subarray(0, (length + 7) >>> 3))
    set.#clearTail()
    return set
  }

  has(index: number): boolean {
    return ((this.words[index >>> 5]! >>> (index & 31)) & 1) === 1
  }

  add(index: number): void {
    this.words[index >>> 5]! |= 1 << (index & 31)
  }

  /** Add the rows `from` to `to - 1`. */
  addRange(from: number, to: number): void {
    if (from >= to) return
    const { words } = this
    const first = from >>> 5
    const last = (to - 1) >>> 5
    const start = -1 << (from & 31)
    const end = -1 >>> (31 - ((to - 1) & 31))
    if (first === last) {
      words[first]! |= start & end
      return
    }
    words[first]! |= start
    words.fill(0xffffffff, first + 1, last)
    words[last]! |= end
  }

  remove(index: number): void {
    this.words[index >>> 5]! &= ~(1 << (index & 31))
  }

  /**
   * Count the rows in the set. The algorithm of Harley and Seal first adds 8 words bit by bit. It takes half the time
   * of counting each word.
   */
  count(): number {
    const { words } = this
    let [ones, twos, fours, eights] = [0, 0, 0, 0]
    let i = 0
    for (; i + 8 <= words.length; i += 8) {
      const [a, b, c, d] = [words[i]! | 0, words[i + 1]! | 0, words[i + 2]! | 0, words[i + 3]! | 0]
      const [e, f, g, h] = [words[i + 4]! | 0, words[i + 5]! | 0, words[i + 6]! | 0, words[i + 7]! | 0]
      const twosOfAB = carry(ones, a, b)
      ones ^= a ^ b
      const twosOfCD = carry(ones, c, d)
      ones ^= c ^ d
      const foursOfAD = carry(twos, twosOfAB, twosOfCD)
      twos ^= twosOfAB ^ twosOfCD
      const twosOfEF = carry(ones, e, f)
      ones ^= e ^ f
      const twosOfGH = carry(ones, g, h)
      ones ^= g ^ h
      const foursOfEH = carry(twos, twosOfEF, twosOfGH)
      twos ^= twosOfEF ^ twosOfGH
      eights += popcount(carry(fours, foursOfAD, foursOfEH))
      fours ^= foursOfAD ^ foursOfEH
    }
    let total = 8 * eights + 4 * popcount(fours) + 2 * popcount(twos) + popcount(ones)
    for (; i < words.length; i++) total += popcount(words[i]!)
    return total
  }

  /** Return, for each word, the number of set bits in earlier words. This is the input of `rank`. */
  ranks(): Uint32Array {
    const ranks = new Uint32Array(this.words.length)
    for (let w = 1; w < ranks.length; w++) ranks[w] = ranks[w - 1]! + popcount(this.words[w - 1]!)
    return ranks
  }

  /** Return the number of set bits before `index`. `ranks` is the result of `ranks()`. */
  rank(index: number, ranks: Uint32Array): number {
    return ranks[index >>> 5]! + popcount(this.words[index >>> 5]! & ((1 << (index & 31)) - 1))
  }

  /** Return the index of the set bit that has `rank` set bits before it. Returns `length` if there is no such bit. */
  select(rank: number): number {
    let before = 0
    for (let w = 0; w < this.words.length; w++) {
      const own = popcount(this.words[w]!)
      if (before + own <= rank) {
        before += own
        continue
      }
      let word = this.words[w]!
      for (; before < rank; before++) word &= word - 1
      return 32 * w + 31 - Math.clz32(word & -word)
    }
    return this.length
  }

  /** Return the result of `select` for each of `ranks`, which must ascend and be less than `count()`. */
  selectAll(ranks: ArrayLike<number>): Uint32Array {
    const found = new Uint32Array(ranks.length)
    let before = 0
    for (let w = 0, i = 0; i < found.length; w++) {
      let word = this.words[w]!
      const end = before + popcount(word)
      for (; i < found.length && ranks[i]! < end; i++) {
        for (; before < ranks[i]!; before++) word &= word - 1
        found[i] = 32 * w + 31 - Math.clz32(word & -word)
      }
      before = end
    }
    return found
  }

  isEmpty(): boolean {
    for (let i = 0; i < this.words.length; i++) if (this.words[i] !== 0) return false
    return true
  }

  isFull(): boolean {
    const whole = this.length >>> 5
    for (let i = 0; i < whole; i++) if (this.words[i] !== 0xffffffff) return false
    const used = this.length & 31
    return used === 0 || this.words[whole] === 0xffffffff >>> (32 - used)
  }

  clone(): Bitset {
    return new Bitset(this.length, this.words.slice())
  }

  /** Return a new set of the rows that both sets contain. */
  intersection(other: Bitset): Bitset {
    const [a, b] = [this.words, other.words]
    const both = new Uint32Array(a.length)
    for (let i = 0; i < both.length; i++) both[i] = a[i]! & b[i]!
    return new Bitset(this.length, both)
  }

  /** Remove the rows that are not in `other`. Both sets must have the same length (not checked). */
  and(other: Bitset): this {
    for (let i = 0; i < this.words.length; i++) this.words[i]! &= other.words[i]!
    return this
  }

  /** Add the rows of `other`. Both sets must have the same length (not checked). */
  or(other: Bitset): this {
    for (let i = 0; i < this.words.length; i++) this.words[i]! |= other.words[i]!
    return this
  }

  /** Remove the rows that are in `other`. Both sets must have the same length (not checked). */
  andNot(other: Bitset): this {
    for (let i = 0; i < this.words.length; i++) this.words[i]! &= ~other.words[i]!
    return this
  }

  /** Replace the set by its complement. */
  not(): this {
    for (let i = 0; i < this.words.length; i++) this.words[i] = ~this.words[i]!
    this.#clearTail()
    return this
  }

  /**
   * Like `slice`, but share memory with this set if the range starts and ends at word boundaries. So neither set may be
   * changed afterwards.
   */
  view(from: number, to: number): Bitset {
    const isWhole = (to & 31) === 0 || to === this.length
    if ((from & 31) !== 0 || !isWhole) return this.slice(from, to)
    return new Bitset(to - from, this.words.subarray(from >>> 5, (to + 31) >>> 5))
  }

  /** Copy the rows `from` to `to - 1`, renumbered from 0. */
  slice(from: number, to: number): Bitset {
    const part = new Bitset(to - from)
    const first = from >>> 5
    const shift = from & 31
    const { words } = part
    if (shift === 0) words.set(this.words.subarray(first, first + words.length))
    else {
      for (let i = 0; i < words.length; i++) {
        const low = this.words[first + i]! >>> shift
        words[i] = low | ((this.words[first + i + 1] ?? 0) << (32 - shift))
      }
    }
    part.#clearTail()
    return part
  }

  /** Add the rows of `other`, after adding `by` to each row number. The results must be less than `length`. */
  addShifted(other: Bitset, by: number): void {
    const first = by >>> 5
    const shift = by & 31
    for (let i = 0; i < other.words.length; i++) {
      const word = other.words[i]!
      if (word === 0) continue
      this.words[first + i]! |= word << shift
      const rest = shift === 0 ? 0 : word >>> (32 - shift)
      if (rest !== 0) this.words[first + i + 1]! |= rest
    }
  }

  /** Return the first `limit` rows of the set, ascending. Default: all rows. */
  toIndices(limit = this.length): Uint32Array {
    const out = new Uint32Array(Math.min(limit, this.count()))
    const { words } = this
    let n = 0
    for (let i = 0; i < words.length && n < out.length; i++) {
      let word = words[i]! | 0
      while (word !== 0 && n < out.length) {
        const low = word & -word
        out[n++] = (i << 5) + (31 - Math.clz32(low))
        word ^= low
      }
    }
    return out
  }

  #clearTail(): void {
    const used = this.length & 31
    if (used !== 0) this.words[this.words.length - 1]! &= (1 << used) - 1
  }
}

/** Return a word in which a bit is set if at least two of the three words have this bit. */
function carry(a: number, b: number, c: number): number {
  return (a & b) | ((a ^ b) & c)
}

/** Count the set bits of a word. */
export function popcount(word: number): number {
  // Keep all results in 32-bit integers. Otherwise V8 compiles loops that call this function with slower doubles.
  const pairs = (word - ((word >>> 1) & 0x55555555)) | 0
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333)
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
}
