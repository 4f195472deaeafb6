/** Reads texts: which terms each row has, row by row. */
import { type Column, isValid } from '../../arrow/column.js'
import { assert } from '../../errors.js'
import type { TermNumbering } from './analysis/analyzer.js'
import { elementGap, placeOf } from './input.js'
import { WordStream } from './word-stream.js'

export class Collector {
  /** By row: its terms, as often as they occur, and how many distinct ones. */
  readonly lengths: Uint32Array
  readonly distinct: Uint32Array
  /** Rows so far, those that have terms, and the most terms one has. */
  rows = 0
  docs = 0
  longest = 0
  /** Terms so far, as often as they occur; one for each row that has it; and how often a row has one at most. */
  tokens = 0
  postings = 0
  mostFrequent = 0
  /** Row by row its distinct terms: number * 2, plus 1 where how often the row has it follows. */
  readonly stream = new WordStream()
  /** In the same order where each of them is, as often as it is there; null: not kept. */
  readonly positions: WordStream | null
  readonly #numbering: TermNumbering
  /** By number of a term: rows that have it, how often all have it (0 without positions), and what number among all postings it was last, from 1. */
  termDocs = new Uint32Array(1024)
  termTokens = new Uint32Array(1024)
  #seen = new Uint32Array(1024)
  /** Of the row: its distinct terms, and how often it has each. */
  #terms = new Uint32Array(256)
  #counts = new Uint32Array(256)
  /** Token by token which of them it is, and where. */
  #slots = new Uint32Array(256)
  #places = new Uint32Array(256)
  #rowTerms = 0
  #rowTokens = 0

  constructor(rows: number, numbering: TermNumbering, positions: boolean) {
    this.lengths = new Uint32Array(rows)
    this.distinct = new Uint32Array(rows)
    this.positions = positions ? new WordStream() : null
    this.#numbering = numbering
  }

  /** The next row, which is number `row` of the column; gives how many terms it has. */
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

  /** A text whose positions begin at `start`; gives what follows its last one. */
  #read(bytes: Uint8Array, from: number, to: number, start: number): number {
    if (from === to) return start
    const numbering = this.#numbering
    const count = numbering.read(bytes, from, to)
    if (count === 0) return start
    const { numbers, positions } = numbering
    this.#reserve(count)
    const seen = this.#seen
    const counts = this.#counts
    // Postings of other rows are numbered up to this.
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
        this.#slots[this.#rowTokens + i] = seen[numbers[i]!]! - before - 1
        this.#places[this.#rowTokens + i] = placeOf(start, positions[i]!)
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
    // Where the next position of each term goes, in place of how often the row has it.
    let next = out.at
    for (let i = 0; i < distinct; i++) {
      const count = counts[i]!
      this.termTokens[this.#terms[i]!]! += count
      counts[i] = next
      next += count
    }
    for (let i = 0; i < tokens; i++) {
      const at = counts[this.#slots[i]!]!++
      out.words[at] = this.#places[i]!
    }
    out.at = next
  }

  /** Makes room for so many more tokens of the row. */
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
    this.#slots = grown(this.#slots, tokens)
    this.#places = grown(this.#places, tokens)
  }
}

function grown(numbers: Uint32Array<ArrayBuffer>, least: number): Uint32Array<ArrayBuffer> {
  const longer = new Uint32Array(Math.max(least, 2 * numbers.length))
  longer.set(numbers)
  return longer
}
