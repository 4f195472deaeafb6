/**
 * The layout of a data file: the position and the checksum of every column. It is an addition to the Arrow format. With
 * it a reader reads the footer, then exactly the columns that it needs, and verifies them.
 *
 * The layout is stored in the footer's custom metadata under `sheaf:layout`, as JSON:
 *   {"v":2, "blocks":[bytes, ...], "batches":[[rows, nodes, buffers, crcs], ...],
 *    "dictionaries":[[id, nodes, buffers, crc], ...], "zones":[[column, [[least, greatest, nulls, ...], ...]], ...]}
 *   blocks:  block size in bytes of each buffer of a batch (block-sums.ts)
 *   nodes:   length and null count of every field node, flat, depth first
 *   buffers: length in bytes of every buffer; each buffer starts at the next multiple of 64 after the previous buffer
 *   crc:     CRC-32 of the bytes of a top-level column, from the start of its first buffer to the end of its last
 *            buffer, including the padding between them; 0 for a column without bytes
 *   zones:   optional; min/max statistics of the stretches of each batch, in order (sql/zones/stretches.ts)
 */
import { corrupted } from '../errors.js'
import { countBlocks, wholeBytes } from './block-sums.js'
import type { Block } from './ipc-message.js'
import { alignUp, wideAlignment } from './ipc-writer.js'
import type { Field } from './types.js'
import type { WireField } from './wire-field.js'

/** The metadata key of the layout in a footer. */
export const layoutKey = 'sheaf:layout'

/** Rows per stretch: the rows with common min/max statistics. The last stretch of a batch may have fewer rows. */
export const stretchRows = 8 * 1024

/** Position and checksums, in a file, of a top-level column of one batch or of the values of a dictionary. */
export interface ColumnRange {
  /** Offset in the file, a multiple of 64. */
  readonly start: number
  readonly bytes: number
  readonly crc: number
  /** (length, null count) of every field node, flat, depth first. */
  readonly nodes: readonly number[]
  /** (offset from `start`, length in bytes) of every buffer, flat. */
  readonly buffers: readonly number[]
  /** Block size in bytes of each buffer. */
  readonly blocks: readonly number[]
  /**
   * Number of the column's first block checksum, counted from 0 over all block checksums of the file. Null if the
   * column has no block checksums; then it must be read whole.
   */
  readonly firstSum: number | null
  /** Dictionaries that the column needs. A dictionary precedes the dictionaries whose values refer to it. */
  readonly dictionaries: readonly DictionaryRange[]
  /**
   * Position of the elements, relative to `start`, if the column is a fixed_size_list of numbers without null elements.
   * The elements are at the end of the range. Null for other columns, and if there are no elements.
   */
  readonly cells: { readonly offset: number; readonly bytes: number } | null
  /**
   * Minimum, maximum and null count of each stretch, flat, as in the JSON. Null if the file has no statistics of the
   * column.
   */
  readonly zones: readonly unknown[] | null
}

/** The values of a dictionary in a file. */
export interface DictionaryRange {
  readonly id: number
  /** A field whose type is the type of the dictionary's values. */
  readonly field: Field
  readonly range: ColumnRange
}

/** The JSON entry of one batch. */
export type BatchEntry = readonly [
  rows: number,
  nodes: readonly number[],
  buffers: readonly number[],
  crcs: readonly number[],
]

/** The JSON entry of one dictionary. */
export type DictionaryEntry = readonly [
  id: number,
  nodes: readonly number[],
  buffers: readonly number[],
  crc: number,
]

/** The JSON entry with the min/max statistics of one column. */
export type ZonesEntry = readonly [column: number, batches: readonly (readonly unknown[])[]]

/** The parsed JSON of a layout. */
interface LayoutEntries {
  /** Block size in bytes of each buffer of a batch. */
  readonly blocks: readonly number[]
  readonly batches: readonly BatchEntry[]
  readonly dictionaries: readonly DictionaryEntry[]
  readonly zones: readonly ZonesEntry[]
}

/** Encode a layout as JSON. */
export function encodeLayout(entries: LayoutEntries): string {
  const { blocks, batches, dictionaries, zones } = entries
  return JSON.stringify({ v: 2, blocks, batches, dictionaries, ...(zones.length > 0 && { zones }) })
}

/** Parse the JSON of a layout. @throws Internal if the text is not a valid layout. */
export function decodeLayout(text: string): LayoutEntries {
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch (cause) {
    throw corrupted(`the footer's ${layoutKey} is not JSON`, { cause })
  }
  const { v, blocks, batches, dictionaries, zones = [] } = (parsed ?? {}) as Record<string, unknown>
  if (v !== 2) throw corrupted(`the footer's ${layoutKey} has version ${String(v)}, expected 2`)
  if (!isList(blocks, isBlock)) throw corrupted(`the footer's ${layoutKey} does not list block sizes`)
  if (!isList(batches, isBatchEntry) || !isList(dictionaries, isDictionaryEntry)) {
    throw corrupted(`the footer's ${layoutKey} does not list batches and dictionaries`)
  }
  if (!isList(zones, isZonesEntry)) throw corrupted(`the footer's ${layoutKey} has invalid zones`)
  return { blocks, batches, dictionaries, zones }
}

function isList<T>(value: unknown, is: (item: unknown) => item is T): value is T[] {
  return Array.isArray(value) && value.every(is)
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}

function isBlock(value: unknown): value is number {
  return isCount(value) && value > 0
}

function isBatchEntry(value: unknown): value is BatchEntry {
  if (!Array.isArray(value)) return false
  const [rows, nodes, buffers, crcs] = value as unknown[]
  return isCount(rows) && isList(nodes, isCount) && isList(buffers, isCount) && isList(crcs, isCount)
}

function isDictionaryEntry(value: unknown): value is DictionaryEntry {
  if (!Array.isArray(value)) return false
  const [id, nodes, buffers, crc] = value as unknown[]
  return isCount(id) && isList(nodes, isCount) && isList(buffers, isCount) && isCount(crc)
}

function isZonesEntry(value: unknown): value is ZonesEntry {
  if (!Array.isArray(value)) return false
  const [column, batches] = value as unknown[]
  return isCount(column) && isList(batches, Array.isArray)
}

/**
 * Return, for each buffer of a column, the number of its first block's checksum, counted from 0 over all block checksums
 * of the file. Returns an empty array for a column without block checksums.
 */
export function firstSumsOf({ firstSum, blocks, buffers }: ColumnRange): readonly number[] {
  const sums: number[] = []
  if (firstSum === null) return sums
  let next = firstSum
  for (let i = 0; i < blocks.length; i++) {
    sums.push(next)
    next += Math.ceil(buffers[2 * i + 1]! / blocks[i]!)
  }
  return sums
}

/** Count the field nodes and buffers of a field, including its children. */
export function countParts(field: WireField): { nodes: number; buffers: number } {
  let nodes = 1
  let buffers = field.type.kind === 'null' ? 0 : ownBuffers(field)
  for (const child of field.children) {
    const parts = countParts(child)
    nodes += parts.nodes
    buffers += parts.buffers
  }
  return { nodes, buffers }
}

/** Return the number of a field's own buffers: validity, and offsets and values if the type has them. */
function ownBuffers({ type }: WireField): number {
  switch (type.kind) {
    case 'utf8':
    case 'binary':
      return 3
    case 'struct':
    case 'fixed_size_list':
      return 1
    default:
      return 2
  }
}

/** Reads the entry of a batch or dictionary, column by column in order. */
export class LayoutCursor {
  readonly #nodes: readonly number[]
  readonly #buffers: readonly number[]
  readonly #block: Block
  /** Block size in bytes of each buffer. Null for a dictionary, which has no block checksums. */
  readonly #blocks: readonly number[] | null
  #node = 0
  #buffer = 0
  /** Offset of the next buffer in the body. */
  #offset = 0

  /** Number of block checksums of all columns read so far, including earlier batches. */
  sums: number

  constructor(
    nodes: readonly number[],
    buffers: readonly number[],
    block: Block,
    blocks: readonly number[] | null,
    sums = 0,
  ) {
    this.#nodes = nodes
    this.#buffers = buffers
    this.#block = block
    this.#blocks = blocks
    this.sums = sums
  }

  next(
    field: WireField,
    crc: number,
    dictionaries: readonly DictionaryRange[],
    zones: ColumnRange['zones'] = null,
  ): ColumnRange {
    const parts = countParts(field)
    const nodes = this.#nodes.slice(this.#node, this.#node + 2 * parts.nodes)
    const lengths = this.#buffers.slice(this.#buffer, this.#buffer + parts.buffers)
    const blocks = this.#blocks?.slice(this.#buffer, this.#buffer + parts.buffers) ?? []
    this.#node += nodes.length
    this.#buffer += lengths.length
    if (nodes.length !== 2 * parts.nodes || lengths.length !== parts.buffers) {
      throw corrupted(`the footer's ${layoutKey} ends before the buffers of column ${field.path}`)
    }
    const start = this.#offset
    const buffers: number[] = []
    let bytes = 0
    for (const length of lengths) {
      buffers.push(this.#offset - start, length)
      if (length > 0) bytes = this.#offset - start + length
      this.#offset = alignUp(this.#offset + length, wideAlignment)
    }
    const firstSum = this.#blocks === null || bytes <= wholeBytes ? null : this.sums
    if (firstSum !== null) this.sums += countBlocks(buffers, blocks)
    const absolute = this.#block.offset + this.#block.metadataBytes + start
    return {
      start: absolute,
      bytes,
      crc,
      nodes,
      buffers,
      blocks,
      firstSum,
      dictionaries,
      cells: cellsOf(field, nodes, buffers),
      zones,
    }
  }

  /**
   * Check that the whole entry was read, and that its buffers fill the body of the message. @throws Internal otherwise.
   */
  finish(): void {
    const { bodyBytes, offset } = this.#block
    if (
      this.#node !== this.#nodes.length ||
      this.#buffer !== this.#buffers.length ||
      this.#offset !== bodyBytes
    ) {
      throw corrupted(`the footer's ${layoutKey} does not describe the batch at byte ${offset}`)
    }
  }
}

function cellsOf(
  field: WireField,
  nodes: readonly number[],
  buffers: readonly number[],
): ColumnRange['cells'] {
  if (field.type.kind !== 'fixed_size_list') return null
  const child = field.type.child.type
  if ((child.kind !== 'int' && child.kind !== 'float') || nodes[3] !== 0) return null
  return buffers[5] === 0 ? null : { offset: buffers[4]!, bytes: buffers[5]! }
}
