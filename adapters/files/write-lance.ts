/** Writes rows as a Lance table, which LanceDB opens. */

import type { Batch } from '../../src/arrow/column.js'
import { givenSchema } from '../../src/arrow/given-schema.js'
import type { Schema } from '../../src/arrow/types.js'
import { type SchemaInput, schemaShape } from '../../src/client/schema.js'
import { invalidInput, quote } from '../../src/errors.js'
import { systemClock } from '../../src/primitives/clock.js'
import { refuseMore } from '../../src/protocol/arguments.js'
import { signalShape } from '../../src/protocol/calls.js'
import { parse } from '../../src/protocol/parse.js'
import { options as declare, oneOf } from '../../src/protocol/shape.js'
import { type NewFolder, writeLocalFolder } from '../../src/storage/local-folder.js'
import { batchOf } from './batch-of.js'
import { LanceFileWriter } from './lance/lance-file.js'
import { checkMapKeys, type LanceSchema, type LanceVersion, lanceSchema } from './lance/lance-schema.js'
import {
  type DataFile,
  encodeManifest,
  encodeTransaction,
  manifestPath,
  transactionPath,
} from './lance/manifest.js'
import { cutBatch, type FileRows, rowPieces } from './pieces.js'
import { plainColumn, plainSchema } from './plain-column.js'
import type { WriteOptions, Written } from './target.js'

export interface WriteLanceOptions extends WriteOptions {
  /** Schema of row objects. Default: inferred from the first 1024 rows. Record batches have a schema of their own. */
  readonly schema?: SchemaInput | undefined
  /** Version of the file format. Default: '2.1', or '2.2' for tables with maps. */
  readonly version?: LanceVersion | undefined
}

export const writeLanceShape = declare<WriteLanceOptions>()({
  schema: schemaShape,
  version: oneOf('2.1', '2.2'),
  signal: signalShape,
})

/** Maximum rows and bytes of a fragment. A fragment is one data file. */
const fragmentRows = 1024 * 1024
const fragmentBytes = 2 ** 30
/** Maximum bytes of rows that are encoded together, unless one row has more. */
const pieceBytes = 32 * 1024 * 1024

/**
 * Write rows as a Lance table: a folder that LanceDB opens, reads and changes. `path`: the folder of the table, for
 * example `lancedb/cities.lance`. It must not exist, or be empty. It appears when all rows are written, or not at all.
 *
 * `rows`: the result of `query().batches()`, or row objects. Without rows, the table has the columns of `schema`.
 * Dictionaries are written as their values. Indexes are not written.
 * @throws InvalidInput for values that are not rows, and for a path that exists already; SchemaValidation for rows that
 * do not fit the schema; Unsupported for types that Lance does not have; any error that the iteration of `rows` throws;
 * `signal.reason`.
 */
export async function writeLance(path: string, rows: FileRows, options?: WriteLanceOptions): Promise<Written>
export async function writeLance(
  path: string,
  rows: FileRows,
  options: WriteLanceOptions = {},
  ...more: readonly unknown[]
): Promise<Written> {
  refuseMore('writeLance', 3, more)
  const { schema, version, signal } = parse(writeLanceShape, options, 'writeLance')
  if (typeof path !== 'string' || path === '') {
    throw invalidInput(`the target of writeLance must be the path of a folder, got ${quote(path)}`)
  }
  const given = schema === undefined ? undefined : givenSchema(schema)
  return writeLocalFolder(
    path,
    folder => writeTable(folder, batchesOf(rows, given, signal), given, version),
    signal,
  )
}

async function* batchesOf(
  rows: FileRows,
  given: Schema | undefined,
  signal: AbortSignal | undefined,
): AsyncGenerator<Batch> {
  let schema = given
  let first = 0
  for await (const piece of rowPieces(rows, signal)) {
    const batch = batchOf(piece, schema, first)
    schema ??= batch.schema
    first += batch.length
    yield* cutBatch(batch, pieceBytes)
  }
}

async function writeTable(
  folder: NewFolder,
  batches: AsyncGenerator<Batch>,
  given: Schema | undefined,
  version: LanceVersion | undefined,
): Promise<Written> {
  let written = 0
  const write = async (name: string, chunks: AsyncIterable<Uint8Array>): Promise<number> => {
    const bytes = await folder.write(name, chunks)
    written += bytes
    return bytes
  }
  try {
    const first = await batches.next()
    const arrow = first.done ? (given ?? { fields: [] }) : first.value.schema
    if (arrow.fields.length === 0) {
      throw invalidInput('a Lance table needs at least one column', {
        hint: 'pass the option schema, or rows with columns',
      })
    }
    const schema = lanceSchema(plainSchema(arrow), version)
    const files: DataFile[] = []
    let batch: Batch | null = first.done ? null : first.value
    while (batch !== null) {
      if (batch.length === 0) {
        batch = await following(batches)
        continue
      }
      const name = `${systemClock.uuid()}.lance`
      const fragment = new Fragment(schema, batch, batches)
      const bytes = await write(`data/${name}`, fragment.chunks())
      files.push({ name, rows: fragment.rows, bytes })
      batch = fragment.next
    }
    const uuid = systemClock.uuid()
    await write(transactionPath(uuid), one(encodeTransaction(schema, files, uuid)))
    await write(manifestPath, one(encodeManifest(schema, files, uuid, systemClock.now())))
    return { rows: files.reduce((sum, { rows }) => sum + rows, 0), bytes: written }
  } finally {
    await batches.return(undefined)
  }
}

async function following(batches: AsyncGenerator<Batch>): Promise<Batch | null> {
  const next = await batches.next()
  return next.done ? null : next.value
}

async function* one(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

/** Encodes batches as one file, until the file has enough rows or bytes. */
class Fragment {
  readonly #writer: LanceFileWriter
  readonly #batches: AsyncGenerator<Batch>
  /** The first batch that is not in the file. Null: there are no more. */
  next: Batch | null

  constructor(schema: LanceSchema, first: Batch, batches: AsyncGenerator<Batch>) {
    this.#writer = new LanceFileWriter(schema)
    this.#batches = batches
    this.next = first
  }

  get rows(): number {
    return this.#writer.rows
  }

  async *chunks(): AsyncGenerator<Uint8Array> {
    const writer = this.#writer
    while (
      this.next !== null &&
      writer.rows + this.next.length <= fragmentRows &&
      writer.bytes < fragmentBytes
    ) {
      const { schema, length } = this.next
      const columns = this.next.columns.map(plainColumn)
      for (const [i, column] of columns.entries()) checkMapKeys(column, schema.fields[i]!.name)
      if (length > 0) yield* writer.write(columns, length)
      this.next = await following(this.#batches)
    }
    yield* writer.finish()
  }
}
