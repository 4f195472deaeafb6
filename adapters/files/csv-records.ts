/**
 * CSV text (RFC 4180) as records of cells.
 *
 * - A record ends with a line feed, a carriage return and a line feed, or the text; quotes hold line ends and delimiters.
 * - A quote that does not begin a cell is a character like any other.
 * - A cell without quotes whose text means null is null; within quotes every text is itself.
 */
import { invalidInput, quote } from '../../src/errors.js'
import { longestLine } from './text-blocks.js'

export interface Records {
  /** Of all records, one after the other. */
  readonly cells: readonly (string | null)[]
  /** Where in `cells` each record ends; a blank line is a record without cells. */
  readonly ends: readonly number[]
  /** The line each record begins on. */
  readonly lines: readonly number[]
}

const quoteCode = 34
const lineFeed = 10
const carriageReturn = 13

/** A delimiter is one UTF-16 unit, no quote, no line end and nothing that numbers and words are made of. */
export function checkDelimiter(delimiter: string): void {
  if (/^[^\r\n"\w.+-]$/.test(delimiter)) return
  throw invalidInput(`a delimiter is one character such as , or ; or a tab, got ${quote(delimiter)}`)
}

export class RecordSplitter {
  readonly #delimiter: number
  /** The texts beside the empty one that mean null; null: none. */
  readonly #words: ReadonlySet<string> | null
  /** What an empty cell without quotes is. */
  readonly #empty: string | null
  /** How messages call a line. */
  readonly #nameOf: (line: number) => string
  #cells: (string | null)[] = []
  #ends: number[] = []
  #lines: number[] = []
  /** Cells of the records that have ended. */
  #ended = 0
  #line = 1
  #recordLine = 1
  /** The line on which quotes have been opened that are not closed; 0: none. */
  #quoteLine = 0
  /** What stands within them so far. */
  #quoted = ''

  /** `delimiter` is one UTF-16 unit. */
  constructor(delimiter: string, nulls: ReadonlySet<string>, nameOf: (line: number) => string) {
    this.#delimiter = delimiter.charCodeAt(0)
    this.#words = nulls.size > (nulls.has('') ? 1 : 0) ? nulls : null
    this.#empty = nulls.has('') ? null : ''
    this.#nameOf = nameOf
  }

  /** Takes in text that ends with a line feed, or is the last. Throws code 13 for quotes that are followed by text. */
  push(text: string): void {
    const delimiter = this.#delimiter
    for (let at = 0; at < text.length; ) {
      if (this.#quoteLine !== 0) {
        at = this.#quotedCell(text, at)
        continue
      }
      if (text.charCodeAt(at) === quoteCode) {
        this.#quoteLine = this.#line
        this.#quoted = ''
        at++
        continue
      }
      let end = at
      let code = 0
      for (; end < text.length; end++) {
        code = text.charCodeAt(end)
        if (code === delimiter || code === lineFeed || code === carriageReturn) break
      }
      const isBlank = end === at && code !== delimiter && this.#cells.length === this.#ended
      if (!isBlank) this.#cells.push(end === at ? this.#empty : this.#plain(text.slice(at, end)))
      at = this.#afterCell(text, end)
    }
  }

  /** The records that have ended since the last call. */
  take(): Records {
    const taken = { cells: this.#cells, ends: this.#ends, lines: this.#lines }
    this.#cells = this.#cells.slice(this.#ended)
    this.#ended = 0
    this.#ends = []
    this.#lines = []
    return taken
  }

  /** Throws code 13 where the text has ended within quotes. */
  end(): void {
    if (this.#quoteLine === 0) return
    throw invalidInput(`${this.#nameOf(this.#quoteLine)} opens quotes that are not closed`)
  }

  #plain(text: string): string | null {
    return this.#words?.has(text) ? null : text
  }

  /** From within quotes to what follows them. */
  #quotedCell(text: string, from: number): number {
    for (let at = from; ; ) {
      const end = text.indexOf('"', at)
      const part = text.slice(at, end === -1 ? text.length : end)
      this.#quoted += part
      for (let feed = part.indexOf('\n'); feed !== -1; feed = part.indexOf('\n', feed + 1)) this.#line++
      if (end === -1) {
        if (this.#quoted.length > longestLine) throw this.#tooLong()
        return text.length
      }
      if (text.charCodeAt(end + 1) !== quoteCode) {
        this.#cells.push(this.#quoted)
        this.#quoteLine = 0
        return this.#afterCell(text, end + 1)
      }
      this.#quoted += '"'
      at = end + 2
    }
  }

  /** Past what ends a cell; ends the record where it does. */
  #afterCell(text: string, at: number): number {
    const code = text.charCodeAt(at)
    if (code === this.#delimiter) {
      // Only the last text of all ends with a delimiter.
      if (at + 1 < text.length) return at + 1
      this.#cells.push(this.#empty)
      this.#endRecord()
      return at + 1
    }
    if (at >= text.length) {
      this.#endRecord()
      return at
    }
    if (code === lineFeed || (code === carriageReturn && text.charCodeAt(at + 1) === lineFeed)) {
      this.#line++
      this.#endRecord()
      return at + (code === lineFeed ? 1 : 2)
    }
    if (code === carriageReturn) throw this.#loneReturn()
    throw invalidInput(
      `${this.#nameOf(this.#line)} goes on after closing quotes: ${quote(text.slice(at, at + 40))}`,
      { hint: 'a quote within quotes is written twice; check the delimiter' },
    )
  }

  #endRecord(): void {
    this.#ends.push(this.#cells.length)
    this.#lines.push(this.#recordLine)
    this.#ended = this.#cells.length
    this.#recordLine = this.#line
  }

  #loneReturn() {
    return invalidInput(`${this.#nameOf(this.#line)} has a carriage return that no line feed follows`, {
      hint: 'end lines with a line feed, and put quotes around a cell that holds one',
    })
  }

  #tooLong() {
    return invalidInput(
      `${this.#nameOf(this.#quoteLine)} opens quotes that are not closed within ${longestLine} characters`,
    )
  }
}
