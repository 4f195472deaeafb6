import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Column } from '../../../src/arrow/column.js'
import { fromFloat16, toFloat16 } from '../../../src/arrow/float16.js'
import type { DataType } from '../../../src/arrow/types.js'
import { areComparable, compareOperands } from '../../../src/sql/kernels/compare.js'
import { memberRows, membersOf } from '../../../src/sql/kernels/members.js'
import type { CompareOp } from '../../../src/sql/syntax/syntax.js'
import { parseArrowType } from '../../../src/sql/values/arrow-type.js'
import {
  equalValue,
  fitComparison,
  integerRange,
  literalOf,
  numberOfScript,
} from '../../../src/sql/values/literal.js'
import { LiteralNode } from '../../../src/sql/values/literal-node.js'
import type { Scalar } from '../../../src/sql/values/scalar.js'
import { Constant, columnOfScalars, operandOf } from '../../../src/sql/values/vector.js'
import { ofDecimal, ofDouble, order, type Rational } from '../rational.js'

const typeOf = (name: string): DataType => parseArrowType(name)!
const ops: readonly CompareOp[] = ['=', '<>', '<', '<=', '>', '>=']
const holds = (op: CompareOp, order: number) =>
  ({
    '=': order === 0,
    '<>': order !== 0,
    '<': order < 0,
    '<=': order <= 0,
    '>': order > 0,
    '>=': order >= 0,
  })[op]

const integers = ['Int8', 'Int16', 'Int32', 'Int64', 'UInt8', 'UInt16', 'UInt32', 'UInt64']
const decimals = [
  'Decimal128(3, 1)',
  'Decimal128(10, 2)',
  'Decimal128(38, 0)',
  'Decimal128(38, 38)',
  'Decimal128(5, -3)',
  'Decimal256(76, 10)',
]
const floats = ['Float16', 'Float32', 'Float64']

/** Interesting values of a type, in the form of a `Scalar`. */
function valuesOf(type: DataType): fc.Arbitrary<Scalar> {
  if (type.kind === 'float') {
    const special = [
      0,
      -0,
      0.1,
      -0.1,
      1,
      0.5,
      2 ** 53,
      -(2 ** 63),
      2 ** 64,
      1e30,
      Number.NaN,
      Infinity,
      -Infinity,
    ]
    const round = (value: number) =>
      type.bits === 64 ? value : type.bits === 32 ? Math.fround(value) : fromFloat16(toFloat16(value))
    return fc.oneof(fc.constantFrom(...special), fc.double(), fc.integer({ min: -300, max: 300 })).map(round)
  }
  const [least, greatest] = integerRange(type)!
  const near = [
    0n,
    1n,
    -1n,
    10n,
    11n,
    100n,
    2n ** 53n,
    2n ** 53n + 1n,
    2n ** 63n,
    least,
    least + 1n,
    greatest,
  ]
  const special = near.filter(value => value >= least && value <= greatest)
  return fc.oneof(fc.constantFrom(...special), fc.bigInt({ min: least, max: greatest }))
}

function rationalOf(value: Scalar, type: DataType): Rational {
  return typeof value === 'number'
    ? ofDouble(value)
    : ofDecimal(value as bigint, type.kind === 'decimal' ? type.scale : 0)
}

function orderOf(a: Scalar, typeA: DataType, b: Scalar, typeB: DataType): number {
  return order(rationalOf(a, typeA), rationalOf(b, typeB))
}

function bits(column: Column, other: Column, op: CompareOp, constant: boolean): (boolean | null)[] {
  const { length } = column
  const right = operandOf(other, constant)
  const { isTrue, isNull } = compareOperands(op, operandOf(column, false), right, length, null)
  const bit = (words: Uint32Array, i: number) => ((words[i >>> 5]! >>> (i & 31)) & 1) === 1
  return Array.from({ length }, (_, i) => (isNull !== null && bit(isNull, i) ? null : bit(isTrue, i)))
}

const numberType = fc.constantFrom(...integers, ...decimals, ...floats).map(typeOf)
const rowsOf = (type: DataType) => fc.array(fc.option(valuesOf(type)), { minLength: 40, maxLength: 40 })

describe('numbers of any two types', () => {
  test('compare exactly', () => {
    const pair = fc
      .tuple(numberType, numberType)
      .chain(([a, b]) => fc.tuple(fc.constant([a, b]), rowsOf(a), rowsOf(b)))
    fc.assert(
      fc.property(pair, fc.constantFrom(...ops), ([[a, b], left, right], op) => {
        expect(areComparable(a!, b!)).toBe(true)
        const expected = left.map((x, i) => {
          const y = right[i]!
          return x === null || y === null ? null : holds(op, orderOf(x, a!, y, b!))
        })
        expect(bits(columnOfScalars(a!, left), columnOfScalars(b!, right), op, false)).toEqual(expected)
        const constant = right.find(value => value !== null) ?? null
        const withConstant = left.map(x =>
          x === null || constant === null ? null : holds(op, orderOf(x, a!, constant, b!)),
        )
        expect(bits(columnOfScalars(a!, left), columnOfScalars(b!, [constant]), op, true)).toEqual(
          withConstant,
        )
      }),
      { numRuns: 400 },
    )
  })

  test('a constant converted to the type of a column gives the same rows, alone and in a list', () => {
    const pair = fc
      .tuple(numberType, numberType)
      .chain(([a, b]) => fc.tuple(fc.constant([a, b]), rowsOf(a), valuesOf(b)))
    fc.assert(
      fc.property(pair, fc.constantFrom(...ops), ([[a, b], left, value], op) => {
        const [columnType, literalType] = [a!, b!]
        // A double beside a coarser float takes its precision.
        fc.pre(!(literalType.kind === 'float' && columnType.kind === 'float'))
        const literal = new LiteralNode(literalType, value)
        const fitted = fitComparison(columnType, op, literal)!
        const column = columnOfScalars(columnType, left)
        const constant = columnOfScalars(columnType, [fitted.value])
        const orderOfRow = (x: Scalar) => orderOf(x, columnType, value, literalType)
        const expected = left.map(x => (x === null ? null : holds(op, orderOfRow(x))))
        expect(bits(column, constant, fitted.op, true)).toEqual(expected)
        const equal = equalValue(columnType, literal)
        const members = membersOf(columnType, equal === undefined ? [] : [equal, ...left.slice(0, 2)])
        const found = memberRows(members, column, left.length, null)
        if (equal === undefined) return
        for (const [i, x] of left.entries()) {
          const isMember =
            x !== null && (orderOfRow(x) === 0 || left.slice(0, 2).some(y => y !== null && same(x, y)))
          if (x !== null) expect(((found[i >>> 5]! >>> (i & 31)) & 1) === 1).toBe(isMember)
        }
      }),
      { numRuns: 400 },
    )
  })
})

function same(x: Scalar, y: Scalar): boolean {
  return x === y || (Number.isNaN(x) && Number.isNaN(y))
}

describe('a number written with a point', () => {
  const decimal = typeOf('Decimal128(10, 1)')
  const written = (text: string): LiteralNode => new LiteralNode(literalOf(0.5).type, Number(text), { text })
  test.each([
    ['1.1', '=', 11n],
    ['1.10', '=', 11n],
    ['1.15', '<', 11n],
    ['-1.15', '<', -12n],
    ['1.1000000000000000000000000001', '<', 11n],
    ['110e-2', '=', 11n],
    ['0.0', '=', 0n],
    [`0.${'0'.repeat(700)}1`, '<', 0n],
    [`-0.${'0'.repeat(700)}1`, '<', -1n],
    ['1e-999999', '<', 0n],
    ['999999999.9', '=', 9_999_999_999n],
  ] as const)('%s meets a decimal with all its digits', (text, relation, value) => {
    const placed = equalValue(decimal, written(text))
    expect(placed).toBe(relation === '=' ? value : undefined)
    expect(fitComparison(decimal, '>', written(text))).toEqual({ op: '>', value })
  })

  test.each([
    ['1000000000', '<'],
    ['1e308', '<'],
    ['-1e308', '>='],
    ['-999999999.95', '>='],
  ] as const)('%s lies beyond decimal(10, 1)', (text, op) => {
    expect(fitComparison(decimal, '>', written(text))).toEqual({ op, value: -9_999_999_999n })
  })

  test('a computed double is compared with a decimal by all digits of its bits', () => {
    expect(equalValue(decimal, literalOf(1.1))).toBe(undefined)
    expect(equalValue(decimal, literalOf(1.5))).toBe(15n)
    expect(fitComparison(decimal, '<', literalOf(1.1))).toEqual({ op: '<=', value: 11n })
    expect(fitComparison(decimal, '<', literalOf(Number.NaN))?.op).toBe('>=')
    expect(fitComparison(decimal, '<', literalOf(-Infinity))?.op).toBe('<')
  })

  test('a number of JavaScript is compared with a decimal by its shortest digits', () => {
    const given = (value: number) => numberOfScript(value, 'parameter 1', { offset: 0, length: 1 })
    expect(equalValue(decimal, given(1.1))).toBe(11n)
    expect(equalValue(decimal, given(0.1 + 0.2))).toBe(undefined)
  })
})

describe('points and spans of time', () => {
  /** Types, two columns and the relation of each row. */
  const cases: readonly (readonly [string, string, Scalar, Scalar, '<' | '=' | '>'])[] = [
    ['Time32(Second)', 'Time64(Nanosecond)', 1n, 1_000_000_000n, '='],
    ['Time32(Millisecond)', 'Time64(Microsecond)', 1n, 1001n, '<'],
    ['Duration(Second)', 'Duration(Nanosecond)', -1n, -999_999_999n, '<'],
    ['Duration(Second)', 'Duration(Second)', 9_223_372_036_854_775_807n, 0n, '>'],
    ['Duration(Second)', 'Interval(MonthDayNano)', 86_400n, { months: 0, days: 1, nanos: 0n }, '='],
    ['Duration(Nanosecond)', 'Interval(MonthDayNano)', 0n, { months: 0, days: 0, nanos: -1n }, '>'],
    ['Interval(MonthDayNano)', 'Interval(MonthDayNano)', span(1, 0, 0n), span(0, 30, 0n), '='],
    [
      'Interval(MonthDayNano)',
      'Interval(MonthDayNano)',
      span(0, 1, 0n),
      span(0, 0, 86_400_000_000_001n),
      '<',
    ],
    [
      'Interval(MonthDayNano)',
      'Interval(MonthDayNano)',
      span(2 ** 31 - 1, 0, 0n),
      span(-(2 ** 31), 0, 0n),
      '>',
    ],
    ['Date32', 'Date64', -1n, -86_400_000n, '='],
    ['Date32', 'Timestamp(Nanosecond, None)', 0n, -1n, '>'],
    ['Timestamp(Second, None)', 'Timestamp(Nanosecond, None)', 2n ** 62n, 2n ** 62n, '>'],
    ['Timestamp(Second, Some("Asia/Kolkata"))', 'Timestamp(Millisecond, Some("UTC"))', 5n, 5000n, '='],
    // A clock that shows midnight of 2021-07-01 in Berlin does so at 22:00 UTC of the day before.
    ['Timestamp(Second, Some("Europe/Berlin"))', 'Date32', 1_625_090_400n, 18_809n, '='],
    [
      'Timestamp(Second, None)',
      'Timestamp(Second, Some("Europe/Berlin"))',
      1_625_097_600n,
      1_625_090_400n,
      '=',
    ],
  ]
  test.each(cases)('%s and %s', (a, b, x, y, relation) => {
    const [left, right] = [columnOfScalars(typeOf(a), [x, null]), columnOfScalars(typeOf(b), [y, y])]
    const order = relation === '<' ? -1 : relation === '=' ? 0 : 1
    expect(areComparable(typeOf(a), typeOf(b))).toBe(true)
    for (const op of ops) {
      expect(bits(left, right, op, false)).toEqual([holds(op, order), null])
      expect(bits(left, columnOfScalars(typeOf(b), [y]), op, true)).toEqual([holds(op, order), null])
      expect(bits(right, left, op, false)).toEqual([holds(op, -order), null])
      const fitted = fitComparison(typeOf(a), op, new LiteralNode(typeOf(b), y))!
      const constant = columnOfScalars(typeOf(a), [fitted.value])
      expect(bits(left, constant, fitted.op, true)).toEqual([holds(op, order), null])
    }
  })

  test('a text becomes the type of the column; one without an offset is local time', () => {
    const value = (type: string, text: string) => equalValue(typeOf(type), literalOf(text))
    expect(value('Time32(Second)', '00:01')).toBe(60n)
    expect(value('Time32(Second)', '00:00:00.5')).toBe(undefined)
    expect(value('Time32(Second)', 'noon')).toBe(null)
    expect(value('Duration(Second)', '1 hour')).toBe(3600n)
    expect(value('Interval(MonthDayNano)', '1 month')).toEqual(span(1, 0, 0n))
    expect(value('Date32', '1970-1-2')).toBe(1n)
    expect(value('Date32', '1970-01-02T00:00:01')).toBe(undefined)
    expect(value('Timestamp(Second, Some("Europe/Berlin"))', '2021-07-01')).toBe(1_625_090_400n)
    expect(value('Timestamp(Second, Some("Europe/Berlin"))', '2021-07-01T00:00:00Z')).toBe(1_625_097_600n)
    expect(() => value('Timestamp(Second, Some("Mars/Olympus"))', '2021-07-01')).toThrow('no time zone')
  })

  test('intervals of one length are one member', () => {
    const type = typeOf('Interval(MonthDayNano)')
    const column = columnOfScalars(type, [
      span(0, 1, 0n),
      span(0, 0, 86_400_000_000_000n),
      span(1, 0, 0n),
      null,
    ])
    const [found] = memberRows(membersOf(type, [span(0, 1, 0n)]), column, 4, null)
    expect(found! & 7).toBe(3)
  })
})

function span(months: number, days: number, nanos: bigint) {
  return { months, days, nanos }
}

test.each([
  ['Utf8', 'Int64'],
  ['Boolean', 'Int64'],
  ['Date32', 'Int64'],
  ['Date32', 'Time32(Second)'],
  ['List(Int64)', 'List(Utf8)'],
  ['List(Int64)', 'Int64'],
  ['Decimal128(10, 2)', 'Utf8'],
])('%s and %s are not compared', (a, b) => {
  expect(areComparable(typeOf(a), typeOf(b))).toBe(false)
})

describe('rows that equal a number', () => {
  test.each(['Int8', 'Int32', 'Float32', 'Float64'])(
    'of %s are found whether they are few, many or both',
    name => {
      const type = typeOf(name)
      const cast = (value: number) => (name.startsWith('Int') ? BigInt(value) : value)
      const wanted = new Constant(columnOfScalars(type, [cast(7)]))
      const stretches = fc.array(fc.tuple(fc.integer({ min: 1, max: 900 }), fc.constantFrom(0, 1, 7, 300)), {
        minLength: 1,
        maxLength: 5,
      })
      fc.assert(
        fc.property(stretches, parts => {
          // One row in so many of each stretch.
          const values = parts.flatMap(([rows, oneIn]) =>
            Array.from({ length: rows }, (_, i) => (oneIn > 0 && i % oneIn === oneIn - 1 ? 7 : 8)),
          )
          const column = columnOfScalars(type, values.map(cast))
          const { isTrue } = compareOperands('=', { column, constant: false }, wanted, values.length, null)
          const found = values.map((_, row) => ((isTrue[row >>> 5]! >>> (row & 31)) & 1) === 1)
          expect(found).toEqual(values.map(value => value === 7))
        }),
        { numRuns: 30 },
      )
    },
  )
})
