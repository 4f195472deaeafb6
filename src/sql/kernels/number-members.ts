/**
 * Sets of numbers, for lookups row by row.
 *
 * - Integers that are close together are stored as a bitmap over their range.
 * - Other integers, and the bits of floats, are stored in an open-addressing hash table that is at most half full. If
 *   the longest lookup in a table exceeds a limit, the table is rebuilt with another seed. So no choice of values can
 *   make lookups slow.
 */
import type { Column } from '../../arrow/column.js'
import {
  doublesOf,
  fitsInt32,
  int32sOf,
  isWide,
  pairsOf,
  type RowMask,
  widePairsOf,
} from '../values/vector.js'

/** Maximum steps of a lookup in a hash table. A table with a longer lookup is rebuilt with another seed. */
export const longestProbe = 128

/** Maximum bits per member of a bitmap that has more than `fewBits` bits. */
const bitsPerMember = 128
const fewBits = 2 ** 16

/**
 * A set of integers as a bitmap over their range. Bit i is set if `least + i` is a member, where `least` is the
 * smallest member with the words `low` and `high`. `size`: number of bits.
 */
interface NumberRange {
  readonly kind: 'range'
  readonly low: number
  readonly high: number
  readonly size: number
  readonly bits: Uint32Array
}

/** A set of numbers as a hash table. */
interface NumberTable {
  readonly kind: 'table'
  readonly seed: number
  readonly mask: number
  /** Two words per slot: the low and high word of a member. */
  readonly slots: Int32Array
  readonly used: Uint8Array
  /** Bitmap with one bit set for the hash of each member. It rejects most numbers that are not members. */
  readonly filter: Uint32Array
}

export type NumberMembers = NumberRange | NumberTable

/** Create a set of the values of a column of numbers, dates or times. The column must have no NULLs. */
export function numberMembers(column: Column): NumberMembers {
  const pairs = keyPairsOf(column)
  const isWhole = fitsInt32(column.type) || isWide(column.type)
  return (isWhole ? rangeOf(pairs) : null) ?? tableOf(pairs)
}

/** Set the bit in `out` of every requested row whose value is a member. `column` must have the type of the members. */
export function findNumbers(
  members: NumberMembers,
  column: Column,
  out: Uint32Array,
  length: number,
  rows: RowMask,
): void {
  if (members.kind === 'range') {
    if (fitsInt32(column.type)) inRange32(members, int32sOf(column), out, length, rows)
    else inRange64(members, pairsOf(column), out, length, rows)
  } else if (fitsInt32(column.type)) {
    inTable32(members, int32sOf(column), out, length, rows)
  } else {
    inTable64(members, keyPairsOf(column), out, length, rows)
  }
}

/**
 * Return two words per row: an integer, or the bits of a float. The words are equal exactly if the values are equal.
 */
function keyPairsOf(column: Column): Int32Array {
  if (fitsInt32(column.type) || isWide(column.type)) return widePairsOf(column)
  const doubles = doublesOf(column)
  const keys = new Float64Array(column.length)
  // Adding 0 turns -0 into 0. All NaNs get the same bits.
  for (let i = 0; i < keys.length; i++) keys[i] = Number.isNaN(doubles[i]!) ? Number.NaN : doubles[i]! + 0
  return new Int32Array(keys.buffer)
}

/**
 * Create a bitmap of integers. Return null if the bitmap would be too large. Unsigned integers are treated as signed.
 */
function rangeOf(pairs: Int32Array): NumberRange | null {
  const count = pairs.length / 2
  if (count === 0) return null
  let least = 0
  let greatest = 0
  for (let i = 1; i < count; i++) {
    if (distance(pairs, least, i) < 0) least = i
    if (distance(pairs, greatest, i) > 0) greatest = i
  }
  const size = distance(pairs, least, greatest) + 1
  if (size > Math.max(fewBits, bitsPerMember * count)) return null
  const low = pairs[2 * least]!
  const bits = new Uint32Array((size + 31) >>> 5)
  for (let i = 0; i < count; i++) {
    const at = (pairs[2 * i]! - low) >>> 0
    bits[at >>> 5]! |= 1 << (at & 31)
  }
  return { kind: 'range', low, high: pairs[2 * least + 1]!, size, bits }
}

/** Return pair `to` minus pair `from`. The sign is always exact, and the result is exact below 2^53. */
function distance(pairs: Int32Array, from: number, to: number): number {
  const high = pairs[2 * to + 1]! - pairs[2 * from + 1]!
  return high * 2 ** 32 + ((pairs[2 * to]! >>> 0) - (pairs[2 * from]! >>> 0))
}

function inRange32(
  { low, size, bits }: NumberRange,
  values: Int32Array,
  out: Uint32Array,
  length: number,
  rows: RowMask,
): void {
  for (let w = 0, base = 0; base < length; w++, base += 32) {
    if (rows !== null && rows[w] === 0) continue
    const count = Math.min(32, length - base)
    let word = 0
    for (let bit = 0; bit < count; bit++) {
      const at = (values[base + bit]! - low) >>> 0
      if (at < size) word |= ((bits[at >>> 5]! >>> (at & 31)) & 1) << bit
    }
    out[w] = word
  }
}

/** Look up 64-bit integers in a bitmap. Subtracts the smallest member modulo 2^64, in two words. */
function inRange64(
  { low, high, size, bits }: NumberRange,
  pairs: Int32Array,
  out: Uint32Array,
  length: number,
  rows: RowMask,
): void {
  const unsignedLow = low >>> 0
  for (let w = 0, base = 0; base < length; w++, base += 32) {
    if (rows !== null && rows[w] === 0) continue
    const count = Math.min(32, length - base)
    let word = 0
    for (let bit = 0; bit < count; bit++) {
      const pairAt = 2 * (base + bit)
      const rowLow = pairs[pairAt]!
      const at = (rowLow - low) >>> 0
      const borrow = Number(rowLow >>> 0 < unsignedLow)
      const isNear = ((pairs[pairAt + 1]! - high - borrow) | 0) === 0
      if (isNear && at < size) word |= ((bits[at >>> 5]! >>> (at & 31)) & 1) << bit
    }
    out[w] = word
  }
}

function tableOf(keys: Int32Array): NumberTable {
  const count = keys.length / 2
  const capacity = capacityFor(count)
  const mask = capacity - 1
  for (let seed = 1; ; seed++) {
    const slots = new Int32Array(capacity * 2)
    const used = new Uint8Array(capacity)
    const filter = emptyFilter(count)
    let longest = 0
    for (let i = 0; i < count && longest <= longestProbe; i++) {
      const hash = hashPair(keys[2 * i]!, keys[2 * i + 1]!, seed)
      addToFilter(filter, hash)
      let slot = hash & mask
      let probe = 0
      while (
        used[slot] === 1 &&
        !(slots[2 * slot] === keys[2 * i] && slots[2 * slot + 1] === keys[2 * i + 1])
      ) {
        slot = (slot + 1) & mask
        probe++
      }
      longest = Math.max(longest, probe)
      slots[2 * slot] = keys[2 * i]!
      slots[2 * slot + 1] = keys[2 * i + 1]!
      used[slot] = 1
    }
    if (longest <= longestProbe) return { kind: 'table', seed, mask, slots, used, filter }
  }
}

/** Return the number of slots of a table for `count` members. It is a power of two, and at least twice `count`. */
export function capacityFor(count: number): number {
  return 2 ** Math.ceil(Math.log2(Math.max(4, count * 2)))
}

/** Hash two words with the mixing steps of the finalizer of MurmurHash3. */
export function hashPair(low: number, high: number, seed: number): number {
  let hash = Math.imul(low ^ Math.imul(seed, 0x9e3779b1), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 15) ^ high, 0xc2b2ae35)
  return hash ^ (hash >>> 16)
}

/** Look up 64-bit keys in a table. Only rows that pass the filter are looked up. */
function inTable64(
  table: NumberTable,
  keys: Int32Array,
  out: Uint32Array,
  length: number,
  rows: RowMask,
): void {
  const { seed, filter } = table
  for (let w = 0, base = 0; base < length; w++, base += 32) {
    if (rows !== null && rows[w] === 0) continue
    const count = Math.min(32, length - base)
    let pending = 0
    for (let bit = 0; bit < count; bit++) {
      const hash = hashPair(keys[2 * (base + bit)]!, keys[2 * (base + bit) + 1]!, seed)
      pending |= passes(filter, hash) << bit
    }
    let word = 0
    for (; pending !== 0; pending &= pending - 1) {
      const lowest = pending & -pending
      const row = base + 31 - Math.clz32(lowest)
      if (isInTable(table, keys[2 * row]!, keys[2 * row + 1]!)) word |= lowest
    }
    out[w] = word
  }
}

function inTable32(
  table: NumberTable,
  values: Int32Array,
  out: Uint32Array,
  length: number,
  rows: RowMask,
): void {
  const { seed, filter } = table
  for (let w = 0, base = 0; base < length; w++, base += 32) {
    if (rows !== null && rows[w] === 0) continue
    const count = Math.min(32, length - base)
    let pending = 0
    for (let bit = 0; bit < count; bit++) {
      const value = values[base + bit]!
      pending |= passes(filter, hashPair(value, value >> 31, seed)) << bit
    }
    let word = 0
    for (; pending !== 0; pending &= pending - 1) {
      const lowest = pending & -pending
      const value = values[base + 31 - Math.clz32(lowest)]!
      if (isInTable(table, value, value >> 31)) word |= lowest
    }
    out[w] = word
  }
}

/** Return 1 if a member may have this hash, and 0 if no member has it. */
export function passes(filter: Uint32Array, hash: number): number {
  return (filter[(hash >>> 5) & (filter.length - 1)]! >>> (hash & 31)) & 1
}

function isInTable({ seed, mask, slots, used }: NumberTable, low: number, high: number): boolean {
  let slot = hashPair(low, high, seed) & mask
  while (used[slot] === 1) {
    if (slots[2 * slot] === low && slots[2 * slot + 1] === high) return true
    slot = (slot + 1) & mask
  }
  return false
}

/**
 * Create an empty filter for `count` members. It has 16 to 32 bits per member, but at least 2^12 and at most 2^22 bits.
 */
export function emptyFilter(count: number): Uint32Array {
  const bits = Math.min(2 ** 22, Math.max(2 ** 12, 2 ** Math.ceil(Math.log2(16 * count + 1))))
  return new Uint32Array(bits / 32)
}

/** Add a hash to a filter: set its bit. */
export function addToFilter(filter: Uint32Array, hash: number): void {
  filter[(hash >>> 5) & (filter.length - 1)]! |= 1 << (hash & 31)
}
