/**
 * LIKE patterns over UTF-8 bytes: `%` matches any text and `_` any single character. The escape character makes the
 * next character literal. At the end of a pattern, the escape character stands for itself.
 *
 * A pattern is split at its `%` into segments. The first and last segment are anchored to the ends. Each segment
 * between them is searched once, leftmost, after the end of the previous one: no backtracking. A segment without `_` is
 * found by Knuth-Morris-Pratt in time linear in the text. A segment with `_` takes at most 32 steps per character.
 */

import { invalidInput } from '../../errors.js'
import { type ByteRows, type RowMask, rowsOfWord, wordCount } from '../values/vector.js'
import { findBytes, startsWith } from './equal-bytes.js'

const anyCharacter = -1

/** Maximum length of a pattern in UTF-16 units. */
const maxLength = 32_768

/**
 * Maximum characters of a segment between two `%` with an inner `_`. For each character of the text, matching takes
 * one step per 32 characters of the segment.
 */
const maxWithin = 1024

/** A segment with an inner `_` of at most this many bytes is compared at every character of the text. */
const maxCompared = 32

/** A text to search for, with its failure table (Knuth, Morris, Pratt 1977). */
export interface Needle {
  readonly bytes: Uint8Array
  readonly failure: Int32Array
}

interface Segment {
  /** Bytes to match, or `anyCharacter` for a single character. */
  readonly units: Int16Array
  /** The segment as a needle if it contains no `_`, else null. */
  readonly needle: Needle | null
  /** The segment as bit sets of positions if comparing at every position would take too long, else null. */
  readonly positions: Positions | null
  /** Length in characters. */
  readonly characters: number
  /** For a segment between two `%`: how many `_` precede and follow the units. */
  readonly before: number
  readonly after: number
}

/** The positions of each character in a segment, one bit per position (Baeza-Yates and Gonnet 1992, "Shift-And"). */
interface Positions {
  readonly ofCharacter: ReadonlyMap<number, Int32Array>
  /** The positions that match characters that do not occur in the segment. */
  readonly ofOthers: Int32Array
}

/** A single text that is the whole value, its start, its end or a part of it; or a list of segments. */
export type LikePattern =
  | { readonly shape: 'exact' | 'prefix' | 'suffix' | 'contains'; readonly needle: Needle }
  | { readonly shape: 'general'; readonly segments: readonly Segment[] }

/** Return the same pattern with a backslash as escape character, so that it can be converted to lower case. */
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
      hint: `write one of at most ${maxLength}; starts_with, ends_with and contains take longer texts`,
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
  // Adjacent `%` leave an empty piece between them, which matches anywhere.
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

/** Create a segment at the start or end of the pattern. `piece` holds its characters, '' for `_`. */
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

/** Create a segment between two `%`. Each `_` at its ends is a character to skip. */
function between(piece: readonly string[]): Segment {
  const first = piece.findIndex(character => character !== '')
  const before = first === -1 ? piece.length : first
  const last = Math.max(before, piece.findLastIndex(character => character !== '') + 1)
  const within = piece.slice(before, last)
  const segment = { ...anchored(within), before, after: piece.length - last }
  if (segment.needle !== null || segment.units.length <= maxCompared) return segment
  if (within.length > maxWithin) {
    throw invalidInput(`a LIKE pattern has _ among ${within.length} characters between two %`, {
      hint: `write at most ${maxWithin} there, or a regular expression`,
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

/** Create a needle for `findNeedle`. */
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

/** Create a pattern that matches `text` literally: as the whole, at the start, at the end or anywhere. */
export function plainPattern(
  shape: 'exact' | 'prefix' | 'suffix' | 'contains',
  text: Uint8Array,
): LikePattern {
  return { shape, needle: needleOf(text) }
}

const anchors = { exact: 'whole', prefix: 'start', suffix: 'end' } as const

/** Return a bit for every row that matches. */
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

/** Return whether the range of UTF-8 bytes matches as a whole. */
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

/** Return the end of the segment if it matches at `start`, else -1. */
function matchAt({ units }: Segment, bytes: Uint8Array, start: number, end: number): number {
  let at = start
  for (let k = 0; k < units.length; k++) {
    if (at >= end) return -1
    if (units[k] === anyCharacter) at = nextCharacter(bytes, at, end)
    else if (bytes[at++] !== units[k]) return -1
  }
  return at
}

/** Return the end of the leftmost match from `start` on, or -1. */
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
 * Find a segment with the Shift-And algorithm. Bit p of `state` is set while the last p + 1 characters match the first
 * p + 1 of the segment.
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

/** Return the code point at `at`. The bytes must be UTF-8. */
export function codePointAt(bytes: Uint8Array, at: number): number {
  const lead = bytes[at]!
  if (lead < 0x80) return lead
  const second = bytes[at + 1]! & 0x3f
  if (lead < 0xe0) return ((lead & 0x1f) << 6) | second
  const third = bytes[at + 2]! & 0x3f
  if (lead < 0xf0) return ((lead & 0x0f) << 12) | (second << 6) | third
  return ((lead & 0x07) << 18) | (second << 12) | (third << 6) | (bytes[at + 3]! & 0x3f)
}

/** Return the end of the leftmost match within the range, or -1. */
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

/** Return the end of the first `count` characters, or -1 if there are fewer. */
function stepForward(bytes: Uint8Array, start: number, end: number, count: number): number {
  let at = start
  for (let left = count; left > 0; left--) {
    if (at >= end) return -1
    at = nextCharacter(bytes, at, end)
  }
  return at
}

/** Return the start of the last `count` characters, or -1 if they would begin before `start`. */
function stepBack(bytes: Uint8Array, end: number, count: number, start: number): number {
  let at = end
  for (let left = count; left > 0; left--) {
    if (at <= start) return -1
    at--
    while (at > start && (bytes[at]! & 0xc0) === 0x80) at--
  }
  return at
}
