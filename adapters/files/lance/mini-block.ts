/**
 * Encodes small values in chunks. Buffer 0 of a page has a word for each chunk, buffer 1 has the chunks, and buffer 2 has
 * the rows of each chunk, if there are lists. A chunk has the sizes of its buffers, the repetition levels, the definition
 * levels, and the values; each part is padded to 8 bytes.
 */
import { asBytes } from '../../../src/arrow/layout.js'
import type { LanceVersion } from './lance-schema.js'
import type { PageLevels } from './levels.js'
import { MessageWriter } from './message-writer.js'
import {
  buffersOf,
  bytesPerValue,
  cutFixed,
  encodingOf,
  type FixedValues,
  flatEncoding,
  type Page,
  type VariableValues,
} from './page-values.js'

/** Maximum bytes of a chunk: its word has 12 bits for the number of 8 bytes. */
const maxChunkBytes = 32 * 1024
/** Bytes and number of values that a chunk should have at most. */
const goodBytes = 8 * 1024 - 8
const goodValues = 4096

/** Encode a page. Returns null if some values and their levels do not fit a chunk. */
export function miniBlock(
  values: FixedValues | VariableValues,
  levels: PageLevels,
  items: number,
  version: LanceVersion,
): Omit<Page, 'rows'> | null {
  const isWide = version !== '2.1'
  const chunks = new Chunks(values, levels, items, isWide)
  while (chunks.value < values.length) if (!chunks.add()) return null
  const layout = new MessageWriter()
  if (levels.rep !== null) layout.message(1, flatEncoding(16))
  if (levels.def !== null) layout.message(2, flatEncoding(16))
  layout
    .message(3, encodingOf(values))
    .numbers(6, levels.layers)
    .number(7, buffersOf(values))
    .number(8, levels.rep === null ? 0 : 1)
    .number(9, values.length)
    .bool(10, isWide)
  return { buffers: chunks.finish(), layout: new MessageWriter().message(1, layout) }
}

class Chunks {
  readonly #values: FixedValues | VariableValues
  readonly #levels: PageLevels
  readonly #items: number
  /** Whether words and the sizes of buffers with values have 32 bits, as version 2.2 demands, or 16. */
  readonly #isWide: boolean
  readonly #words: number[] = []
  readonly #rows: bigint[] = []
  #bytes = new Uint8Array(64 * 1024)
  #length = 0
  #item = 0
  /** Number of values in chunks. */
  value = 0

  constructor(values: FixedValues | VariableValues, levels: PageLevels, items: number, isWide: boolean) {
    this.#isWide = isWide
    this.#values = values
    this.#levels = levels
    this.#items = items
  }

  /** Add the next chunk. Returns false if it would be too large. */
  add(): boolean {
    const left = this.#values.length - this.value
    const least = this.#values.kind === 'fixed' && this.#values.bits === 1 ? 8 : 1
    let count = goodCount(this.#values, this.value)
    for (;;) {
      const isLast = count >= left
      const end = isLast ? this.#items : this.#itemAfter(count)
      const buffers = this.#buffers(end, this.value + (isLast ? left : count))
      if (buffers !== null) {
        this.#write(buffers, end - this.#item, isLast ? 0 : Math.log2(count))
        this.#countRows(end, isLast)
        this.#item = end
        this.value += isLast ? left : count
        return true
      }
      if (count <= least) return false
      count = count > left ? 2 ** Math.floor(Math.log2(left - 1)) : count / 2
      if (count < least) return false
    }
  }

  /** Return the item after the next `count` values. Null and empty lists between values have items, but no values. */
  #itemAfter(count: number): number {
    const { def, maxVisible, rep } = this.#levels
    if (def === null || rep === null) return this.#item + count
    let at = this.#item
    for (let taken = 0; taken < count; at++) if (def[at]! <= maxVisible) taken++
    return at
  }

  /** Return the buffers of a chunk, or null if they are too large. */
  #buffers(itemEnd: number, valueEnd: number): Uint8Array[] | null {
    const { rep, def } = this.#levels
    const levels = [rep, def].filter(level => level !== null)
    const levelBytes = 2 * (itemEnd - this.#item)
    const room = maxChunkBytes - this.#headBytes(levels.length, buffersOf(this.#values))
    if (levels.length * (levelBytes + 8) > room) return null
    const buffers = [
      ...levels.map(level => asBytes(level.subarray(this.#item, itemEnd))),
      ...(this.#values.kind === 'fixed'
        ? cutFixed(this.#values, this.value, valueEnd)
        : [cutVariable(this.#values, this.value, valueEnd)]),
    ]
    return buffers.reduce((sum, buffer) => sum + padded(buffer.length), 0) <= room ? buffers : null
  }

  #write(buffers: readonly Uint8Array[], items: number, logValues: number): void {
    const levels = buffers.length - buffersOf(this.#values)
    const head = this.#headBytes(levels, buffers.length - levels)
    const size = buffers.reduce((sum, buffer) => sum + padded(buffer.length), head)
    if (this.#length + size > this.#bytes.length) {
      const bytes = new Uint8Array(2 * this.#bytes.length + size)
      bytes.set(this.#bytes.subarray(0, this.#length))
      this.#bytes = bytes
    }
    const view = new DataView(this.#bytes.buffer, this.#length, head)
    const hasLevels = this.#levels.rep !== null || this.#levels.def !== null
    view.setUint16(0, hasLevels ? items : 0, true)
    let at = this.#length + head
    for (const [i, buffer] of buffers.entries()) {
      if (i < levels || !this.#isWide) view.setUint16(2 + 2 * i, buffer.length, true)
      else view.setUint32(2 + 2 * levels + 4 * (i - levels), buffer.length, true)
      this.#bytes.set(buffer, at)
      at += padded(buffer.length)
    }
    this.#words.push(((size / 8 - 1) << 4) | logValues)
    this.#length += size
  }

  /** Record how many rows end in the chunk, and how many items follow the last row that ends. */
  #countRows(itemEnd: number, isLast: boolean): void {
    const { rep, maxRep } = this.#levels
    if (rep === null) return
    const rows = this.#rows
    if (this.#item > 0 && rep[this.#item] === maxRep && rows[rows.length - 1] !== 0n) {
      // The last row of the previous chunk ends there, because this chunk begins with a row.
      rows[rows.length - 2]!++
      rows[rows.length - 1] = 0n
    }
    let ended = isLast ? 1n : 0n
    let lastStart = this.#item
    for (let i = this.#item + 1; i < itemEnd; i++) {
      if (rep[i] !== maxRep) continue
      ended++
      lastStart = i
    }
    rows.push(ended, isLast ? 0n : BigInt(itemEnd - lastStart))
  }

  /** Return the bytes of the number of items and the sizes of buffers. */
  #headBytes(levels: number, values: number): number {
    return padded(2 + 2 * levels + (this.#isWide ? 4 : 2) * values)
  }

  finish(): Uint8Array[] {
    const words = this.#isWide ? Uint32Array.from(this.#words) : Uint16Array.from(this.#words)
    const buffers = [asBytes(words), this.#bytes.subarray(0, this.#length)]
    if (this.#levels.rep !== null) buffers.push(asBytes(BigUint64Array.from(this.#rows)))
    return buffers
  }
}

function padded(bytes: number): number {
  return Math.ceil(bytes / 8) * 8
}

/** Return the number of values of the next chunk: a power of two, or all that are left. */
function goodCount(values: FixedValues | VariableValues, from: number): number {
  const left = values.length - from
  let count = values.kind === 'fixed' && values.bits === 1 ? 8 : 1
  while (count < left && 2 * count <= goodValues && bytesOf(values, from, 2 * count) <= goodBytes) count *= 2
  return count
}

function bytesOf(values: FixedValues | VariableValues, from: number, count: number): number {
  if (values.kind === 'fixed') {
    return values.bits === 1
      ? Math.ceil(count / 8) * bytesPerValue({ ...values, cellsPerValue: 8 * values.cellsPerValue })
      : count * bytesPerValue(values)
  }
  const { offsets, length, offsetBytes } = values
  return offsets[Math.min(length, from + count)]! - offsets[from]! + (count + 1) * offsetBytes
}

/** Return offsets, which count from the start of the buffer, and bytes. */
function cutVariable(values: VariableValues, from: number, to: number): Uint8Array {
  const { offsets, bytes, offsetBytes } = values
  const first = offsets[from]!
  const last = offsets[to]!
  const head = (to - from + 1) * offsetBytes
  const out = new Uint8Array(Math.ceil((head + last - first) / offsetBytes) * offsetBytes)
  const heads = offsetBytes === 4 ? new Uint32Array(out.buffer, 0, to - from + 1) : null
  const wide = offsetBytes === 8 ? new BigUint64Array(out.buffer, 0, to - from + 1) : null
  for (let i = from; i <= to; i++) {
    const offset = head + offsets[i]! - first
    if (heads !== null) heads[i - from] = offset
    else wide![i - from] = BigInt(offset)
  }
  out.set(bytes.subarray(first, last), head)
  return out
}
