/** Collects the terms of each row, row by row. */
import { type Column, isValid } from '../../arrow/column.js'
import { assert } from '../../errors.js'
import type { TermNumbering } from './analysis/analyzer.js'
import { elementGap, storedPosition } from './input.js'
import { WordStream } from './word-stream.js'

/** Collects the terms of rows, and writes them to streams, which `inverted` reads. */
export class Collector {
  /** By row: number of term occurrences, and number of distinct terms. */
  readonly lengths: Uint32Array
  readonly distinct: Uint32Array
  /** Number of rows so far, number of rows with terms, and the length of the longest row. */
  rows = 0
  docs = 0
  longest = 0
  /**
   * Number of term occurrences, number of pairs of row and distinct term, and the highest frequency of a term in a row.
   */
  tokens = 0
  postings = 0
  mostFrequent = 0
  /**
   * For each distinct term of each row: term number * 2, plus 1 if the next word is the frequency of the term.
   * Otherwise the frequency is 1.
   */
  readonly stream = new WordStream()
  /** The positions of the terms, in the same order as `stream`. Null if positions are not stored. */
  readonly positions: WordStream | null
  readonly #numbering: TermNumbering
  /**
   * By term number. `termDocs`: number of rows. `termTokens`: number of occurrences, or 0 without positions. `#seen`:
   * the number of the term's last posting, from 1.
   */
  termDocs = new Uint32Array(1024)
  termTokens = new Uint32Array(1024)
  #seen = new Uint32Array(1024)
  /** The distinct terms of the current row, and their frequencies. */
  #terms = new Uint32Array(256)
  #counts = new Uint32Array(256)
  /** For each token of the current row: its index in `#terms`, and its position. */
  #tokenTerms = new Uint32Array(256)
  #tokenPositions = new Uint32Array(256)
  /** Number of distinct terms, and of tokens, of the current row so far. */
  #rowTerms = 0
  #rowTokens = 0

  constructor(rows: number, numbering: TermNumbering, positions: boolean) {
    this.lengths = new Uint32Array(rows)
    this.distinct = new Uint32Array(rows)
    this.positions = positions ? new WordStream() : null
    this.#numbering = numbering
  }

  /** Read row `row` of a column as the next row of the segment. Return its number of term occurrences. */
  read(column: Column, row: number): number {
    const { kind } = column.type
    assert(kind === 'utf8' || kind === 'list', `a text index of ${kind}`)
    const list = kind === 'list' ? column : null
    const texts = list === null ? column : list.children[0]!
    if (isValid(column, row)) {
      const from = list === null ? row : list.offsets![row]!
      const to = list === null ? row + 1 : list.offsets![row + 1]!
      const bytes = texts.values as Uint8Array
      const offsets = texts.offsets!
      let start = 0
      for (let i = from; i < to; i++) {
        if (isValid(texts, i)) start = this.#read(bytes, offsets[i]!, offsets[i + 1]!, start)
        start += elementGap
      }
    }
    return this.#endRow()
  }

  /** Read a text whose positions begin at `start`. Return the position after its last term. */
  #read(bytes: Uint8Array, from: number, to: number, start: number): number {
    if (from === to) return start
    const numbering = this.#numbering
    const count = numbering.read(bytes, from, to)
    if (count === 0) return start
    const { numbers, positions } = numbering
    this.#reserve(count)
    const seen = this.#seen
    const counts = this.#counts
    // Postings of earlier rows have numbers up to `before`, so a greater number in `seen` means a term of this row.
    const before = this.postings
    let distinct = this.#rowTerms
    for (let i = 0; i < count; i++) {
      const number = numbers[i]!
      const known = seen[number]! - before
      if (known > 0) counts[known - 1]! += 1
      else {
        this.#terms[distinct] = number
        counts[distinct] = 1
        seen[number] = before + ++distinct
      }
    }
    if (this.positions !== null) {
      for (let i = 0; i < count; i++) {
        this.#tokenTerms[this.#rowTokens + i] = seen[numbers[i]!]! - before - 1
        this.#tokenPositions[this.#rowTokens + i] = storedPosition(start, positions[i]!)
      }
    }
    this.#rowTerms = distinct
    this.#rowTokens += count
    return start + positions[count - 1]! + 1
  }

  #endRow(): number {
    const tokens = this.#rowTokens
    const distinct = this.#rowTerms
    const row = this.rows++
    if (tokens === 0) return 0
    this.lengths[row] = tokens
    this.distinct[row] = distinct
    this.docs++
    this.longest = Math.max(this.longest, tokens)
    this.tokens += tokens
    this.postings += distinct
    this.#writeTerms(distinct)
    if (this.positions !== null) this.#writePositions(this.positions, tokens, distinct)
    this.#rowTerms = 0
    this.#rowTokens = 0
    return tokens
  }

  #writeTerms(distinct: number): void {
    const { stream, termDocs } = this
    const terms = this.#terms
    const counts = this.#counts
    stream.reserve(2 * distinct)
    const { words } = stream
    let { at } = stream
    for (let i = 0; i < distinct; i++) {
      const number = terms[i]!
      const count = counts[i]!
      termDocs[number]! += 1
      words[at++] = 2 * number + (count === 1 ? 0 : 1)
      if (count === 1) continue
      words[at++] = count
      if (count > this.mostFrequent) this.mostFrequent = count
    }
    stream.at = at
  }

  #writePositions(out: WordStream, tokens: number, distinct: number): void {
    const counts = this.#counts
    out.reserve(tokens)
    // From here on, `counts` no longer has frequencies. It has, for each term, the index of the next position to write.
    let next = out.at
    for (let i = 0; i < distinct; i++) {
      const count = counts[i]!
      this.termTokens[this.#terms[i]!]! += count
      counts[i] = next
      next += count
    }
    for (let i = 0; i < tokens; i++) {
      const at = counts[this.#tokenTerms[i]!]!++
      out.words[at] = this.#tokenPositions[i]!
    }
    out.at = next
  }

  /** Reserve space for `more` tokens of the current row, and for new terms. */
  #reserve(more: number): void {
    const terms = this.#numbering.terms.length
    if (terms > this.#seen.length) {
      this.#seen = grown(this.#seen, terms)
      this.termDocs = grown(this.termDocs, terms)
      this.termTokens = grown(this.termTokens, terms)
    }
    const tokens = this.#rowTokens + more
    if (tokens <= this.#terms.length) return
    this.#terms = grown(this.#terms, tokens)
    this.#counts = grown(this.#counts, tokens)
    this.#tokenTerms = grown(this.#tokenTerms, tokens)
    this.#tokenPositions = grown(this.#tokenPositions, tokens)
  }
}

function grown(numbers: Uint32Array<ArrayBuffer>, least: number): Uint32Array<ArrayBuffer> {
  const longer = new Uint32Array(Math.max(least, 2 * numbers.length))
  longer.set(numbers)
  return longer
}
