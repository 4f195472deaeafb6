import { expect, test } from 'vitest'
import { formatArrowType, parseArrowType } from '../../../src/sql/values/arrow-type.js'

test.each([
  'Null',
  'Boolean',
  'Int8',
  'UInt64',
  'Float16',
  'LargeUtf8',
  'Binary',
  'FixedSizeBinary(16)',
  'Decimal128(10, 2)',
  'Decimal128(5, -3)',
  'Decimal256(76, 10)',
  'Date32',
  'Date64',
  'Time32(Second)',
  'Time64(Nanosecond)',
  'Timestamp(Nanosecond, None)',
  'Timestamp(Microsecond, Some("+00:00"))',
  'Timestamp(Second, Some("America/New_York"))',
  'Duration(Millisecond)',
  'Interval(YearMonth)',
  'Interval(DayTime)',
  'Interval(MonthDayNano)',
  'List(Int64)',
  'LargeList(List(Utf8))',
  'FixedSizeList(3, Float32)',
  'Dictionary(Int32, Utf8)',
])('%s is read and written', text => {
  expect(formatArrowType(parseArrowType(text)!)).toBe(text)
  expect(formatArrowType(parseArrowType(text.replaceAll(/([(),])/g, ' $1 '))!)).toBe(text)
})

test.each([
  '',
  'int8',
  'Int7',
  'Int8 Int8',
  'Int8)',
  'List(',
  'List()',
  'List(Int8',
  'constructor',
  'Time32(Nanosecond)',
  'Time64(Second)',
  'Timestamp(Second)',
  'Timestamp(Second, Some(UTC))',
  'Timestamp(Second, Some(""))',
  'Interval(toString)',
  'Decimal128(39, 0)',
  'Decimal128(0, 0)',
  'Decimal128(1.5, 0)',
  'FixedSizeBinary(-1)',
  'Dictionary(Utf8, Int8)',
  'Struct(a: Int8)',
  'List('.repeat(100_000),
])('%s is no type', text => {
  expect(parseArrowType(text)).toBe(null)
})

test('views have the type of their values', () => {
  expect(formatArrowType(parseArrowType('Utf8View')!)).toBe('Utf8')
  expect(formatArrowType(parseArrowType('BinaryView')!)).toBe('Binary')
})
