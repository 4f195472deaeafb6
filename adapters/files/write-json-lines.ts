/** Rows as a file of JSON lines. */
import { refuseMore } from '../../src/protocol/arguments.js'
import { parse } from '../../src/protocol/parse.js'
import { jsonText } from './json-text.js'
import { encodeRows, type FileRows, type PlainPiece, plainPieces } from './pieces.js'
import {
  type FileTarget,
  type Progress,
  type WriteOptions,
  type Written,
  writeChunks,
  writeShape,
} from './target.js'

/**
 * Writes rows as JSON objects, one per line (UTF-8), so that `readJsonLines` with their schema gives the same rows. Integers
 * have all their digits; decimals, dates and times (ISO 8601), binary (base64), NaN and the infinities are strings; a map is
 * an array of pairs.
 *
 * `rows`: what `search().batches()` gives, or row objects with the columns of the first.
 * @throws code 13 for what JSON has no word for (dates beyond the year 275,760) and for what is no rows; what the rows throw;
 *   `signal.reason`.
 */
export async function writeJsonLines(
  target: FileTarget,
  rows: FileRows,
  options?: WriteOptions,
): Promise<Written>
export async function writeJsonLines(
  target: FileTarget,
  rows: FileRows,
  options: WriteOptions = {},
  ...more: readonly unknown[]
): Promise<Written> {
  refuseMore('writeJsonLines', 3, more)
  const { signal } = parse(writeShape, options, 'writeJsonLines')
  return writeChunks(target, progress => encodeJsonLines(rows, progress, signal), signal)
}

async function* encodeJsonLines(
  rows: FileRows,
  progress: Progress,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  for await (const { names, columns, length } of plainPieces(rows, signal)) {
    const keys = names.map((name, i) => `${i === 0 ? '{' : ','}${JSON.stringify(name)}:`)
    yield* encodeRows(length, row => lineOf(keys, columns, row))
    progress.rows += length
  }
}

function lineOf(keys: readonly string[], columns: PlainPiece['columns'], row: number): string {
  let line = ''
  for (let i = 0; i < columns.length; i++) line += keys[i]! + jsonText(columns[i]![row])
  return columns.length === 0 ? '{}\n' : `${line}}\n`
}
