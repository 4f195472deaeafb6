import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Column, isValid } from '../../../src/arrow/column.js'
import { concatColumns } from '../../../src/arrow/concat.js'
import { readDecimal } from '../../../src/arrow/decimal.js'
import { fromFloat16 } from '../../../src/arrow/float16.js'
import { cellBytes } from '../../../src/arrow/layout.js'
import { rowsToBatch } from '../../../src/arrow/rows.js'
import { sliceColumn } from '../../../src/arrow/slice.js'
import type { DataType } from '../../../src/arrow/types.js'
import type { Scalar } from '../../../src/sql/values/scalar.js'
import { hasZones, joinZones, readZone, writeZone, type Zone, zoneOf } from '../../../src/sql/zones/zone.js'
import { batches } from '../../support/arrow-generators.js'

const utf8: DataType = { kind: 'utf8', large: false }
const binary: DataType = { kind: 'binary', large: false }
const int = (bits: 8 | 16 | 32 | 64, signed = true) => ({ kind: 'int', bits, signed }) as const
const float = (bits: 16 | 32 | 64) => ({ kind: 'float', bits }) as const

function column(type: DataType, values: readonly unknown[]): Column {
  const rows = values.map(x => ({ x }))
  return rowsToBatch(rows, { fields: [{ name: 'x', type, nullable: true }] }).columns[0]!
}

function zone(type: DataType, values: readonly unknown[]): Zone {
  return zoneOf(column(type, values))!
}

/** A value as a zone has it: texts as their bytes. */
function cellOf(from: Column, row: number): boolean | number | bigint | Uint8Array | null {
  if (!isValid(from, row)) return null
  const { type, values, offsets } = from
  switch (type.kind) {
    case 'dictionary':
      return cellOf(from.dictionary!, Number(values![row]))
    case 'bool':
      return (((values as Uint8Array)[row >>> 3]! >>> (row & 7)) & 1) === 1
    case 'float':
      return type.bits === 16 ? fromFloat16(values![row] as number) : (values![row] as number)
    case 'utf8':
    case 'binary':
      return (values as Uint8Array).slice(offsets![row], offsets![row + 1])
    case 'fixed_size_binary':
      return (values as Uint8Array).slice(row * cellBytes(type), (row + 1) * cellBytes(type))
    case 'decimal':
      return readDecimal(values as Uint8Array, row, type.bits)
    default:
      return BigInt(values![row]!)
  }
}

/** What comparing as SQL does says, worked out without the code under test. */
function order(a: Exclude<Scalar, null>, b: Exclude<Scalar, null>): number {
  const [x, y] = [a, b].map(value => (typeof value === 'string' ? Buffer.from(value) : value))
  if (x instanceof Uint8Array) return Buffer.compare(x, y as Uint8Array)
  if (Number.isNaN(x) || Number.isNaN(y)) return Number(Number.isNaN(x)) - Number(Number.isNaN(y))
  return (x as bigint) < (y as bigint) ? -1 : (x as bigint) > (y as bigint) ? 1 : 0
}

const columns = batches.filter(({ batches }) => batches.length > 0)

describe('of random columns', () => {
  test('every value lies between the bounds, which occur as values unless they are cut', () => {
    fc.assert(
      fc.property(columns, ({ batches: [batch] }) => {
        for (const each of batch!.columns) {
          const known = zoneOf(each)
          expect(known !== null).toBe(hasZones(each.type))
          if (known === null) continue
          const values = Array.from({ length: each.length }, (_, row) => cellOf(each, row))
          const present = values.filter(value => value !== null)
          expect(known.nulls).toBe(values.length - present.length)
          expect(known.least === null).toBe(present.length === 0)
          for (const value of present) {
            expect(order(known.least!, value)).toBeLessThanOrEqual(0)
            if (known.greatest !== null) expect(order(known.greatest, value)).toBeGreaterThanOrEqual(0)
          }
          if (present.length === 0 || present.some(value => value instanceof Uint8Array && value.length > 32))
            continue
          expect(present.some(value => order(known.least!, value) === 0)).toBe(true)
          expect(present.some(value => order(known.greatest!, value) === 0)).toBe(true)
        }
      }),
      { numRuns: 300 },
    )
  })

  test('joining the zones of two columns gives the zone of both', () => {
    fc.assert(
      fc.property(columns, fc.nat(), ({ batches: [batch] }, cut) => {
        for (const each of batch!.columns) {
          if (!hasZones(each.type)) continue
          const at = cut % (each.length + 1)
          const parts = [sliceColumn(each, 0, at), sliceColumn(each, at, each.length - at)]
          expect(joinZones(zoneOf(parts[0]!)!, zoneOf(parts[1]!)!)).toEqual(zoneOf(each))
          expect(zoneOf(concatColumns(parts))).toEqual(zoneOf(each))
        }
      }),
      { numRuns: 300 },
    )
  })

  test('a zone map that was written is read back', () => {
    fc.assert(
      fc.property(columns, ({ batches: [batch] }) => {
        for (const each of batch!.columns) {
          const known = zoneOf(each)
          if (known === null) continue
          expect(readZone(JSON.parse(JSON.stringify(writeZone(known))), each.type)).toEqual(known)
        }
      }),
      { numRuns: 300 },
    )
  })

  test('long texts and bytes of any kind', () => {
    const text = fc.string({
      unit: fc.constantFrom('a', '\x7f', 'é', '\ud7ff', '漢', '\uffff', '🎉', '\u{10ffff}'),
      maxLength: 40,
    })
    const bytes = fc
      .array(fc.constantFrom(0, 1, 0xfe, 0xff), { maxLength: 40 })
      .map(list => Uint8Array.from(list))
    for (const [type, cell] of [
      [utf8, text],
      [binary, bytes],
    ] as const) {
      const list = fc.array(fc.option(cell as fc.Arbitrary<string | Uint8Array>), {
        minLength: 1,
        maxLength: 6,
      })
      fc.assert(
        fc.property(list, list, (some, others) => {
          const [a, b] = [zone(type, some), zone(type, others)]
          for (const value of some) {
            if (value === null) continue
            expect(order(a.least!, value)).toBeLessThanOrEqual(0)
            if (a.greatest !== null) expect(order(a.greatest, value)).toBeGreaterThanOrEqual(0)
          }
          expect(joinZones(a, b)).toEqual(zone(type, [...some, ...others]))
          expect(readZone(JSON.parse(JSON.stringify(writeZone(a))), type)).toEqual(a)
          for (const bound of [a.least, a.greatest]) {
            expect(Buffer.from((bound ?? '') as string).length).toBeLessThanOrEqual(33)
          }
        }),
        { numRuns: 500 },
      )
    }
  })
})

const many = (value: unknown, count: number) => Array.from({ length: count }, () => value)

test.each<[string, DataType, readonly unknown[], Zone]>([
  [
    'int64 at its ends',
    int(64),
    [0n, -(2n ** 63n), null, 2n ** 63n - 1n],
    { least: -(2n ** 63n), greatest: 2n ** 63n - 1n, nulls: 1 },
  ],
  [
    'int64 that differ in the lower word',
    int(64),
    [2n ** 33n + 2n ** 31n, 2n ** 33n + 1n],
    { least: 2n ** 33n + 1n, greatest: 2n ** 33n + 2n ** 31n, nulls: 0 },
  ],
  [
    'uint64 at its ends',
    int(64, false),
    [2n ** 64n - 1n, 2n ** 63n, 1n],
    { least: 1n, greatest: 2n ** 64n - 1n, nulls: 0 },
  ],
  ['uint32', int(32, false), [2 ** 32 - 1, 7, 2 ** 31], { least: 7n, greatest: 2n ** 32n - 1n, nulls: 0 }],
  ['int8', int(8), [-128, null, 127], { least: -128n, greatest: 127n, nulls: 1 }],
  [
    'a null hides what lies under it',
    int(32),
    [5, null, 9, ...many(null, 40), 7],
    { least: 5n, greatest: 9n, nulls: 41 },
  ],
  [
    'NaN is the greatest float',
    float(64),
    [1, Number.NaN, -1],
    { least: -1, greatest: Number.NaN, nulls: 0 },
  ],
  ['nothing but NaN', float(32), [Number.NaN, null], { least: Number.NaN, greatest: Number.NaN, nulls: 1 }],
  ['-0 is 0', float(64), [-0], { least: 0, greatest: 0, nulls: 0 }],
  ['infinities', float(64), [-Infinity, Infinity], { least: -Infinity, greatest: Infinity, nulls: 0 }],
  ['one infinity', float(64), [Infinity, Infinity], { least: Infinity, greatest: Infinity, nulls: 0 }],
  ['float16', float(16), [-0, -2.5, 1.5, null], { least: -2.5, greatest: 1.5, nulls: 1 }],
  [
    'float16 with NaN',
    float(16),
    [Number.NaN, -Infinity],
    { least: -Infinity, greatest: Number.NaN, nulls: 0 },
  ],
  ['bool', { kind: 'bool' }, [true, null, true], { least: true, greatest: true, nulls: 1 }],
  ['both bools', { kind: 'bool' }, [...many(true, 40), false], { least: false, greatest: true, nulls: 0 }],
  [
    'decimal',
    { kind: 'decimal', bits: 128, precision: 38, scale: 2 },
    ['-0.01', '184467440737095516.16', '1.00'],
    { least: -1n, greatest: 18446744073709551616n, nulls: 0 },
  ],
  ['time', { kind: 'time', unit: 'ms' }, [3, 1, 2], { least: 1n, greatest: 3n, nulls: 0 }],
  ['duration', { kind: 'duration', unit: 'ns' }, [3n, -1n], { least: -1n, greatest: 3n, nulls: 0 }],
  ['nothing but null', utf8, [null, null], { least: null, greatest: null, nulls: 2 }],
  ['no rows', int(32), [], { least: null, greatest: null, nulls: 0 }],
  ['an empty text', utf8, ['', null], { least: '', greatest: '', nulls: 1 }],
  [
    'texts by code points, not by units of UTF-16',
    utf8,
    ['\uffee', '🎉'],
    { least: '\uffee', greatest: '🎉', nulls: 0 },
  ],
  [
    'a text of 32 bytes',
    utf8,
    ['x'.repeat(32)],
    { least: 'x'.repeat(32), greatest: 'x'.repeat(32), nulls: 0 },
  ],
  [
    'a longer one',
    utf8,
    ['x'.repeat(33)],
    { least: 'x'.repeat(32), greatest: `${'x'.repeat(31)}y`, nulls: 0 },
  ],
  [
    'a character across the cut',
    utf8,
    [`${'x'.repeat(31)}é`],
    { least: 'x'.repeat(31), greatest: `${'x'.repeat(30)}y`, nulls: 0 },
  ],
  [
    'surrogates are left out',
    utf8,
    ['\ud7ff'.repeat(11)],
    { least: '\ud7ff'.repeat(10), greatest: `${'\ud7ff'.repeat(9)}\ue000`, nulls: 0 },
  ],
  ['no text is above', utf8, ['\u{10ffff}'.repeat(9), 'a'], { least: 'a', greatest: null, nulls: 0 }],
  [
    'a longer text with the same beginning is above',
    utf8,
    ['x'.repeat(32), 'x'.repeat(40), 'x'.repeat(32)],
    { least: 'x'.repeat(32), greatest: `${'x'.repeat(31)}y`, nulls: 0 },
  ],
  [
    'no bytes are above',
    binary,
    [new Uint8Array(40).fill(255)],
    { least: new Uint8Array(32).fill(255), greatest: null, nulls: 0 },
  ],
  [
    'bytes are raised before what is 0xff',
    binary,
    [Uint8Array.from([1, 2, ...(many(255, 40) as number[])])],
    {
      least: Uint8Array.from([1, 2, ...(many(255, 30) as number[])]),
      greatest: Uint8Array.of(1, 3),
      nulls: 0,
    },
  ],
  [
    'bytes of one size',
    { kind: 'fixed_size_binary', width: 2 },
    [Uint8Array.of(1, 2), Uint8Array.of(1, 1)],
    { least: Uint8Array.of(1, 1), greatest: Uint8Array.of(1, 2), nulls: 0 },
  ],
])('%s', (_, type, values, expected) => {
  expect(zone(type, values)).toEqual(expected)
})

test('bytes that are not text do not make a bound wrong', () => {
  const text = column(utf8, ['abcd', 'b'])
  const values = (text.values as Uint8Array).slice()
  values[1] = 0xff
  expect(zoneOf({ ...text, values })).toEqual({ least: 'a', greatest: 'b', nulls: 0 })
  values[0] = 0xff
  expect(zoneOf({ ...text, values })).toEqual({ least: 'b', greatest: null, nulls: 0 })
})

describe('of a dictionary column', () => {
  const type: DataType = { kind: 'dictionary', index: int(8), value: utf8, ordered: false }
  const of = (entries: readonly unknown[], indices: readonly number[], valid = 0xff): Column => ({
    type,
    length: indices.length,
    nullCount: indices.filter((_, i) => ((valid >>> i) & 1) === 0).length,
    validity: Uint8Array.of(valid),
    values: Int8Array.from(indices),
    offsets: null,
    children: [],
    dictionary: column(utf8, entries),
  })

  test('entries that no row uses do not count', () => {
    expect(zoneOf(of(['a', 'm', 'z', 'p'], [3, 1, 3]))).toEqual({ least: 'm', greatest: 'p', nulls: 0 })
  })

  test('values under a null do not count', () => {
    expect(zoneOf(of(['a', 'm', 'z'], [0, 1, 2], 0b010))).toEqual({ least: 'm', greatest: 'm', nulls: 2 })
  })

  test('an entry may be null itself', () => {
    expect(zoneOf(of(['a', null], [1, 0, 1], 0b011))).toEqual({ least: 'a', greatest: 'a', nulls: 2 })
    expect(zoneOf(of([null], [0]))).toEqual({ least: null, greatest: null, nulls: 1 })
  })
})

test('types without an order have no zones', () => {
  const item = { name: 'item', type: float(32), nullable: false }
  expect(zoneOf(column({ kind: 'fixed_size_list', size: 2, child: item }, [[1, 2]]))).toBeNull()
  expect(zoneOf(column({ kind: 'list', large: false, child: item }, [[1, 2]]))).toBeNull()
  expect(zoneOf(column({ kind: 'struct', children: [item] }, [{ item: 1 }]))).toBeNull()
  expect(zoneOf(column({ kind: 'null' }, [null]))).toBeNull()
  expect(zoneOf(column({ kind: 'interval', unit: 'year_month' }, [1]))).toBeNull()
})

test('records are small and plain', () => {
  expect(writeZone({ least: 1n, greatest: 2n ** 53n, nulls: 3 })).toEqual([1, '9007199254740992', 3])
  expect(writeZone({ least: -Infinity, greatest: Number.NaN, nulls: 0 })).toEqual(['-inf', 'NaN', 0])
  expect(writeZone({ least: Uint8Array.of(0, 255), greatest: null, nulls: 0 })).toEqual(['00ff', null, 0])
})

test.each<[unknown, DataType]>([
  [[1, 2], int(32)],
  [[1, 2, -1], int(32)],
  [[null, 2, 0], int(32)],
  [[1.5, 2, 0], int(64)],
  [['0x1', 2, 0], int(64)],
  [['toString', 1, 0], float(64)],
  [['a', 'b', 0], { kind: 'bool' }],
  [['0', '00', 0], binary],
  [[1, 2, 0], utf8],
  [{ 0: 1, 1: 2, 2: 0 }, int(32)],
  [null, int(32)],
])('%j is no zone of %j', (record, type) => {
  expect(() => readZone(record, type)).toThrow(expect.objectContaining({ code: 18 }))
})
