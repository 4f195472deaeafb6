import { describe, expect, test } from 'vitest'
import type { Column } from '../../../src/arrow/column.js'
import { typeName } from '../../../src/arrow/type-name.js'
import type { DataType } from '../../../src/arrow/types.js'
import { castable, castColumn, isLossless } from '../../../src/sql/kernels/cast.js'
import { writeText } from '../../../src/sql/kernels/cast-text.js'
import { parseArrowType } from '../../../src/sql/values/arrow-type.js'
import { integerRange } from '../../../src/sql/values/literal.js'
import { columnOfScalars, scalarAt } from '../../../src/sql/values/vector.js'
import { noTypeCasts, typeCastCases } from './type-cast-cases.js'

const typeOf = (name: string): DataType => {
  const type = parseArrowType(name)
  if (type === null) throw new Error(`${name} is no type`)
  return type
}
const cast = (column: Column, to: DataType, isTry = false) =>
  castColumn(column, to, isTry, null, () => 'a cast')

function show(column: Column, row = 0): string | null {
  const value = scalarAt(column, row)
  return value === null ? null : (writeText(value, column.type) ?? '(no text)')
}

function endsOfFloat(type: DataType): readonly number[] {
  if (type.kind !== 'float') return []
  return [
    { 16: 65_504, 32: (2 - 2 ** -23) * 2 ** 127, 64: Number.MAX_VALUE }[type.bits],
    Infinity,
    Number.NaN,
  ]
}

describe('a cast by Arrow types', () => {
  test.each(typeCastCases)('%s as %s to %s is %s', (text, from, to, result) => {
    const source = cast(columnOfScalars(typeOf('Utf8'), [text, null]), typeOf(from))
    const target = typeOf(to)
    expect(castable(source.type, target)).toBe(true)
    const tried = cast(source, target, true)
    expect([show(tried, 0), show(tried, 1)]).toEqual([result, null])
    if (result !== null) {
      expect(show(cast(source, target))).toBe(result)
      return
    }
    expect(isLossless(source.type, target)).toBe(false)
    expect(() => cast(source, target)).toThrow('is not a value of')
    // A row nobody asks for cannot fail.
    expect(castColumn(source, target, false, new Uint32Array([2]), () => 'a cast').length).toBe(2)
  })

  test.each(noTypeCasts)('%s to %s has no meaning', (from, to) => {
    expect(castable(typeOf(from), typeOf(to))).toBe(false)
  })

  test('that is lossless rejects nothing', () => {
    const types = [
      ...['Boolean', 'Int8', 'Int32', 'Int64', 'UInt8', 'UInt32', 'UInt64', 'Float16', 'Float32', 'Float64'],
      ...[
        'Decimal128(5, 2)',
        'Decimal128(20, 0)',
        'Decimal128(38, 10)',
        'Decimal256(76, 20)',
        'Decimal128(5, -3)',
      ],
      ...['Date32', 'Date64', 'Time32(Second)', 'Time64(Nanosecond)', 'Timestamp(Second, None)'],
      ...['Timestamp(Nanosecond, None)', 'Duration(Second)', 'Duration(Nanosecond)', 'Utf8', 'Binary'],
    ].map(typeOf)
    let lossless = 0
    for (const from of types) {
      const ends = from.kind === 'bool' ? [true, false] : (integerRange(from) ?? endsOfFloat(from))
      const column = columnOfScalars(from, ends)
      for (const to of types) {
        if (ends.length === 0 || !castable(from, to) || !isLossless(from, to)) continue
        lossless++
        expect(cast(column, to).nullCount, `${typeName(from)} to ${typeName(to)}`).toBe(0)
      }
    }
    expect(lossless).toBeGreaterThan(100)
  })

  test('bytes that are not UTF-8 are not text, unless they are under a null', () => {
    const bytes = columnOfScalars(typeOf('Binary'), [Uint8Array.of(0xff), Uint8Array.of(0x61)])
    expect(() => cast(bytes, typeOf('Utf8'))).toThrow("X'ff' is not a value of utf8, in a cast")
    const tried = cast(bytes, typeOf('Utf8'), true)
    expect([show(tried, 0), show(tried, 1)]).toEqual([null, 'a'])
    expect(tried.values).toEqual(Uint8Array.of(0x61))
  })

  test('lists are cast element by element', () => {
    const lists = columnOfScalars(typeOf('List(Int64)'), [[1n, 300n], null, [], [null, 2n]])
    const texts = cast(lists, typeOf('List(Utf8)'))
    expect([0, 1, 2, 3].map(row => scalarAt(texts, row))).toEqual([['1', '300'], null, [], [null, '2']])
    expect(() => cast(lists, typeOf('List(UInt8)'))).toThrow('300 is not a value of uint8')
    expect(scalarAt(cast(lists, typeOf('List(UInt8)'), true), 0)).toEqual([1n, null])
    const pairs = cast(lists, typeOf('FixedSizeList(2, Float32)'), true)
    expect([0, 1, 2, 3].map(row => scalarAt(pairs, row))).toEqual([[1, 300], null, null, [null, 2]])
    expect(() => cast(lists, typeOf('FixedSizeList(2, Float32)'))).toThrow(
      'a list of 0 elements cannot be cast to a list of 2 elements',
    )
    expect(scalarAt(cast(pairs, typeOf('List(Int32)')), 3)).toEqual([null, 2n])
  })

  test('an unknown time zone is an error that names it', () => {
    const nowhere = typeOf('Timestamp(Nanosecond, Some("Foo"))')
    expect(() => castable(typeOf('Utf8'), nowhere)).toThrow('no time zone is named "Foo"')
    const instants = columnOfScalars(nowhere, [0n])
    expect(() => cast(instants, typeOf('Utf8'))).toThrow('no time zone is named "Foo"')
    expect(scalarAt(cast(instants, typeOf('Int64')), 0)).toBe(0n)
  })
})
