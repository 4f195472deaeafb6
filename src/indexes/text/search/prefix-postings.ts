/** Finds the rows with a term that begins with a prefix. */
import type { Pacer } from '../../../primitives/pacer.js'
import type { Task } from '../../../primitives/task.js'
import { encodePostings } from '../encode-postings.js'
import { openPostings } from '../postings.js'
import {
  newBlockBuffer,
  type Postings,
  type TermEntry,
  type TermMatcher,
  type TextSegment,
} from '../segment.js'
import { allOf } from './clauses.js'

/** Terms whose postings are read together, blocks of postings, and rows, between two checks of the clock. */
const termsAtOnce = 64
const blocksAtOnce = 64
const rowsAtOnce = 64 * 1024

/**
 * Return a matcher for the terms that begin with a normalized prefix, which is not empty. A final `σ` or `ς` matches
 * both letters, because the last letter of the prefix may be inside of the complete word.
 */
export function prefixMatcher(start: string): TermMatcher {
  const matches = (begins: boolean) => (begins ? 0 : null)
  if (!/[σς]$/.test(start)) return { prefix: start, distance: term => matches(term.startsWith(start)) }
  const prefix = start.slice(0, -1)
  return {
    prefix,
    distance: term => matches(term.startsWith(`${prefix}σ`) || term.startsWith(`${prefix}ς`)),
  }
}

/**
 * Return the rows of a segment that have a term that begins with `start`, or one of the terms `others`. The frequency
 * of a row is the number of occurrences of all these terms. Return null if there is no such row. The result has all
 * rows, however many terms match.
 */
export function* prefixPostings(
  segment: TextSegment,
  start: string,
  others: readonly string[],
  pacer: Pacer,
): Task<Postings | null> {
  const matcher = prefixMatcher(start)
  const entries: TermEntry[] = []
  for (const { entry } of yield* segment.near(matcher, pacer)) entries.push(entry)
  for (const other of others) {
    const entry = matcher.distance(other) === null ? segment.find(other) : null
    if (entry !== null) entries.push(entry)
  }
  if (entries.length === 0) return null
  if (entries.length === 1) {
    const [postings] = yield* allOf([segment.postings(entries[0]!, false, pacer.signal)])
    return postings!
  }
  return yield* joined(segment, entries, pacer)
}

function* joined(segment: TextSegment, entries: readonly TermEntry[], pacer: Pacer): Task<Postings> {
  const { rows, lengths } = segment
  /** By row. */
  const sums = new Uint32Array(rows)
  const buffer = newBlockBuffer()
  let docs = 0
  for (let from = 0; from < entries.length; from += termsAtOnce) {
    const some = entries.slice(from, from + termsAtOnce)
    for (const postings of yield* allOf(some.map(each => segment.postings(each, false, pacer.signal)))) {
      const cursor = postings.cursor(buffer)
      for (let block = 0; block < postings.blocks; block++) {
        cursor.load(block)
        const { count, docs: own, frequencies } = cursor
        for (let i = 0; i < count; i++) {
          const row = own[i]!
          if (sums[row] === 0) docs++
          sums[row]! += frequencies[i]!
        }
        if (block % blocksAtOnce === blocksAtOnce - 1 && pacer.due()) yield pacer.pause()
      }
    }
    if (pacer.due()) yield pacer.pause()
  }
  const ordinals = new Uint32Array(docs)
  const frequencies = new Uint32Array(docs)
  let count = 0
  for (let from = 0; from < rows; from += rowsAtOnce) {
    const to = Math.min(rows, from + rowsAtOnce)
    for (let row = from; row < to; row++) {
      if (sums[row] === 0) continue
      ordinals[count] = row
      frequencies[count++] = sums[row]!
    }
    if (pacer.due()) yield pacer.pause()
  }
  const { postings } = yield* encodePostings({ ordinals, frequencies, positions: null, lengths }, pacer)
  return openPostings(docs, { bytes: postings, at: 0, end: postings.length }, null, lengths)
}
