/** Views the values of a leaf as Lance stores them: cells of one width, or bytes with offsets. */
import { bitmapBytes, copyBits } from '../../../src/arrow/bits.js'
import { type Column, isValid } from '../../../src/arrow/column.js'
import { asBytes, cellBytes } from '../../../src/arrow/layout.js'
import { MessageWriter } from './message-writer.js'

/** An encoded page of a column. */
export interface Page {
  readonly rows: number
  readonly buffers: readonly Uint8Array[]
  /** The message `PageLayout`. */
  readonly layout: MessageWriter
}

/** A layer of fixed-size lists. */
interface ListLayer {
  readonly size: number
  /** Number of elements of a value, with those of the lists outside. */
  readonly perValue: number
  /** Which elements are not null. Null: all. */
  readonly validity: Uint8Array | null
}

/** Cells of one width. The cells of fixed-size lists follow each other. */
export interface FixedValues {
  readonly kind: 'fixed'
  readonly length: number
  /** Bits of a cell. */
  readonly bits: number
  readonly bytes: Uint8Array
  /** Fixed-size lists, outermost first. */
  readonly lists: readonly ListLayer[]
  readonly cellsPerValue: number
}

/** Text or binary values. */
export interface VariableValues {
  readonly kind: 'variable'
  readonly length: number
  readonly offsets: Int32Array
  readonly bytes: Uint8Array
  /** Bytes of an offset in the file. */
  readonly offsetBytes: 4 | 8
}

/** `null`: the values of a column of the type null. */
export type PageValues = FixedValues | VariableValues | null

export function pageValues(column: Column): PageValues {
  const { type, length } = column
  if (type.kind === 'null') return null
  if (type.kind === 'utf8' || type.kind === 'binary') {
    return { kind: 'variable', length, ...withoutBytesOfNulls(column), offsetBytes: type.large ? 8 : 4 }
  }
  return fixedValues(column)
}

/** Return values whose nulls have no bytes. LanceDB checks the text of nulls, too. */
function withoutBytesOfNulls(column: Column): Pick<VariableValues, 'offsets' | 'bytes'> {
  const { length, nullCount } = column
  const from = column.offsets!
  const bytes = column.values as Uint8Array
  if (nullCount === 0) return { offsets: from, bytes }
  const offsets = new Int32Array(length + 1)
  for (let i = 0; i < length; i++)
    offsets[i + 1] = offsets[i]! + (isValid(column, i) ? from[i + 1]! - from[i]! : 0)
  if (offsets[length] === from[length]! - from[0]!) return { offsets: from, bytes }
  const kept = new Uint8Array(offsets[length]!)
  for (let i = 0; i < length; i++)
    if (isValid(column, i)) kept.set(bytes.subarray(from[i]!, from[i + 1]!), offsets[i]!)
  return { offsets, bytes: kept }
}

function fixedValues(column: Column): FixedValues {
  const lists: ListLayer[] = []
  let inner = column
  let cellsPerValue = 1
  while (inner.type.kind === 'fixed_size_list') {
    const { size } = inner.type
    inner = inner.children[0]!
    cellsPerValue *= size
    lists.push({ size, perValue: cellsPerValue, validity: inner.nullCount > 0 ? inner.validity : null })
  }
  const bits = inner.type.kind === 'bool' ? 1 : 8 * cellBytes(inner.type)
  const bytes = asBytes(inner.values!).subarray(0, Math.ceil((inner.length * bits) / 8))
  return { kind: 'fixed', length: column.length, bits, bytes, lists, cellsPerValue }
}

/** Return the bytes of one value: its nulls in front, then its cells. */
export function bytesPerValue({ lists, cellsPerValue, bits }: FixedValues): number {
  const nulls = lists.reduce(
    (sum, { perValue, validity }) => sum + (validity === null ? 0 : bitmapBytes(perValue)),
    0,
  )
  return nulls + Math.ceil((cellsPerValue * bits) / 8)
}

/** Return the number of buffers of a chunk of values. */
export function buffersOf(values: FixedValues | VariableValues): number {
  if (values.kind === 'variable') return 1
  return 1 + values.lists.filter(list => list.validity !== null).length
}

/** Return the buffers of values `from` to `to`: the nulls of each layer of lists, then the cells. */
export function cutFixed(values: FixedValues, from: number, to: number): Uint8Array[] {
  const buffers: Uint8Array[] = []
  for (const { perValue, validity } of values.lists) {
    if (validity !== null) buffers.push(copyOfBits(validity, from * perValue, (to - from) * perValue))
  }
  const { bits, bytes, cellsPerValue } = values
  if (bits === 1) buffers.push(copyOfBits(bytes, from * cellsPerValue, (to - from) * cellsPerValue))
  else {
    const width = (bits / 8) * cellsPerValue
    buffers.push(bytes.subarray(from * width, to * width))
  }
  return buffers
}

function copyOfBits(bits: Uint8Array, start: number, length: number): Uint8Array {
  const out = new Uint8Array(bitmapBytes(length))
  copyBits(out, 0, bits, start, length)
  return out
}

/** Return the bytes of all values, one after the other, each with its nulls in front. */
export function zipFixed(values: FixedValues): Uint8Array {
  if (values.lists.every(list => list.validity === null)) return values.bytes
  const width = bytesPerValue(values)
  const out = new Uint8Array(width * values.length)
  for (let i = 0, at = 0; i < values.length; i++) {
    for (const buffer of cutFixed(values, i, i + 1)) {
      out.set(buffer, at)
      at += buffer.length
    }
  }
  return out
}

/** Describe the values as message `CompressiveEncoding`. */
export function encodingOf(values: FixedValues | VariableValues): MessageWriter {
  if (values.kind === 'variable') {
    const offsets = flatEncoding(8 * values.offsetBytes)
    return new MessageWriter().message(2, new MessageWriter().message(1, offsets))
  }
  let encoding = flatEncoding(values.bits)
  for (const { size, validity } of [...values.lists].reverse()) {
    const list = new MessageWriter()
      .number(1, size)
      .message(2, encoding)
      .bool(3, validity !== null)
    encoding = new MessageWriter().message(11, list)
  }
  return encoding
}

/** Describe uncompressed cells as message `CompressiveEncoding`. */
export function flatEncoding(bits: number): MessageWriter {
  return new MessageWriter().message(1, new MessageWriter().number(1, bits))
}
