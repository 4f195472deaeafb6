/**
 * `IN` with constants: the list becomes a set once, and each row is looked up in it.
 *
 * Sets are open-addressing tables at most half full. A table whose longest probe passes a bound is built again
 * under the next seed, so no choice of values can make lookups slow.
 */
import type { Column } from '../arrow/column.js'
import type { DataType } from '../arrow/types.js'
import type { Scalar } from './bound.js'
import { equalBytes } from './equal-bytes.js'
import {
  type ByteRows,
  byteRowsOf,
  columnOfScalars,
  doublesOf,
  fitsInt32,
  int32sOf,
  isWide,
  pairsOf,
  type RowMask,
  rowsOfWord,
  tailMask,
  wordCount,
  wordsOf,
} from './vector.js'

/** Steps a lookup may take before its table is built anew. */
const longestProbe = 128

/** Byte strings up to this many are compared one by one, which is faster than looking rows up. */
const maxFew = 3

/** The constants of one list, ready for lookups; made by `membersOf`. */
export type Members =
  | { readonly kind: 'bits'; readonly hasFalse: boolean; readonly hasTrue: boolean }
  | { readonly kind: 'pairs'; readonly table: PairTable }
  | { readonly kind: 'bytes'; readonly table: ByteTable }
  | { readonly kind: 'few'; readonly entries: readonly Uint8Array[] }

interface PairTable {
  readonly seed: number
  readonly mask: number
  /** Low and high word per slot. */
  readonly slots: Int32Array
  readonly used: Uint8Array
}

interface ByteTable {
  readonly seed: number
  readonly mask: number
  /** Entry number plus 1 per slot, 0 for an empty one. */
  readonly slots: Int32Array
  readonly entries: ByteRows
  /** Which sizes occur, sizes from 255 on as one. */
  readonly sizes: Uint8Array
}

/** `values` are of `type`; a null among them is no member. */
export function membersOf(type: DataType, values: readonly Scalar[]): Members {
  if (type.kind === 'bool') {
    return { kind: 'bits', hasFalse: values.includes(false), hasTrue: values.includes(true) }
  }
  const present = values.filter(value => value !== null)
  const column = columnOfScalars(type, present)
  if (column.type.kind === 'utf8' || column.type.kind === 'binary') {
    const entries = byteRowsOf(column)
    if (column.length > maxFew) return { kind: 'bytes', table: byteTable(entries, column.length) }
    const { bytes, offsets } = entries
    return { kind: 'few', entries: present.map((_, i) => bytes.subarray(offsets[i]!, offsets[i + 1]!)) }
  }
  return { kind: 'pairs', table: pairTable(keyPairsOf(column)) }
}

/** A bit for every row of `column` whose value is a member; undefined for null rows. */
export function memberRows(members: Members, column: Column, length: number, rows: RowMask): Uint32Array {
  const out = new Uint32Array(wordCount(length))
  if (members.kind === 'bits') {
    const bits = wordsOf(column.values as Uint8Array, length)
    for (let w = 0; w < out.length; w++) {
      out[w] = (members.hasTrue ? bits[w]! : 0) | (members.hasFalse ? ~bits[w]! : 0)
    }
    if (out.length > 0) out[out.length - 1]! &= tailMask(length)
  } else if (members.kind === 'few') {
    for (const entry of members.entries) equalBytes(byteRowsOf(column), entry, out, length, rows)
  } else if (members.kind === 'bytes') {
    lookUpBytes(members.table, column, out, length, rows)
  } else if (fitsInt32(column.type)) {
    lookUpInt32s(members.table, int32sOf(column), out, length, rows)
  } else {
    lookUpPairs(members.table, keyPairsOf(column), out, length, rows)
  }
  return out
}

/** One pair of words per row, equal exactly where the values are: integers as they are, floats by their bits. */
function keyPairsOf(column: Column): Int32Array {
  if (isWide(column.type)) return pairsOf(column)
  if (fitsInt32(column.type)) {
    const values = int32sOf(column)
    const pairs = new Int32Array(column.length * 2)
    for (let i = 0; i < column.length; i++) {
      pairs[2 * i] = values[i]!
      pairs[2 * i + 1] = values[i]! >> 31
    }
    return pairs
  }
  const doubles = doublesOf(column)
  const keys = new Float64Array(column.length)
  // Adding 0 makes -0 the same key as 0; all NaN become one.
  for (let i = 0; i < keys.length; i++) keys[i] = Number.isNaN(doubles[i]!) ? Number.NaN : doubles[i]! + 0
  return new Int32Array(keys.buffer)
}

function capacityFor(count: number): number {
  return 2 ** Math.ceil(Math.log2(Math.max(4, count * 2)))
}

function pairTable(keys: Int32Array): PairTable {
  const count = keys.length / 2
  const capacity = capacityFor(count)
  const mask = capacity - 1
  for (let seed = 1; ; seed++) {
    const slots = new Int32Array(capacity * 2)
    const used = new Uint8Array(capacity)
    let longest = 0
    for (let i = 0; i < count && longest <= longestProbe; i++) {
      let slot = hashPair(keys[2 * i]!, keys[2 * i + 1]!, seed) & mask
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
    if (longest <= longestProbe) return { seed, mask, slots, used }
  }
}

/** The finalizer of MurmurHash3 over both words. */
export function hashPair(low: number, high: number, seed: number): number {
  let hash = Math.imul(low ^ Math.imul(seed, 0x9e3779b1), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 15) ^ high, 0xc2b2ae35)
  return hash ^ (hash >>> 16)
}

function lookUpPairs(
  { slots, used, mask, seed }: PairTable,
  keys: Int32Array,
  out: Uint32Array,
  length: number,
  rows: RowMask,
): void {
  for (let w = 0, base = 0; base < length; w++, base += 32) {
    if (rows !== null && rows[w] === 0) continue
    const count = Math.min(32, length - base)
    let word = 0
    for (let bit = 0; bit < count; bit++) {
      const low = keys[2 * (base + bit)]!
      const high = keys[2 * (base + bit) + 1]!
      let slot = hashPair(low, high, seed) & mask
      while (used[slot] === 1) {
        if (slots[2 * slot] === low && slots[2 * slot + 1] === high) {
          word |= 1 << bit
          break
        }
        slot = (slot + 1) & mask
      }
    }
    out[w] = word
  }
}

function lookUpInt32s(
  { slots, used, mask, seed }: PairTable,
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
      const low = values[base + bit]!
      let slot = hashPair(low, low >> 31, seed) & mask
      while (used[slot] === 1) {
        if (slots[2 * slot] === low) {
          word |= 1 << bit
          break
        }
        slot = (slot + 1) & mask
      }
    }
    out[w] = word
  }
}

function byteTable(entries: ByteRows, count: number): ByteTable {
  const { bytes, offsets } = entries
  const capacity = capacityFor(count)
  const mask = capacity - 1
  const sizes = new Uint8Array(256)
  for (let i = 0; i < count; i++) sizes[Math.min(offsets[i + 1]! - offsets[i]!, 255)] = 1
  for (let seed = 1; ; seed++) {
    const slots = new Int32Array(capacity)
    let longest = 0
    for (let i = 0; i < count && longest <= longestProbe; i++) {
      const start = offsets[i]!
      const end = offsets[i + 1]!
      let slot = hashBytes(bytes, start, end, seed) & mask
      let probe = 0
      while (slots[slot] !== 0 && !isEntry(entries, slots[slot]! - 1, bytes, start, end)) {
        slot = (slot + 1) & mask
        probe++
      }
      longest = Math.max(longest, probe)
      slots[slot] = i + 1
    }
    if (longest <= longestProbe) return { seed, mask, slots, entries, sizes }
  }
}

/** Whether entry `entry` reads as the given range of bytes. */
function isEntry(entries: ByteRows, entry: number, bytes: Uint8Array, start: number, end: number): boolean {
  const from = entries.offsets[entry]!
  if (entries.offsets[entry + 1]! - from !== end - start) return false
  for (let k = 0; k < end - start; k++) if (entries.bytes[from + k] !== bytes[start + k]) return false
  return true
}

/** FNV-1a with the seed in its basis, and a final mix because the low bits choose the slot. */
function hashBytes(bytes: Uint8Array, start: number, end: number, seed: number): number {
  let hash = 0x811c9dc5 ^ Math.imul(seed, 0x9e3779b1)
  for (let k = start; k < end; k++) hash = Math.imul(hash ^ bytes[k]!, 0x01000193) ^ (hash >>> 15)
  return hash ^ (hash >>> 16)
}

function lookUpBytes(
  { slots, entries, sizes, mask, seed }: ByteTable,
  column: Column,
  out: Uint32Array,
  length: number,
  rows: RowMask,
): void {
  const { bytes, offsets } = byteRowsOf(column)
  for (let w = 0; w < out.length; w++) {
    let pending = rowsOfWord(rows, w, length)
    let word = 0
    while (pending !== 0) {
      const low = pending & -pending
      pending ^= low
      const row = (w << 5) + 31 - Math.clz32(low)
      const start = offsets[row]!
      const end = offsets[row + 1]!
      if (sizes[Math.min(end - start, 255)] === 0) continue
      let slot = hashBytes(bytes, start, end, seed) & mask
      let entry = slots[slot]!
      while (entry !== 0) {
        if (isEntry(entries, entry - 1, bytes, start, end)) {
          word |= low
          break
        }
        slot = (slot + 1) & mask
        entry = slots[slot]!
      }
    }
    out[w] = word
  }
}
