/** Writes data files: Arrow IPC files that any Arrow tool opens, with `file-layout` in the footer. */
import { crc32 } from '../primitives/checksum.js'
import type { Batch, Column } from './column.js'
import { fileHead } from './encode-ipc.js'
import { type BatchEntry, type DictionaryEntry, encodeLayout, layoutKey } from './file-layout.js'
import { type FlatColumns, flattenColumn } from './flatten.js'
import { type Block, encodeFooter, encodeSchemaMessage, endOfStream } from './ipc-message.js'
import { DictionaryUnifier, IpcWriter, padding, wideAlignment } from './ipc-writer.js'
import type { Schema } from './types.js'

export interface FinishedFile {
  /** The last chunks to append. */
  readonly chunks: Uint8Array[]
  /** Length of the whole file. */
  readonly bytes: number
  /** CRC-32 from the footer's first byte to the end of the file. */
  readonly footerCrc: number
}

/**
 * One file, batch by batch: append the chunks of every `write` and of `finish` in order. Dictionaries, one per
 * dictionary column, are written last, as the file format allows, so that every batch can add to them.
 * Equal batches give equal bytes.
 */
export class IpcFileWriter {
  readonly #schema: Schema
  readonly #writer = new IpcWriter(wideAlignment)
  readonly #unifier: DictionaryUnifier
  readonly #blocks: Block[] = []
  readonly #entries: BatchEntry[] = []

  constructor(schema: Schema) {
    this.#schema = schema
    this.#unifier = new DictionaryUnifier(schema)
    this.#writer.push(fileHead())
    this.#writer.push(encodeSchemaMessage(schema, this.#writer.position, wideAlignment))
  }

  /**
   * The chunks of one batch, views of its own buffers.
   * @throws invalidInput when the dictionaries together outgrow their index type.
   */
  write(batch: Batch): Uint8Array[] {
    const flat: FlatColumns = { nodes: [], buffers: [] }
    const crcs = this.#unifier.add(batch).map(column => flattenWithCrc(column, flat))
    this.#blocks.push(this.#writer.body(batch.length, flat, null))
    this.#entries.push([batch.length, flat.nodes, flat.buffers.map(buffer => buffer.length), crcs])
    return this.#writer.takeChunks()
  }

  finish(): FinishedFile {
    const dictionaryBlocks: Block[] = []
    const dictionaries: DictionaryEntry[] = []
    for (const { id, values } of this.#unifier.dictionaries()) {
      const flat: FlatColumns = { nodes: [], buffers: [] }
      const crc = flattenWithCrc(values, flat)
      dictionaryBlocks.push(this.#writer.body(values.length, flat, id))
      dictionaries.push([id, flat.nodes, flat.buffers.map(buffer => buffer.length), crc])
    }
    this.#writer.push(endOfStream())
    const footer = encodeFooter(this.#schema, dictionaryBlocks, this.#blocks, {
      [layoutKey]: encodeLayout({ batches: this.#entries, dictionaries }),
    })
    this.#writer.push(footer)
    return { chunks: this.#writer.takeChunks(), bytes: this.#writer.position, footerCrc: crc32(footer) }
  }
}

/** Appends a column and returns the checksum of its bytes as they will lie in the file. */
function flattenWithCrc(column: Column, flat: FlatColumns): number {
  const from = flat.buffers.length
  flattenColumn(column, flat)
  let crc = 0
  let gap = padding(0, wideAlignment)
  for (const buffer of flat.buffers.slice(from)) {
    if (buffer.length === 0) continue
    crc = crc32(buffer, crc32(gap, crc))
    gap = padding(buffer.length, wideAlignment)
  }
  return crc
}
