/** Decodes the values of the chunks of a page, chunk after chunk, into one block. */
import { bitmapBytes, copyBits } from '../arrow/bits.js'
import { invalidInput } from '../errors.js'
import { type Block, type FixedBlock, fixedBlock, tooMuchText } from './block.js'
import { expandRuns, inlineWidth } from './decode-block.js'
import { decompress } from './decompress.js'
import { type Encoding, newerEncoding } from './encoding.js'
import { FsstDecoder } from './fsst.js'
import { releaseScratch, takeScratch } from './scratch.js'
import { blockValues, unpackBlock } from './unpack-bits.js'

/** Collects the values of chunks. */
export interface ChunkValues {
  /** Decode the next `count` values. `buffers` are the value buffers of a chunk. */
  add(buffers: readonly Uint8Array[], count: number): void
  /** Return all values that were added. */
  finish(): Block
}

/** Create the collector for values of an encoding. */
export function chunkValues(encoding: Encoding): ChunkValues {
  switch (encoding.kind) {
    case 'flat':
      return encoding.bits === 1 ? new Bits() : new Cells(encoding.bits, addFlat)
    case 'inline':
      return new Cells(encoding.bits, addInline)
    case 'split':
      return new Cells(encoding.bits, addSplit)
    case 'rle': {
      const { values, lengths } = encoding
      const bits = flatBits(values)
      return new Cells(bits, (cells, buffers, count) => {
        cells.append(expandRuns(values, lengths, buffers, count).bytes, count)
      })
    }
    case 'variable':
      return new Texts(encoding.offsetBits, null)
    case 'fsst':
      if (encoding.values.kind !== 'variable') throw newerEncoding('encoding of text')
      return new Texts(encoding.values.offsetBits, new FsstDecoder(encoding.table))
    case 'list':
      return new Lists(encoding.size, encoding.hasValidity, chunkValues(encoding.values))
    case 'packed':
      return new PackedStructs(encoding.bits, chunkValues(encoding.values))
    case 'general': {
      const inner = chunkValues(encoding.values)
      const { scheme } = encoding
      return {
        add: ([first, ...rest], count) =>
          inner.add([decompress(scheme, first ?? new Uint8Array(0)), ...rest], count),
        finish: () => inner.finish(),
      }
    }
    default:
      throw newerEncoding(`use of the encoding ${encoding.kind}`)
  }
}

function flatBits(encoding: Encoding): number {
  if (encoding.kind === 'general') return flatBits(encoding.values)
  if (encoding.kind !== 'flat') throw newerEncoding('encoding of runs')
  return encoding.bits
}

function only(buffers: readonly Uint8Array[]): Uint8Array {
  const [buffer] = buffers
  if (buffer === undefined || buffers.length !== 1) {
    throw invalidInput(`a chunk has ${buffers.length} buffers of values, expected 1`)
  }
  return buffer
}

/** Bytes that grow by doubling. */
class GrowingBytes {
  bytes = takeScratch(4096)
  length = 0

  /** Make room for `more` bytes after the first `length`. */
  reserve(more: number): void {
    const needed = this.length + more
    if (needed <= this.bytes.length) return
    if (needed > 0x7fffffff) throw tooMuchText()
    const bytes = takeScratch(Math.min(0x7fffffff, Math.max(needed, 2 * this.bytes.length)))
    bytes.set(this.bytes.subarray(0, this.length))
    releaseScratch(this.bytes)
    this.bytes = bytes
  }

  /** Return a copy of the bytes. This object cannot be used any more. */
  finish(): Uint8Array {
    const bytes = this.bytes.slice(0, this.length)
    releaseScratch(this.bytes)
    return bytes
  }
}

/** Fixed-width values of whole bytes. */
class Cells implements ChunkValues {
  readonly bits: number
  readonly bytes = new GrowingBytes()
  readonly #add: (cells: Cells, buffers: readonly Uint8Array[], count: number) => void
  #count = 0

  constructor(bits: number, add: (cells: Cells, buffers: readonly Uint8Array[], count: number) => void) {
    if (bits % 8 !== 0) throw newerEncoding(`values of ${bits} bits`)
    this.bits = bits
    this.#add = add
  }

  add(buffers: readonly Uint8Array[], count: number): void {
    this.#add(this, buffers, count)
    this.#count += count
  }

  append(bytes: Uint8Array, count: number): void {
    const length = (this.bits / 8) * count
    if (bytes.length < length) {
      throw invalidInput(
        `${count} values of ${this.bits} bits need ${length} bytes, but there are ${bytes.length}`,
      )
    }
    this.bytes.reserve(length)
    this.bytes.bytes.set(bytes.length === length ? bytes : bytes.subarray(0, length), this.bytes.length)
    this.bytes.length += length
  }

  finish(): Block {
    return fixedBlock(this.bits, this.#count, this.bytes.finish())
  }
}

function addFlat(cells: Cells, buffers: readonly Uint8Array[], count: number): void {
  cells.append(only(buffers), count)
}

const unpacked = new Uint8Array(blockValues * 8)

function addInline(cells: Cells, buffers: readonly Uint8Array[], count: number): void {
  const { bits, bytes } = cells
  const buffer = only(buffers)
  if (count > blockValues)
    throw invalidInput(`a packed chunk has ${count} values, expected at most ${blockValues}`)
  const packed = buffer.subarray(bits / 8)
  const width = inlineWidth(bits, buffer)
  if (count === blockValues && bytes.length % 8 === 0) {
    const length = (blockValues * bits) / 8
    bytes.reserve(length)
    unpackBlock(bits, width, packed, bytes.bytes.subarray(bytes.length))
    bytes.length += length
  } else {
    unpackBlock(bits, width, packed, unpacked)
    cells.append(unpacked, count)
  }
}

function addSplit(cells: Cells, buffers: readonly Uint8Array[], count: number): void {
  const buffer = only(buffers)
  const width = cells.bits / 8
  if (buffer.length !== count * width) {
    throw invalidInput(
      `${count} values of ${width} bytes need ${count * width} bytes, but there are ${buffer.length}`,
    )
  }
  cells.bytes.reserve(buffer.length)
  const { bytes, length } = cells.bytes
  for (let byte = 0, from = 0; byte < width; byte++) {
    for (let i = 0, to = length + byte; i < count; i++, to += width) bytes[to] = buffer[from++]!
  }
  cells.bytes.length += buffer.length
}

/** Values of one bit. */
class Bits implements ChunkValues {
  #bytes = new Uint8Array(512)
  #count = 0

  add(buffers: readonly Uint8Array[], count: number): void {
    this.addBits(only(buffers), count)
  }

  addBits(bits: Uint8Array, count: number): void {
    if (bits.length < bitmapBytes(count)) {
      throw invalidInput(`${count} bits need ${bitmapBytes(count)} bytes, but there are ${bits.length}`)
    }
    const needed = bitmapBytes(this.#count + count)
    if (needed > this.#bytes.length) {
      const bytes = new Uint8Array(Math.max(needed, 2 * this.#bytes.length))
      bytes.set(this.#bytes)
      this.#bytes = bytes
    }
    copyBits(this.#bytes, this.#count, bits, 0, count)
    this.#count += count
  }

  finish(): FixedBlock {
    return fixedBlock(1, this.#count, this.#bytes)
  }
}

/** Values that differ in length, compressed with FSST or not. */
class Texts implements ChunkValues {
  readonly #offsetBytes: number
  readonly #decoder: FsstDecoder | null
  readonly #bytes = new GrowingBytes()
  #offsets = new Int32Array(1025)
  #count = 0

  constructor(offsetBits: number, decoder: FsstDecoder | null) {
    this.#offsetBytes = offsetBits / 8
    this.#decoder = decoder?.isOn ? decoder : null
  }

  add(buffers: readonly Uint8Array[], count: number): void {
    const buffer = only(buffers)
    const width = this.#offsetBytes
    if (buffer.length < (count + 1) * width) {
      throw invalidInput(`a chunk of ${count} texts has only ${buffer.length} bytes`)
    }
    if (this.#count + count + 1 > this.#offsets.length) {
      const offsets = new Int32Array(Math.max(this.#count + count + 1, 2 * this.#offsets.length))
      offsets.set(this.#offsets)
      this.#offsets = offsets
    }
    const starts = readOffsets(buffer, width, count).subarray(0, count + 1)
    const bytes = this.#bytes
    const first = starts[0]!
    const last = starts[count]!
    const at = this.#count
    if (this.#decoder === null) {
      bytes.reserve(last - first)
      bytes.bytes.set(buffer.subarray(first, last), bytes.length)
      for (let i = 1; i <= count; i++) this.#offsets[at + i] = bytes.length + starts[i]! - first
      bytes.length += last - first
    } else {
      bytes.reserve(8 * (last - first) + 8)
      this.#decoder.decode(buffer, starts, bytes, this.#offsets, at + 1)
    }
    this.#count += count
  }

  finish(): Block {
    return {
      kind: 'variable',
      count: this.#count,
      offsets: this.#offsets.subarray(0, this.#count + 1),
      bytes: this.#bytes.finish(),
    }
  }
}

/** Offsets of one chunk, which are used before the next chunk is read. */
let scratchOffsets = new Int32Array(1025)

/**
 * Return the `count + 1` offsets at the start of a buffer. They ascend, and are within the buffer. The result is valid
 * until the next call, and may be longer.
 */
function readOffsets(buffer: Uint8Array, width: number, count: number): Int32Array {
  const view = new DataView(buffer.buffer, buffer.byteOffset, buffer.byteLength)
  if (scratchOffsets.length <= count) scratchOffsets = new Int32Array(count + 1)
  const offsets = scratchOffsets
  let last = 0
  for (let i = 0; i <= count; i++) {
    const high = width === 8 ? view.getUint32(i * width + 4, true) : 0
    const offset = view.getUint32(i * width, true)
    if (high !== 0 || offset > buffer.length || offset < last) {
      throw invalidInput(`offset ${i} of a chunk of texts is ${offset}, which is out of order or range`)
    }
    offsets[i] = offset
    last = offset
  }
  return offsets
}

/** Lists of a fixed size. The buffer of their nulls precedes the buffers of their items. */
class Lists implements ChunkValues {
  readonly #size: number
  readonly #validity: Bits | null
  readonly #items: ChunkValues
  #count = 0

  constructor(size: number, hasValidity: boolean, items: ChunkValues) {
    this.#size = size
    this.#validity = hasValidity ? new Bits() : null
    this.#items = items
  }

  add(buffers: readonly Uint8Array[], count: number): void {
    const items = count * this.#size
    if (items > 0x7fffffff) throw invalidInput(`a chunk has ${count} lists of ${this.#size} items`)
    let rest = buffers
    if (this.#validity !== null) {
      this.#validity.addBits(buffers[0] ?? new Uint8Array(0), items)
      rest = buffers.slice(1)
    }
    this.#items.add(rest, items)
    this.#count += count
  }

  finish(): Block {
    return {
      kind: 'list',
      count: this.#count,
      size: this.#size,
      validity: this.#validity === null ? null : this.#validity.finish().bytes,
      items: this.#items.finish(),
    }
  }
}

/** Structs whose children have a fixed width, and whose rows are stored one after the other. */
class PackedStructs implements ChunkValues {
  readonly #bits: readonly number[]
  readonly #rows: ChunkValues

  constructor(bits: readonly number[], rows: ChunkValues) {
    this.#bits = bits
    this.#rows = rows
  }

  add(buffers: readonly Uint8Array[], count: number): void {
    this.#rows.add(buffers, count)
  }

  finish(): Block {
    return unpackRows(this.#bits, this.#rows.finish())
  }
}

function unpackRows(bits: readonly number[], rows: Block): Block {
  const rowBits = bits.reduce((sum, width) => sum + width, 0)
  if (rows.kind !== 'fixed' || rows.bits !== rowBits || bits.some(width => width % 8 !== 0)) {
    throw invalidInput(`a packed struct has rows of ${rowBits} bits, which its values do not have`)
  }
  const { count, bytes } = rows
  const stride = rowBits / 8
  let start = 0
  const children = bits.map(width => {
    const size = width / 8
    const out = new Uint8Array(size * count)
    for (let i = 0, to = 0; i < count; i++) {
      for (let j = 0, from = i * stride + start; j < size; j++) out[to++] = bytes[from++]!
    }
    start += size
    return fixedBlock(width, count, out)
  })
  return { kind: 'struct', count, children }
}
