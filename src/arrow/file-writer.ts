/** Writes data files: Arrow IPC files that any Arrow tool opens, with `file-layout` in the footer. */
import { crc32 } from '../primitives/checksum.js'
import { addBuffer, BlockSums, blocksOf, wholeBytes } from './block-sums.js'
import type { Batch, Column } from './column.js'
import { fileHead } from './encode-ipc.js'
import {
  type BatchEntry,
  type DictionaryEntry,
  encodeLayout,
  layoutKey,
  type ZonesEntry,
} from './file-layout.js'
import { type FlatColumns, flattenColumns, type Parts, partsBytes } from './flatten.js'
import { type Block, encodeFooter, encodeSchemaMessage, endOfStream } from './ipc-message.js'
import { alignUp, DictionaryUnifier, IpcWriter, padding, wideAlignment } from './ipc-writer.js'
import { runAtOnce, type Steps } from './steps.js'
import type { Schema } from './types.js'
import { wireFields } from './wire-field.js'

/** The result of `IpcFileWriter.finish`. */
interface FinishedFile {
  /** The last chunks to append. */
  readonly chunks: Uint8Array[]
  /** Length of the whole file. */
  readonly bytes: number
  /** CRC-32 from the footer's first byte to the end of the file. */
  readonly footerCrc: number
}

/**
 * Writes one file batch by batch: append the chunks of every `write` and of `finish` in order. Dictionaries, one per
 * dictionary column, are written last, as the file format allows, so that every batch can add to them. Equal batches
 * give equal bytes.
 */
export class IpcFileWriter {
  readonly #schema: Schema
  readonly #writer = new IpcWriter(wideAlignment)
  readonly #unifier: DictionaryUnifier
  readonly #blocks: Block[] = []
  readonly #entries: BatchEntry[] = []
  /** Block size in bytes of each buffer of a batch. */
  readonly #blockBytes: readonly number[]
  readonly #sums = new BlockSums()

  constructor(schema: Schema) {
    this.#schema = schema
    this.#blockBytes = blocksOf(wireFields(schema))
    this.#unifier = new DictionaryUnifier(schema)
    this.#writer.push(fileHead())
    this.#writer.push(encodeSchemaMessage(schema, this.#writer.position, wideAlignment))
  }

  /**
   * Return the chunks of one batch, which are views of its buffers.
   * @throws InvalidInput if the merged dictionaries exceed their index type.
   */
  write(batch: Batch): Uint8Array[] {
    return runAtOnce(this.writeJoined([batch]))
  }

  /**
   * Like `write`, for the rows of several batches as one batch, in steps of a few milliseconds. The rows are not
   * copied.
   */
  *writeJoined(batches: readonly Batch[]): Steps<Uint8Array[]> {
    const flat: FlatColumns = { nodes: [], buffers: [] }
    const unified = batches.map(batch => this.#unifier.add(batch))
    const crcs: number[] = []
    for (const i of this.#schema.fields.keys()) {
      const from = flat.buffers.length
      const columns = unified.map(columns => columns[i]!)
      crcs.push(yield* flattenWithCrc(columns, flat))
      yield* this.#addBlocks(flat.buffers, from)
    }
    const rows = batches.reduce((sum, batch) => sum + batch.length, 0)
    this.#blocks.push(this.#writer.body(rows, flat, null))
    this.#entries.push([rows, flat.nodes, flat.buffers.map(partsBytes), crcs])
    return this.#writer.takeChunks()
  }

  /** Add the block checksums of a column. `from`: number of its first buffer in the batch. */
  *#addBlocks(buffers: readonly Parts[], from: number): Steps<void> {
    if (bytesTogether(buffers.slice(from)) <= wholeBytes) return
    for (let i = from; i < buffers.length; i++) {
      yield* addBuffer(buffers[i]!, this.#blockBytes[i]!, this.#sums, blockBytesAtOnce)
    }
  }

  /** End the file. `zones`: min/max statistics of stretches, by column. */
  finish(zones: readonly ZonesEntry[] = []): FinishedFile {
    const dictionaryBlocks: Block[] = []
    const dictionaries: DictionaryEntry[] = []
    for (const { id, values } of this.#unifier.dictionaries()) {
      const flat: FlatColumns = { nodes: [], buffers: [] }
      const crc = runAtOnce(flattenWithCrc([values], flat))
      dictionaryBlocks.push(this.#writer.body(values.length, flat, id))
      dictionaries.push([id, flat.nodes, flat.buffers.map(partsBytes), crc])
    }
    this.#writer.push(endOfStream())
    const pages = this.#sums.pages()
    if (pages.length > 0) this.#writer.push(padding(this.#writer.position, wideAlignment))
    for (const page of pages) this.#writer.push(page)
    const footer = encodeFooter(this.#schema, dictionaryBlocks, this.#blocks, {
      [layoutKey]: encodeLayout({ blocks: this.#blockBytes, batches: this.#entries, dictionaries, zones }),
    })
    this.#writer.push(footer)
    return { chunks: this.#writer.takeChunks(), bytes: this.#writer.position, footerCrc: crc32(footer) }
  }
}

/** Append a column. Returns the checksum of its bytes as they will be in the file. */
function* flattenWithCrc(columns: readonly Column[], flat: FlatColumns): Steps<number> {
  const from = flat.buffers.length
  flattenColumns(columns, flat)
  let crc = 0
  let gap = padding(0, wideAlignment)
  for (const parts of flat.buffers.slice(from)) {
    const bytes = partsBytes(parts)
    if (bytes === 0) continue
    crc = crc32(gap, crc)
    for (const part of parts) {
      for (let at = 0; at < part.length; at += bytesAtOnce) {
        crc = crc32(part.subarray(at, at + bytesAtOnce), crc)
        yield
      }
    }
    gap = padding(bytes, wideAlignment)
  }
  return crc
}

/** Return the length of some buffers in a file, without padding after the last one. */
function bytesTogether(buffers: readonly Parts[]): number {
  let at = 0
  let end = 0
  for (const parts of buffers) {
    const bytes = partsBytes(parts)
    if (bytes > 0) end = at + bytes
    at = alignUp(at + bytes, wideAlignment)
  }
  return end
}

/** Bytes that take about a millisecond to checksum. */
const bytesAtOnce = 4 * 1024 * 1024
/** The same for block checksums. */
const blockBytesAtOnce = 1024 * 1024
