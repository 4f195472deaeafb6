/**
 * Decodes the values of pages into columns without nulls. Values of a fixed width go from buffer to buffer. No encoding
 * creates an object per value.
 */
import { isUtf8 } from 'node:buffer'
import type { Column, Values } from '../../../src/arrow/column.js'
import { nullColumn } from '../../../src/arrow/fill.js'
import { asBytes, cellBytes, viewCells } from '../../../src/arrow/layout.js'
import type { DataType, TimeUnit } from '../../../src/arrow/types.js'
import { invalidInput, type SheafError, unsupported } from '../../../src/errors.js'
import { decodeDelta } from './delta.js'
import { brokenParquet } from './fault.js'
import type { PagePart } from './hybrid.js'
import type { SchemaNode } from './metadata.js'
import type { LeafPlan } from './read-plan.js'

/** Numbers of the encodings in the format. */
export const Encoding = {
  plain: 0,
  plainDictionary: 2,
  rle: 3,
  bitPacked: 4,
  deltaBinary: 5,
  deltaLength: 6,
  deltaBytes: 7,
  dictionary: 8,
  byteStreamSplit: 9,
} as const

/** Maximum bytes of text or binary values in one page. */
const maxBytes = 2 ** 30

/** Byte strings: value `i` is at `offsets[i]` to `offsets[i + 1]`. */
interface ByteStrings {
  readonly offsets: Int32Array
  readonly bytes: Uint8Array
}

/** Decode `count` values, which are not encoded by a dictionary. Throws InvalidInput if the page has fewer values. */
export function decodeValues(plan: LeafPlan, encoding: number, part: PagePart, count: number): Column {
  const { leaf } = plan
  if (leaf.physical === 'boolean' && encoding === Encoding.plain) return plainBools(plan, part, count)
  const width = storedWidth(leaf)
  switch (encoding) {
    case Encoding.plain:
      if (width === 0) return bytesColumn(plan, plainStrings(part, count), count, part)
      return fixedColumn(plan, plainCells(part, width, count), count, part)
    case Encoding.byteStreamSplit:
      if (width === 0 || leaf.physical === 'int96') break
      return fixedColumn(plan, joinStreams(part, width, count), count, part)
    case Encoding.deltaBinary:
      if (leaf.physical !== 'int32' && leaf.physical !== 'int64') break
      return fixedColumn(plan, asBytes(decodeDelta(part, count, width === 8).values), count, part)
    case Encoding.deltaLength:
      if (leaf.physical !== 'byte_array') break
      return bytesColumn(plan, deltaStrings(part, count), count, part)
    case Encoding.deltaBytes: {
      if (leaf.physical !== 'byte_array' && leaf.physical !== 'fixed_len_byte_array') break
      const strings = prefixedStrings(part, count)
      if (width === 0) return bytesColumn(plan, strings, count, part)
      if (strings.offsets.some((offset, i) => offset !== i * width))
        throw brokenParquet(`a page has values that do not have ${width} bytes`, part.at)
      return fixedColumn(plan, strings.bytes, count, part)
    }
  }
  throw unsupported(`Sheaf does not read Parquet pages of ${leaf.physical} with the encoding ${encoding}`)
}

/** Return the bytes of each value, or 0 for byte strings. */
function storedWidth({ physical, width }: SchemaNode): number {
  switch (physical) {
    case 'int32':
    case 'float':
      return 4
    case 'int64':
    case 'double':
      return 8
    case 'int96':
      return 12
    default:
      return width
  }
}

function cutOff(part: PagePart) {
  return brokenParquet('the values of a page are cut off', part.at)
}

function column(type: DataType, length: number, values: Values, offsets: Int32Array | null = null): Column {
  return { type, length, nullCount: 0, validity: null, values, offsets, children: [], dictionary: null }
}

/** Return the values of booleans that were decoded to 0 and 1. */
export function boolColumn({ value }: LeafPlan, flags: Uint32Array): Column {
  const bits = new Uint8Array((flags.length + 7) >>> 3)
  for (let i = 0; i < flags.length; i++) bits[i >>> 3]! |= (flags[i]! & 1) << (i & 7)
  return column(value, flags.length, bits)
}

function plainBools({ value }: LeafPlan, { bytes, from, to, at }: PagePart, count: number): Column {
  const length = (count + 7) >>> 3
  if (from + length > to) throw brokenParquet('the values of a page are cut off', at)
  return column(value, count, bytes.subarray(from, from + length))
}

function plainCells(part: PagePart, width: number, count: number): Uint8Array {
  if (part.from + width * count > part.to) throw cutOff(part)
  return part.bytes.subarray(part.from, part.from + width * count)
}

function joinStreams(part: PagePart, width: number, count: number): Uint8Array {
  const source = plainCells(part, width, count)
  const out = new Uint8Array(width * count)
  for (let byte = 0; byte < width; byte++) {
    for (let i = 0, from = byte * count, to = byte; i < count; i++, to += width) out[to] = source[from + i]!
  }
  return out
}

function plainStrings(part: PagePart, count: number): ByteStrings {
  const { bytes, to } = part
  const offsets = new Int32Array(stringCount(count, part) + 1)
  let position = part.from
  for (let i = 0; i < count; i++) {
    if (position + 4 > to) throw cutOff(part)
    const length =
      (bytes[position]! |
        (bytes[position + 1]! << 8) |
        (bytes[position + 2]! << 16) |
        (bytes[position + 3]! << 24)) >>>
      0
    position += 4 + length
    if (position > to) throw cutOff(part)
    offsets[i + 1] = offsets[i]! + length
  }
  const out = new Uint8Array(offsets[count]!)
  position = part.from
  for (let i = 0; i < count; i++) {
    const start = offsets[i]!
    const length = offsets[i + 1]! - start
    position += 4
    if (length > 16) out.set(bytes.subarray(position, position + length), start)
    else for (let j = 0; j < length; j++) out[start + j] = bytes[position + j]!
    position += length
  }
  return { offsets, bytes: out }
}

/** Check that a page can hold a number of strings: each takes at least 4 bytes. */
function stringCount(count: number, part: PagePart): number {
  if (count * 4 > part.to - part.from) throw cutOff(part)
  return count
}

function deltaStrings(part: PagePart, count: number): ByteStrings {
  const { values, end } = decodeDelta(part, count, false)
  const offsets = offsetsOf(values as Int32Array, part)
  if (end + offsets[count]! > part.to) throw cutOff(part)
  return { offsets, bytes: part.bytes.slice(end, end + offsets[count]!) }
}

/** Decode strings that are stored as the length of a common prefix with the string before, and the rest. */
function prefixedStrings(part: PagePart, count: number): ByteStrings {
  const prefixes = decodeDelta(part, count, false)
  const rests = decodeDelta({ ...part, from: prefixes.end }, count, false)
  const [common, own] = [prefixes.values as Int32Array, rests.values as Int32Array]
  const ownOffsets = offsetsOf(own, part)
  if (rests.end + ownOffsets[count]! > part.to) throw cutOff(part)
  const lengths = new Int32Array(count)
  for (let i = 0; i < count; i++) {
    if (common[i]! < 0 || common[i]! > (i === 0 ? 0 : lengths[i - 1]!))
      throw brokenParquet('a page has a prefix that is longer than the value before', part.at)
    lengths[i] = common[i]! + own[i]!
  }
  const offsets = offsetsOf(lengths, part)
  const bytes = new Uint8Array(offsets[count]!)
  for (let i = 0; i < count; i++) {
    const start = offsets[i]!
    if (common[i]! > 0) bytes.copyWithin(start, offsets[i - 1]!, offsets[i - 1]! + common[i]!)
    const from = rests.end + ownOffsets[i]!
    bytes.set(part.bytes.subarray(from, from + own[i]!), start + common[i]!)
  }
  return { offsets, bytes }
}

function offsetsOf(lengths: Int32Array, part: PagePart): Int32Array {
  const offsets = new Int32Array(lengths.length + 1)
  let end = 0
  for (let i = 0; i < lengths.length; i++) {
    if (lengths[i]! < 0) throw brokenParquet(`a page has a value of ${lengths[i]} bytes`, part.at)
    end += lengths[i]!
    if (end > maxBytes)
      throw unsupported(`a page of the Parquet file has more than ${maxBytes} bytes of values`)
    offsets[i + 1] = end
  }
  return offsets
}

function bytesColumn({ value }: LeafPlan, strings: ByteStrings, count: number, part: PagePart): Column {
  const { offsets, bytes } = strings
  switch (value.kind) {
    case 'utf8':
      checkText(strings, part)
      return column(value, count, bytes, offsets)
    case 'decimal': {
      const width = value.bits >>> 3
      const out = new Uint8Array(width * count)
      for (let i = 0; i < count; i++) {
        const length = offsets[i + 1]! - offsets[i]!
        if (length === 0 || length > width)
          throw brokenParquet(
            `a page has a decimal of ${length} bytes, but at most ${width} are allowed`,
            part.at,
          )
        reverseInto(bytes.subarray(offsets[i]!, offsets[i + 1]!), out.subarray(i * width, (i + 1) * width))
      }
      return column(value, count, out)
    }
    case 'fixed_size_binary':
      if (bytes.length > 0) throw brokenParquet('a page has values that are not empty', part.at)
      return column(value, count, bytes)
    case 'null':
      return nullColumn(value, count)
    default:
      return column(value, count, bytes, offsets)
  }
}

function checkText({ offsets, bytes }: ByteStrings, part: PagePart): void {
  let isValid = isUtf8(bytes)
  // All texts together are valid. A text is valid if no other text begins inside of a character.
  for (let i = 0; isValid && i < offsets.length; i++) {
    if (offsets[i]! < bytes.length && (bytes[offsets[i]!]! & 0xc0) === 0x80) isValid = false
  }
  if (!isValid) throw brokenParquet('a page has a text that is not valid UTF-8', part.at)
}

/** Check that a big-endian integer has no more than `width` bytes besides copies of its sign. */
function checkSign(cell: Uint8Array, width: number, part: PagePart): void {
  const rest = cell.length - width
  if (rest <= 0) return
  const sign = cell[rest]! >= 128 ? 255 : 0
  for (let i = 0; i < rest; i++) {
    if (cell[i] !== sign)
      throw brokenParquet(`a page has a decimal that does not fit ${width} bytes`, part.at)
  }
}

/** Write a big-endian integer as a little-endian integer of another width. */
function reverseInto(from: Uint8Array, to: Uint8Array): void {
  const sign = from[0]! >= 128 ? 255 : 0
  for (let i = 0; i < to.length; i++) to[i] = i < from.length ? from[from.length - 1 - i]! : sign
}

/** Make a column of stored values of a fixed width. */
function fixedColumn(plan: LeafPlan, cells: Uint8Array, count: number, part: PagePart): Column {
  const { value, leaf, divisor } = plan
  switch (value.kind) {
    case 'null':
      return nullColumn(value, count)
    case 'decimal':
      return column(value, count, decimalCells(cells, count, value.bits >>> 3, leaf, part))
    case 'interval':
      if (leaf.width === 12) return column(value, count, intervalCells(cells, count))
      break
    case 'timestamp':
      if (leaf.physical === 'int96') return column(value, count, julianTimes(value.unit, cells, count, part))
      break
    case 'int':
      if (value.bits < 32) return column(value, count, narrowInts(value, cells, count, part))
      break
  }
  const values = viewCells(
    value.kind === 'time' && divisor > 1n ? { kind: 'time', unit: 'us' } : value,
    cells,
    count,
  )
  if (divisor === 1n) return column(value, count, values)
  const out = value.kind === 'time' ? new Int32Array(count) : new BigInt64Array(count)
  for (let i = 0; i < count; i++) {
    const stored = (values as BigInt64Array)[i]!
    const quotient = stored / divisor
    if (quotient * divisor !== stored)
      throw brokenParquet(
        `a column of seconds has the value ${stored}, which is not a multiple of ${divisor}`,
        part.at,
      )
    if (out instanceof BigInt64Array) out[i] = quotient
    else out[i] = Number(quotient)
    if (BigInt(out[i]!) !== quotient)
      throw brokenParquet(`a column of seconds has the value ${stored}, which is not a time`, part.at)
  }
  return column(value, count, out)
}

function narrowInts(
  type: DataType & { kind: 'int' },
  cells: Uint8Array,
  count: number,
  part: PagePart,
): Values {
  const stored = viewCells({ kind: 'int', bits: 32, signed: true }, cells, count) as Int32Array
  const values = viewCells(type, new Uint8Array(cellBytes(type) * count), count) as Int8Array
  for (let i = 0; i < count; i++) {
    values[i] = stored[i]!
    if (values[i] !== stored[i]!)
      throw brokenParquet(`a column of ${type.bits}-bit integers has the value ${stored[i]}`, part.at)
  }
  return values
}

function decimalCells(
  cells: Uint8Array,
  count: number,
  width: number,
  { physical, width: stored }: SchemaNode,
  part: PagePart,
) {
  const out = new Uint8Array(width * count)
  if (physical === 'fixed_len_byte_array') {
    for (let i = 0; i < count; i++) {
      const cell = cells.subarray(i * stored, (i + 1) * stored)
      checkSign(cell, width, part)
      reverseInto(cell, out.subarray(i * width, (i + 1) * width))
    }
    return out
  }
  const bytes = physical === 'int32' ? 4 : 8
  for (let i = 0; i < count; i++) {
    const sign = cells[(i + 1) * bytes - 1]! >= 128 ? 255 : 0
    for (let j = 0; j < width; j++) out[i * width + j] = j < bytes ? cells[i * bytes + j]! : sign
  }
  return out
}

/** Convert intervals of months, days and milliseconds to months, days and nanoseconds. */
function intervalCells(cells: Uint8Array, count: number): Uint8Array {
  const out = new Uint8Array(16 * count)
  const from = new DataView(cells.buffer, cells.byteOffset, cells.byteLength)
  const to = new DataView(out.buffer)
  for (let i = 0; i < count; i++) {
    to.setUint32(i * 16, from.getUint32(i * 12, true), true)
    to.setUint32(i * 16 + 4, from.getUint32(i * 12 + 4, true), true)
    to.setBigInt64(i * 16 + 8, BigInt(from.getUint32(i * 12 + 8, true)) * 1_000_000n, true)
  }
  return out
}

/** The Julian day of 1970-01-01. */
const epochDay = 2_440_588n

const nanosPer = { s: 1_000_000_000n, ms: 1_000_000n, us: 1000n, ns: 1n } as const

/** Convert timestamps of 12 bytes, a Julian day and nanoseconds of the day, to a unit since 1970. */
function julianTimes(unit: TimeUnit, cells: Uint8Array, count: number, part: PagePart): BigInt64Array {
  const out = new BigInt64Array(count)
  const view = new DataView(cells.buffer, cells.byteOffset, cells.byteLength)
  const perUnit = nanosPer[unit]
  for (let i = 0; i < count; i++) {
    const day = BigInt(view.getInt32(i * 12 + 8, true)) - epochDay
    const nanos = day * 86_400_000_000_000n + view.getBigInt64(i * 12, true)
    const value = nanos / perUnit
    out[i] = value
    if (value * perUnit !== nanos) throw unfitTime(`has parts of a ${unit}`, unit, part)
    if (out[i] !== value) throw unfitTime('is too large', unit, part)
  }
  return out
}

function unfitTime(what: string, unit: TimeUnit, { at }: PagePart): SheafError {
  return invalidInput(
    `a timestamp (INT96) of a Parquet file ${what} for a timestamp in ${unit} (byte ${at})`,
    {
      hint: `give the column another unit with the option schema: 'timestamp(${unit === 'ns' ? 'us' : 'ns'})'`,
    },
  )
}
