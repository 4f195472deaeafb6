/**
 * Sets of byte strings, for lookups row by row.
 *
 * A set is an open-addressing hash table, as in number-members.ts. A filter in front of the table rejects most rows
 * that are not members. The filter has one bit per hash of the size, the first four bytes and the last four bytes of a
 * member.
 */

import { type ByteRows, type RowMask, rowsOfWord } from '../values/vector.js'
import { addToFilter, capacityFor, emptyFilter, hashPair, longestProbe, passes } from './number-members.js'

/** Number of bytes that the filter hashes at each end of a string. */
const endSize = 4

/** A set of byte strings. */
export interface ByteMembers {
  readonly seed: number
  readonly mask: number
  /** By slot: the index of a member in `entries` plus 1, or 0 for an empty slot. */
  readonly slots: Int32Array
  readonly entries: ByteRows
  /** Bitmap with one bit set for the `endsHash` of each member. */
  readonly filter: Uint32Array
}

/** Create a set of the first `count` byte strings of `entries`. */
export function byteMembers(entries: ByteRows, count: number): ByteMembers {
  const { bytes, offsets } = entries
  const filter = filterOf(entries, count)
  const capacity = capacityFor(count)
  const mask = capacity - 1
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
    if (longest <= longestProbe) return { seed, mask, slots, entries, filter }
  }
}

/** Set the bit in `out` of every requested row that is a member. */
export function findByteMembers(
  members: ByteMembers,
  { bytes, offsets }: ByteRows,
  out: Uint32Array,
  length: number,
  rows: RowMask,
): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (let w = 0; w < out.length; w++) {
    const base = w << 5
    let pending = rowsOfWord(rows, w, length)
    if (pending === 0) continue
    const isReadable =
      base + 32 <= length && offsets[base]! >= endSize && offsets[base + 32]! + endSize <= bytes.length
    if (isReadable) pending &= passing(members.filter, view, offsets, base)
    let word = 0
    for (; pending !== 0; pending &= pending - 1) {
      const lowest = pending & -pending
      const row = base + 31 - Math.clz32(lowest)
      if (isMember(members, bytes, offsets[row]!, offsets[row + 1]!)) word |= lowest
    }
    out[w] = word
  }
}

function isMember(
  { slots, entries, mask, seed }: ByteMembers,
  bytes: Uint8Array,
  start: number,
  end: number,
): boolean {
  let slot = hashBytes(bytes, start, end, seed) & mask
  for (let entry = slots[slot]!; entry !== 0; entry = slots[slot]!) {
    if (isEntry(entries, entry - 1, bytes, start, end)) return true
    slot = (slot + 1) & mask
  }
  return false
}

/** Return whether the byte string `entry` of `entries` equals the bytes from `start` up to `end`. */
function isEntry(entries: ByteRows, entry: number, bytes: Uint8Array, start: number, end: number): boolean {
  const from = entries.offsets[entry]!
  if (entries.offsets[entry + 1]! - from !== end - start) return false
  for (let k = 0; k < end - start; k++) if (entries.bytes[from + k] !== bytes[start + k]) return false
  return true
}

/**
 * Hash bytes with FNV-1a, whose offset basis is mixed with the seed. The last step mixes the high bits into the low
 * bits, because the low bits choose the slot.
 */
function hashBytes(bytes: Uint8Array, start: number, end: number, seed: number): number {
  let hash = 0x811c9dc5 ^ Math.imul(seed, 0x9e3779b1)
  for (let k = start; k < end; k++) hash = Math.imul(hash ^ bytes[k]!, 0x01000193) ^ (hash >>> 15)
  return hash ^ (hash >>> 16)
}

function filterOf({ bytes, offsets }: ByteRows, count: number): Uint32Array {
  const filter = emptyFilter(count)
  const first = offsets[0]!
  const padded = new Uint8Array(offsets[count]! - first + 2 * endSize)
  padded.set(bytes.subarray(first, offsets[count]!), endSize)
  const view = new DataView(padded.buffer)
  for (let i = 0; i < count; i++) {
    addToFilter(filter, endsHash(view, offsets[i]! - first + endSize, offsets[i + 1]! - first + endSize))
  }
  return filter
}

/** Test 32 rows from `base` on by the filter. Return a word with the bits of the rows that pass. */
function passing(filter: Uint32Array, view: DataView, offsets: Int32Array, base: number): number {
  let word = 0
  let start = offsets[base]!
  for (let bit = 0; bit < 32; bit++) {
    const end = offsets[base + bit + 1]!
    word |= passes(filter, endsHash(view, start, end)) << bit
    start = end
  }
  return word
}

/**
 * Masks of the bytes that `endsHash` reads at the start and at the end of a string. The index is the size of the
 * string, but at most 4.
 */
const firstMasks = Int32Array.of(0, 0xff, 0xffff, 0xffffff, -1)
const lastMasks = Int32Array.of(0, 0, 0, 0, -1)

/**
 * Hash the size and both ends of a string. The buffer must have four bytes after `start` and four bytes before `end`.
 */
function endsHash(view: DataView, start: number, end: number): number {
  const size = end - start
  const kind = Math.min(size, endSize)
  const first = view.getInt32(start, true) & firstMasks[kind]!
  const last = view.getInt32(end - endSize, true) & lastMasks[kind]!
  return hashPair(first, last ^ (size << 8), 0)
}
