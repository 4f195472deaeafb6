import { describe, expect, test } from 'vitest'
import type { Column } from '../../src/arrow/column.js'
import { decodeIpc } from '../../src/arrow/decode-ipc.js'
import { concatChunks, encodeIpcFile } from '../../src/arrow/encode-ipc.js'
import type { ZonesEntry } from '../../src/arrow/file-layout.js'
import { assembleColumn, type FileLayout, parseFileFooter } from '../../src/arrow/file-reader.js'
import { IpcFileWriter } from '../../src/arrow/file-writer.js'
import { decodeBatch, encodeBatch } from '../../src/arrow/inline-batch.js'
import { rowsToBatch } from '../../src/arrow/rows.js'
import type { Field, Schema } from '../../src/arrow/types.js'
import { columnValues } from '../../src/arrow/values.js'
import { ErrorCode } from '../../src/errors.js'
import { crc32 } from '../../src/primitives/checksum.js'
import { contents } from '../support/arrow-generators.js'

const fields: Field[] = [
  { name: 'id', nullable: false, type: { kind: 'int', bits: 64, signed: true } },
  { name: 'text', nullable: true, type: { kind: 'utf8', large: false } },
  {
    name: 'vector',
    nullable: true,
    type: {
      kind: 'fixed_size_list',
      size: 4,
      child: { name: 'item', nullable: true, type: { kind: 'float', bits: 32 } },
    },
  },
  {
    name: 'word',
    nullable: true,
    type: {
      kind: 'dictionary',
      index: { kind: 'int', bits: 8, signed: true },
      value: { kind: 'utf8', large: false },
      ordered: false,
    },
  },
]
const schema: Schema = { fields }
const batchOf = (from: number) =>
  rowsToBatch(
    Array.from({ length: 20 }, (_, i) => ({
      id: BigInt(from + i),
      text: i % 3 === 0 ? null : `text ${from + i}`,
      vector: i === 7 ? null : [from, i, 0.5, -1],
      word: `w${(from + i) % 5}`,
    })),
    schema,
  )
const given = [batchOf(0), batchOf(103)]

function write(list = given, zones: readonly ZonesEntry[] = []): { file: Uint8Array; footerCrc: number } {
  const writer = new IpcFileWriter(schema)
  const chunks = list.flatMap(batch => writer.write(batch))
  const finished = writer.finish(zones)
  return { file: concatChunks([...chunks, ...finished.chunks]), footerCrc: finished.footerCrc }
}

const { file, footerCrc } = write()

function layoutOf(bytes = file): FileLayout {
  const layout = parseFileFooter(bytes, bytes.length)
  expect(layout).not.toHaveProperty('need')
  return layout as FileLayout
}

const corrupted = (words: RegExp) =>
  expect.objectContaining({
    code: ErrorCode.Internal,
    message: expect.stringMatching(words),
  })

describe('a data file', () => {
  test('has equal bytes for equal batches', () => {
    expect(Buffer.compare(write([batchOf(0), batchOf(103)]).file, file)).toBe(0)
  })

  test('comes as chunks that view the batch', () => {
    const writer = new IpcFileWriter(schema)
    const vectors = given[0]!.columns[2]!.children[0]!.values!
    expect(writer.write(given[0]!).some(chunk => chunk.buffer === vectors.buffer)).toBe(true)
  })

  test('gives each column from its footer alone, every column on a multiple of 64', () => {
    const layout = layoutOf()
    expect(layout.rows).toBe(40)
    expect(layout.schema).toEqual(schema)
    for (const batch of layout.batches) {
      for (const range of batch.columns) {
        expect(range.start % 64).toBe(0)
        expect(crc32(file.subarray(range.start, range.start + range.bytes))).toBe(range.crc)
      }
    }
  })

  test('says how many bytes of its end a reader needs', () => {
    const first = parseFileFooter(file.subarray(file.length - 4), file.length)
    expect(first).toEqual({ need: 10 })
    const second = parseFileFooter(file.subarray(file.length - 10), file.length) as { need: number }
    expect(parseFileFooter(file.subarray(file.length - second.need + 1), file.length)).toEqual(second)
    expect(parseFileFooter(file.subarray(file.length - second.need), file.length, footerCrc)).toHaveProperty(
      'batches',
    )
  })

  test('reads one column out of the bytes of its range, without a copy', () => {
    const layout = layoutOf()
    const range = layout.batches[1]!.columns[2]!
    const bytes = file.slice(range.start, range.start + range.bytes)
    const column = assembleColumn(fields[2]!, range, bytes)
    expect(columnValues(column)).toEqual(columnValues(given[1]!.columns[2]!))
    expect(column.children[0]!.values!.buffer).toBe(bytes.buffer)
  })

  test('reads the numbers of a vector column into other memory', () => {
    const range = layoutOf().batches[0]!.columns[2]!
    const { offset, bytes } = range.cells!
    expect(offset + bytes).toBe(range.bytes)
    expect(bytes).toBe(20 * 4 * 4)
    const memory = new SharedArrayBuffer(4096)
    const cells = new Uint8Array(memory, 1024, bytes)
    cells.set(file.subarray(range.start + offset, range.start + range.bytes))
    const head = file.slice(range.start, range.start + offset)
    const column = assembleColumn(fields[2]!, range, head, { cells })
    expect(column.children[0]!.values!.buffer).toBe(memory)
    expect(columnValues(column)).toEqual(columnValues(given[0]!.columns[2]!))
    cells[3]! ^= 1
    expect(() => assembleColumn(fields[2]!, range, head, { cells })).toThrow(
      corrupted(/column "vector" at byte \d+ has checksum/),
    )
    expect(() => assembleColumn(fields[2]!, range, head, { cells: cells.subarray(1) })).toThrow(
      corrupted(/needs \d+ bytes, got \d+/),
    )
  })

  test('reads only plain vector columns into other memory', () => {
    const [id, text, , word] = layoutOf().batches[0]!.columns
    expect([id!.cells, text!.cells, word!.cells]).toEqual([null, null, null])
    expect(() => assembleColumn(fields[0]!, id!, new Uint8Array(0), { cells: new Uint8Array(160) })).toThrow(
      corrupted(/column "id" needs/),
    )
  })

  test('keeps one dictionary for all its batches, last in the file', () => {
    const layout = layoutOf()
    const ranges = layout.batches.map(batch => batch.columns[3]!)
    const [first] = ranges[0]!.dictionaries
    expect(ranges[1]!.dictionaries).toEqual([first])
    expect(first!.range.start).toBeGreaterThan(ranges[1]!.start)
    const dictionary = assembleColumn(first!.field, first!.range, file.subarray(first!.range.start))
    const columns = ranges.map(range =>
      assembleColumn(fields[3]!, range, file.subarray(range.start), {
        dictionaries: new Map([[first!.id, dictionary]]),
      }),
    )
    expect(columns.map(column => columnValues(column))).toEqual(
      given.map(batch => columnValues(batch.columns[3]!)),
    )
    expect(() => assembleColumn(fields[3]!, ranges[0]!, file.subarray(ranges[0]!.start))).toThrow(
      corrupted(/needs dictionary 0/),
    )
  })

  test('has zone maps of stretches if the writer gives them', () => {
    const zones: ZonesEntry[] = [
      [
        1,
        [
          ['text 1', 'text 9', 7],
          ['text 103', 'text 99', 7],
        ],
      ],
    ]
    const layout = layoutOf(write(given, zones).file)
    const said = layout.batches.map(({ columns }) => columns.map(column => column.zones))
    expect(said).toEqual(zones[0]![1].map(records => [null, records, null, null]))
    expect(layoutOf().batches.flatMap(({ columns }) => columns.map(column => column.zones))).toEqual(
      new Array(8).fill(null),
    )
  })

  test('opens as any Arrow file', () => {
    expect(decodeIpc(file).batches.map(contents)).toEqual(given.map(contents))
  })

  test('without batches, rows or columns is a file too', () => {
    for (const list of [[], [rowsToBatch([], schema)]]) {
      const { file: bytes } = write(list)
      expect(decodeIpc(bytes).batches.map(contents)).toEqual(list.map(contents))
      expect(layoutOf(bytes).rows).toBe(0)
    }
    const writer = new IpcFileWriter({ fields: [] })
    const start = writer.write({ schema: { fields: [] }, length: 7, columns: [] })
    const bytes = concatChunks([...start, ...writer.finish().chunks])
    expect(layoutOf(bytes)).toMatchObject({ rows: 7, batches: [{ length: 7, columns: [] }] })
  })
})

describe('a damaged data file', () => {
  test('fails exactly for the damaged columns', () => {
    const layout = layoutOf()
    layout.batches.forEach(batch => {
      batch.columns.forEach((range, damaged) => {
        for (let at = range.start; at < range.start + range.bytes; at += 7) {
          const bytes = file.slice()
          bytes[at]! ^= 0x20
          batch.columns.forEach((other, i) => {
            const dictionaries = new Map<number, Column>()
            for (const { id, field, range: place } of other.dictionaries) {
              dictionaries.set(id, assembleColumn(field, place, bytes.subarray(place.start)))
            }
            const read = () =>
              assembleColumn(fields[i]!, other, bytes.subarray(other.start), { dictionaries })
            if (i === damaged)
              expect(read).toThrow(corrupted(/has checksum [0-9a-f]{8}, expected [0-9a-f]{8}/))
            else expect(read().length).toBe(20)
          })
        }
      })
    })
  })

  test('with another footer than the writer recorded is refused', () => {
    expect(() => parseFileFooter(file, file.length, footerCrc ^ 1)).toThrow(
      corrupted(/the footer of a data file has checksum/),
    )
  })

  test.each<[string, Uint8Array, number, RegExp]>([
    ['cut off', file.subarray(0, file.length - 1), file.length - 1, /is cut off: it ends with .* not ARROW1/],
    ['of no length', new Uint8Array(0), 0, /of 0 bytes is cut off/],
    [
      'from elsewhere',
      concatChunks(encodeIpcFile(schema, given)),
      0,
      /has no sheaf:layout, so Sheaf did not write the file/,
    ],
  ])('%s is refused as corrupted', (_, bytes, length, words) => {
    expect(() => parseFileFooter(bytes, length || bytes.length)).toThrow(corrupted(words))
  })

  test.each<[string, readonly unknown[], RegExp]>([
    ['of fewer batches', [0, [[1, 2, 0]]], /different numbers of zones/],
    [
      'of more stretches',
      [
        0,
        [
          [1, 2, 0, 3, 4, 0],
          [1, 2, 0],
        ],
      ],
      /different numbers of zones/,
    ],
    [
      'of no column',
      [
        'id',
        [
          [1, 2, 0],
          [1, 2, 0],
        ],
      ],
      /invalid zones/,
    ],
    ['that are no lists', [0, [1, 2]], /invalid zones/],
  ])('with zones %s is refused', (_, entry, words) => {
    const { file: bytes } = write(given, [entry as unknown as ZonesEntry])
    expect(() => parseFileFooter(bytes, bytes.length)).toThrow(corrupted(words))
  })

  test('with too few bytes for a column is refused', () => {
    const range = layoutOf().batches[0]!.columns[0]!
    expect(() => assembleColumn(fields[0]!, range, new Uint8Array(range.bytes - 1))).toThrow(
      corrupted(/column "id" needs 160 bytes, got 159/),
    )
  })
})

describe('inline rows', () => {
  test('have equal bytes for equal batches, and few of them', () => {
    const one = () =>
      encodeBatch(rowsToBatch([{ id: 1n, text: 'a', vector: [1, 2, 3, 4], word: 'w' }], schema))
    expect(Buffer.compare(one(), one())).toBe(0)
    expect(one().length).toBeLessThan(900)
  })

  test('come back with their dictionaries', () => {
    expect(contents(decodeBatch(encodeBatch(given[0]!), schema))).toEqual(contents(given[0]!))
  })

  test('cut off or of another schema are refused as corrupted', () => {
    const bytes = encodeBatch(given[0]!)
    for (const cut of [0, 7, 100, bytes.length - 1]) {
      expect(() => decodeBatch(bytes.subarray(0, cut), schema)).toThrow(
        corrupted(/^inline rows of \d+ bytes cannot be read/),
      )
    }
    expect(() => decodeBatch(bytes, { fields: fields.slice(1) })).toThrow(corrupted(/cannot be read/))
  })
})
