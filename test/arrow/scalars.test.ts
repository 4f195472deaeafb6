import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { copyBits, countBits, cutBits, exactBits, setBits } from '../../src/arrow/bits.js'
import { formatDecimal, parseDecimal, readDecimal, writeDecimal } from '../../src/arrow/decimal.js'
import { fromFloat16, toFloat16 } from '../../src/arrow/float16.js'
import { fromDate, parseInstant, parseTimeOfDay, toDate } from '../../src/arrow/instant.js'
import { typeName } from '../../src/arrow/type-name.js'

describe('bitmaps', () => {
  const bools = fc.array(fc.boolean(), { maxLength: 60 })
  const pack = (values: boolean[]): Uint8Array => {
    const out = new Uint8Array(Math.ceil(values.length / 8))
    values.forEach((value, i) => {
      if (value) out[i >>> 3]! |= 1 << (i & 7)
    })
    return out
  }

  test('are cut, counted and copied from any bit', () => {
    fc.assert(
      fc.property(bools, fc.nat(), fc.nat(), fc.nat(20), (values, a, b, at) => {
        const start = a % (values.length + 1)
        const length = b % (values.length - start + 1)
        const part = values.slice(start, start + length)
        const cut = cutBits(pack(values), start, length)
        expect([...exactBits(cut, length)]).toEqual([...pack(part)])
        expect(countBits(cut, length)).toBe(part.filter(Boolean).length)
        const target = new Uint8Array(16)
        copyBits(target, at, pack(values), start, length)
        expect([...target]).toEqual(
          [...pack([...new Array(at).fill(false), ...part]), ...new Uint8Array(16)].slice(0, 16),
        )
      }),
      { numRuns: 500 },
    )
  })

  test('are set in runs', () => {
    fc.assert(
      fc.property(fc.nat(40), fc.nat(40), (start, length) => {
        const target = new Uint8Array(12)
        setBits(target, start, length)
        expect(countBits(target, 96)).toBe(length)
        expect(countBits(cutBits(target, start, length), length)).toBe(length)
      }),
    )
  })
})

describe('float16', () => {
  test('keeps every one of its 65536 values', () => {
    for (let bits = 0; bits < 65536; bits++) {
      const value = fromFloat16(bits)
      if (Number.isNaN(value)) expect(toFloat16(value)).toBe(0x7e00)
      else if (toFloat16(value) !== bits) expect([bits, toFloat16(value)]).toEqual([bits, bits])
    }
  })

  test('rounds to the nearest, ties to even', () => {
    for (let bits = 0; bits < 0x7bff; bits++) {
      const low = fromFloat16(bits)
      const high = fromFloat16(bits + 1)
      const middle = (low + high) / 2
      const even = bits % 2 === 0 ? bits : bits + 1
      const got = [
        toFloat16(middle),
        toFloat16((low + middle) / 2),
        toFloat16((middle + high) / 2),
        toFloat16(-middle),
      ]
      if (got.join() !== [even, bits, bits + 1, even | 0x8000].join())
        expect(got).toEqual([even, bits, bits + 1, even | 0x8000])
    }
    expect([toFloat16(65519), toFloat16(65520), toFloat16(-1e9)]).toEqual([0x7bff, 0x7c00, 0xfc00])
  })
})

describe('decimals', () => {
  test('come back from bytes and from text', () => {
    const value = fc.bigInt({ min: -(10n ** 38n), max: 10n ** 38n })
    fc.assert(
      fc.property(
        value,
        fc.constantFrom(128 as const, 256 as const),
        fc.integer({ min: -5, max: 40 }),
        (integer, bits, scale) => {
          const bytes = new Uint8Array(96)
          writeDecimal(bytes, 1, bits, integer)
          expect(readDecimal(bytes, 1, bits)).toBe(integer)
          expect(parseDecimal(formatDecimal(integer, scale), scale)).toBe(integer)
        },
      ),
    )
  })

  test.each<[string, number, bigint | null]>([
    ['1', 2, 100n],
    ['-.5', 1, -5n],
    ['+3.', 0, 3n],
    ['1.50', 1, 15n],
    ['1.55', 1, null],
    ['1e2', 0, 100n],
    ['1e-2', 2, 1n],
    ['1e-3', 2, null],
    ['1200', -2, 12n],
    ['1250', -2, null],
    ['', 2, null],
    ['.', 2, null],
    ['e1', 2, null],
    ['1e9999', 2, null],
    ['0x10', 2, null],
    ['NaN', 2, null],
    ['9'.repeat(500), 2, null],
  ])('%j at scale %i is %s', (text, scale, value) => {
    expect(parseDecimal(text, scale)).toBe(value)
  })
})

describe('points in time', () => {
  test('agree with Date for every date', () => {
    fc.assert(
      fc.property(
        fc.date({ noInvalidDate: true }),
        fc.constantFrom('ms' as const, 'us' as const, 'ns' as const),
        (date, unit) => {
          const count = fromDate(date, unit)!
          expect(toDate(count, unit)).toEqual(date)
          expect(parseInstant(date.toISOString(), unit)).toBe(count)
        },
      ),
    )
  })

  test.each<[string, bigint | null]>([
    ['1970-01-01', 0n],
    ['1970-01-01T00:00:01', 1000n],
    ['1970-01-01 00:00:00.5Z', 500n],
    ['1970-01-01T01:30+01:30', 0n],
    ['1969-12-31T23:59:59.999-00:00', -1n],
    ['0001-01-01', -62135596800000n],
    ['-000001-01-01', -62198755200000n],
    ['2024-02-29', 1709164800000n],
    ['2023-02-29', null],
    ['1970-13-01', null],
    ['1970-01-01T24:00', null],
    ['1970-01-01T00:60', null],
    ['1970-01-01T00:00:00.0001', null],
    ['1970-01-01T00:00+25:00', null],
    ['1970-1-1', null],
    ['yesterday', null],
    ['+275761-01-01', null],
  ])('%s is %s ms', (text, count) => {
    expect(parseInstant(text, 'ms')).toBe(count)
  })

  test.each<[string, bigint | null]>([
    ['00:00', 0n],
    ['12:34:56.789', 45_296_789_000n],
    ['23:59:59.999999', 86_399_999_999n],
    ['24:00:00', null],
    ['12:34:56.1234567', null],
    ['12', null],
  ])('%s is %s us after midnight', (text, count) => {
    expect(parseTimeOfDay(text, 'us')).toBe(count)
  })
})

describe('types in words', () => {
  test.each([
    ['uint8', { kind: 'int', bits: 8, signed: false }],
    ['timestamp(us, UTC)', { kind: 'timestamp', unit: 'us', timezone: 'UTC' }],
    [
      'large_list<decimal128(10, 2)>',
      {
        kind: 'list',
        large: true,
        child: {
          name: 'item',
          nullable: true,
          type: { kind: 'decimal', bits: 128, precision: 10, scale: 2 },
        },
      },
    ],
    [
      'struct<a: date32, b: fixed_size_binary[4]>',
      {
        kind: 'struct',
        children: [
          { name: 'a', nullable: true, type: { kind: 'date', unit: 'day' } },
          { name: 'b', nullable: true, type: { kind: 'fixed_size_binary', width: 4 } },
        ],
      },
    ],
    [
      'dictionary<utf8, int8>',
      {
        kind: 'dictionary',
        index: { kind: 'int', bits: 8, signed: true },
        value: { kind: 'utf8', large: false },
        ordered: false,
      },
    ],
    [
      'fixed_size_list<float32>[3]',
      {
        kind: 'fixed_size_list',
        size: 3,
        child: { name: 'item', nullable: true, type: { kind: 'float', bits: 32 } },
      },
    ],
  ] as const)('%s', (name, type) => {
    expect(typeName(type)).toBe(name)
  })
})
