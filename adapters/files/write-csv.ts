/** Writes rows as a CSV file. */
import { invalidInput, quote, type SheafError } from '../../src/errors.js'
import { refuseMore } from '../../src/protocol/arguments.js'
import { signalShape } from '../../src/protocol/calls.js'
import { parse } from '../../src/protocol/parse.js'
import { options as declare, string } from '../../src/protocol/shape.js'
import { checkDelimiter } from './csv-records.js'
import { jsonText } from './json-text.js'
import { encodeRows, type FileRows, type PlainPiece, plainPieces } from './pieces.js'
import { type FileTarget, type Progress, type WriteOptions, type Written, writeChunks } from './target.js'

export interface WriteCsvOptions extends WriteOptions {
  /** Delimiter between cells, one character. Default `,`. */
  readonly delimiter?: string | undefined
}

export const writeCsvShape = declare<WriteCsvOptions>()({ delimiter: string(), signal: signalShape })

/**
 * Write rows as CSV with a header row (RFC 4180, UTF-8, lines end with LF).
 *
 * - `readCsv` with the schema of the rows returns the same rows, except that an empty text becomes null. An empty text
 *   is written in quotes, because some readers distinguish it from null.
 * - null is an empty cell. Dates and times are ISO 8601. Binary is base64. Vectors, lists, structs, maps and intervals
 *   are JSON.
 * - If `rows` has no items, the file is empty: it has no header row.
 *
 * `rows`: the result of `query().batches()`, or row objects. Row objects have the columns of the first row.
 *
 * ```js
 * await writeCsv('docs.csv', table.query().batches())
 * ```
 * @throws InvalidInput for values that are not rows, for rows without columns, and for values that CSV cannot
 * represent, such as dates beyond the year 275,760; any error that the iteration of `rows` throws; `signal.reason`.
 */
export async function writeCsv(
  target: FileTarget,
  rows: FileRows,
  options?: WriteCsvOptions,
): Promise<Written>
export async function writeCsv(
  target: FileTarget,
  rows: FileRows,
  options: WriteCsvOptions = {},
  ...more: readonly unknown[]
): Promise<Written> {
  refuseMore('writeCsv', 3, more)
  const { delimiter = ',', signal } = parse(writeCsvShape, options, 'writeCsv')
  return writeChunks(target, progress => encodeCsv(plainPieces(rows, signal), delimiter, progress), signal)
}

/** Encode rows as CSV. */
export async function* encodeCsv(
  pieces: AsyncIterable<PlainPiece>,
  delimiter: string,
  progress: Progress,
): AsyncGenerator<Uint8Array> {
  const special = specialIn(delimiter)
  let isFirst = true
  for await (const piece of pieces) {
    if (piece.names.length === 0) throw invalidInput('rows without columns cannot be written as CSV')
    if (isFirst) yield Buffer.from(`${piece.names.map(name => cellText(name, special)).join(delimiter)}\n`)
    isFirst = false
    const first = progress.rows
    yield* encodeRows(piece.length, row => {
      const line = lineOf(piece, row, delimiter, special)
      if (!line.isWellFormed()) throw halfCharacter(piece, row, first)
      return line
    })
    progress.rows += piece.length
  }
}

/** Return a pattern that finds the characters because of which a cell must be quoted. */
function specialIn(delimiter: string): RegExp {
  checkDelimiter(delimiter)
  return new RegExp(`[\\r\\n"\\u{${delimiter.charCodeAt(0).toString(16)}}]`, 'u')
}

function lineOf({ columns }: PlainPiece, row: number, delimiter: string, special: RegExp): string {
  let line = ''
  for (let i = 0; i < columns.length; i++) {
    if (i > 0) line += delimiter
    line += cellText(columns[i]![row], special)
  }
  return `${line}\n`
}

function halfCharacter({ names, columns }: PlainPiece, row: number, first: number): SheafError {
  const column = columns.findIndex(cells => {
    const cell = cells[row]
    return typeof cell === 'string' && !cell.isWellFormed()
  })
  return invalidInput(`row ${first + row}: column ${quote(names[column])} holds half of a surrogate pair`, {
    hint: 'texts must not be cut inside a character; toWellFormed() replaces each half by U+FFFD',
  })
}

function cellText(value: unknown, special: RegExp): string {
  if (value === null) return ''
  // Numbers need no quotes, because `checkDelimiter` refuses the characters of numbers.
  if (typeof value !== 'string' && typeof value !== 'object') return jsonText(value)
  const text = typeof value === 'string' ? value : jsonText(value)
  return text === '' || special.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
