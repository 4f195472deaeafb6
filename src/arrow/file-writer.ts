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
  /** Bytes of a block of each buffer of a batch. */
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
   * The chunks of one batch, views of its own buffers.
   * @throws invalidInput when the dictionaries together outgrow their index type.
   */
  write(batch: Batch): Uint8Array[] {
    return runAtOnce(this.writeJoined([batch]))
  }

  /** `write` for one batch of the rows of several, in steps of a few milliseconds: nothing is copied to join them. */
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

  /** The checksums of the blocks of a column, whose first buffer is number `from` of its batch. */
  *#addBlocks(buffers: readonly Parts[], from: number): Steps<void> {
    if (bytesTogether(buffers.slice(from)) <= wholeBytes) return
    for (let i = from; i < buffers.length; i++) {
      yield* addBuffer(buffers[i]!, this.#blockBytes[i]!, this.#sums, blockBytesAtOnce)
    }
  }

  /** `zones`: what is to be said of stretches of columns. */
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

/** Appends a column and returns the checksum of its bytes as they will lie in the file. */
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

/** Bytes of some buffers as they lie in a file, without what comes behind the last. */
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

/** A millisecond of checksum, */
const bytesAtOnce = 4 * 1024 * 1024
/** and of checksums of blocks. */
const blockBytesAtOnce = 1024 * 1024
