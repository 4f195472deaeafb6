/**
 * Reads consecutive rows of a column of a data file. It reads only the blocks that contain these rows, arranges them as
 * an IPC body, and builds the column from this body. The caller does the I/O and checks the checksums of the blocks.
 */
import { assert, corrupted, quote } from '../errors.js'
import { bitmapBytes } from './bits.js'
import type { Column } from './column.js'
import { type ColumnRange, countParts } from './file-layout.js'
import { assembleColumn } from './file-reader.js'
import { alignUp, wideAlignment } from './ipc-writer.js'
import { asBytes, cellBytes, isLarge } from './layout.js'
import type { DataType, Field } from './types.js'
import { type WireField, wireFields } from './wire-field.js'

/**
 * Consecutive blocks of a buffer, which the caller must read. The last block may be shorter, because the buffer ends.
 */
export interface Stretch {
  readonly buffer: number
  /** Number of the first block in the buffer, from 0. */
  readonly block: number
  /** Memory for the bytes of the blocks. */
  readonly target: Uint8Array
}

/** A generator that yields the blocks that the caller must read before it resumes the generator. */
type Reading<T> = Generator<readonly Stretch[], T, undefined>

/**
 * Read the rows `from` to `to - 1` of a column that has block checksums. `from` must be a multiple of 8.
 * `dictionaries`: the decoded dictionaries of the range, by id.
 * @throws Internal if offsets or indices are outside of the column.
 */
export function* runOfRows(
  field: Field,
  range: ColumnRange,
  from: number,
  to: number,
  dictionaries: ReadonlyMap<number, Column>,
): Reading<Column> {
  assert(from % 8 === 0, `the first row ${from} is not a multiple of 8, so its bit is inside a byte`)
  const run = new Run(range, field)
  yield* run.cut(wireFields({ fields: [field] })[0]!, 0, 0, from, to)
  const bytes = new Uint8Array(run.bytes)
  yield run.stretchesIn(bytes)
  const { nodes, buffers } = run
  const own = { ...range, bytes: bytes.length, nodes, buffers, cells: null }
  return assembleColumn(field, own, bytes, { dictionaries, verified: true })
}

/** An IPC body with the rows: its nodes and buffers, and the blocks to read into it. */
class Run {
  readonly nodes: number[] = []
  readonly buffers: number[] = []
  bytes = 0
  readonly #range: ColumnRange
  readonly #field: Field
  readonly #blocks: { readonly buffer: number; readonly block: number; at: number; bytes: number }[] = []
  readonly #offsets: { readonly at: number; readonly bytes: Uint8Array }[] = []

  constructor(range: ColumnRange, field: Field) {
    this.#range = range
    this.#field = field
  }

  /** Return the blocks to read into `body`. Copies the offsets, which were read before, into it. */
  stretchesIn(body: Uint8Array): Stretch[] {
    for (const { at, bytes } of this.#offsets) body.set(bytes, at)
    return this.#blocks.map(({ buffer, block, at, bytes }) => {
      return { buffer, block, target: body.subarray(at, at + bytes) }
    })
  }

  /**
   * Add the rows `from` to `to - 1` of a field. `node`, `buffer`: numbers of the field's first node and first buffer.
   */
  *cut(field: WireField, node: number, buffer: number, from: number, to: number): Reading<void> {
    const { type, children } = field
    const [length, nulls] = [this.#range.nodes[2 * node]!, this.#range.nodes[2 * node + 1]!]
    if (to > length) throw this.#fault(`has ${length} rows, so row ${to - 1} does not exist`)
    // The null count of some rows is unknown, so write -1. The assembler then counts the nulls.
    this.nodes.push(to - from, nulls === 0 ? 0 : -1)
    if (type.kind === 'null') return
    if (nulls === 0) this.buffers.push(0, 0)
    else this.#add(buffer, from / 8, bitmapBytes(to))
    switch (type.kind) {
      case 'bool':
        this.#add(buffer + 1, from / 8, bitmapBytes(to))
        return
      case 'utf8':
      case 'binary': {
        const [first, end] = yield* this.#cutOffsets(type, buffer + 1, from, to, 1)
        this.#add(buffer + 2, first, end)
        return
      }
      case 'list':
      case 'map': {
        const [first, end] = yield* this.#cutOffsets(type, buffer + 1, from, to, 8)
        yield* this.cut(children[0]!, node + 1, buffer + 2, first, end)
        return
      }
      case 'fixed_size_list':
        yield* this.cut(children[0]!, node + 1, buffer + 1, from * type.size, to * type.size)
        return
      case 'struct': {
        let [childNode, childBuffer] = [node + 1, buffer + 1]
        for (const child of children) {
          yield* this.cut(child, childNode, childBuffer, from, to)
          const parts = countParts(child)
          childNode += parts.nodes
          childBuffer += parts.buffers
        }
        return
      }
      default: {
        const width = cellBytes(type)
        this.#add(buffer + 1, from * width, to * width)
      }
    }
  }

  /** Add the bytes `from` to `to - 1` of a buffer: the blocks that contain them will be read. */
  #add(buffer: number, from: number, to: number): void {
    const part = this.#blocksOf(buffer, from, to)
    if (part !== null) this.#blocks.push({ buffer, ...part })
  }

  #blocksOf(buffer: number, from: number, to: number) {
    const bytes = this.#range.buffers[2 * buffer + 1]!
    if (to > bytes) throw this.#fault(`needs byte ${to - 1} of a buffer with ${bytes} bytes`)
    if (from === to) {
      this.buffers.push(0, 0)
      return null
    }
    const size = this.#range.blocks[buffer]!
    const block = Math.floor(from / size)
    const end = Math.min(bytes, Math.ceil(to / size) * size)
    const at = this.bytes
    this.buffers.push(at + from - block * size, to - from)
    this.bytes = alignUp(at + end - block * size, wideAlignment)
    return { block, at, bytes: end - block * size }
  }

  /**
   * Read the offsets of the rows, and make them relative to the first value that is read. This is the first value of
   * the rows, rounded down to a multiple of `unit`. Returns the first value, and the end of the last value.
   */
  *#cutOffsets(
    type: DataType,
    buffer: number,
    from: number,
    to: number,
    unit: number,
  ): Reading<[number, number]> {
    const width = isLarge(type) ? 8 : 4
    const begin = from * width
    const part = from === to ? null : this.#blocksOf(buffer, begin, (to + 1) * width)
    if (part === null) {
      this.buffers.push(0, 0)
      return [0, 0]
    }
    const bytes = new Uint8Array(part.bytes)
    yield [{ buffer, block: part.block, target: bytes }]
    const at = begin - part.block * this.#range.blocks[buffer]!
    const count = to - from + 1
    const offsets = isLarge(type)
      ? new BigInt64Array(bytes.buffer, at, count)
      : new Int32Array(bytes.buffer, at, count)
    const [least, end] = [Number(offsets[0]!), Number(offsets[count - 1]!)]
    if (least < 0 || end < least) throw this.#fault(`has the invalid offsets ${least} and ${end}`)
    const first = least === end ? least : least - (least % unit)
    if (offsets instanceof Int32Array) for (let i = 0; i < count; i++) offsets[i]! -= first
    else for (let i = 0; i < count; i++) offsets[i]! -= BigInt(first)
    this.#offsets.push({ at: part.at + at, bytes: asBytes(offsets) })
    return [first, end]
  }

  #fault(what: string) {
    return corrupted(`column ${quote(this.#field.name)} at byte ${this.#range.start} ${what}`)
  }
}
