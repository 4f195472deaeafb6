/**
 * Writes data files: Arrow IPC files that any Arrow tool can open. Their footer contains a layout (`file-layout.ts`).
 */
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
  /** The last chunks of the file. The caller appends them. */
  readonly chunks: Uint8Array[]
  /** Length of the whole file in bytes. */
  readonly bytes: number
  /** CRC-32 from the footer's first byte to the end of the file. */
  readonly footerCrc: number
}

/**
 * Writes one file batch by batch. The caller appends the chunks of every `write` and of `finish` in order. Each
 * dictionary column has one dictionary. `finish` writes the dictionaries after the batches, as the file format allows,
 * because every batch can add values to them. Equal batches give equal bytes.
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
   * Return the chunks of one batch. Most of them are views of the batch's buffers.
   * @throws InvalidInput if a merged dictionary has more values than its index type can number.
   */
  write(batch: Batch): Uint8Array[] {
    return runAtOnce(this.writeJoined([batch]))
  }

  /**
   * Write the rows of several batches as one batch, like `write`, in steps of a few milliseconds. The rows are not
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

  /**
   * Compute the block checksums of a column. `buffers`: all buffers so far. `from`: index of the column's first buffer.
   */
  *#addBlocks(buffers: readonly Parts[], from: number): Steps<void> {
    if (bytesTogether(buffers.slice(from)) <= wholeBytes) return
    for (let i = from; i < buffers.length; i++) {
      yield* addBuffer(buffers[i]!, this.#blockBytes[i]!, this.#sums, blockBytesAtOnce)
    }
  }

  /** End the file. `zones`: min/max statistics of the stretches of each column. Default: none. */
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

/**
 * Append the rows of `columns` as one column to `flat`. Returns the CRC-32 of its bytes in the file, including padding.
 */
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

/** Return the bytes that some consecutive buffers take in a file, without the padding after the last buffer. */
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

/** Bytes per step of a column's checksum: about one millisecond. */
const bytesAtOnce = 4 * 1024 * 1024
/** Bytes per step of block checksums: about one millisecond. */
const blockBytesAtOnce = 1024 * 1024
