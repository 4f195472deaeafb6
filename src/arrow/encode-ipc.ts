/**
 * Writes Arrow IPC streams and files: uncompressed, with buffers aligned to 64 bytes. Equal input gives equal bytes.
 * The output is a list of chunks, most of them views of the columns' buffers, so the data is not copied.
 */
import { assert } from '../errors.js'
import type { Batch, Column } from './column.js'
import { concatBytes } from './concat-bytes.js'
import { type FlatColumns, flattenColumn } from './flatten.js'
import { type Block, encodeFooter, encodeSchemaMessage, endOfStream, fileMagic } from './ipc-message.js'
import { DictionaryUnifier, IpcWriter, wideAlignment } from './ipc-writer.js'
import type { Schema } from './types.js'
import { dictionaryFields, type WireField, wireFields } from './wire-field.js'

/**
 * Writes a stream batch by batch. The caller appends the chunks of every `write` and of `finish` in order. A dictionary
 * is written before the first batch that uses it, and replaces the column's previous dictionary. The writer keeps no
 * references to written batches, except to their last dictionaries.
 */
export class IpcStreamWriter {
  readonly #writer = new IpcWriter(wideAlignment)
  readonly #fields: readonly WireField[]
  /** By dictionary id: the dictionary that was written last. */
  readonly #dictionaries = new Map<number, Column>()

  constructor(schema: Schema) {
    this.#fields = wireFields(schema)
    this.#writer.push(encodeSchemaMessage(schema, 0, wideAlignment))
  }

  write(batch: Batch): Uint8Array[] {
    const flat: FlatColumns = { nodes: [], buffers: [] }
    batch.columns.forEach((column, i) => {
      this.#writeDictionaries(this.#fields[i]!, column)
      flattenColumn(column, flat)
    })
    this.#writer.body(batch.length, flat, null, { metadata: batch.metadata })
    return this.#writer.takeChunks()
  }

  finish(): Uint8Array[] {
    this.#writer.push(endOfStream())
    return this.#writer.takeChunks()
  }

  /**
   * Write the changed dictionaries of a column. If the values of a dictionary contain dictionaries, those are written
   * first.
   */
  #writeDictionaries(field: WireField, column: Column): void {
    field.children.forEach((child, i) => {
      this.#writeDictionaries(child, column.children[i]!)
    })
    const { dictionary } = column
    if (dictionary === null || this.#dictionaries.get(field.dictionaryId) === dictionary) return
    this.#writeDictionaries(field.values!, dictionary)
    this.#dictionaries.set(field.dictionaryId, dictionary)
    const flat: FlatColumns = { nodes: [], buffers: [] }
    flattenColumn(dictionary, flat)
    this.#writer.body(dictionary.length, flat, field.dictionaryId)
  }
}

/**
 * Encode a whole stream: schema, dictionaries, batches, end marker. Each dictionary column has exactly one dictionary
 * message, because some readers do not support replaced dictionaries.
 */
export function encodeIpcStream(schema: Schema, batches: readonly Batch[]): Uint8Array[] {
  const writer = new IpcWriter(wideAlignment)
  writer.push(encodeSchemaMessage(schema, 0, wideAlignment))
  encodeBodies(schema, batches, writer)
  writer.push(endOfStream())
  return writer.takeChunks()
}

/**
 * Encode a whole Arrow IPC file: magic, stream, footer. If `batches` is empty, the file contains only the schema.
 */
export function encodeIpcFile(schema: Schema, batches: readonly Batch[]): Uint8Array[] {
  const writer = fileBegun(schema)
  const blocks = encodeBodies(schema, batches, writer)
  endFile(writer, schema, blocks.dictionaries, blocks.batches)
  return writer.takeChunks()
}

/**
 * Writes the bytes of `encodeIpcFile` batch by batch. The caller appends the chunks of `begin`, of every `write` and of
 * `finish` in order.
 */
export class IpcFileSender {
  readonly #schema: Schema
  readonly #writer: IpcWriter
  readonly #blocks: Block[] = []

  /**
   * The schema must not have dictionaries. A dictionary would have to be written before the first batch, with the
   * values of all later batches.
   */
  constructor(schema: Schema) {
    assert(!hasDictionaries(schema), 'a file with dictionaries cannot be written batch by batch')
    this.#schema = schema
    this.#writer = fileBegun(schema)
  }

  /** Return the chunks before the first batch. */
  begin(): Uint8Array[] {
    return this.#writer.takeChunks()
  }

  write(batch: Batch): Uint8Array[] {
    this.#blocks.push(writeColumns(batch, batch.columns, this.#writer))
    return this.#writer.takeChunks()
  }

  /** End the file. Returns its last chunks, including the footer. */
  finish(): Uint8Array[] {
    endFile(this.#writer, this.#schema, [], this.#blocks)
    return this.#writer.takeChunks()
  }
}

/** Return whether a schema has dictionary fields. */
export function hasDictionaries(schema: Schema): boolean {
  return dictionaryFields(wireFields(schema)).length > 0
}

function fileBegun(schema: Schema): IpcWriter {
  const writer = new IpcWriter(wideAlignment)
  writer.push(fileHead())
  writer.push(encodeSchemaMessage(schema, writer.position, wideAlignment))
  return writer
}

function endFile(
  writer: IpcWriter,
  schema: Schema,
  dictionaries: readonly Block[],
  batches: readonly Block[],
): void {
  writer.push(endOfStream())
  writer.push(encodeFooter(schema, dictionaries, batches))
}

/** Return the first 8 bytes of a file. */
export function fileHead(): Uint8Array {
  const head = new Uint8Array(8)
  head.set(Buffer.from(fileMagic, 'latin1'))
  return head
}

/** Concatenate chunks to one array. Returns a single chunk itself. */
export function concatChunks(chunks: readonly Uint8Array[]): Uint8Array {
  return chunks.length === 1 ? chunks[0]! : concatBytes(chunks)
}

function encodeBodies(schema: Schema, batches: readonly Batch[], writer: IpcWriter) {
  const unifier = new DictionaryUnifier(schema)
  const rewritten = batches.map(batch => unifier.add(batch))
  const dictionaries = unifier.dictionaries().map(({ id, values }) => {
    const flat: FlatColumns = { nodes: [], buffers: [] }
    flattenColumn(values, flat)
    return writer.body(values.length, flat, id)
  })
  const blocks = batches.map((batch, i) => writeColumns(batch, rewritten[i]!, writer))
  return { dictionaries, batches: blocks }
}

function writeColumns({ length, metadata }: Batch, columns: readonly Column[], writer: IpcWriter): Block {
  const flat: FlatColumns = { nodes: [], buffers: [] }
  for (const column of columns) flattenColumn(column, flat)
  return writer.body(length, flat, null, { metadata })
}
