/**
 * Encodes large values one after the other, each with its levels in front, and with its length if values differ in
 * length. Buffer 1 has the position of each row, if rows differ in length.
 */
import { asBytes } from '../../../src/arrow/layout.js'
import { unsupported } from '../../../src/errors.js'
import type { PageLevels } from './levels.js'
import { MessageWriter } from './message-writer.js'
import {
  bytesPerValue,
  encodingOf,
  type FixedValues,
  type Page,
  type VariableValues,
  zipFixed,
} from './page-values.js'

export function fullZip(
  values: FixedValues | VariableValues,
  levels: PageLevels,
  items: number,
): Omit<Page, 'rows'> {
  if (values.kind === 'fixed' && (values.bits * values.cellsPerValue) % 8 !== 0) {
    throw unsupported(
      'a row of a Lance file cannot contain booleans beside more than about 4000 null or empty lists, or more than about 30000 booleans in a fixed-size list',
      { hint: 'write the booleans as int8' },
    )
  }
  const repBits = levels.rep === null ? 0 : bitsFor(levels.maxRep)
  const defBits = bitsFor(levels.maxDef)
  const layout = new MessageWriter().number(1, repBits).number(2, defBits)
  if (values.kind === 'fixed') layout.number(3, 8 * bytesPerValue(values))
  else layout.number(4, 8 * values.offsetBytes)
  layout.number(5, items).number(6, values.length).message(7, encodingOf(values)).numbers(8, levels.layers)
  return {
    buffers: zip(values, levels, items, wordWriter(levels, repBits, defBits)),
    layout: new MessageWriter().message(3, layout),
  }
}

function bitsFor(level: number): number {
  return 32 - Math.clz32(level)
}

/** Writes the levels of an item. */
interface WordWriter {
  readonly bytes: 0 | 1 | 2 | 4
  write(out: Uint8Array, at: number, item: number): void
}

function wordWriter({ rep, def }: PageLevels, repBits: number, defBits: number): WordWriter {
  const bits = repBits + defBits
  const bytes = bits === 0 ? 0 : bits <= 8 ? 1 : bits <= 16 ? 2 : 4
  return {
    bytes,
    write(out, at, item) {
      let word = (rep === null ? 0 : rep[item]! * 2 ** defBits) + (def === null ? 0 : def[item]!)
      for (let i = 0; i < bytes; i++) {
        out[at + i] = word & 0xff
        word >>>= 8
      }
    },
  }
}

function zip(
  values: FixedValues | VariableValues,
  { rep, def, maxRep, maxVisible }: PageLevels,
  items: number,
  words: WordWriter,
): Uint8Array[] {
  const fixed = values.kind === 'fixed' ? zipFixed(values) : null
  if (fixed !== null && words.bytes === 0) return [fixed]
  const width = values.kind === 'fixed' ? bytesPerValue(values) : 0
  const size =
    items * words.bytes +
    (values.kind === 'fixed'
      ? width * values.length
      : values.bytes.length + values.offsetBytes * values.length)
  const out = new Uint8Array(size)
  const view = new DataView(out.buffer)
  const starts = fixed !== null && rep === null ? null : new Uint32Array(items + 1)
  let rows = 0
  let at = 0
  for (let item = 0, value = 0; item < items; item++) {
    if (starts !== null && (rep === null || rep[item] === maxRep)) starts[rows++] = at
    const level = def === null ? 0 : def[item]!
    words.write(out, at, item)
    at += words.bytes
    if (level > maxVisible) continue
    if (values.kind === 'fixed') {
      out.set(fixed!.subarray(value * width, (value + 1) * width), at)
      at += width
    } else if (level === 0) {
      const bytes = values.bytes.subarray(values.offsets[value]!, values.offsets[value + 1]!)
      view.setUint32(at, bytes.length, true)
      at += values.offsetBytes
      out.set(bytes, at)
      at += bytes.length
    }
    value++
  }
  const zipped = out.subarray(0, at)
  if (starts === null) return [zipped]
  starts[rows] = at
  return [zipped, asBytes(starts.subarray(0, rows + 1))]
}
