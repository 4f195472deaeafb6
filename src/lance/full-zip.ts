/**
 * Reads pages with the layout FullZip. Buffer 0 has the levels and the bytes of each value, value after value. Buffer 1
 * has the position of each row, if rows differ in length.
 */
import { bitmapBytes, copyBits } from '../arrow/bits.js'
import { invalidInput } from '../errors.js'
import type { Pacer } from '../primitives/pacer.js'
import { type Block, fixedBlock, tooMuchText } from './block.js'
import { decodeFsst } from './decode-block.js'
import { decompress } from './decompress.js'
import { type Encoding, type FullZipLayout, newerEncoding, type PackedField } from './encoding.js'
import { FsstDecoder } from './fsst.js'
import { listDepth, visibleLevels } from './levels.js'
import { type ByteRange, bufferOf, type PagePiece, type PageSource } from './page.js'

/** Bytes of a page between two turns of the event loop. */
const turnBytes = 64 * 1024

/** Read rows `from` to `to` of a page. */
export async function readFullZip(
  layout: FullZipLayout,
  page: PageSource,
  from: number,
  to: number,
): Promise<PagePiece> {
  const { layers } = layout
  const range = await rangeOfRows(layout, page, from, to)
  const { target } = page
  if (target !== null && hasPlainRows(layout) && target.length === range.end - range.start) {
    await page.readInto(range, target)
    const count = to - from
    return { layers, entries: count, rep: null, def: null, block: decodeRows(layout.values, target, count) }
  }
  const [bytes] = await page.read([range])
  if (layout.lengthBits > 0) return unzipTexts(layout, bytes!, to - from, page.pacer)
  const wordBytes = controlBytes(layout)
  if (wordBytes === 0) {
    const count =
      layout.values.kind === 'constant' ? to - from : Math.floor(bytes!.length / valueBytes(layout))
    return { layers, entries: count, rep: null, def: null, block: decodeRows(layout.values, bytes!, count) }
  }
  return unzipCells(layout, bytes!, page.pacer)
}

/** Return whether a page has nothing but the bytes of its values, which are not encoded. */
function hasPlainRows(layout: FullZipLayout): boolean {
  if (layout.lengthBits > 0 || controlBytes(layout) > 0) return false
  let inner = layout.values
  while (inner.kind === 'list' && !inner.hasValidity) inner = inner.values
  return inner.kind === 'flat'
}

function valueBytes(layout: FullZipLayout): number {
  if (layout.valueBits === 0) throw invalidInput('a page has values of 0 bits')
  return layout.valueBits / 8
}

/** Return the bytes of the levels of a value. */
function controlBytes({ repBits, defBits }: FullZipLayout): number {
  const bits = repBits + defBits
  return bits === 0 ? 0 : bits <= 8 ? 1 : bits <= 16 ? 2 : 4
}

/** Return where the rows are in the file. Reads their positions if rows differ in length and not all rows are needed. */
async function rangeOfRows(
  layout: FullZipLayout,
  page: PageSource,
  from: number,
  to: number,
): Promise<ByteRange> {
  const data = bufferOf(page, 0)
  if (from === 0 && to === page.rows) return data
  if (listDepth(layout.layers) === 0 && layout.lengthBits === 0) {
    const stride = controlBytes(layout) + valueBytes(layout)
    return within(data, from * stride, to * stride)
  }
  const index = bufferOf(page, 1)
  const width = (index.end - index.start) / (page.rows + 1)
  if (![1, 2, 4, 8].includes(width)) {
    throw invalidInput(`the positions of ${page.rows} rows of a page have ${index.end - index.start} bytes`)
  }
  const at = (row: number): ByteRange => ({
    start: index.start + row * width,
    end: index.start + (row + 1) * width,
  })
  const [start, end] = await page.read([at(from), at(to)])
  return within(data, readInteger(start!), readInteger(end!))
}

function within(data: ByteRange, start: number, end: number): ByteRange {
  if (start > end || data.start + end > data.end) {
    throw invalidInput(
      `rows of a page have bytes ${start} to ${end}, but the page has ${data.end - data.start} bytes`,
    )
  }
  return { start: data.start + start, end: data.start + end }
}

function readInteger(bytes: Uint8Array): number {
  let value = 0
  for (let i = bytes.length - 1; i >= 0; i--) value = value * 256 + bytes[i]!
  return value
}

/** Levels that grow by doubling, one pair for each control word. */
class ControlWords {
  readonly #layout: FullZipLayout
  readonly #bytes: number
  readonly #rep: Uint16Array | null
  readonly #def: Uint16Array | null
  readonly visible: Uint8Array
  /** Number of words. */
  count = 0

  /** `limit`: maximum number of words. */
  constructor(layout: FullZipLayout, limit: number) {
    this.#layout = layout
    this.#bytes = controlBytes(layout)
    this.#rep = listDepth(layout.layers) === 0 ? null : new Uint16Array(limit)
    this.#def = layout.defBits === 0 ? null : new Uint16Array(limit)
    this.visible = visibleLevels(layout.layers)
  }

  /** Read the word at a position. Returns the definition level. */
  read(bytes: Uint8Array, at: number): number {
    const width = this.#bytes
    if (at + width > bytes.length) throw invalidInput('the last value of a page is cut off')
    let word = bytes[at]!
    if (width > 1) word |= bytes[at + 1]! << 8
    if (width > 2) word = (word | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)) >>> 0
    const { defBits } = this.#layout
    const def = word & ((1 << defBits) - 1)
    if (def >= this.visible.length)
      throw invalidInput(`a page has the level ${def}, which its layers do not have`)
    if (this.#rep !== null) this.#rep[this.count] = word >>> defBits
    if (this.#def !== null) this.#def[this.count] = def
    this.count++
    return def
  }

  get levels(): Pick<PagePiece, 'rep' | 'def' | 'entries'> {
    const { count } = this
    return {
      entries: count,
      rep: this.#rep?.subarray(0, count) ?? null,
      def: this.#def?.subarray(0, count) ?? null,
    }
  }
}

/** Separate levels from values of one length. */
async function unzipCells(layout: FullZipLayout, bytes: Uint8Array, pacer: Pacer): Promise<PagePiece> {
  const wordBytes = controlBytes(layout)
  const width = layout.valueBits / 8
  const words = new ControlWords(layout, Math.ceil(bytes.length / wordBytes))
  const values = new Uint8Array(bytes.length)
  let visible = 0
  let turn = turnBytes
  for (let at = 0; at < bytes.length; ) {
    if (at >= turn) {
      if (pacer.due()) await pacer.pause()
      turn = at + turnBytes
    }
    const def = words.read(bytes, at)
    at += wordBytes
    if (words.visible[def] === 0) continue
    if (at + width > bytes.length) throw invalidInput('the last value of a page is cut off')
    values.set(bytes.subarray(at, at + width), visible * width)
    visible++
    at += width
  }
  const block = decodeRows(layout.values, values.subarray(0, visible * width), visible)
  return { layers: layout.layers, ...words.levels, block }
}

/** Separate levels and lengths from values that differ in length. `rows`: the number of values without levels. */
async function unzipTexts(
  layout: FullZipLayout,
  bytes: Uint8Array,
  rows: number,
  pacer: Pacer,
): Promise<PagePiece> {
  const wordBytes = controlBytes(layout)
  const lengthBytes = layout.lengthBits / 8
  const limit =
    wordBytes === 0
      ? Math.min(rows, Math.ceil(bytes.length / lengthBytes))
      : Math.ceil(bytes.length / wordBytes)
  const words = new ControlWords(layout, limit)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const offsets = new Int32Array(limit + 1)
  const values = new Uint8Array(bytes.length)
  let visible = 0
  let total = 0
  let turn = turnBytes
  for (let at = 0; at < bytes.length; ) {
    if (at >= turn) {
      if (pacer.due()) await pacer.pause()
      turn = at + turnBytes
    }
    const def = wordBytes === 0 ? 0 : words.read(bytes, at)
    at += wordBytes
    if (words.visible[def] === 0) continue
    if (def === 0) {
      if (at + lengthBytes > bytes.length || visible >= limit)
        throw invalidInput('the last value of a page is cut off')
      const length =
        view.getUint32(at, true) + (lengthBytes === 8 ? 2 ** 32 * view.getUint32(at + 4, true) : 0)
      at += lengthBytes
      if (length > bytes.length - at)
        throw invalidInput(`a value of a page has ${length} bytes, which are not there`)
      values.set(bytes.subarray(at, at + length), total)
      at += length
      total += length
    }
    offsets[++visible] = total
  }
  const levels = wordBytes === 0 ? { entries: visible, rep: null, def: null } : words.levels
  const block = decodeTexts(layout.values, offsets.slice(0, visible + 1), values.subarray(0, total))
  return { layers: layout.layers, ...levels, block }
}

/** Decode values of one length. */
function decodeRows(encoding: Encoding, bytes: Uint8Array, count: number): Block {
  if (encoding.kind === 'flat') return fixedBlock(encoding.bits, count, bytes)
  if (encoding.kind !== 'list') throw newerEncoding(`use of the encoding ${encoding.kind}`)
  const lists: { readonly size: number; readonly hasValidity: boolean }[] = []
  let inner: Encoding = encoding
  for (; inner.kind === 'list'; inner = inner.values) lists.push(inner)
  if (inner.kind !== 'flat') throw newerEncoding(`use of the encoding ${inner.kind}`)
  return lists.some(list => list.hasValidity)
    ? unzipLists(lists, inner.bits, bytes, count)
    : nestLists(lists, null, fixedBlock(inner.bits, count * itemsOf(lists), bytes))
}

function itemsOf(lists: readonly { readonly size: number }[]): number {
  const items = lists.reduce((product, list) => product * list.size, 1)
  if (items > 0x7fffffff) throw invalidInput(`a page has lists of ${items} items`)
  return items
}

/** Nest items into lists. `validity`: by list, which of its items are not null. */
function nestLists(
  lists: readonly { readonly size: number }[],
  validity: readonly (Uint8Array | null)[] | null,
  items: Block,
): Block {
  let block = items
  for (let i = lists.length - 1; i >= 0; i--) {
    const { size } = lists[i]!
    block = { kind: 'list', count: block.count / size, size, validity: validity?.[i] ?? null, items: block }
  }
  return block
}

/** Decode lists with the nulls of their items in front of each list. */
function unzipLists(
  lists: readonly { readonly size: number; readonly hasValidity: boolean }[],
  bits: number,
  bytes: Uint8Array,
  count: number,
): Block {
  const items = itemsOf(lists)
  if (bits % 8 !== 0) throw newerEncoding(`lists of values of ${bits} bits with nulls`)
  let perRow = 1
  const sizes = lists.map(({ size, hasValidity }) => {
    perRow *= size
    return hasValidity ? perRow : 0
  })
  const dataBytes = (items * bits) / 8
  const stride = sizes.reduce((sum, size) => sum + bitmapBytes(size), dataBytes)
  if (stride * count > bytes.length) {
    throw invalidInput(`${count} lists of ${stride} bytes do not fit the ${bytes.length} bytes of a page`)
  }
  const validity = sizes.map(size => (size === 0 ? null : new Uint8Array(bitmapBytes(size * count))))
  const out = new Uint8Array(dataBytes * count)
  for (let row = 0, at = 0; row < count; row++) {
    for (let i = 0; i < sizes.length; i++) {
      const size = sizes[i]!
      if (size === 0) continue
      copyBits(validity[i]!, row * size, bytes.subarray(at, at + bitmapBytes(size)), 0, size)
      at += bitmapBytes(size)
    }
    out.set(bytes.subarray(at, at + dataBytes), row * dataBytes)
    at += dataBytes
  }
  return nestLists(lists, validity, fixedBlock(bits, items * count, out))
}

/** Decode values that differ in length. */
function decodeTexts(encoding: Encoding, offsets: Int32Array, bytes: Uint8Array): Block {
  const count = offsets.length - 1
  switch (encoding.kind) {
    case 'variable':
      return { kind: 'variable', count, offsets, bytes }
    case 'fsst':
      if (encoding.values.kind !== 'variable') throw newerEncoding('encoding of text')
      return decodeFsst(new FsstDecoder(encoding.table), offsets, bytes)
    case 'general': {
      const plain = decompressTexts(encoding.scheme, offsets, bytes)
      return decodeTexts(encoding.values, plain.offsets, plain.bytes)
    }
    case 'packed-rows':
      return decodePackedRows(encoding.fields, offsets, bytes)
    default:
      throw newerEncoding(`use of the encoding ${encoding.kind}`)
  }
}

/** Decode values that are compressed one by one. Null values have no bytes. */
function decompressTexts(
  scheme: 'lz4' | 'zstd',
  offsets: Int32Array,
  bytes: Uint8Array,
): { readonly offsets: Int32Array; readonly bytes: Uint8Array } {
  const count = offsets.length - 1
  const parts: Uint8Array[] = []
  const ends = new Int32Array(count + 1)
  let total = 0
  for (let i = 0; i < count; i++) {
    const start = offsets[i]!
    const end = offsets[i + 1]!
    if (end > start) {
      const part = decompress(scheme, bytes.subarray(start, end))
      parts.push(part)
      total += part.length
      if (total > 0x7fffffff) throw tooMuchText()
    }
    ends[i + 1] = total
  }
  const out = new Uint8Array(total)
  let at = 0
  for (const part of parts) {
    out.set(part, at)
    at += part.length
  }
  return { offsets: ends, bytes: out }
}

/** Decode structs with children of fixed and variable width. */
function decodePackedRows(fields: readonly PackedField[], offsets: Int32Array, bytes: Uint8Array): Block {
  const count = offsets.length - 1
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const positions = offsets.slice(0, count)
  const children = fields.map(({ encoding, bits, lengthBits }) => {
    const fixed = bits / 8
    const prefix = lengthBits / 8
    const ends = new Int32Array(count + 1)
    const starts = new Int32Array(count)
    for (let i = 0; i < count; i++) {
      let at = positions[i]!
      const end = offsets[i + 1]!
      // A null struct has no bytes.
      if (offsets[i] === end) {
        ends[i + 1] = ends[i]! + fixed
        starts[i] = -1
        continue
      }
      let length = fixed
      if (prefix > 0) {
        if (at + prefix > end) throw invalidInput('a row of a packed struct is cut off')
        length = view.getUint32(at, true) + (prefix === 8 ? 2 ** 32 * view.getUint32(at + 4, true) : 0)
        at += prefix
      }
      if (length > end - at) throw invalidInput('a row of a packed struct is cut off')
      starts[i] = at
      ends[i + 1] = ends[i]! + length
      positions[i] = at + length
    }
    const out = new Uint8Array(ends[count]!)
    for (let i = 0; i < count; i++) {
      const start = starts[i]!
      if (start >= 0) out.set(bytes.subarray(start, start + ends[i + 1]! - ends[i]!), ends[i]!)
    }
    return prefix > 0 ? decodeTexts(encoding, ends, out) : decodeRows(encoding, out, count)
  })
  return { kind: 'struct', count, children }
}
