/** Converts the rows of sources to record batches, and cuts them into the parts of an upload. */
import type { Batch } from '../../src/arrow/column.js'
import { fromForeignArrow } from '../../src/arrow/foreign.js'
import { batchBytes } from '../../src/arrow/layout.js'
import { roughBytes, rowsToBatch } from '../../src/arrow/rows.js'
import { equalSchemas } from '../../src/arrow/same-type.js'
import { sliceBatch } from '../../src/arrow/slice.js'
import type { Schema } from '../../src/arrow/types.js'
import { invalidInput, quote, SheafError } from '../../src/errors.js'
import type { Row } from '../../src/index.js'
import type { BadRow, NumberedRows } from '../files/numbered-rows.js'
import type { SourcePiece } from './source-formats.js'
import type { SourceFile } from './sources.js'

/** A bad row, with data that JSON can represent. */
export type RefusedRow = Omit<BadRow, 'data'> & { readonly data: unknown }

/** Maximum rows, and approximate bytes, that are converted together. */
const rowsAtOnce = 1024
const bytesAtOnce = 4 * 1024 * 1024

interface ConvertOptions {
  readonly source: SourceFile
  /** Returns the columns of the rows; called after the first piece was read. A column that a row does not have is null. */
  readonly schemaOf: () => Schema
  /** Whether every row must have all columns of the schema, because a missing value has no meaning. */
  readonly needsAll: boolean
  /** Called for each bad row. Throws if bad rows are errors. */
  readonly onBadRow: (bad: RefusedRow) => void
}

/** Yield the rows of a source as record batches. Rows that do not fit the schema are passed to `onBadRow`. */
export async function* convertRows(
  pieces: AsyncIterable<SourcePiece>,
  options: ConvertOptions,
): AsyncGenerator<Batch> {
  let rows: Row[] = []
  let lines: number[] = []
  let bytes = 0
  for await (const piece of pieces) {
    if (!('lines' in piece)) {
      yield* fromForeignArrow(piece)!.batches
      continue
    }
    for (let i = 0; i < piece.rows.length; i++) {
      rows.push(piece.rows[i]!)
      lines.push(piece.lines[i]!)
      bytes += roughBytes(piece.rows[i])
      if (rows.length < rowsAtOnce && bytes < bytesAtOnce) continue
      yield convert({ rows, lines }, options)
      rows = []
      lines = []
      bytes = 0
    }
  }
  if (rows.length > 0) yield convert({ rows, lines }, options)
}

function convert({ rows, lines }: NumberedRows, options: ConvertOptions): Batch {
  const { onBadRow } = options
  const schema = options.schemaOf()
  try {
    checkNames(rows, options)
    return rowsToBatch(rows, schema)
  } catch (error) {
    if (!(error instanceof SheafError)) throw error
  }
  // Some row is bad: find out which.
  const good = rows.filter((row, i) => {
    try {
      checkNames([row], options)
      rowsToBatch([row], schema)
      return true
    } catch (error) {
      if (!(error instanceof SheafError)) throw error
      onBadRow({ line: lines[i]!, error: atLine(error, options.source, lines[i]!), data: row })
      return false
    }
  })
  return rowsToBatch(good, schema)
}

function checkNames(rows: readonly Row[], { schemaOf, needsAll }: ConvertOptions): void {
  if (!needsAll) return
  const { fields } = schemaOf()
  for (const row of rows) {
    const missing = fields.find(({ name }) => !Object.hasOwn(row, name))
    if (missing === undefined) continue
    throw invalidInput(`has no value for the column ${quote(missing.name)}, which the first row has`, {
      hint: 'write null to store null; to keep stored values, import rows with other columns separately',
    })
  }
}

/** Return an error of a single row with the position of the row in its source. */
function atLine({ code, message, hint, cause }: SheafError, source: SourceFile, line: number): SheafError {
  const what = message.replace(/^row 0:? /, '')
  return new SheafError(code, `${placeIn(source, line)}: ${what}`, { hint, cause })
}

/** Return the name of a line of a file, or of a document of a folder, for messages. */
export function placeIn({ path, isFolder = false }: SourceFile, line: number): string {
  return `${quote(path)} ${isFolder ? 'document' : 'line'} ${line}`
}

/** A part of an upload. */
export interface Part {
  readonly name: string
  readonly schema: Schema
  readonly batches: readonly Batch[]
  readonly rows: number
}

/**
 * Cut record batches into parts of about `partBytes` bytes. Equal batches give equal parts. A part has batches of one
 * schema only.
 */
export async function* cutParts(batches: AsyncIterable<Batch>, partBytes: number): AsyncGenerator<Part> {
  let count = 0
  let held: Batch[] = []
  let bytes = 0
  const flush = (): Part => {
    const rows = held.reduce((sum, batch) => sum + batch.length, 0)
    const part = {
      name: `part-${String(count++).padStart(6, '0')}`,
      schema: held[0]!.schema,
      batches: held,
      rows,
    }
    held = []
    bytes = 0
    return part
  }
  for await (const batch of batches) {
    if (batch.length === 0) continue
    if (held.length > 0 && !equalSchemas(held[0]!.schema, batch.schema)) yield flush()
    const own = Math.max(1, batchBytes(batch))
    const rows = Math.max(1, Math.floor((batch.length * partBytes) / own))
    for (let from = 0; from < batch.length; from += rows) {
      const length = Math.min(rows, batch.length - from)
      held.push(length === batch.length ? batch : sliceBatch(batch, from, length))
      bytes += (own * length) / batch.length
      if (bytes >= partBytes) yield flush()
    }
  }
  if (held.length > 0) yield flush()
}
