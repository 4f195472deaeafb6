/**
 * What a data file's footer says beyond the Arrow format: where every column lies and its checksum, so that a
 * reader fetches the footer, then exactly the columns it wants, and knows that they are what was written.
 *
 * It rides in the footer's custom metadata under `sheaf:layout`, as JSON:
 *   {"v":2, "blocks":[bytes, ...], "batches":[[rows, nodes, buffers, crcs], ...], "dictionaries":[[id, nodes, buffers, crc], ...],
 *    "zones":[[column, [[least, greatest, nulls, ...], ...]], ...]}
 *   blocks:  bytes of a block of each buffer of a batch (block-sums.ts)
 *   nodes:   length and null count of every field node, flat, depth first
 *   buffers: bytes of every buffer; each begins on the next multiple of 64 after the one before it
 *   crc:     CRC-32 of a column's bytes, from its first buffer's begin to its last one's end, padding between
 *            them included; one per top-level column, 0 for a column without bytes
 *   zones:   optional; between which values stretches of rows lie, for each batch those of its stretches one after the other
 *            (sql/zones/stretches.ts)
 */
import { corrupted } from '../errors.js'
import { countBlocks, wholeBytes } from './block-sums.js'
import type { Block } from './ipc-message.js'
import { alignUp, wideAlignment } from './ipc-writer.js'
import type { Field } from './types.js'
import type { WireField } from './wire-field.js'

export const layoutKey = 'sheaf:layout'

/** Rows of a stretch; the last one of a batch may have fewer. */
export const stretchRows = 8 * 1024

/** A top-level column of one batch (or the values of a dictionary) in a file. */
export interface ColumnRange {
  /** Absolute offset in the file, a multiple of 64. */
  readonly start: number
  readonly bytes: number
  readonly crc: number
  /** Pairs of (length, null count), depth first. */
  readonly nodes: readonly number[]
  /** Pairs of (offset from `start`, bytes). */
  readonly buffers: readonly number[]
  /** Bytes of a block of each buffer. */
  readonly blocks: readonly number[]
  /** Number of the checksum of its first block among those of the file; null where it has none, and is read whole. */
  readonly firstSum: number | null
  /** Dictionaries the column needs, inner ones before those that hold them. */
  readonly dictionaries: readonly DictionaryRange[]
  /**
   * For a fixed_size_list of numbers none of which is null: where they lie, from `start`; they are the last
   * thing in the range. Null for any other column, and where there are no numbers.
   */
  readonly cells: { readonly offset: number; readonly bytes: number } | null
  /** Least, greatest and nulls of each stretch of its rows, as the JSON has them; null where the file does not say. */
  readonly zones: readonly unknown[] | null
}

/** The values behind dictionary columns. */
export interface DictionaryRange {
  readonly id: number
  /** A field of the dictionary's value type. */
  readonly field: Field
  readonly range: ColumnRange
}

/** What the JSON holds for one batch. */
export type BatchEntry = readonly [
  rows: number,
  nodes: readonly number[],
  buffers: readonly number[],
  crcs: readonly number[],
]

/** What the JSON holds for one dictionary. */
export type DictionaryEntry = readonly [
  id: number,
  nodes: readonly number[],
  buffers: readonly number[],
  crc: number,
]

/** What the JSON holds for a column of which it says between which values stretches lie. */
export type ZonesEntry = readonly [column: number, batches: readonly (readonly unknown[])[]]

export interface LayoutEntries {
  /** Bytes of a block of each buffer of a batch. */
  readonly blocks: readonly number[]
  readonly batches: readonly BatchEntry[]
  readonly dictionaries: readonly DictionaryEntry[]
  readonly zones: readonly ZonesEntry[]
}

export function encodeLayout(entries: LayoutEntries): string {
  const { blocks, batches, dictionaries, zones } = entries
  return JSON.stringify({ v: 2, blocks, batches, dictionaries, ...(zones.length > 0 && { zones }) })
}

/** @throws corrupted (code 18) when the text is not a layout. */
export function decodeLayout(text: string): LayoutEntries {
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch (cause) {
    throw corrupted(`the footer's ${layoutKey} is not JSON`, { cause })
  }
  const { v, blocks, batches, dictionaries, zones = [] } = (parsed ?? {}) as Record<string, unknown>
  if (v !== 2) throw corrupted(`the footer's ${layoutKey} has version ${String(v)}, need 2`)
  if (!isList(blocks, isBlock)) throw corrupted(`the footer's ${layoutKey} does not say how long blocks are`)
  if (!isList(batches, isBatchEntry) || !isList(dictionaries, isDictionaryEntry)) {
    throw corrupted(`the footer's ${layoutKey} does not list batches and dictionaries`)
  }
  if (!isList(zones, isZonesEntry)) throw corrupted(`the footer's ${layoutKey} has zones of no column`)
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

/** The number of the checksum of a block among those of the file. */
export function sumOf({ firstSum, blocks, buffers }: ColumnRange, buffer: number, block: number): number {
  return firstSum! + countBlocks(buffers, blocks.slice(0, buffer)) + block
}

/** Field nodes and buffers of a field, its children's included. */
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

/** Validity; offsets and values where the type has them. */
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

/** Takes columns off a batch's entry, one after the other. */
export class LayoutCursor {
  readonly #nodes: readonly number[]
  readonly #buffers: readonly number[]
  readonly #block: Block
  /** Bytes of a block of each buffer; null where no column is cut into blocks. */
  readonly #blocks: readonly number[] | null
  #node = 0
  #buffer = 0
  /** Offset of the next buffer in the body. */
  #offset = 0

  /** Checksums of blocks before those of the next column. */
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
      throw corrupted(`the footer's ${layoutKey} ends inside column ${field.path}`)
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

  /** @throws corrupted unless the whole entry was taken and fills its body. */
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
