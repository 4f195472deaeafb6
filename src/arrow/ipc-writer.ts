/** Writes messages one after the other: the common part of streams, files and inline batches. */
import { assert } from '../errors.js'
import type { Batch, Column } from './column.js'
import { DictionaryMerger } from './concat.js'
import { type FlatColumns, partsBytes } from './flatten.js'
import { type Block, type Codec, encodeBodyMessage } from './ipc-message.js'
import type { Schema } from './types.js'
import { dictionaryFields, type WireField, wireFields } from './wire-field.js'

/** Alignment of buffers in bodies that the format recommends, in bytes. */
export const wideAlignment = 64
/** The smallest alignment that the format allows, in bytes. */
export const tightAlignment = 8

/** Collects chunks and tracks the position. */
export class IpcWriter {
  readonly #alignment: number
  #chunks: Uint8Array[] = []
  position: number

  constructor(alignment: number, position = 0) {
    this.#alignment = alignment
    this.position = position
  }

  /** Return the chunks written since the last call. */
  takeChunks(): Uint8Array[] {
    const chunks = this.#chunks
    this.#chunks = []
    return chunks
  }

  push(chunk: Uint8Array): void {
    if (chunk.length === 0) return
    this.#chunks.push(chunk)
    this.position += chunk.length
  }

  /**
   * Write a record batch, or a dictionary batch if an id is given: the message, then every buffer, aligned. `codec`:
   * the compression of the buffers. `metadata`: custom metadata of the message of a record batch.
   */
  body(
    length: number,
    flat: FlatColumns,
    dictionaryId: number | null,
    { codec, metadata }: { readonly codec?: Codec; readonly metadata?: Batch['metadata'] } = {},
  ): Block {
    const offset = this.position
    const buffers: number[] = []
    let bodyBytes = 0
    for (const parts of flat.buffers) {
      const bytes = partsBytes(parts)
      buffers.push(bodyBytes, bytes)
      bodyBytes = alignUp(bodyBytes + bytes, this.#alignment)
    }
    const message = encodeBodyMessage(
      { length, nodes: flat.nodes, buffers, codec, metadata },
      bodyBytes,
      dictionaryId,
      offset,
      this.#alignment,
    )
    this.push(message)
    for (const parts of flat.buffers) {
      for (const part of parts) this.push(part)
      this.push(padding(partsBytes(parts), this.#alignment))
    }
    return { offset, metadataBytes: message.length, bodyBytes }
  }
}

/**
 * Return the zero bytes that follow `length` bytes up to the next multiple of `alignment`. Always a new array, because
 * the caller may overwrite a reply.
 */
export function padding(length: number, alignment: number): Uint8Array {
  return new Uint8Array(alignUp(length, alignment) - length)
}

/** Round `length` up to a multiple of `alignment`. */
export function alignUp(length: number, alignment: number): number {
  return Math.ceil(length / alignment) * alignment
}

/** The dictionary of one field, ready to be written. */
interface Dictionary {
  readonly id: number
  readonly field: WireField
  readonly values: Column
}

/**
 * Gives each dictionary field of a schema one dictionary for all batches, as files require. Indices of later batches
 * are rewritten if their dictionary differs.
 */
export class DictionaryUnifier {
  readonly #fields: readonly WireField[]
  readonly #mergers = new Map<number, DictionaryMerger>()

  constructor(schema: Schema) {
    this.#fields = wireFields(schema)
    for (const field of dictionaryFields(this.#fields)) {
      assert(field.type.kind === 'dictionary', 'a dictionary id on another type')
      this.#mergers.set(field.dictionaryId, new DictionaryMerger(field.type))
    }
  }

  /** Add a batch. Returns its columns with indices into the merged dictionaries. */
  add(batch: Batch): readonly Column[] {
    assert(batch.columns.length === this.#fields.length, 'a batch of another schema')
    for (const column of batch.columns) assert(column.length === batch.length, 'columns of different lengths')
    if (this.#mergers.size === 0) return batch.columns
    return batch.columns.map((column, i) => this.#rewrite(this.#fields[i]!, column))
  }

  /** Return all dictionaries, inner ones before those that contain them. */
  dictionaries(): Dictionary[] {
    const values = new Map<number, Column>()
    const out: Dictionary[] = []
    // Outer values are joined first, because this may add to the dictionaries inside them.
    for (const field of dictionaryFields(this.#fields).reverse()) {
      const merged = this.#mergers.get(field.dictionaryId)!.dictionary()
      values.set(field.dictionaryId, this.#rewrite(field.values!, merged))
    }
    for (const field of dictionaryFields(this.#fields)) {
      out.push({ id: field.dictionaryId, field: field.values!, values: values.get(field.dictionaryId)! })
    }
    return out
  }

  #rewrite(field: WireField, column: Column): Column {
    const merger = this.#mergers.get(field.dictionaryId)
    if (merger !== undefined) return { ...column, values: merger.add(column) }
    if (column.children.length === 0) return column
    return {
      ...column,
      children: column.children.map((child, i) => this.#rewrite(field.children[i]!, child)),
    }
  }
}
