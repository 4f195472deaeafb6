/** Writes rows as an Arrow IPC file. */

import { IpcFileWriter } from '../../src/arrow/file-writer.js'
import { givenSchema } from '../../src/arrow/given-schema.js'
import { type SchemaInput, schemaShape } from '../../src/client/schema.js'
import { refuseMore } from '../../src/protocol/arguments.js'
import { signalShape } from '../../src/protocol/calls.js'
import { parse } from '../../src/protocol/parse.js'
import { options as declare } from '../../src/protocol/shape.js'
import { batchOf } from './batch-of.js'
import { type FileRows, rowPieces } from './pieces.js'
import { type FileTarget, type Progress, type WriteOptions, type Written, writeChunks } from './target.js'

export interface WriteArrowOptions extends WriteOptions {
  /** Schema of row objects. Default: inferred from the first 1024 rows. Record batches have a schema of their own. */
  readonly schema?: SchemaInput | undefined
}

export const writeArrowShape = declare<WriteArrowOptions>()({ schema: schemaShape, signal: signalShape })

/**
 * Write rows as an uncompressed Arrow IPC file, batch by batch. The dictionaries are written after the last batch.
 *
 * `rows`: the result of `query().batches()`, or row objects. If there are no rows, the file has the columns of
 * `schema`, or no columns without `schema`.
 * @throws InvalidInput for values that are not rows; SchemaValidation for rows that do not fit the schema; any error
 * that the iteration of `rows` throws; `signal.reason`.
 */
export async function writeArrow(
  target: FileTarget,
  rows: FileRows,
  options?: WriteArrowOptions,
): Promise<Written>
export async function writeArrow(
  target: FileTarget,
  rows: FileRows,
  options: WriteArrowOptions = {},
  ...more: readonly unknown[]
): Promise<Written> {
  refuseMore('writeArrow', 3, more)
  const { schema, signal } = parse(writeArrowShape, options, 'writeArrow')
  return writeChunks(target, progress => encodeArrow(rows, schema, progress, signal), signal)
}

async function* encodeArrow(
  rows: FileRows,
  given: SchemaInput | undefined,
  progress: Progress,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  let writer: IpcFileWriter | null = null
  let schema = given === undefined ? undefined : givenSchema(given)
  for await (const piece of rowPieces(rows, signal)) {
    const batch = batchOf(piece, schema, progress.rows)
    schema ??= batch.schema
    writer ??= new IpcFileWriter(schema)
    progress.rows += batch.length
    yield* writer.write(batch)
  }
  writer ??= new IpcFileWriter(schema ?? { fields: [] })
  yield* writer.finish().chunks
}
