/** Decodes pages of Lance files 2.0: trees of the message `ArrayEncoding`. */
import { bitmapBytes, copyBits } from '../arrow/bits.js'
import { cellBytes } from '../arrow/layout.js'
import type { DataType } from '../arrow/types.js'
import { invalidInput } from '../errors.js'
import { type Block, type FixedBlock, fixedBlock, gatherBlock } from './block.js'
import { zeroBlock } from './constant.js'
import { decodeFsst } from './decode-block.js'
import { decompress } from './decompress.js'
import { newerEncoding } from './encoding.js'
import { FsstDecoder } from './fsst.js'
import { MessageReader } from './protobuf.js'
import { blockValues, packedBlockBytes, unpackBlock } from './unpack-bits.js'

/** A page with all its bytes. */
export interface PlainPage {
  readonly rows: number
  /** The bytes of the message `ArrayEncoding`. */
  readonly encoding: Uint8Array
  readonly buffers: readonly Uint8Array[]
  readonly type: DataType
}

/** Decoded values, and which of them are not null (null: all). */
export interface PlainRows {
  readonly block: Block
  readonly validity: Uint8Array | null
}

/** The lists of a page. */
interface PlainLists {
  /** By list: the end of its items within the items of the page. */
  readonly ends: Float64Array
  /** By list: 1 if it is not null. */
  readonly valid: Uint8Array
  /** Number of items of the page. */
  readonly items: number
}

/** The inputs of a decoder besides the message of its encoding. */
interface Context {
  readonly buffers: readonly Uint8Array[]
  readonly type: DataType
  readonly count: number
}

/** Maximum number of rows of a page. Some encodings have no bytes for a row. */
const maxRows = 2 ** 27

/** Decode all values of a page. */
export function decodePlain(page: PlainPage): PlainRows {
  const { buffers, type, rows: count } = page
  if (count > maxRows) throw invalidInput(`a page has ${count} rows, expected at most ${maxRows}`)
  return decodeArray(new MessageReader(page.encoding), { buffers, type, count })
}

/** Decode the lists of a page. With `rows` 0, only `items`. */
export function decodePlainList(page: PlainPage): PlainLists {
  const message = new MessageReader(page.encoding)
  let offsets: Uint8Array | null = null
  let adjustment = 0
  let items = 0
  while (message.next()) {
    if (message.field !== 4) throw newerEncoding(`encoding ${message.field} of lists`)
    const list = message.message()
    while (list.next()) {
      if (list.field === 1) offsets = list.bytes()
      else if (list.field === 2) adjustment = list.count()
      else if (list.field === 3) items = list.count()
      else list.skip()
    }
  }
  const count = page.rows
  if (count > maxRows) throw invalidInput(`a page has ${count} rows, expected at most ${maxRows}`)
  const ends = new Float64Array(count)
  const valid = new Uint8Array(count)
  if (count === 0) return { ends, valid, items }
  if (offsets === null) throw invalidInput('a page of lists has no offsets')
  const { block } = decodeArray(new MessageReader(offsets), {
    buffers: page.buffers,
    type: offsetType,
    count,
  })
  const numbers = readNumbers(block)
  let last = 0
  for (let i = 0; i < count; i++) {
    const offset = numbers[i]!
    valid[i] = offset < adjustment ? 1 : 0
    const end = valid[i] === 1 ? offset : offset - adjustment
    if (end < last || end > items)
      throw invalidInput(`list ${i} of a page ends at item ${end}, which is out of range`)
    ends[i] = end
    last = end
  }
  return { ends, valid, items }
}

const offsetType: DataType = { kind: 'int', bits: 64, signed: false }

type Decoder = (message: MessageReader, context: Context) => PlainRows

/** By field of `ArrayEncoding`: the decoder of its message. */
const decoders: ReadonlyMap<number, Decoder> = new Map<number, Decoder>([
  [1, decodeFlat],
  [2, decodeNullable],
  [3, decodeList],
  [6, decodeBinary],
  [7, decodeDictionary],
  [8, decodeFsstText],
  [9, decodePackedStruct],
  [10, decodeBitpacked],
  [11, decodeFixedText],
  [12, decodeNonNegative],
])

function decodeArray(message: MessageReader, context: Context): PlainRows {
  let rows: PlainRows | null = null
  while (message.next()) {
    const decode = decoders.get(message.field)
    if (decode === undefined) throw newerEncoding(`encoding ${message.field} of a file of version 2.0`)
    rows = decode(message.message(), context)
  }
  if (rows === null) throw invalidInput('an encoding of a page is missing')
  return rows
}

/** Decode a child that has no nulls. */
function decodeValid(bytes: Uint8Array | null, context: Context): Block {
  if (bytes === null) throw invalidInput('an encoding of a page is missing')
  const { block, validity } = decodeArray(new MessageReader(bytes), context)
  if (validity !== null) throw newerEncoding('place of nulls')
  return block
}

function decodeNullable(message: MessageReader, context: Context): PlainRows {
  let rows: PlainRows | null = null
  while (message.next()) {
    if (message.field === 1) rows = decodeNoNulls(message.message(), context)
    else if (message.field === 2) rows = decodeSomeNulls(message.message(), context)
    else if (message.field === 3) {
      message.skip()
      const validity = new Uint8Array(bitmapBytes(context.count))
      rows = { block: zeroBlock(context.type, context.count), validity }
    } else message.skip()
  }
  if (rows === null) throw invalidInput('an encoding of a page is missing')
  return rows
}

function decodeNoNulls(message: MessageReader, context: Context): PlainRows {
  let values: Uint8Array | null = null
  while (message.next()) {
    if (message.field === 1) values = message.bytes()
    else message.skip()
  }
  if (values === null) throw invalidInput('an encoding of a page is missing')
  return decodeArray(new MessageReader(values), context)
}

function decodeSomeNulls(message: MessageReader, context: Context): PlainRows {
  let validity: Uint8Array | null = null
  let values: Uint8Array | null = null
  while (message.next()) {
    if (message.field === 1) validity = message.bytes()
    else if (message.field === 2) values = message.bytes()
    else message.skip()
  }
  const bits = decodeValid(validity, { ...context, type: { kind: 'bool' } })
  if (bits.kind !== 'fixed' || bits.bits !== 1) throw invalidInput('the nulls of a page are not bits')
  return { block: decodeValid(values, context), validity: bits.bytes }
}

/** The fields `buffer` and `compression` of the encodings that have a buffer. */
function readBuffer(message: MessageReader, context: Context): Uint8Array {
  let index = 0
  let place = 0
  while (message.next()) {
    if (message.field === 1) index = message.count()
    else if (message.field === 2) place = message.count()
    else message.skip()
  }
  if (place !== 0) throw newerEncoding('buffer outside of the page')
  const buffer = context.buffers[index]
  if (buffer === undefined) {
    throw invalidInput(`a page has ${context.buffers.length} buffers, but its encoding needs buffer ${index}`)
  }
  return buffer
}

function readCompression(message: MessageReader): string {
  let scheme = ''
  while (message.next()) {
    if (message.field === 1) scheme = message.text()
    else message.skip()
  }
  return scheme
}

function decodeFlat(message: MessageReader, context: Context): PlainRows {
  let bits = 0
  let buffer: Uint8Array | null = null
  let scheme = ''
  while (message.next()) {
    if (message.field === 1) bits = message.count()
    else if (message.field === 2) buffer = readBuffer(message.message(), context)
    else if (message.field === 3) scheme = readCompression(message.message())
    else message.skip()
  }
  if (buffer === null || bits === 0 || (bits !== 1 && bits % 8 !== 0)) {
    throw invalidInput(`a page has values of ${bits} bits`)
  }
  if (scheme === 'zstd' || scheme === 'lz4') buffer = decompress(scheme, buffer)
  else if (scheme !== '' && scheme !== 'none') throw newerEncoding(`compression ${scheme}`)
  return { block: fixedBlock(bits, context.count, buffer), validity: null }
}

/** Read the encoding of fixed-size lists: the items per list, and the encoding of the items. */
export function readList(message: MessageReader): {
  readonly size: number
  readonly items: Uint8Array | null
} {
  let size = 0
  let items: Uint8Array | null = null
  while (message.next()) {
    if (message.field === 1) size = message.count()
    else if (message.field === 2) items = message.bytes()
    else message.skip()
  }
  return { size, items }
}

function decodeList(message: MessageReader, context: Context): PlainRows {
  const { size, items } = readList(message)
  const { count, type } = context
  if (size < 1 || count * size > 0x7fffffff) throw invalidInput(`a page has ${count} lists of ${size} items`)
  if (items === null) throw invalidInput('an encoding of a page is missing')
  const child = type.kind === 'fixed_size_list' ? type.child.type : type
  const rows = decodeArray(new MessageReader(items), { ...context, type: child, count: count * size })
  return { block: { kind: 'list', count, size, validity: rows.validity, items: rows.block }, validity: null }
}

/** Decode text: the end of each value, to which an adjustment is added for a null, and all bytes. */
function decodeBinary(message: MessageReader, context: Context): PlainRows {
  let indices: Uint8Array | null = null
  let bytes: Uint8Array | null = null
  let adjustment = 0
  while (message.next()) {
    if (message.field === 1) indices = message.bytes()
    else if (message.field === 2) bytes = message.bytes()
    else if (message.field === 3) adjustment = message.count()
    else message.skip()
  }
  const { count } = context
  const ends = readNumbers(decodeValid(indices, { ...context, type: offsetType }))
  const offsets = new Int32Array(count + 1)
  const validity = new Uint8Array(bitmapBytes(count))
  let nulls = 0
  for (let i = 0; i < count; i++) {
    const isNull = adjustment > 0 && ends[i]! >= adjustment
    const end = isNull ? ends[i]! - adjustment : ends[i]!
    if (end < offsets[i]! || end > 0x7fffffff) {
      throw invalidInput(`value ${i} of a page ends at byte ${end}, which is out of order or range`)
    }
    offsets[i + 1] = end
    if (isNull) nulls++
    else validity[i >>> 3]! |= 1 << (i & 7)
  }
  const values = decodeValid(bytes, { ...context, type: byteType, count: offsets[count]! })
  if (values.kind !== 'fixed' || values.bits !== 8)
    throw invalidInput('the text of a page is not stored as bytes')
  return {
    block: { kind: 'variable', count, offsets, bytes: values.bytes },
    validity: nulls === 0 ? null : validity,
  }
}

const byteType: DataType = { kind: 'int', bits: 8, signed: false }

/**
 * Decode values of a dictionary. For a column whose type is not a dictionary, index 0 is a null, and index 1 the first
 * value.
 */
function decodeDictionary(message: MessageReader, context: Context): PlainRows {
  let indexBytes: Uint8Array | null = null
  let itemBytes: Uint8Array | null = null
  let size = 0
  while (message.next()) {
    if (message.field === 1) indexBytes = message.bytes()
    else if (message.field === 2) itemBytes = message.bytes()
    else if (message.field === 3) size = message.count()
    else message.skip()
  }
  const { type, count, buffers } = context
  if (indexBytes === null || itemBytes === null || size > 0x7fffffff)
    throw invalidInput('a dictionary is damaged')
  const isTyped = type.kind === 'dictionary'
  const items = decodeArray(new MessageReader(itemBytes), {
    buffers,
    type: isTyped ? type.value : type,
    count: size,
  })
  const stored = decodeArray(new MessageReader(indexBytes), {
    ...context,
    type: isTyped ? type.index : byteType,
  })
  const numbers = readNumbers(stored.block)
  const indices = new Int32Array(count)
  const validity = new Uint8Array(bitmapBytes(count))
  for (let i = 0; i < count; i++) {
    const index = isTyped ? numbers[i]! : numbers[i]! - 1
    const isStored = stored.validity === null || bitAt(stored.validity, i)
    if (index === -1 || !isStored) continue
    if (index >= size) throw invalidInput(`index ${index} is outside of a dictionary of ${size} values`)
    indices[i] = index
    if (items.validity === null || bitAt(items.validity, index)) validity[i >>> 3]! |= 1 << (i & 7)
  }
  const known = size === 0 ? zeroBlock(isTyped ? type.value : type, 1) : items.block
  const block: Block = isTyped
    ? { kind: 'dictionary', count, indices, items: known }
    : gatherBlock(known, indices)
  return { block, validity }
}

function bitAt(bits: Uint8Array, index: number): boolean {
  return ((bits[index >>> 3]! >>> (index & 7)) & 1) === 1
}

function decodeFsstText(message: MessageReader, context: Context): PlainRows {
  let binary: Uint8Array | null = null
  let table: Uint8Array = new Uint8Array(0)
  while (message.next()) {
    if (message.field === 1) binary = message.bytes()
    else if (message.field === 2) table = message.bytes()
    else message.skip()
  }
  if (binary === null) throw invalidInput('an encoding of a page is missing')
  const { block, validity } = decodeArray(new MessageReader(binary), context)
  if (block.kind !== 'variable') throw newerEncoding('encoding of text')
  return { block: decodeFsst(new FsstDecoder(table), block.offsets, block.bytes), validity }
}

function decodeFixedText(message: MessageReader, context: Context): PlainRows {
  let bytes: Uint8Array | null = null
  let width = 0
  while (message.next()) {
    if (message.field === 1) bytes = message.bytes()
    else if (message.field === 2) width = message.count()
    else message.skip()
  }
  const { count } = context
  if (count * width > 0x7fffffff) throw invalidInput(`a page has ${count} values of ${width} bytes`)
  const values = decodeValid(bytes, { ...context, type: byteType, count: count * width })
  if (values.kind !== 'fixed' || values.bits !== 8)
    throw invalidInput('the text of a page is not stored as bytes')
  const offsets = new Int32Array(count + 1)
  for (let i = 0; i <= count; i++) offsets[i] = i * width
  return { block: { kind: 'variable', count, offsets, bytes: values.bytes }, validity: null }
}

function decodePackedStruct(message: MessageReader, context: Context): PlainRows {
  let buffer: Uint8Array | null = null
  while (message.next()) {
    if (message.field === 2) buffer = readBuffer(message.message(), context)
    else message.skip()
  }
  const { type, count } = context
  if (buffer === null || type.kind !== 'struct') throw invalidInput('a page of a packed struct is damaged')
  const widths = type.children.map(child => packedBytes(child.type))
  const stride = widths.reduce((sum, width) => sum + width, 0)
  const rows = fixedBlock(8 * stride, count, buffer)
  let start = 0
  const children = type.children.map((child, i) => {
    const width = widths[i]!
    const out = new Uint8Array(width * count)
    for (let row = 0, to = 0; row < count; row++) {
      for (let j = 0, from = row * stride + start; j < width; j++) out[to++] = rows.bytes[from++]!
    }
    start += width
    return packedChild(child.type, count, out)
  })
  return { block: { kind: 'struct', count, children }, validity: null }
}

function packedBytes(type: DataType): number {
  const width = type.kind === 'fixed_size_list' ? type.size * packedBytes(type.child.type) : cellBytes(type)
  if (width === 0) throw newerEncoding(`${type.kind} in a packed struct`)
  return width
}

function packedChild(type: DataType, count: number, bytes: Uint8Array): Block {
  if (type.kind !== 'fixed_size_list') return fixedBlock(8 * cellBytes(type), count, bytes)
  const items = packedChild(type.child.type, count * type.size, bytes)
  return { kind: 'list', count, size: type.size, validity: null, items }
}

interface Packed {
  readonly bits: number
  readonly packedBits: number
  readonly buffer: Uint8Array
  readonly isSigned: boolean
}

function readPacked(message: MessageReader, context: Context): Packed {
  let bits = 0
  let packedBits = 0
  let buffer: Uint8Array | null = null
  let isSigned = false
  while (message.next()) {
    if (message.field === 1) packedBits = message.count()
    else if (message.field === 2) bits = message.count()
    else if (message.field === 3) buffer = readBuffer(message.message(), context)
    else if (message.field === 4) isSigned = message.bool()
    else message.skip()
  }
  if (buffer === null || ![8, 16, 32, 64].includes(bits) || packedBits > bits) {
    throw invalidInput(`a page packs values of ${bits} bits in ${packedBits} bits`)
  }
  return { bits, packedBits, buffer, isSigned }
}

/** Decode values that are packed one after the other. */
function decodeBitpacked(message: MessageReader, context: Context): PlainRows {
  const { bits, packedBits, buffer, isSigned } = readPacked(message, context)
  const { count } = context
  const width = bits / 8
  const packed = fixedBlock(1, count * packedBits, buffer).bytes
  const out = new Uint8Array(count * width)
  if (packedBits === 0) return { block: fixedBlock(bits, count, out), validity: null }
  const padding = (8 - (packedBits & 7)) & 7
  const packedWidth = Math.ceil(packedBits / 8)
  for (let i = 0; i < count; i++) {
    const value = out.subarray(i * width, (i + 1) * width)
    copyBits(value, 0, packed, i * packedBits, packedBits)
    if (!isSigned) continue
    const top = packedWidth - 1
    const isNegative = ((value[top]! >>> (7 - padding)) & 1) === 1
    if (!isNegative) continue
    value[top]! |= (0xff << (8 - padding)) & 0xff
    value.fill(0xff, packedWidth)
  }
  return { block: fixedBlock(bits, count, out), validity: null }
}

/** Decode values that are packed in blocks of 1,024 values. */
function decodeNonNegative(message: MessageReader, context: Context): PlainRows {
  const { bits, packedBits, buffer } = readPacked(message, context)
  const { count } = context
  const packedBytesOfBlock = packedBlockBytes(packedBits)
  const blocks = Math.ceil(count / blockValues)
  if (buffer.length < blocks * packedBytesOfBlock || blocks > 2 ** 18) {
    throw invalidInput(`${count} packed values do not fit the ${buffer.length} bytes of a page`)
  }
  const bytes = (blockValues * bits) / 8
  const out = new Uint8Array(blocks * bytes)
  for (let i = 0; i < blocks; i++) {
    unpackBlock(bits, packedBits, buffer.subarray(i * packedBytesOfBlock), out.subarray(i * bytes))
  }
  return { block: fixedBlock(bits, count, out), validity: null }
}

/** Return unsigned integers as numbers. */
function readNumbers(block: Block): Float64Array {
  if (block.kind !== 'fixed' || ![8, 16, 32, 64].includes(block.bits)) {
    throw invalidInput('the positions of a page are not integers')
  }
  const { bytes, count, bits }: FixedBlock = block
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const out = new Float64Array(count)
  for (let i = 0; i < count; i++) {
    out[i] =
      bits === 8
        ? bytes[i]!
        : bits === 16
          ? view.getUint16(2 * i, true)
          : bits === 32
            ? view.getUint32(4 * i, true)
            : view.getUint32(8 * i, true) + 2 ** 32 * view.getUint32(8 * i + 4, true)
  }
  return out
}
