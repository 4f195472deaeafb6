/**
 * CSV text (RFC 4180) as records of cells, by csv-parse.
 *
 * - A record ends with LF, CRLF or CR, or with the text; quotes hold line ends and delimiters.
 * - A blank line is a record of one empty cell.
 */
import { CsvError, Parser } from 'csv-parse'
import { invalidInput, quote } from '../../src/errors.js'
import { longestLine } from './text-blocks.js'

export interface Records {
  readonly records: readonly (readonly string[])[]
  /** The line each record begins on. */
  readonly lines: readonly number[]
}

/** A delimiter is one UTF-16 unit, no quote, no line end and nothing that numbers and words are made of. */
export function checkDelimiter(delimiter: string): void {
  if (/^[^\r\n"\w.+-]$/.test(delimiter)) return
  throw invalidInput(`a delimiter is one character such as , or ; or a tab, got ${quote(delimiter)}`)
}

/** Takes records as they are found: in a stream's buffer, those before an error would be lost, and their lines not counted. */
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
  /** How messages call a line. */
  readonly #nameOf: (line: number) => string
  /** Where the next record begins. */
  #line = 1
  /** Bytes since a record has ended. */
  #pending = 0

  constructor(delimiter: string, nameOf: (line: number) => string) {
    const record_delimiter = ['\r\n', '\n', '\r']
    this.#parser = new Collector({ delimiter, record_delimiter, relax_column_count: true })
    // Who writes is told.
    this.#parser.on('error', () => {})
    this.#nameOf = nameOf
  }

  /** The records that end in the next bytes of the text. Throws code 13 for what is no CSV, and for a record past 64 MiB. */
  async push(bytes: Uint8Array): Promise<Records> {
    const found = await this.#run(done => this.#parser.write(bytes, done))
    this.#pending = found.records.length > 0 ? 0 : this.#pending + bytes.length
    if (this.#pending <= longestLine) return found
    throw invalidInput(`${this.#nameOf(this.#line)} begins a record of more than ${longestLine} bytes`, {
      hint: 'check for quotes that are not closed',
    })
  }

  /** The last record, where no line end follows it. Throws code 13 where the text has ended within quotes. */
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
        ? `the quotes of ${cell} are not closed`
        : error.code === 'CSV_INVALID_CLOSING_QUOTE'
          ? `${cell} goes on after its closing quotes`
          : `${cell} holds a quote and does not begin with one`
    return invalidInput(`${this.#nameOf(this.#line)}: ${problem}`, {
      hint: 'a cell that holds quotes stands in quotes, and those within are written twice; check the delimiter',
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
