/**
 * Reads consecutive rows of a column of a data file, and no more than the blocks that contain them. The column is built
 * from a body of these rows alone. The caller reads and checks the bytes.
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

/** Whole blocks of a buffer. The last one may be cut off by the end of the buffer. */
export interface Stretch {
  readonly buffer: number
  /** The number of the first block. */
  readonly block: number
  readonly target: Uint8Array
}

/** Yields what must be read before the generator continues: offsets first, if there are any. */
type Reading<T> = Generator<readonly Stretch[], T, undefined>

/**
 * Read rows `from` to `to - 1` of a column that has block checksums; `from` is a multiple of 8. `dictionaries`: columns
 * of the range's dictionaries, by id.
 * @throws Internal if offsets or indices are outside of the column.
 */
export function* runOfRows(
  field: Field,
  range: ColumnRange,
  from: number,
  to: number,
  dictionaries: ReadonlyMap<number, Column>,
): Reading<Column> {
  assert(from % 8 === 0, `bits from row ${from} on begin inside of a byte`)
  const run = new Run(range, field)
  yield* run.cut(wireFields({ fields: [field] })[0]!, 0, 0, from, to)
  const bytes = new Uint8Array(run.bytes)
  yield run.stretchesIn(bytes)
  const { nodes, buffers } = run
  const own = { ...range, bytes: bytes.length, nodes, buffers, cells: null }
  return assembleColumn(field, own, bytes, { dictionaries, verified: true })
}

/** The body of the rows. */
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

  /** Return the stretches left to read. Offsets were read before. */
  stretchesIn(body: Uint8Array): Stretch[] {
    for (const { at, bytes } of this.#offsets) body.set(bytes, at)
    return this.#blocks.map(({ buffer, block, at, bytes }) => {
      return { buffer, block, target: body.subarray(at, at + bytes) }
    })
  }

  /** Add rows of a field. `node`, `buffer`: the numbers of its first node and buffer. */
  *cut(field: WireField, node: number, buffer: number, from: number, to: number): Reading<void> {
    const { type, children } = field
    const [length, nulls] = [this.#range.nodes[2 * node]!, this.#range.nodes[2 * node + 1]!]
    if (to > length) throw this.#fault(`has no row ${to - 1}, but ${length} rows`)
    // The null count of these rows is unknown until they are read.
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

  /** Add bytes of a buffer, rounded to whole blocks. */
  #add(buffer: number, from: number, to: number): void {
    const part = this.#blocksOf(buffer, from, to)
    if (part !== null) this.#blocks.push({ buffer, ...part })
  }

  #blocksOf(buffer: number, from: number, to: number) {
    const bytes = this.#range.buffers[2 * buffer + 1]!
    if (to > bytes) throw this.#fault(`needs byte ${to - 1} of a buffer of ${bytes}`)
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
   * Read the offsets of rows. Rebase them as if the values started at the first of them, rounded down to a multiple of
   * `unit`.
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
    if (least < 0 || end < least) throw this.#fault(`has the offsets ${least} and ${end}`)
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
