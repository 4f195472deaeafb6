/** Writes rows as a file with one JSON object per line. */
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
 * Write rows as JSON objects, one per line (UTF-8). `readJsonLines` with the schema of the rows returns the same rows.
 *
 * - Integers are written with all their digits.
 * - Decimals, dates and times (ISO 8601), binary (base64), NaN and the infinities are strings.
 * - A map is an array of pairs.
 *
 * `rows`: the result of `query().batches()`, or row objects. Row objects have the columns of the first row.
 * @throws InvalidInput for values that are not rows, and for values that JSON cannot represent, such as dates beyond
 * the year 275,760; any error that the iteration of `rows` throws; `signal.reason`.
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
  return writeChunks(target, progress => encodeJsonLines(plainPieces(rows, signal), progress), signal)
}

/** Encode rows as JSON objects, one per line. */
export async function* encodeJsonLines(
  pieces: AsyncIterable<PlainPiece>,
  progress: Progress,
): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) {
    const keys = keysOf(piece)
    yield* encodeRows(piece.length, row => `${objectText(keys, piece.columns, row)}\n`)
    progress.rows += piece.length
  }
}

/** Encode rows as an array of JSON objects, one object per line. */
export async function* encodeJsonArray(pieces: AsyncIterable<PlainPiece>): AsyncGenerator<Uint8Array> {
  let isFirst = true
  for await (const piece of pieces) {
    const keys = keysOf(piece)
    yield* encodeRows(piece.length, row => {
      const before = isFirst ? '[' : ',\n'
      isFirst = false
      return before + objectText(keys, piece.columns, row)
    })
  }
  yield Buffer.from(isFirst ? '[]\n' : ']\n')
}

/** Return, for each column, the JSON text before its value: a brace or a comma, and the name. */
function keysOf({ names }: PlainPiece): readonly string[] {
  return names.map((name, i) => `${i === 0 ? '{' : ','}${JSON.stringify(name)}:`)
}

function objectText(keys: readonly string[], columns: PlainPiece['columns'], row: number): string {
  let text = ''
  for (let i = 0; i < columns.length; i++) text += keys[i]! + jsonText(columns[i]![row])
  return columns.length === 0 ? '{}' : `${text}}`
}
