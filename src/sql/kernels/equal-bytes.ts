/**
 * Find rows that equal, start with or end with a byte string.
 *
 * The first 8 bytes of the string are compared as two masked words, for 32 rows at a time and without branches. If the
 * string is longer, rows whose first 8 bytes match are then compared byte by byte.
 */
import { popcount } from '../../primitives/bitset.js'
import { type ByteRows, type RowMask, rowsOfWord } from '../values/vector.js'

/** The required place of the string in a row: the whole row, its start or its end. */
type Anchor = 'whole' | 'start' | 'end'

/**
 * Number of bytes that are compared as two words. Near the end of the buffer, fewer bytes can be read, so rows there
 * are compared byte by byte.
 */
const probeSize = 8

/**
 * If at least this many rows of a word are requested, comparing all 32 rows is faster than a loop over the requested
 * rows.
 */
const dense = 14

/** A byte string, prepared for the comparison with rows. */
interface Probe {
  readonly bytes: Uint8Array
  readonly size: number
  /** The first 8 bytes as two little-endian words, each with a mask of the bits that belong to the string. */
  readonly low: number
  readonly lowMask: number
  readonly high: number
  readonly highMask: number
  /** All bits set if the string must be at the end of a row, otherwise 0. */
  readonly fromEnd: number
  /** Bits that must be 0 in (row size - string size): all bits for the anchor `whole`, otherwise the sign bit. */
  readonly roomMask: number
}

/** Set the bits in `out` of the requested rows that equal `wanted`. */
export function equalBytes(
  rows: ByteRows,
  wanted: Uint8Array,
  out: Uint32Array,
  length: number,
  mask: RowMask,
): void {
  findBytes(rows, wanted, 'whole', out, length, mask)
}

/** Set the bits in `out` of the requested rows that equal one of the strings. */
export function equalAny(
  rows: ByteRows,
  wanted: readonly Uint8Array[],
  out: Uint32Array,
  length: number,
  mask: RowMask,
): void {
  for (let i = 0; i + 1 < wanted.length; i += 2) {
    find(rows, probeOf(wanted[i]!, 'whole'), probeOf(wanted[i + 1]!, 'whole'), out, length, mask)
  }
  if (wanted.length % 2 === 1) equalBytes(rows, wanted.at(-1)!, out, length, mask)
}

/** Set the bits in `out` of the requested rows that have `wanted` at the place `anchor`. */
export function findBytes(
  rows: ByteRows,
  wanted: Uint8Array,
  anchor: Anchor,
  out: Uint32Array,
  length: number,
  mask: RowMask,
): void {
  const probe = probeOf(wanted, anchor)
  find(rows, probe, probe, out, length, mask)
}

/** Return whether `bytes` contains `wanted` at `start`. The caller must check that the row has enough bytes. */
export function startsWith(bytes: Uint8Array, start: number, wanted: Uint8Array): boolean {
  for (let k = 0; k < wanted.length; k++) if (bytes[start + k] !== wanted[k]) return false
  return true
}

function probeOf(bytes: Uint8Array, anchor: Anchor): Probe {
  const padded = new DataView(new ArrayBuffer(2 * probeSize))
  for (let k = 0; k < Math.min(bytes.length, probeSize); k++) {
    padded.setUint8(k, bytes[k]!)
    padded.setUint8(probeSize + k, 0xff)
  }
  return {
    bytes,
    size: bytes.length,
    low: padded.getInt32(0, true),
    high: padded.getInt32(4, true),
    lowMask: padded.getInt32(8, true),
    highMask: padded.getInt32(12, true),
    fromEnd: anchor === 'end' ? -1 : 0,
    roomMask: anchor === 'whole' ? -1 : 0x80000000 | 0,
  }
}

/**
 * Set the bits in `out` of the requested rows that match `a` or `b`. To search for one string, pass the same probe
 * twice. Two different probes must have the anchor `whole`.
 */
function find(
  { bytes, offsets }: ByteRows,
  a: Probe,
  b: Probe,
  out: Uint32Array,
  length: number,
  mask: RowMask,
): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  // For the anchor `end`, the comparison with a short row reads bytes before the row, up to the size of the string.
  const before = a.fromEnd & Math.max(a.size, b.size)
  const lastStart = bytes.length - probeSize
  const isLong = Math.max(a.size, b.size) > probeSize
  for (let w = 0; w < out.length; w++) {
    const pending = rowsOfWord(mask, w, length)
    if (pending === 0) continue
    const base = w << 5
    let word: number
    if (base + 32 > length || offsets[base]! < before || offsets[base + 32]! > lastStart) {
      word = confirmed(bytes, offsets, base, pending, a, b)
    } else {
      if (popcount(pending) < dense) word = fitsSome(view, offsets, base, pending, a, b)
      else if (a !== b) word = fitsEither(view, offsets, base, a, b) & pending
      else if (a.size <= 4) word = fitsWord(view, offsets, base, a) & pending
      else word = fitsPair(view, offsets, base, a) & pending
      if (isLong && word !== 0) word = confirmed(bytes, offsets, base, word, a, b)
    }
    out[w]! |= word
  }
}

/** Return the bits of the rows in `pending` that match. Compares all bytes of the strings. */
function confirmed(
  bytes: Uint8Array,
  offsets: Int32Array,
  base: number,
  pending: number,
  a: Probe,
  b: Probe,
): number {
  let word = 0
  for (let left = pending; left !== 0; left &= left - 1) {
    const lowest = left & -left
    const row = base + 31 - Math.clz32(lowest)
    const start = offsets[row]!
    const end = offsets[row + 1]!
    if (isFit(bytes, start, end, a) || (a !== b && isFit(bytes, start, end, b))) word |= lowest
  }
  return word
}

function isFit(bytes: Uint8Array, start: number, end: number, probe: Probe): boolean {
  const room = end - start - probe.size
  return (room & probe.roomMask) === 0 && startsWith(bytes, start + (room & probe.fromEnd), probe.bytes)
}

/** Return the bits of the rows in `pending` that match in size and in the first 8 bytes of the string. */
function fitsSome(
  view: DataView,
  offsets: Int32Array,
  base: number,
  pending: number,
  a: Probe,
  b: Probe,
): number {
  let word = 0
  for (let left = pending; left !== 0; left &= left - 1) {
    const lowest = left & -left
    const row = base + 31 - Math.clz32(lowest)
    const start = offsets[row]!
    const end = offsets[row + 1]!
    const isFit = a === b ? pairFits(view, start, end, a) : eitherFits(view, start, end, a, b)
    if (isFit) word |= lowest
  }
  return word
}

/**
 * Compare 32 rows from `base` on with a string of at most 4 bytes. Return a word with the bits of the matching rows.
 */
function fitsWord(view: DataView, offsets: Int32Array, base: number, probe: Probe): number {
  let word = 0
  for (let i = 0; i < 32; i += 4) {
    const at = base + i
    const first = offsets[at]!
    const second = offsets[at + 1]!
    const third = offsets[at + 2]!
    const fourth = offsets[at + 3]!
    word |=
      (wordFits(view, first, second, probe) |
        (wordFits(view, second, third, probe) << 1) |
        (wordFits(view, third, fourth, probe) << 2) |
        (wordFits(view, fourth, offsets[at + 4]!, probe) << 3)) <<
      i
  }
  return word
}

function fitsPair(view: DataView, offsets: Int32Array, base: number, probe: Probe): number {
  let word = 0
  for (let i = 0; i < 32; i += 4) {
    const at = base + i
    const first = offsets[at]!
    const second = offsets[at + 1]!
    const third = offsets[at + 2]!
    const fourth = offsets[at + 3]!
    word |=
      (pairFits(view, first, second, probe) |
        (pairFits(view, second, third, probe) << 1) |
        (pairFits(view, third, fourth, probe) << 2) |
        (pairFits(view, fourth, offsets[at + 4]!, probe) << 3)) <<
      i
  }
  return word
}

function fitsEither(view: DataView, offsets: Int32Array, base: number, a: Probe, b: Probe): number {
  let word = 0
  for (let i = 0; i < 32; i += 4) {
    const at = base + i
    const first = offsets[at]!
    const second = offsets[at + 1]!
    const third = offsets[at + 2]!
    const fourth = offsets[at + 3]!
    word |=
      (eitherFits(view, first, second, a, b) |
        (eitherFits(view, second, third, a, b) << 1) |
        (eitherFits(view, third, fourth, a, b) << 2) |
        (eitherFits(view, fourth, offsets[at + 4]!, a, b) << 3)) <<
      i
  }
  return word
}

/** Return 1 if the row matches a string of at most 4 bytes, otherwise 0. */
function wordFits(view: DataView, start: number, end: number, probe: Probe): number {
  const room = end - start - probe.size
  const low = (view.getInt32(start + (room & probe.fromEnd), true) ^ probe.low) & probe.lowMask
  return Number((low | (room & probe.roomMask)) === 0)
}

/** Return 1 if the size of the row and the first 8 bytes of the string match, otherwise 0. */
function pairFits(view: DataView, start: number, end: number, probe: Probe): number {
  const room = end - start - probe.size
  const at = start + (room & probe.fromEnd)
  const low = (view.getInt32(at, true) ^ probe.low) & probe.lowMask
  const high = (view.getInt32(at + 4, true) ^ probe.high) & probe.highMask
  return Number((low | high | (room & probe.roomMask)) === 0)
}

/** Return 1 if the whole row matches one of two strings in its size and first 8 bytes, otherwise 0. */
function eitherFits(view: DataView, start: number, end: number, a: Probe, b: Probe): number {
  const size = end - start
  const low = view.getInt32(start, true)
  const high = view.getInt32(start + 4, true)
  const notA = ((low ^ a.low) & a.lowMask) | ((high ^ a.high) & a.highMask) | (size - a.size)
  const notB = ((low ^ b.low) & b.lowMask) | ((high ^ b.high) & b.highMask) | (size - b.size)
  return Number(notA === 0) | Number(notB === 0)
}
