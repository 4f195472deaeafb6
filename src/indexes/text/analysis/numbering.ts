/**
 * Converts UTF-8 texts to term numbers. Its speed determines the time of an index build. A run is the bytes between two
 * separators. A table contains the value of each run that was already read, so that only new runs are analyzed. If a
 * tokenizer does not cut texts at separators, the table contains the values of its tokens.
 */
import type { TermNumbering } from './analyzer.js'
import type { BaseTokenizer, Grams } from './base-tokenizer.js'
import { absent, enlarged, rolledBy, rolledOf, rolledOfNone, TokenTable } from './token-table.js'

/** Returns the term of a token, or null if the token is dropped. */
export type TermOf = (token: string) => string | null

/** The value of a dropped token in the table. Values from 0 on are term numbers. */
const dropped = -1
/**
 * The value -2 and lower values identify lists of values. A run without tokens, or with several tokens, has such a
 * value.
 */
const firstList = -2

/**
 * Maximum bytes of a non-ASCII run in the table. A longer run is probably a sentence in a script without spaces, which
 * hardly occurs again.
 */
const longestKept = 64

/** Approximate overhead in bytes of a term (string, element of `terms`, map entry), and of a list of values. */
const termBytes = 80
const listBytes = 64

/** Converts texts to term numbers; see `TermNumbering`. */
export class Numbering implements TermNumbering {
  readonly terms: string[] = []
  numbers = new Uint32Array(64)
  positions = new Uint32Array(64)
  readonly #base: BaseTokenizer
  readonly #termOf: TermOf
  /** Tokens with at least this many bytes are dropped. */
  readonly #limit: number
  /** Number of terms of the current text. */
  #count = 0
  /**
   * By byte: 0 for separators, 1 for parts of tokens, 2 for non-ASCII bytes. Null if the tokenizer does not cut at
   * separators.
   */
  readonly #kinds: Uint8Array | null
  readonly #table = new TokenTable()
  readonly #byTerm = new Map<string, number>()
  /** The values of the tokens of runs that have no token, or several tokens. */
  readonly #lists: number[][] = []
  #stringBytes = 0
  /** Scratch buffer in which a token is encoded as UTF-8. */
  #scratch = new Uint8Array(256)

  constructor(base: BaseTokenizer, termOf: TermOf, maxTokenLength: number | null) {
    this.#base = base
    this.#termOf = termOf
    this.#limit = maxTokenLength ?? Number.POSITIVE_INFINITY
    this.#kinds = base.ascii?.kind === 'runs' ? kindsOf(base.ascii.separators) : null
  }

  get bytes(): number {
    const { numbers, positions } = this
    return (
      numbers.byteLength + positions.byteLength + this.#scratch.length + this.#table.bytes + this.#stringBytes
    )
  }

  read(bytes: Uint8Array, from: number, to: number): number {
    const { ascii } = this.#base
    this.#count = 0
    if (this.#kinds !== null) this.#readRuns(this.#kinds, bytes, from, to)
    else if (ascii?.kind === 'grams' && isAscii(bytes, from, to)) this.#readGrams(ascii, bytes, from, to)
    else this.#readText(decoded(bytes, from, to), 0)
    return this.#count
  }

  #readRuns(kinds: Uint8Array, bytes: Uint8Array, from: number, to: number): void {
    let position = 0
    let at = from
    for (;;) {
      while (at < to && kinds[bytes[at]!] === 0) at++
      if (at === to) return
      const start = at
      let seen = 0
      let rolled = rolledOfNone
      for (; at < to; at++) {
        const byte = bytes[at]!
        const kind = kinds[byte]!
        if (kind === 0) break
        seen |= kind
        rolled = rolledBy(byte, rolled)
      }
      if (seen > 1) position = this.#readMixed(bytes, start, at, rolled, position)
      else {
        if (at - start < this.#limit) this.#put(this.#valueOf(bytes, start, at, rolled), position)
        position++
      }
    }
  }

  /**
   * Read a run with non-ASCII characters. `position`: the position of its first token. Return the position after the
   * run.
   */
  #readMixed(bytes: Uint8Array, from: number, to: number, rolled: number, position: number): number {
    if (to - from > longestKept) return this.#readText(decoded(bytes, from, to), position)
    let value = this.#table.find(bytes, from, to, rolled)
    if (value === absent) {
      value = this.#learnRun(decoded(bytes, from, to))
      this.#table.add(bytes, from, to, rolled, value)
    }
    if (value > firstList) {
      this.#put(value, position)
      return position + 1
    }
    const list = this.#lists[firstList - value]!
    for (let i = 0; i < list.length; i++) this.#put(list[i]!, position + i)
    return position + list.length
  }

  #readGrams({ min, max, prefixOnly }: Grams, bytes: Uint8Array, from: number, to: number): void {
    const last = prefixOnly ? Math.min(from, to - min) : to - min
    for (let at = from; at <= last; at++) {
      for (let end = at + min; end <= to && end - at <= max; end++) {
        this.#put(this.#valueOf(bytes, at, end, rolledOf(bytes, at, end)), at - from)
      }
    }
  }

  /** Read a text as a string. `first`: the position of its first token. Return the position after the text. */
  #readText(text: string, first: number): number {
    let next = first
    this.#base.cut(text, (token, position) => {
      this.#put(this.#valueOfToken(token), first + position)
      next = first + position + 1
    })
    return next
  }

  #put(value: number, position: number): void {
    if (value === dropped) return
    const count = this.#count++
    if (count === this.numbers.length) {
      this.numbers = enlarged(this.numbers, 2 * count)
      this.positions = enlarged(this.positions, 2 * count)
    }
    this.numbers[count] = value
    this.positions[count] = position
  }

  #valueOfToken(token: string): number {
    if (token.length >= this.#limit) return dropped
    if (this.#scratch.length < 3 * token.length) this.#scratch = new Uint8Array(4 * token.length)
    const { written } = encoder.encodeInto(token, this.#scratch)
    return this.#valueOf(this.#scratch, 0, written, rolledOf(this.#scratch, 0, written))
  }

  /** Return the value of a token: its term number, or `dropped`. */
  #valueOf(bytes: Uint8Array, from: number, to: number, rolled: number): number {
    const known = this.#table.find(bytes, from, to, rolled)
    if (known !== absent) return known
    const value = this.#learn(decoded(bytes, from, to))
    this.#table.add(bytes, from, to, rolled, value)
    return value
  }

  #learn(token: string): number {
    const term = this.#termOf(token)
    if (term === null) return dropped
    const known = this.#byTerm.get(term)
    if (known !== undefined) return known
    const number = this.terms.length
    this.terms.push(term)
    this.#byTerm.set(term, number)
    this.#stringBytes += termBytes + 2 * term.length
    return number
  }

  #learnRun(run: string): number {
    const values: number[] = []
    this.#base.cut(run, token => values.push(this.#learn(token)))
    if (values.length === 1) return values[0]!
    this.#lists.push(values)
    this.#stringBytes += listBytes + 8 * values.length
    return firstList - (this.#lists.length - 1)
  }
}

function kindsOf(separators: Uint8Array): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, byte) => (byte >= 128 ? 2 : 1 - separators[byte]!))
}

function isAscii(bytes: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at < to; at++) if (bytes[at]! >= 128) return false
  return true
}

const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

function decoded(bytes: Uint8Array, from: number, to: number): string {
  return decoder.decode(bytes.subarray(from, to))
}
