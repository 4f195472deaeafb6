/** Rows as a file of JSON lines. */
import { jsonText } from './json-text.js'
import { type FileRows, type PlainPiece, plainPieces } from './pieces.js'
import { type FileTarget, type Progress, type WriteOptions, type Written, writeChunks } from './target.js'

/**
 * Writes rows as JSON objects, one per line (UTF-8), so that `readJsonLines` with their schema gives the same rows. Integers
 * have all their digits; decimals, dates and times (ISO 8601), binary (base64), NaN and the infinities are strings; a map is
 * an array of pairs.
 *
 * `rows`: what `search().batches()` gives, or row objects with the columns of the first.
 * @throws code 13 for what JSON has no word for (dates beyond the year 275,760) and for what is no rows; what the rows throw;
 *   `signal.reason`.
 */
export function writeJsonLines(
  target: FileTarget,
  rows: FileRows,
  options: WriteOptions = {},
): Promise<Written> {
  const { signal } = options
  return writeChunks(target, progress => encodeJsonLines(rows, progress, signal), signal)
}

async function* encodeJsonLines(
  rows: FileRows,
  progress: Progress,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  for await (const piece of plainPieces(rows, signal)) {
    progress.rows += piece.length
    yield Buffer.from(linesOf(piece))
  }
}

function linesOf({ names, columns, length }: PlainPiece): string {
  const keys = names.map((name, i) => `${i === 0 ? '{' : ','}${JSON.stringify(name)}:`)
  let text = ''
  for (let row = 0; row < length; row++) {
    for (let i = 0; i < columns.length; i++) text += keys[i]! + jsonText(columns[i]![row])
    text += columns.length === 0 ? '{}\n' : '}\n'
  }
  return text
}
