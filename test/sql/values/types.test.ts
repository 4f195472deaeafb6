import { describe, expect, test } from 'vitest'
import type { DataType } from '../../../src/arrow/types.js'
import { formatArrowType, parseArrowType } from '../../../src/sql/values/arrow-type.js'
import { commonType, nameOfType, typeOfName } from '../../../src/sql/values/types.js'

const at = { offset: 0, length: 0 }
const typeOf = (name: string): DataType => parseArrowType(name)!

describe('the type two values have in common', () => {
  test.each([
    ['Int8', 'Int64', 'Int64'],
    ['UInt8', 'UInt32', 'UInt32'],
    ['Int8', 'UInt8', 'Int16'],
    ['UInt16', 'Int16', 'Int32'],
    ['Int32', 'UInt32', 'Int64'],
    ['Int64', 'UInt8', 'Int64'],
    ['Int32', 'UInt8', 'Int32'],
    ['Int64', 'UInt64', 'Decimal128(20, 0)'],
    ['UInt64', 'Int8', 'Decimal128(20, 0)'],
    ['Int64', 'Float32', 'Float64'],
    ['Float16', 'Float32', 'Float32'],
    ['Float32', 'Float64', 'Float64'],
    ['Decimal128(7, 2)', 'Int64', 'Decimal128(22, 2)'],
    ['Decimal256(7, 2)', 'Int64', 'Decimal256(22, 2)'],
    ['Decimal128(10, 2)', 'Decimal128(8, 5)', 'Decimal128(13, 5)'],
    ['Decimal128(38, 0)', 'Decimal128(38, 38)', 'Decimal128(38, 38)'],
    ['Decimal128(38, 0)', 'Decimal256(76, 38)', 'Decimal256(76, 38)'],
    ['Decimal128(5, -2)', 'UInt8', 'Decimal128(7, 0)'],
    ['Decimal128(10, 2)', 'Float32', 'Float64'],
    ['Utf8', 'LargeUtf8', 'LargeUtf8'],
    ['Binary', 'FixedSizeBinary(3)', 'Binary'],
    ['FixedSizeBinary(2)', 'FixedSizeBinary(3)', 'Binary'],
    ['Time32(Second)', 'Time64(Nanosecond)', 'Time64(Nanosecond)'],
    ['Duration(Second)', 'Duration(Microsecond)', 'Duration(Microsecond)'],
    ['Duration(Second)', 'Interval(MonthDayNano)', 'Interval(MonthDayNano)'],
    ['Interval(YearMonth)', 'Interval(DayTime)', 'Interval(MonthDayNano)'],
    ['Date32', 'Date64', 'Date64'],
    ['Date32', 'Timestamp(Second, None)', 'Timestamp(Second, None)'],
    ['Date64', 'Timestamp(Second, None)', 'Timestamp(Millisecond, None)'],
    ['Timestamp(Nanosecond, None)', 'Timestamp(Second, Some("UTC"))', 'Timestamp(Nanosecond, Some("UTC"))'],
    ['Date32', 'Timestamp(Second, Some("Asia/Tokyo"))', 'Timestamp(Second, Some("Asia/Tokyo"))'],
    ['List(Int8)', 'List(Int64)', 'List(Int64)'],
    ['List(Int8)', 'FixedSizeList(3, Float32)', 'List(Float64)'],
    ['Null', 'Date32', 'Date32'],
    ['Dictionary(Int8, Utf8)', 'Utf8', 'Utf8'],
    ['Utf8', 'Int64', null],
    ['Utf8', 'Binary', null],
    ['Date32', 'Int32', null],
    ['Date32', 'Time32(Second)', null],
    ['Boolean', 'Int8', null],
    ['List(Utf8)', 'List(Int64)', null],
    ['List(Utf8)', 'Utf8', null],
  ] as const)('%s and %s: %s', (a, b, expected) => {
    for (const common of [commonType(typeOf(a), typeOf(b)), commonType(typeOf(b), typeOf(a))]) {
      expect(common === null ? null : formatArrowType(common)).toBe(expected)
    }
  })
})

describe('names of types', () => {
  test.each([
    ['decimal', [], 'Decimal128(38, 10)', 'decimal(38, 10)'],
    ['numeric', [5], 'Decimal128(5, 0)', 'decimal(5, 0)'],
    ['decimal', [38, 38], 'Decimal128(38, 38)', 'decimal(38, 38)'],
    ['decimal', [39, 2], 'Decimal256(39, 2)', 'decimal(39, 2)'],
    ['time', [], 'Time64(Nanosecond)', 'time(9)'],
    ['time', [0], 'Time32(Second)', 'time(0)'],
    ['timestamp', [], 'Timestamp(Microsecond, None)', 'timestamp(6)'],
    ['timestamp with time zone', [3], 'Timestamp(Millisecond, Some("UTC"))', null],
    ['timestamptz', [], 'Timestamp(Microsecond, Some("UTC"))', null],
    ['varchar', [255], 'Utf8', 'string'],
    ['bytea', [], 'Binary', 'binary'],
    ['varbinary', [16], 'Binary', 'binary'],
    ['int4', [], 'Int32', 'int'],
    ['interval', [], 'Interval(MonthDayNano)', 'interval'],
    ['bigint[]', [], 'List(Int64)', null],
    ['decimal[]', [4, 1], 'List(Decimal128(4, 1))', null],
  ] as const)('%s%j', (name, args, type, written) => {
    const found = typeOfName({ name, args, at })
    expect(formatArrowType(found)).toBe(type)
    expect(nameOfType(found)).toBe(written)
  })

  test.each([
    ['decimal', [0], 'a decimal has 1 to 76 digits'],
    ['decimal', [77], 'a decimal has 1 to 76 digits'],
    ['decimal', [2, 3], 'a decimal has 1 to 76 digits'],
    ['decimal', [2, 1, 1], 'a decimal has 1 to 76 digits'],
    ['time', [4], 'the precision of time must be 0, 3, 6 or 9'],
    ['varchar', [1, 2], 'the type varchar takes no arguments'],
    ['text', [1], 'the type text takes no arguments'],
    ['constructor', [], 'no cast to a type named "constructor"'],
    ['[]', [], 'no cast to a type named ""'],
  ] as const)('%s%j is none', (name, args, message) => {
    expect(() => typeOfName({ name, args, at })).toThrow(message)
  })

  test.each([
    'Decimal128(5, -2)',
    'Decimal256(5, 2)',
    'Date64',
    'Duration(Second)',
    'Interval(YearMonth)',
    'LargeUtf8',
  ])('%s has none', type => {
    expect(nameOfType(typeOf(type))).toBe(null)
  })
})
