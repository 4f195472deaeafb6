/**
 * LIKE patterns over UTF-8 bytes: `%` is any text, `_` any one character, the escape character takes the next
 * one literally (at the end of a pattern it stands for itself).
 *
 * A pattern is cut at its `%` into segments; the first and last are tied to the ends, each one between is
 * looked for once, leftmost, from where the one before ended: no backtracking. A segment without `_` is found
 * by Knuth-Morris-Pratt in time linear in the text; one with `_` takes at most text x segment steps.
 */

import { type ByteRows, type RowMask, rowsOfWord, wordCount } from '../values/vector.js'
import { findBytes, startsWith } from './equal-bytes.js'

const anyCharacter = -1

/** A text to look for, with its failure table (Knuth, Morris, Pratt 1977). */
interface Needle {
  readonly bytes: Uint8Array
  readonly failure: Int32Array
}

interface Segment {
  /** Bytes to match, or `anyCharacter` for one whole character. */
  readonly units: Int16Array
  /** The same where there is no `_`, else null. */
  readonly needle: Needle | null
  /** Length in characters. */
  readonly characters: number
}

/** At most one text, tied to both ends, the start, the end or neither; or any number of segments. */
export type LikePattern =
  | { readonly shape: 'exact' | 'prefix' | 'suffix' | 'contains'; readonly needle: Needle }
  | { readonly shape: 'general'; readonly segments: readonly Segment[] }

export function compileLike(pattern: string, escapeCharacter: string): LikePattern {
  const pieces: string[][] = [[]]
  const characters = [...pattern]
  for (let i = 0; i < characters.length; i++) {
    const character = characters[i]!
    if (character === escapeCharacter && i + 1 < characters.length) pieces.at(-1)!.push(characters[++i]!)
    else if (character === '%') pieces.push([])
    else pieces.at(-1)!.push(character === '_' && character !== escapeCharacter ? '' : character)
  }
  // Two % in a row leave an empty piece between them, which matches anywhere.
  const kept = pieces.filter((piece, i) => i === 0 || i === pieces.length - 1 || piece.length > 0)
  const segments = kept.map(segmentOf)
  const sizes = segments.map(segment => segment.characters)
  const needle = segments.find(segment => segment.characters > 0)?.needle ?? needleOf(new Uint8Array(0))
  if (segments.every(segment => segment.needle !== null)) {
    if (segments.length === 1) return { shape: 'exact', needle }
    if (segments.length === 2 && sizes[1] === 0) return { shape: 'prefix', needle }
    if (segments.length === 2 && sizes[0] === 0) return { shape: 'suffix', needle }
    if (segments.length === 3 && sizes[0] === 0 && sizes[2] === 0) return { shape: 'contains', needle }
  }
  return { shape: 'general', segments }
}

const encoder = new TextEncoder()

/** `piece`: the characters of a segment, '' for `_`. */
function segmentOf(piece: readonly string[]): Segment {
  const units: number[] = []
  for (const character of piece) {
    if (character === '') units.push(anyCharacter)
    else units.push(...encoder.encode(character))
  }
  return {
    units: Int16Array.from(units),
    needle: piece.includes('') ? null : needleOf(Uint8Array.from(units)),
    characters: piece.length,
  }
}

function needleOf(bytes: Uint8Array): Needle {
  const failure = new Int32Array(bytes.length)
  let border = 0
  for (let i = 1; i < bytes.length; i++) {
    while (border > 0 && bytes[i] !== bytes[border]) border = failure[border - 1]!
    if (bytes[i] === bytes[border]) border++
    failure[i] = border
  }
  return { bytes, failure }
}

/** The pattern that finds `text` itself at the start, at the end or anywhere. */
export function plainPattern(shape: 'prefix' | 'suffix' | 'contains', text: Uint8Array): LikePattern {
  return { shape, needle: needleOf(text) }
}

const anchors = { exact: 'whole', prefix: 'start', suffix: 'end' } as const

/** A bit for every row that matches. */
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

/** Whether the whole range of UTF-8 bytes matches. */
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
      return find(pattern.needle, bytes, start, end) !== -1
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

/** The end of the segment when it stands at `start`, else -1. */
function matchAt({ units }: Segment, bytes: Uint8Array, start: number, end: number): number {
  let at = start
  for (let k = 0; k < units.length; k++) {
    if (at >= end) return -1
    if (units[k] === anyCharacter) at = nextCharacter(bytes, at, end)
    else if (bytes[at++] !== units[k]) return -1
  }
  return at
}

/** The end of the leftmost occurrence from `start` on, or -1. */
function findSegment(segment: Segment, bytes: Uint8Array, start: number, end: number): number {
  if (segment.needle !== null) return find(segment.needle, bytes, start, end)
  for (let at = start; at < end; at = nextCharacter(bytes, at, end)) {
    const found = matchAt(segment, bytes, at, end)
    if (found !== -1) return found
  }
  return -1
}

/** The end of the leftmost occurrence within the range, or -1. */
function find({ bytes: wanted, failure }: Needle, bytes: Uint8Array, start: number, end: number): number {
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

/** The start of the last `count` characters, or -1 when they reach back past `start`. */
function stepBack(bytes: Uint8Array, end: number, count: number, start: number): number {
  let at = end
  for (let left = count; left > 0; left--) {
    if (at <= start) return -1
    at--
    while (at > start && (bytes[at]! & 0xc0) === 0x80) at--
  }
  return at
}
