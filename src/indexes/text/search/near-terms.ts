/** Finds the terms within an edit distance of a word (fuzzy search). */
import type { Pacer } from '../../../primitives/pacer.js'
import type { Task } from '../../../primitives/task.js'
import { orderOfTexts } from '../../../sql/values/scalar-order.js'
import type { TermMatcher, TextSegment } from '../segment.js'

/** Return the default edit distance for a word (rule A-067). */
export function automaticDistance(word: string): number {
  const { length } = codePoints(word)
  return length <= 2 ? 0 : length <= 5 ? 1 : 2
}

/**
 * Return a matcher for terms within `distance` edits of `word`. An edit inserts, deletes or replaces a code point
 * (Levenshtein 1966); a transposition is two edits. Terms must share the first `prefixLength` code points of the word.
 */
export function editDistanceMatcher(word: string, distance: number, prefixLength: number): TermMatcher {
  const points = codePoints(word)
  const prefix = [...word].slice(0, prefixLength).join('')
  return new EditDistance(prefix, points.subarray(prefixLength), distance)
}

/** A term and its edit distance from the word. */
export interface ExpandedTerm {
  readonly term: string
  readonly distance: number
}

/**
 * Return at most `most` terms of the segments that are within `distance` edits of a word. Terms with fewer edits come
 * first; terms with equally many edits are sorted by code points.
 */
export function* expanded(
  segments: readonly TextSegment[],
  word: string,
  distance: number,
  prefixLength: number,
  most: number,
  pacer: Pacer,
): Task<readonly ExpandedTerm[]> {
  const matcher = editDistanceMatcher(word, distance, prefixLength)
  const terms = new Map<string, number>()
  for (const segment of segments) {
    for (const { entry, distance } of yield* segment.near(matcher, pacer)) terms.set(entry.term, distance)
  }
  return Array.from(terms, ([term, distance]) => ({ term, distance }))
    .sort((a, b) => a.distance - b.distance || orderOfTexts(a.term, b.term))
    .slice(0, most)
}

class EditDistance implements TermMatcher {
  readonly prefix: string
  readonly shortest: number
  readonly longest: number
  /** The code points of the word after the prefix. */
  readonly #word: Uint32Array
  readonly #most: number
  /** The code points of the current term after the prefix. Replaced by a longer array for a longer term. */
  #other = new Uint32Array(64)
  /** One row of the edit distance table: from a prefix of the word to each prefix of the term. */
  #edits = new Uint32Array(65)

  constructor(prefix: string, word: Uint32Array, most: number) {
    this.prefix = prefix
    const points = codePoints(prefix).length + word.length
    this.shortest = points - most
    this.longest = points + most
    this.#word = word
    this.#most = most
  }

  distance(term: string): number | null {
    const { prefix } = this
    const word = this.#word
    const most = this.#most
    // A code point has one or two UTF-16 units.
    const units = term.length - prefix.length
    if (units < word.length - most || units > 2 * (word.length + most)) return null
    if (!term.startsWith(prefix)) return null
    const length = this.#read(term, prefix.length)
    if (Math.abs(length - word.length) > most) return null
    const other = this.#other
    let from = 0
    while (from < word.length && from < length && word[from] === other[from]) from++
    let [wordEnd, end] = [word.length, length]
    while (wordEnd > from && end > from && word[wordEnd - 1] === other[end - 1]) {
      wordEnd--
      end--
    }
    if (from === wordEnd || from === end) return Math.max(wordEnd, end) - from
    return most < 2 && Math.max(wordEnd, end) - from > most ? null : this.#table(from, wordEnd, end)
  }

  /** Read the code points of a term from unit `from` on. Return their number. */
  #read(term: string, from: number): number {
    if (this.#other.length < term.length) {
      this.#other = new Uint32Array(2 * term.length)
      this.#edits = new Uint32Array(2 * term.length + 1)
    }
    let length = 0
    for (let i = from; i < term.length; ) {
      const point = term.codePointAt(i)!
      this.#other[length++] = point
      i += point > 0xffff ? 2 : 1
    }
    return length
  }

  /**
   * Return the edit distance of the parts between the common prefix and the common suffix. Return null if the distance
   * exceeds the limit. Computes the table row by row (Wagner & Fischer 1974), but only cells near the diagonal (Ukkonen
   * 1985).
   */
  #table(from: number, wordEnd: number, end: number): number | null {
    const [word, other, edits, most] = [this.#word, this.#other, this.#edits, this.#most]
    const width = end - from
    const tooMany = most + 1
    for (let j = 0; j <= width; j++) edits[j] = Math.min(j, tooMany)
    for (let i = 1; i <= wordEnd - from; i++) {
      const low = Math.max(1, i - most)
      const high = Math.min(width, i + most)
      const point = word[from + i - 1]!
      let diagonal = edits[low - 1]!
      let left = low === 1 ? Math.min(i, tooMany) : tooMany
      edits[low - 1] = left
      let least = left
      for (let j = low; j <= high; j++) {
        const above = j === i + most ? tooMany : edits[j]!
        const edit = other[from + j - 1] === point ? diagonal : 1 + Math.min(diagonal, above, left)
        diagonal = edits[j]!
        edits[j] = edit
        left = edit
        if (edit < least) least = edit
      }
      if (least > most) return null
    }
    const edit = edits[width]!
    return edit > most ? null : edit
  }
}

function codePoints(text: string): Uint32Array {
  return Uint32Array.from(text, point => point.codePointAt(0)!)
}
