/** Rows of pages of version 2.0 are read without the other rows of their pages. */
import { expect, test } from 'vitest'
import { seededRandom } from '../../bench/random.js'
import { countBits } from '../../src/arrow/bits.js'
import type { ByteRange } from '../../src/lance/page.js'
import { readPlainColumn } from '../../src/lance/read-plain-column.js'
import type { LanceField } from '../../src/lance/schema.js'
import { Pacer } from '../../src/primitives/pacer.js'

const number = (field: number, value: number) => [field * 8, value]
const message = (field: number, bytes: readonly number[]) => [field * 8 + 2, bytes.length, ...bytes]
const flat = (bits: number, buffer: number, more: readonly number[] = []) =>
  message(1, [...number(1, bits), ...message(2, number(1, buffer)), ...more])
const list = (size: number, items: readonly number[]) =>
  message(3, [...number(1, size), ...message(2, items)])
const noNulls = (values: readonly number[]) => message(2, message(1, message(1, values)))
const someNulls = (validity: readonly number[], values: readonly number[]) =>
  message(2, message(2, [...message(1, validity), ...message(2, values)]))

const random = seededRandom(3)
const pageRows = [1000, 77, 500]
const rows = pageRows.reduce((sum, each) => sum + each, 0)
/** A buffer of validity and a buffer of values for each page, in one file. */
const file = Uint8Array.from({ length: 60_000 }, () => Math.floor(random() * 256))

function field(logicalType: string): LanceField {
  return { id: 0, parentId: -1, name: 'f', logicalType, nullable: true, metadata: {}, children: [] }
}

/** Return a reader of a column whose pages have this encoding. `bits`: bits per value in the second buffer. */
function columnOf(logicalType: string, bits: number, encoding: readonly number[]) {
  let at = 5
  const pages = pageRows.map(count => {
    const buffers: ByteRange[] = [count / 8, (count * bits) / 8].map(bytes => {
      const range = { start: at, end: at + Math.ceil(bytes) }
      at = range.end
      return range
    })
    const encodingType = 'lance.encodings.ArrayEncoding'
    return { rows: count, buffers, encodingType, encoding: Uint8Array.from(encoding) }
  })
  let read = 0
  const source = {
    pacer: new Pacer(),
    metadataOf: async () => ({ pages, buffers: [], encoding: new Uint8Array(0) }),
    read: async (ranges: readonly ByteRange[]) => {
      for (const { start, end } of ranges) read += end - start
      return ranges.map(({ start, end }) => file.slice(start, end))
    },
    readInto: async ({ start, end }: ByteRange, target: Uint8Array) => {
      read += end - start
      target.set(file.subarray(start, end))
    },
    allocate: null,
  }
  return {
    all: at - 5,
    bytesRead: () => read,
    read: (from: number, to: number) => readPlainColumn(field(logicalType), from, to, source),
  }
}

const cases: Record<string, [type: string, bits: number, encoding: readonly number[]]> = {
  numbers: ['int32', 32, noNulls(flat(32, 1))],
  booleans: ['bool', 1, noNulls(flat(1, 1))],
  'numbers with nulls': ['int32', 32, someNulls(flat(1, 0), flat(32, 1))],
  'vectors with nulls': ['fixed_size_list:float:3', 96, someNulls(flat(1, 0), list(3, flat(32, 1)))],
  'vectors with null items': ['fixed_size_list:float:1', 32, list(1, someNulls(flat(1, 0), flat(32, 1)))],
  'a compression that is none': ['int32', 32, flat(32, 1, message(3, message(1, [...Buffer.from('none')])))],
}

test.each(Object.entries(cases))('%s', async (_, [type, bits, encoding]) => {
  const whole = await columnOf(type, bits, encoding).read(0, rows)
  const width = type.startsWith('fixed') ? Number(type.split(':')[2]) : 1
  const values = whole.children[0] ?? whole
  const isBits = bits === 1
  for (let round = 0; round < 60; round++) {
    const from = Math.floor(random() * rows)
    const to = from + 1 + Math.floor(random() * Math.min(40, rows - from))
    const column = columnOf(type, bits, encoding)
    const part = await column.read(from, to)
    expect(part.length).toBe(to - from)
    const found = part.children[0] ?? part
    const bit = (bytes: Uint8Array | null, i: number) =>
      bytes === null || ((bytes[i >> 3]! >> (i & 7)) & 1) === 1
    for (let i = from; i < to; i++) {
      expect(bit(part.validity, i - from)).toBe(bit(whole.validity, i))
      for (let k = 0; k < width; k++) {
        const [own, other] = [(i - from) * width + k, i * width + k]
        expect(bit(found.validity, own)).toBe(bit(values.validity, other))
        if (!bit(whole.validity, i)) continue
        if (isBits) expect(bit(found.values as Uint8Array, own)).toBe(bit(values.values as Uint8Array, other))
        else expect(Object.is(found.values![own], values.values![other])).toBe(true)
      }
    }
    if (part.validity !== null)
      expect(part.nullCount).toBe(part.length - countBits(part.validity, part.length))
    expect(column.bytesRead()).toBeLessThan(column.all / 8 + 200)
  }
})
