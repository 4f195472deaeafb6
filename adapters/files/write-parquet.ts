/** Writes rows as a Parquet file. */
import type { Batch } from '../../src/arrow/column.js'
import { concatBatches } from '../../src/arrow/concat.js'
import { givenSchema } from '../../src/arrow/given-schema.js'
import { batchBytes } from '../../src/arrow/layout.js'
import { sliceBatch } from '../../src/arrow/slice.js'
import type { Schema } from '../../src/arrow/types.js'
import { writesZstd } from '../../src/arrow/zstd.js'
import { type SchemaInput, schemaShape } from '../../src/client/schema.js'
import { unsupported } from '../../src/errors.js'
import { Pacer } from '../../src/primitives/pacer.js'
import { refuseMore } from '../../src/protocol/arguments.js'
import { signalShape } from '../../src/protocol/calls.js'
import { parse } from '../../src/protocol/parse.js'
import { options as declare, integer, oneOf } from '../../src/protocol/shape.js'
import { batchOf } from './batch-of.js'
import type { ParquetCompression } from './parquet/codecs.js'
import { ParquetEncoder, parquetMagic } from './parquet/file-encoder.js'
import { cutBatch, type FileRows, rowPieces } from './pieces.js'
import { plainColumn, plainSchema } from './plain-column.js'
import { type FileTarget, type Progress, type WriteOptions, type Written, writeChunks } from './target.js'

export interface WriteParquetOptions extends WriteOptions {
  /** Schema of row objects. Default: inferred from the first 1024 rows. Record batches have a schema of their own. */
  readonly schema?: SchemaInput | undefined
  /** Maximum rows of a row group. Default: 131,072. A row group of more than 128 MiB ends earlier. */
  readonly rowGroupRows?: number | undefined
  /** Compression of the pages. Default: `snappy`. `zstd` needs Node >= 22.15. */
  readonly compression?: ParquetCompression | undefined
}

export const writeParquetShape = declare<WriteParquetOptions>()({
  schema: schemaShape,
  rowGroupRows: integer(1),
  compression: oneOf('none', 'snappy', 'gzip', 'brotli', 'zstd'),
  signal: signalShape,
})

/** Bytes of all columns together after which a page ends. */
const pageBytes = 1024 * 1024
const defaultGroupRows = 128 * 1024
/** Bytes of pages that are kept until their row group ends. */
const maxGroupBytes = 128 * 1024 * 1024

/**
 * Write rows as a Parquet file. One row group is in memory. Types that Parquet does not have, for example vectors, are
 * stored as types that it has. The file also has the Arrow schema, so `readParquet` returns the original types.
 *
 * `rows`: the result of `query().batches()`, or row objects. If there are no rows, the file has the columns of
 * `schema`, or no columns without `schema`.
 *
 * ```js
 * await writeParquet('docs.parquet', table.query().batches(), { compression: 'gzip' })
 * ```
 * @throws InvalidInput for values that are not rows; SchemaValidation for rows that do not fit the schema; Unsupported
 * for a struct without fields, and for `zstd` in older versions of Node; any error that the iteration of `rows` throws;
 * `signal.reason`.
 */
export async function writeParquet(
  target: FileTarget,
  rows: FileRows,
  options?: WriteParquetOptions,
): Promise<Written>
export async function writeParquet(
  target: FileTarget,
  rows: FileRows,
  options: WriteParquetOptions = {},
  ...more: readonly unknown[]
): Promise<Written> {
  refuseMore('writeParquet', 3, more)
  const checked = parse(writeParquetShape, options, 'writeParquet')
  if (checked.compression === 'zstd' && !writesZstd)
    throw unsupported("writeParquet: compression: 'zstd' needs Node >= 22.15", {
      hint: "use 'snappy' or 'gzip'",
    })
  return writeChunks(target, progress => encodeParquet(rows, checked, progress), checked.signal)
}

async function* encodeParquet(
  rows: FileRows,
  options: WriteParquetOptions,
  progress: Progress,
): AsyncGenerator<Uint8Array> {
  const { compression = 'snappy', rowGroupRows = defaultGroupRows, signal } = options
  const pacer = new Pacer(signal)
  let schema: Schema | undefined = options.schema === undefined ? undefined : givenSchema(options.schema)
  let encoder: ParquetEncoder | null = null
  yield parquetMagic
  let held: Batch[] = []
  let heldRows = 0
  let heldBytes = 0
  for await (const piece of rowPieces(rows, signal)) {
    const batch = batchOf(piece, schema, progress.rows)
    schema ??= batch.schema
    encoder ??= new ParquetEncoder(schema, compression, pacer)
    progress.rows += batch.length
    const parts = [...cutBatch(withoutDictionaries(batch), pageBytes)].reverse()
    for (let rest = parts.pop(); rest !== undefined; rest = parts.pop()) {
      if (rest.length === 0) continue
      const room = rowGroupRows - encoder.pendingRows - heldRows
      const part = sliceBatch(rest, 0, Math.min(room, rest.length))
      if (part.length < rest.length) parts.push(sliceBatch(rest, part.length, rest.length - part.length))
      held.push(part)
      heldRows += part.length
      heldBytes += batchBytes(part)
      const isGroupFull = part.length === room
      if (heldBytes < pageBytes && !isGroupFull) continue
      await encoder.addPage(concatBatches(held))
      held = []
      heldRows = 0
      heldBytes = 0
      if (isGroupFull || encoder.pendingBytes >= maxGroupBytes) yield* encoder.endGroup()
    }
  }
  encoder ??= new ParquetEncoder(schema ?? { fields: [] }, compression, pacer)
  if (held.length > 0) await encoder.addPage(concatBatches(held))
  yield* encoder.endGroup()
  yield* encoder.finish()
}

/** Replace the numbers of dictionary values by the values. */
function withoutDictionaries(batch: Batch): Batch {
  const { fields } = plainSchema(batch.schema)
  return { schema: { fields }, length: batch.length, columns: batch.columns.map(plainColumn) }
}
