/**
 * Splits CSV text (RFC 4180) into records of cells, with csv-parse.
 *
 * - A record ends with LF, CRLF or CR, or at the end of the text. Quoted cells may contain line ends and delimiters.
 * - A blank line is a record of one empty cell.
 */
import { CsvError, Parser } from 'csv-parse'
import { invalidInput, quote } from '../../src/errors.js'
import { longestLine } from './text-blocks.js'

export interface Records {
  readonly records: readonly (readonly string[])[]
  /** For each record, the number of the line on which it begins, from 1. */
  readonly lines: readonly number[]
}

/**
 * Check that a delimiter is one UTF-16 code unit. Quotes, line ends, ASCII letters and digits, `_`, `+`, `-` and `.`
 * are not allowed. Throws InvalidInput.
 */
export function checkDelimiter(delimiter: string): void {
  if (/^[^\r\n"\w.+-]$/.test(delimiter)) return
  throw invalidInput(`the delimiter must be one character such as , or ; or a tab, got ${quote(delimiter)}`)
}

/**
 * Collects records as they are parsed, outside of the stream's buffer. The stream drops its buffer at an error, but the
 * lines of earlier records must be counted to report the line of the error.
 */
class Collector extends Parser {
  records: string[][] = []

  override push(record: string[] | null): boolean {
    if (record === null) return super.push(null)
    this.records.push(record)
    return true
  }
}

export class RecordSplitter {
  readonly #parser: Collector
  /** Returns the name of a line for error messages. */
  readonly #nameOf: (line: number) => string
  /** Number of the line on which the next record begins. */
  #line = 1
  /** Bytes that were added since the last completed record. */
  #pending = 0

  constructor(delimiter: string, nameOf: (line: number) => string) {
    const record_delimiter = ['\r\n', '\n', '\r']
    this.#parser = new Collector({ delimiter, record_delimiter, relax_column_count: true })
    // Ignore the event, because the callbacks of `write` and `end` get the same error.
    this.#parser.on('error', () => {})
    this.#nameOf = nameOf
  }

  /**
   * Add bytes, and return the records that end in them. Throws InvalidInput for text that is not CSV, and for a record
   * of more than 64 MiB.
   */
  async push(bytes: Uint8Array): Promise<Records> {
    const found = await this.#run(done => this.#parser.write(bytes, done))
    this.#pending = found.records.length > 0 ? 0 : this.#pending + bytes.length
    if (this.#pending <= longestLine) return found
    throw invalidInput(
      `${this.#nameOf(this.#line)} begins a record that is longer than ${longestLine} bytes`,
      {
        hint: 'check for quotes that are not closed',
      },
    )
  }

  /**
   * Return the last record of the file if it has no line end. Throws InvalidInput if the file ends inside a quoted
   * cell.
   */
  end(): Promise<Records> {
    return this.#run(done => this.#parser.end(done))
  }

  async #run(step: (done: (error?: Error | null) => void) => void): Promise<Records> {
    const error = await new Promise<Error | null | undefined>(step)
    const { records } = this.#parser
    this.#parser.records = []
    const lines = records.map(record => {
      const line = this.#line
      this.#line += 1 + lineFeeds(record)
      return line
    })
    if (error instanceof CsvError) throw this.#refusal(error)
    if (error) throw error
    return { records, lines }
  }

  #refusal(error: CsvError) {
    const cell = `cell ${Number(error.column) + 1}`
    const problem =
      error.code === 'CSV_QUOTE_NOT_CLOSED'
        ? `the quote of ${cell} is not closed`
        : error.code === 'CSV_INVALID_CLOSING_QUOTE'
          ? `${cell} continues after its closing quote`
          : `${cell} contains a quote but does not begin with one`
    return invalidInput(`${this.#nameOf(this.#line)}: ${problem}`, {
      hint: 'put a cell that contains quotes into quotes, and write each of its quotes twice; check the delimiter',
      cause: error,
    })
  }
}

function lineFeeds(record: readonly string[]): number {
  let count = 0
  for (const cell of record) {
    for (let at = cell.indexOf('\n'); at !== -1; at = cell.indexOf('\n', at + 1)) count++
  }
  return count
}
