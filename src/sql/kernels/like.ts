/**
 * LIKE patterns over UTF-8 bytes. `%` matches any text, and `_` matches any single character. The escape character
 * makes the next character literal. At the end of a pattern, the escape character matches itself.
 *
 * A pattern is split at each `%` into segments. The first segment must match at the start of the text, and the last one
 * at the end. Each segment between them matches at the leftmost position after the previous segment, so the search
 * never goes back. The Knuth-Morris-Pratt algorithm finds a segment without `_`, in time linear in the text. A segment
 * with `_` takes at most 32 steps per character of the text.
 */

import { invalidInput } from '../../errors.js'
import { type ByteRows, type RowMask, rowsOfWord, wordCount } from '../values/vector.js'
import { findBytes, startsWith } from './equal-bytes.js'

const anyCharacter = -1

/** Maximum length of a pattern in UTF-16 units. */
const maxLength = 32_768

/**
 * Maximum characters of a segment between two `%` with an inner `_`. The limit bounds the time: for each
 * character of the text, the search takes one step per 32 characters of the segment.
 */
const maxWithin = 1024

/**
 * Maximum bytes of a segment with an inner `_` that is compared at every character of the text. A longer segment is
 * found by the Shift-And algorithm.
 */
const maxCompared = 32

/** A text to search for, with its failure table for the search (Knuth, Morris, Pratt 1977). */
export interface Needle {
  readonly bytes: Uint8Array
  readonly failure: Int32Array
}

/** A part of a pattern between two `%`, or before the first or after the last `%`. */
interface Segment {
  /** The bytes to match, and `anyCharacter` for each `_`. */
  readonly units: Int16Array
  /** The text of the segment, prepared for a search, if the segment contains no `_`. Otherwise null. */
  readonly needle: Needle | null
  /** Bit sets for the Shift-And algorithm. Null if the segment is found in another way. */
  readonly positions: Positions | null
  /** Number of characters that `units` match. */
  readonly characters: number
  /** For a segment between two `%`: the number of `_` before and after `units`. */
  readonly before: number
  readonly after: number
}

/** By character: its positions in a segment, one bit per position (Shift-And, Baeza-Yates and Gonnet 1992). */
interface Positions {
  readonly ofCharacter: ReadonlyMap<number, Int32Array>
  /** The positions of `_`, which also match characters that do not occur in the segment. */
  readonly ofOthers: Int32Array
}

/**
 * A compiled pattern. If it has a single text and no `_`, `shape` says where the text must be in the value. Otherwise
 * it is a list of segments.
 */
export type LikePattern =
  | { readonly shape: 'exact' | 'prefix' | 'suffix' | 'contains'; readonly needle: Needle }
  | { readonly shape: 'general'; readonly segments: readonly Segment[] }

/**
 * Rewrite a pattern to use a backslash as escape character. ILIKE needs this, because it converts patterns to lower
 * case, which would change an escape character that is a letter.
 */
export function withBackslash(pattern: string, escapeCharacter: string): string {
  if (escapeCharacter === '\\') return pattern
  const characters = [...pattern]
  let text = ''
  for (let i = 0; i < characters.length; i++) {
    const isEscape = characters[i] === escapeCharacter
    if (isEscape && i + 1 < characters.length) i++
    text += isEscape || characters[i] === '\\' ? `\\${characters[i]}` : characters[i]
  }
  return text
}

/** Compile a pattern. Throws `InvalidInput` if the pattern is too long. */
export function compileLike(pattern: string, escapeCharacter: string): LikePattern {
  if (pattern.length > maxLength) {
    throw invalidInput(`a LIKE pattern of ${pattern.length} characters is too long`, {
      hint: `a pattern has at most ${maxLength} characters; starts_with, ends_with and contains take longer texts`,
    })
  }
  const pieces: string[][] = [[]]
  const characters = [...pattern]
  for (let i = 0; i < characters.length; i++) {
    const character = characters[i]!
    if (character === escapeCharacter && i + 1 < characters.length) pieces.at(-1)!.push(characters[++i]!)
    else if (character === '%') pieces.push([])
    else pieces.at(-1)!.push(character === '_' && character !== escapeCharacter ? '' : character)
  }
  // Drop the empty piece between adjacent `%`, because it matches anywhere.
  const kept = pieces.filter((piece, i) => i === 0 || i === pieces.length - 1 || piece.length > 0)
  const segments = kept.map((piece, i) =>
    i === 0 || i === kept.length - 1 ? anchored(piece) : between(piece),
  )
  const sizes = segments.map(segment => segment.characters)
  const needle = segments.find(segment => segment.characters > 0)?.needle ?? needleOf(new Uint8Array(0))
  if (kept.every(piece => !piece.includes(''))) {
    if (segments.length === 1) return { shape: 'exact', needle }
    if (segments.length === 2 && sizes[1] === 0) return { shape: 'prefix', needle }
    if (segments.length === 2 && sizes[0] === 0) return { shape: 'suffix', needle }
    if (segments.length === 3 && sizes[0] === 0 && sizes[2] === 0) return { shape: 'contains', needle }
  }
  return { shape: 'general', segments }
}

const encoder = new TextEncoder()

/** Create a segment at the start or end of the pattern. `piece`: its characters, with '' for each `_`. */
function anchored(piece: readonly string[]): Segment {
  const units: number[] = []
  for (const character of piece) {
    if (character === '') units.push(anyCharacter)
    else units.push(...encoder.encode(character))
  }
  return {
    units: Int16Array.from(units),
    needle: piece.includes('') ? null : needleOf(Uint8Array.from(units)),
    positions: null,
    characters: piece.length,
    before: 0,
    after: 0,
  }
}

/** Create a segment between two `%`. A `_` at its start or end needs no comparison, so it is only counted. */
function between(piece: readonly string[]): Segment {
  const first = piece.findIndex(character => character !== '')
  const before = first === -1 ? piece.length : first
  const last = Math.max(before, piece.findLastIndex(character => character !== '') + 1)
  const within = piece.slice(before, last)
  const segment = { ...anchored(within), before, after: piece.length - last }
  if (segment.needle !== null || segment.units.length <= maxCompared) return segment
  if (within.length > maxWithin) {
    throw invalidInput(`a LIKE pattern has _ among ${within.length} characters between two %`, {
      hint: `write at most ${maxWithin} characters there, or use a regular expression`,
    })
  }
  return { ...segment, positions: positionsOf(within) }
}

function positionsOf(piece: readonly string[]): Positions {
  const words = (piece.length + 31) >>> 5
  const ofOthers = new Int32Array(words)
  for (const [i, character] of piece.entries()) if (character === '') ofOthers[i >>> 5]! |= 1 << (i & 31)
  const ofCharacter = new Map<number, Int32Array>()
  for (const [i, character] of piece.entries()) {
    if (character === '') continue
    const point = character.codePointAt(0)!
    const positions = ofCharacter.get(point) ?? ofOthers.slice()
    positions[i >>> 5]! |= 1 << (i & 31)
    ofCharacter.set(point, positions)
  }
  return { ofCharacter, ofOthers }
}

/** Prepare a text for `findNeedle`. */
export function needleOf(bytes: Uint8Array): Needle {
  const failure = new Int32Array(bytes.length)
  let border = 0
  for (let i = 1; i < bytes.length; i++) {
    while (border > 0 && bytes[i] !== bytes[border]) border = failure[border - 1]!
    if (bytes[i] === bytes[border]) border++
    failure[i] = border
  }
  return { bytes, failure }
}

/** Create a pattern that matches a text literally. `shape`: the required place of the text in a value. */
export function plainPattern(
  shape: 'exact' | 'prefix' | 'suffix' | 'contains',
  text: Uint8Array,
): LikePattern {
  return { shape, needle: needleOf(text) }
}

const anchors = { exact: 'whole', prefix: 'start', suffix: 'end' } as const

/** Return a bitmap of the requested rows that match the pattern. */
export function likeRows(pattern: LikePattern, column: ByteRows, length: number, rows: RowMask): Uint32Array {
  const { bytes, offsets } = column
  const out = new Uint32Array(wordCount(length))
  if (pattern.shape !== 'general' && pattern.shape !== 'contains') {
    findBytes(column, pattern.needle.bytes, anchors[pattern.shape], out, length, rows)
    return out
  }
  for (let w = 0; w < out.length; w++) {
    let pending = rowsOfWord(rows, w, length)
    let word = 0
    while (pending !== 0) {
      const low = pending & -pending
      pending ^= low
      const row = (w << 5) + 31 - Math.clz32(low)
      if (matches(pattern, bytes, offsets[row]!, offsets[row + 1]!)) word |= low
    }
    out[w] = word
  }
  return out
}

/** Return whether the UTF-8 bytes from `start` up to `end` match the pattern. */
export function matches(pattern: LikePattern, bytes: Uint8Array, start: number, end: number): boolean {
  if (pattern.shape === 'general') return matchesSegments(pattern.segments, bytes, start, end)
  const wanted = pattern.needle.bytes
  const room = end - start - wanted.length
  if (room < 0) return false
  switch (pattern.shape) {
    case 'exact':
      return room === 0 && startsWith(bytes, start, wanted)
    case 'prefix':
      return startsWith(bytes, start, wanted)
    case 'suffix':
      return startsWith(bytes, end - wanted.length, wanted)
    case 'contains':
      return findNeedle(pattern.needle, bytes, start, end) !== -1
  }
}

function matchesSegments(
  segments: readonly Segment[],
  bytes: Uint8Array,
  start: number,
  end: number,
): boolean {
  let at = matchAt(segments[0]!, bytes, start, end)
  if (segments.length === 1) return at === end
  for (let s = 1; at !== -1 && s < segments.length - 1; s++) at = findSegment(segments[s]!, bytes, at, end)
  if (at === -1) return false
  const last = segments.at(-1)!
  const tail = stepBack(bytes, end, last.characters, at)
  return tail !== -1 && matchAt(last, bytes, tail, end) === end
}

/** Return the end of the match if the segment matches at `start`, otherwise -1. */
function matchAt({ units }: Segment, bytes: Uint8Array, start: number, end: number): number {
  let at = start
  for (let k = 0; k < units.length; k++) {
    if (at >= end) return -1
    if (units[k] === anyCharacter) at = nextCharacter(bytes, at, end)
    else if (bytes[at++] !== units[k]) return -1
  }
  return at
}

/** Return the end of the leftmost match of a segment from `start` on, or -1 if there is no match. */
function findSegment(segment: Segment, bytes: Uint8Array, start: number, end: number): number {
  const from = segment.before === 0 ? start : stepForward(bytes, start, end, segment.before)
  const found = from === -1 ? -1 : findUnits(segment, bytes, from, end)
  return found === -1 || segment.after === 0 ? found : stepForward(bytes, found, end, segment.after)
}

function findUnits(segment: Segment, bytes: Uint8Array, start: number, end: number): number {
  if (segment.needle !== null) return findNeedle(segment.needle, bytes, start, end)
  if (segment.positions !== null)
    return findPositions(segment.positions, segment.characters, bytes, start, end)
  for (let at = start; at < end; at = nextCharacter(bytes, at, end)) {
    const found = matchAt(segment, bytes, at, end)
    if (found !== -1) return found
  }
  return -1
}

/**
 * Find a segment with the Shift-And algorithm, and return the end of the match, or -1. Bit p of `state` is set if the
 * last p + 1 characters of the text match the first p + 1 characters of the segment.
 */
function findPositions(
  { ofCharacter, ofOthers }: Positions,
  characters: number,
  bytes: Uint8Array,
  start: number,
  end: number,
): number {
  const state = new Int32Array(ofOthers.length)
  const lastWord = ofOthers.length - 1
  const lastBit = 1 << ((characters - 1) & 31)
  for (let at = start; at < end; ) {
    const positions = ofCharacter.get(codePointAt(bytes, at)) ?? ofOthers
    at = nextCharacter(bytes, at, end)
    let carry = 1
    for (let w = 0; w <= lastWord; w++) {
      const word = state[w]!
      state[w] = ((word << 1) | carry) & positions[w]!
      carry = word >>> 31
    }
    if ((state[lastWord]! & lastBit) !== 0) return at
  }
  return -1
}

/** Return the code point that begins at `at`. The bytes must be valid UTF-8. */
export function codePointAt(bytes: Uint8Array, at: number): number {
  const lead = bytes[at]!
  if (lead < 0x80) return lead
  const second = bytes[at + 1]! & 0x3f
  if (lead < 0xe0) return ((lead & 0x1f) << 6) | second
  const third = bytes[at + 2]! & 0x3f
  if (lead < 0xf0) return ((lead & 0x0f) << 12) | (second << 6) | third
  return ((lead & 0x07) << 18) | (second << 12) | (third << 6) | (bytes[at + 3]! & 0x3f)
}

/** Return the end of the leftmost match between `start` and `end`, or -1 if there is no match. */
export function findNeedle(
  { bytes: wanted, failure }: Needle,
  bytes: Uint8Array,
  start: number,
  end: number,
): number {
  if (wanted.length === 0) return start
  let matched = 0
  for (let at = start; at < end; at++) {
    while (matched > 0 && bytes[at] !== wanted[matched]) matched = failure[matched - 1]!
    if (bytes[at] === wanted[matched] && ++matched === wanted.length) return at + 1
  }
  return -1
}

function nextCharacter(bytes: Uint8Array, at: number, end: number): number {
  at++
  while (at < end && (bytes[at]! & 0xc0) === 0x80) at++
  return at
}

/** Return the offset after the first `count` characters from `start` on, or -1 if there are fewer characters. */
function stepForward(bytes: Uint8Array, start: number, end: number, count: number): number {
  let at = start
  for (let left = count; left > 0; left--) {
    if (at >= end) return -1
    at = nextCharacter(bytes, at, end)
  }
  return at
}

/** Return the offset of the last `count` characters before `end`, or -1 if they would begin before `start`. */
function stepBack(bytes: Uint8Array, end: number, count: number, start: number): number {
  let at = end
  for (let left = count; left > 0; left--) {
    if (at <= start) return -1
    at--
    while (at > start && (bytes[at]! & 0xc0) === 0x80) at--
  }
  return at
}
