/** The reference implementation for JavaScript reads what we write and writes what we read. */
import * as arrow from 'apache-arrow'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Column } from '../../src/arrow/column.js'
import { decodeIpc } from '../../src/arrow/decode-ipc.js'
import { concatChunks, encodeIpcFile, encodeIpcStream } from '../../src/arrow/encode-ipc.js'
import { IpcFileWriter } from '../../src/arrow/file-writer.js'
import { fromForeignArrow } from '../../src/arrow/foreign.js'
import { sliceColumn } from '../../src/arrow/slice.js'
import { toArrowBatch, toArrowTable } from '../../src/arrow/to-arrow.js'
import { type Batches, batches, contents } from '../support/arrow-generators.js'

/** What apache-arrow 21.2 itself gets wrong, kept out of the comparison. */
function isBeyondApacheArrow({ schema }: Batches): boolean {
  const text = JSON.stringify(schema)
  return (
    // A struct without fields loses its length; a fixed_size_list of size 0 and empty cells likewise.
    /"kind":"struct","children":\[\]/.test(text) || /"size":0/.test(text) || /"width":0/.test(text)
  )
}

const runs = { numRuns: 200 }

function fits(make: () => Uint8Array[]): Uint8Array | null {
  try {
    return concatChunks(make())
  } catch (error) {
    if (/does not fit its u?int8 indices/.test(String(error))) return null
    throw error
  }
}

function dataFile({ schema, batches: list }: Batches): Uint8Array[] {
  const writer = new IpcFileWriter(schema)
  return [...list.flatMap(batch => writer.write(batch)), ...writer.finish().chunks]
}

describe('apache-arrow', () => {
  test.each([
    ['streams', ({ schema, batches: list }: Batches) => encodeIpcStream(schema, list)],
    ['files', ({ schema, batches: list }: Batches) => encodeIpcFile(schema, list)],
    ['data files', dataFile],
  ])('reads our %s', (_, encode) => {
    fc.assert(
      fc.property(batches, given => {
        fc.pre(!isBeyondApacheArrow(given))
        const bytes = fits(() => encode(given))
        if (bytes === null) return
        const table = arrow.tableFromIPC(bytes)
        expect(table.schema.fields.map(field => field.name)).toEqual(
          given.schema.fields.map(field => field.name),
        )
        // Its own values are rounded or lost (timestamps, decimals); its buffers are not.
        const read = fromForeignArrow(table)!
        expect(read.schema).toEqual(given.schema)
        const full = given.batches.filter(batch => batch.length > 0)
        expect(read.batches.filter(batch => batch.length > 0).map(contents)).toEqual(full.map(contents))
      }),
      runs,
    )
  })

  test.each(['stream', 'file'] as const)('writes %ss that Sheaf reads', format => {
    fc.assert(
      fc.property(batches, given => {
        fc.pre(!isBeyondApacheArrow(given))
        const bytes = fits(() => encodeIpcStream(given.schema, given.batches))
        if (bytes === null || given.batches.length === 0) return
        const decoded = decodeIpc(arrow.tableToIPC(arrow.tableFromIPC(bytes), format))
        expect(decoded.schema).toEqual(given.schema)
        const full = given.batches.filter(batch => batch.length > 0)
        expect(decoded.batches.filter(batch => batch.length > 0).map(contents)).toEqual(full.map(contents))
      }),
      runs,
    )
  })

  test('gets batches of Sheaf as a Table', async () => {
    const source = arrow.tableFromArrays({ n: [1, 2, 3], s: ['a', 'b', 'c'] })
    const { schema, batches: list } = fromForeignArrow(source)!
    const table = await toArrowTable(schema, list)
    expect(table.toArray().map(row => ({ ...row.toJSON() }))).toEqual([
      { n: 1, s: 'a' },
      { n: 2, s: 'b' },
      { n: 3, s: 'c' },
    ])
  })
})

describe('a table of apache-arrow, recognized by its shape', () => {
  test('is read without a copy if its buffers have the right layout', () => {
    const numbers = Float64Array.of(1, 2, 3)
    const { batches: list } = fromForeignArrow(arrow.tableFromArrays({ numbers }))!
    expect((list[0]!.columns[0] as Column).values!.buffer).toBe(numbers.buffer)
  })

  const struct = arrow.vectorFromArray(
    Array.from({ length: 40 }, (_, i) => (i % 9 === 4 ? null : { a: i, b: [i, i + 1], c: i % 2 === 0 })),
    new arrow.Struct([
      new arrow.Field('a', new arrow.Int32(), true),
      new arrow.Field('b', new arrow.List(new arrow.Field('item', new arrow.Int16(), true)), true),
      new arrow.Field('c', new arrow.Bool(), true),
    ]),
  )
  const table = new arrow.Table({
    struct,
    text: arrow.vectorFromArray(
      Array.from({ length: 40 }, (_, i) => (i % 3 === 0 ? null : `t${i}`)),
      new arrow.Utf8(),
    ),
    word: arrow.vectorFromArray(
      Array.from({ length: 40 }, (_, i) => (i % 5 === 0 ? null : `w${i % 4}`)),
      new arrow.Dictionary(new arrow.Utf8(), new arrow.Int8()),
    ),
    flag: arrow.vectorFromArray(
      Array.from({ length: 40 }, (_, i) => (i % 7 === 0 ? null : i % 3 === 0)),
      new arrow.Bool(),
    ),
    vector: arrow.vectorFromArray(
      Array.from({ length: 40 }, (_, i) => [i, i / 2]),
      new arrow.FixedSizeList(2, new arrow.Field('item', new arrow.Float32(), true)),
    ),
    bytes: arrow.vectorFromArray(
      Array.from({ length: 40 }, (_, i) => Uint8Array.of(i)),
      new arrow.FixedSizeBinary(1),
    ),
    when: arrow.vectorFromArray(
      Array.from({ length: 40 }, (_, i) => new Date(i)),
      new arrow.TimestampMillisecond(),
    ),
  })

  /** Rows as apache-arrow itself sees them. */
  function reference(source: arrow.Table): unknown[][] {
    const plain = (value: unknown): unknown => {
      if (value === null || typeof value !== 'object') return value
      if (value instanceof arrow.Vector) return [...value].map(plain)
      if (value instanceof Date || ArrayBuffer.isView(value)) return value
      const cells = Object.entries((value as { toJSON(): object }).toJSON())
      return Object.fromEntries(cells.map(([name, cell]) => [name, plain(cell)]))
    }
    return source.schema.fields.map((field, i) => {
      const column = [...source.getChildAt(i)!].map(plain)
      if (field.name === 'vector') return column.map(value => Float32Array.from(value as number[]))
      return field.name === 'when' ? column.map(value => new Date(Number(value))) : column
    })
  }

  function ours(source: unknown): unknown[][] {
    const { schema, batches: list } = fromForeignArrow(source)!
    return schema.fields.map((_, i) => list.flatMap(batch => contents(batch)[i]!))
  }

  test('in slices at any offset', () => {
    for (let start = 0; start < 20; start++) {
      const slice = table.slice(start, start + 13)
      expect(ours(slice)).toEqual(reference(slice))
      const again = slice.slice(3, 9)
      expect(ours(again)).toEqual(reference(again))
    }
  })

  test('in several chunks, as batches, and as an array of tables', () => {
    const chunked = table.slice(0, 11).concat(table.slice(25, 40))
    expect(chunked.batches.length).toBe(2)
    expect(ours(chunked)).toEqual(reference(chunked))
    expect(ours(chunked.batches)).toEqual(reference(chunked))
    expect(ours(chunked.batches[1])).toEqual(reference(new arrow.Table([chunked.batches[1]!])))
    expect(ours([table.slice(0, 11), table.slice(25, 40)])).toEqual(reference(chunked))
  })

  test('may come from another copy of the package: the shape counts, not the class', () => {
    const foreign = clone(table.slice(5, 30)) as { schema: object }
    expect(foreign).not.toBeInstanceOf(arrow.Table)
    expect(Object.getPrototypeOf(foreign.schema)).toBe(Object.prototype)
    expect(ours(foreign)).toEqual(reference(table.slice(5, 30)))
  })

  test.each([
    ['nothing', undefined],
    ['null', null],
    ['an array of rows', [{ a: 1 }]],
    ['an empty array', []],
    ['bytes', new Uint8Array(8)],
    ['an object with fields', { schema: { fields: [1] }, batches: [] }],
    ['a table and a row', [arrow.tableFromArrays({ a: [1] }), { a: 1 }]],
  ])('is not seen in %s', (_, value) => {
    expect(fromForeignArrow(value)).toBeNull()
  })

  test('with a type that Sheaf does not support is unsupported, and the error names it', () => {
    const union = new arrow.SparseUnion([0], [new arrow.Field('x', new arrow.Int32())])
    const schema = new arrow.Schema([new arrow.Field('u', union)])
    expect(() => fromForeignArrow(new arrow.Table(schema))).toThrow(
      /column "u" has type .*Union.* \(14\), which Sheaf does not support/,
    )
  })

  test('that contradicts itself is refused', () => {
    const broken = clone(arrow.tableFromArrays({ n: Float64Array.of(1, 2, 3) })) as {
      batches: { data: { children: { length: number }[]; length: number } }[]
    }
    broken.batches[0]!.data.length = 9
    expect(() => fromForeignArrow(broken)).toThrow(/column "n" has 3 rows, but needs 9/)
    broken.batches[0]!.data.children[0]!.length = 9
    expect(() => fromForeignArrow(broken)).toThrow(/column "n" has 24 bytes of values, but needs 72/)
  })
})

/** Plain objects with the properties that are relied on, deep down: what another copy's instances look like. */
function clone(value: unknown): unknown {
  if (value === null || typeof value !== 'object' || ArrayBuffer.isView(value)) return value
  if (value instanceof Map) return new Map(value)
  if (Array.isArray(value)) return value.map(clone)
  const names = [
    ...[
      'schema',
      'batches',
      'fields',
      'metadata',
      'name',
      'nullable',
      'type',
      'typeId',
      'data',
      'length',
      'offset',
    ],
    ...[
      'nullBitmap',
      'valueOffsets',
      'values',
      'children',
      'dictionary',
      'indices',
      'isSigned',
      'bitWidth',
      'unit',
    ],
    ...['precision', 'scale', 'timezone', 'listSize', 'byteWidth', 'keysSorted', 'isOrdered'],
  ]
  const out: Record<string, unknown> = {}
  for (const name of names) {
    const property = (value as Record<string, unknown>)[name]
    if (property !== undefined && typeof property !== 'function') out[name] = clone(property)
  }
  return out
}

describe('toArrowBatch', () => {
  test('has the rows of the batch, with memory of its own or not', async () => {
    await fc.assert(
      fc.asyncProperty(batches, fc.boolean(), async (given, isOwned) => {
        fc.pre(!isBeyondApacheArrow(given))
        for (const batch of given.batches) {
          if (batch.length === 0) continue
          const converted = await toArrowBatch(given.schema, batch, isOwned)
          const read = fromForeignArrow(new arrow.Table([converted]))!
          expect(read.schema).toEqual(given.schema)
          expect(read.batches.map(contents)).toEqual([contents(batch)])
        }
      }),
      runs,
    )
  })

  const rows = 10_000
  const none = { nullCount: 0, validity: null, offsets: null, dictionary: null, children: [] }
  const type = { kind: 'float', bits: 64 } as const
  const column = (values: Float64Array): Column => ({ ...none, type, length: rows, values })
  const convert = async (columns: readonly Column[], isOwned: boolean) => {
    const fields = columns.map((_, i) => ({ name: `c${i}`, type, nullable: false }))
    const { data } = await toArrowBatch({ fields }, { schema: { fields }, length: rows, columns }, isOwned)
    return data.children.map(({ values }) => values as Float64Array)
  }

  test('uses large memory that belongs to one column, and copies all other memory', async () => {
    const own = Float64Array.from({ length: rows }, (_, i) => i)
    const [first, second] = await convert([column(own), column(own)], true)
    expect(first!.buffer).toBe(own.buffer)
    expect(second!.buffer).not.toBe(own.buffer)
    expect(second).toEqual(own)
    const [part] = await convert([sliceColumn(column(new Float64Array(2 * rows)), 0, rows)], true)
    expect(part!.buffer.byteLength).toBeLessThan(16 * rows)
    const [shared] = await convert([column(own)], false)
    expect(shared!.buffer).not.toBe(own.buffer)
  })
})
