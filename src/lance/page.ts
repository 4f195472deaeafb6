/** Pages of Lance files 2.1 and 2.2: values and levels of consecutive rows of one column. */
import type { DataType } from '../arrow/types.js'
import { invalidInput } from '../errors.js'
import type { Pacer } from '../primitives/pacer.js'
import { type Block, sliceBlock } from './block.js'
import type { Layer } from './encoding.js'
import { countVisible, type Levels, listDepth, visibleLevels } from './levels.js'

/** Bytes of a file: from `start` to before `end`. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

/** A page and the means to read it. */
export interface PageSource {
  /** Number of rows. */
  readonly rows: number
  readonly buffers: readonly ByteRange[]
  /** The type of the values. */
  readonly type: DataType
  readonly pacer: Pacer
  /** Read ranges of the file. Ranges that are close to each other are read together. */
  read(ranges: readonly ByteRange[]): Promise<Uint8Array[]>
  /** Fill `target`, which is as long as a range of the file, with its bytes. */
  readInto(range: ByteRange, target: Uint8Array): Promise<void>
  /**
   * Memory for the values of the requested rows, if they have a fixed width and no nulls. A reader may use other memory.
   */
  readonly target: Uint8Array | null
}

/** The values and levels of some rows of a page. */
export interface PagePiece extends Levels {
  readonly block: Block
  readonly layers: readonly Layer[]
}

/** Return a buffer of a page. Throws InvalidInput if the page has fewer buffers. */
export function bufferOf(page: PageSource, index: number): ByteRange {
  const range = page.buffers[index]
  if (range === undefined) {
    throw invalidInput(`a page has ${page.buffers.length} buffers, but its layout needs buffer ${index}`)
  }
  return range
}

/**
 * Return rows `from` to `to` of a piece whose first complete row is `first`. Levels before this row belong to an earlier
 * row.
 */
export function cutRows(piece: PagePiece, first: number, from: number, to: number): PagePiece {
  const { rep, def, block, layers } = piece
  let start = from - first
  let end = to - first
  if (rep !== null) {
    const depth = listDepth(layers)
    start = rowStart(rep, depth, from - first)
    end = rowStart(rep, depth, to - first)
  }
  if (start < 0 || end > piece.entries || start > end) {
    throw invalidInput(`a page of ${piece.entries} items does not contain rows ${from} to ${to}`)
  }
  const visible = visibleLevels(layers)
  const values = def === null ? start : countVisible(def, visible, 0, start)
  const count = def === null ? end - start : countVisible(def, visible, start, end)
  if (values + count > block.count) {
    throw invalidInput(`a page has ${block.count} values, but its levels need ${values + count}`)
  }
  return {
    layers,
    entries: end - start,
    rep: rep === null ? null : rep.subarray(start, end),
    def: def === null ? null : def.subarray(start, end),
    block: sliceBlock(block, values, count),
  }
}

/** Return the position of the first item of a row. The row after the last row begins at the end. */
function rowStart(rep: Uint16Array, depth: number, row: number): number {
  let rows = 0
  for (let i = 0; i < rep.length; i++) {
    if (rep[i] === depth && rows++ === row) return i
  }
  return rows === row ? rep.length : -1
}
