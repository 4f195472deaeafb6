/** Writes a sequence of IPC messages. The writers of streams, files and inline batches use it. */
import { assert } from '../errors.js'
import type { Batch, Column } from './column.js'
import { DictionaryMerger } from './concat.js'
import { type FlatColumns, partsBytes } from './flatten.js'
import { type Block, type Codec, encodeBodyMessage } from './ipc-message.js'
import type { Schema } from './types.js'
import { dictionaryFields, type WireField, wireFields } from './wire-field.js'

/** Alignment in bytes that the format recommends for the buffers of a body. */
export const wideAlignment = 64
/** Minimum alignment in bytes that the format allows for the buffers of a body. */
export const tightAlignment = 8

/** Collects the chunks of the output, and counts their bytes (`position`). */
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
   * Write the message and the buffers of a batch. `dictionaryId`: id of a dictionary batch; null for a record batch.
   * `codec`: compression format of the buffers, which are already compressed. `metadata`: custom metadata of a record
   * batch.
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
 * Return the zero bytes between `length` bytes and the next multiple of `alignment`. The result is a new array for each
 * call, because callers of the API may change the chunks of a reply.
 */
export function padding(length: number, alignment: number): Uint8Array {
  return new Uint8Array(alignUp(length, alignment) - length)
}

/** Round `length` up to a multiple of `alignment`. */
export function alignUp(length: number, alignment: number): number {
  return Math.ceil(length / alignment) * alignment
}

/** The merged dictionary of one field. */
interface Dictionary {
  readonly id: number
  readonly field: WireField
  readonly values: Column
}

/**
 * Merges the dictionaries of all batches to one dictionary per dictionary field, as files require. If the dictionary of
 * a batch differs from the merged dictionary, the indices of the batch are changed.
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

  /** Return all dictionaries. A dictionary precedes the dictionaries whose values refer to it. */
  dictionaries(): Dictionary[] {
    const values = new Map<number, Column>()
    const out: Dictionary[] = []
    // Rewrite the outer dictionaries first, because this may add values to the dictionaries to which their values
    // refer.
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
