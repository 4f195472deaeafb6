import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { DataType } from '../../../src/arrow/types.js'
import { arithmeticSignature, calculate } from '../../../src/sql/kernels/arithmetic.js'
import { castColumn } from '../../../src/sql/kernels/cast.js'
import { writeText } from '../../../src/sql/kernels/cast-text.js'
import type { ArithmeticOp } from '../../../src/sql/syntax/syntax.js'
import { formatArrowType, parseArrowType } from '../../../src/sql/values/arrow-type.js'
import { integerRange } from '../../../src/sql/values/literal.js'
import type { Scalar } from '../../../src/sql/values/scalar.js'
import { Constant, columnOfScalars, operandOf, scalarAt } from '../../../src/sql/values/vector.js'
import { noOperations, temporalCases } from '../values/temporal-cases.js'

const typeOf = (name: string): DataType => parseArrowType(name)!
const describeIt = () => 'a calculation'
const cast = (text: string, type: DataType, to = type) =>
  castColumn(
    castColumn(columnOfScalars(typeOf('Utf8'), [text]), type, false, null, describeIt),
    to,
    false,
    null,
    describeIt,
  )

describe('time', () => {
  test.each(temporalCases)(
    '%s (%s) %s %s (%s)',
    (left, leftType, op, right, rightType, resultType, result) => {
      const signature = arithmeticSignature(op, typeOf(leftType), typeOf(rightType))!
      expect(formatArrowType(signature.result)).toBe(resultType)
      const a = cast(left, typeOf(leftType), signature.left)
      const b = cast(right, typeOf(rightType), signature.right)
      const run = (constant: boolean) =>
        calculate({
          op,
          left: operandOf(a, false),
          right: operandOf(b, constant),
          type: signature.result,
          length: 1,
          rows: null,
          describe: describeIt,
        })
      for (const constant of [false, true]) {
        if (result === null)
          expect(() => run(constant)).toThrow(/(overflow|division by zero) in a calculation: /)
        else expect(writeText(scalarAt(run(constant), 0), signature.result)).toBe(result)
      }
    },
  )

  test.each(noOperations)('%s %s %s has no meaning', (left, op, right) => {
    expect(arithmeticSignature(op, typeOf(left), typeOf(right))).toBe(null)
  })

  test('NULL takes the type of what it meets', () => {
    const result = (op: ArithmeticOp, left: string, right: string) => {
      const signature = arithmeticSignature(op, typeOf(left), typeOf(right))
      return signature === null ? null : formatArrowType(signature.result)
    }
    expect(result('+', 'Null', 'Null')).toBe('Int64')
    expect(result('-', 'Null', 'Date32')).toBe('Duration(Second)')
    expect(result('+', 'Date32', 'Null')).toBe('Date32')
    expect(result('*', 'Null', 'Interval(MonthDayNano)')).toBe('Interval(MonthDayNano)')
    expect(result('*', 'Null', 'Decimal128(10, 2)')).toBe('Decimal128(21, 4)')
    expect(result('+', 'Null', 'Utf8')).toBe(null)
  })

  test('rows that were not requested, and rows with a null, cannot fail', () => {
    const type = typeOf('Date32')
    const spans = columnOfScalars(typeOf('Interval(MonthDayNano)'), [
      { months: 2 ** 31 - 1, days: 0, nanos: 0n },
      { months: 0, days: 1, nanos: 0n },
      null,
    ])
    const dates = columnOfScalars(type, [2n ** 31n - 1n, 0n, 0n])
    const added = {
      op: '+' as const,
      left: operandOf(dates, false),
      right: operandOf(spans, false),
      type,
      length: 3,
      describe: describeIt,
    }
    const result = calculate({ ...added, rows: new Uint32Array([0b110]) })
    expect([scalarAt(result, 1), scalarAt(result, 2)]).toEqual([1n, null])
    expect(() => calculate({ ...added, rows: null })).toThrow('date32 overflow')
  })
})

describe('decimals', () => {
  test.each([
    ['Decimal128(10, 2)', '+', 'Decimal128(5, 3)', 'Decimal128(12, 3)'],
    ['Decimal128(10, 2)', '-', 'Int64', 'Decimal128(23, 2)'],
    ['Decimal128(10, 2)', '*', 'Decimal128(5, 3)', 'Decimal128(16, 5)'],
    ['Decimal128(10, 2)', '*', 'Int32', 'Decimal128(21, 2)'],
    ['Decimal128(38, 10)', '*', 'Decimal128(38, 10)', 'Decimal128(38, 20)'],
    ['Decimal128(10, 2)', '/', 'Decimal128(5, 3)', 'Decimal128(17, 6)'],
    ['UInt64', '/', 'Decimal128(5, 3)', 'Decimal128(27, 4)'],
    ['Decimal128(38, 36)', '/', 'Decimal128(5, 0)', 'Decimal128(38, 38)'],
    ['Decimal128(10, 2)', '%', 'Decimal128(5, 3)', 'Decimal128(5, 3)'],
    ['Decimal128(38, 0)', '+', 'Decimal256(50, 4)', 'Decimal256(51, 4)'],
    ['Decimal128(10, 2)', '+', 'Float32', 'Float64'],
  ] as const)('%s %s %s is %s', (left, op, right, result) => {
    expect(formatArrowType(arithmeticSignature(op, typeOf(left), typeOf(right))!.result)).toBe(result)
  })

  const decimal = fc
    .tuple(fc.constantFrom(128 as const, 256 as const), fc.integer({ min: 1, max: 38 }))
    .chain(([bits, precision]) =>
      fc.record({
        kind: fc.constant('decimal' as const),
        bits: fc.constant(bits),
        precision: fc.constant(precision),
        scale: fc.integer({ min: -3, max: precision }),
      }),
    )
  const integer = fc.constantFrom('Int8', 'Int32', 'Int64', 'UInt64').map(typeOf)
  const value = (type: DataType) => {
    const [least, greatest] = integerRange(type)!
    return fc.oneof(fc.bigInt({ min: least, max: greatest }), fc.constantFrom(least, 0n, 1n, greatest))
  }
  const pair = fc
    .tuple(decimal, fc.oneof(decimal, integer), fc.boolean())
    .chain(([a, b, swap]) =>
      fc.tuple(
        ...(swap ? ([b, a] as const) : ([a, b] as const)).map(type =>
          fc.tuple(fc.constant(type), value(type)),
        ),
      ),
    )

  test('are exact, or an error', () => {
    const scaleOf = (type: DataType) => (type.kind === 'decimal' ? type.scale : 0)
    const shift = 200
    const scaled = (v: bigint, type: DataType) => v * 10n ** BigInt(shift - scaleOf(type))
    fc.assert(
      fc.property(pair, fc.constantFrom<ArithmeticOp>('+', '-', '*', '/', '%'), (sides, op) => {
        const [[typeA, a], [typeB, b]] = sides as unknown as [[DataType, bigint], [DataType, bigint]]
        const signature = arithmeticSignature(op, typeA, typeB)
        fc.pre(signature !== null)
        const { left, right, result } = signature!
        const [x, y] = [scaled(a, typeA), scaled(b, typeB)]
        const one = 10n ** BigInt(shift)
        // Over ten to the 200; a quotient is cut to the digits of its type.
        const exact =
          op === '+'
            ? x + y
            : op === '-'
              ? x - y
              : op === '*'
                ? (x * y) / one
                : y === 0n
                  ? null
                  : op === '/'
                    ? (x * one) / y
                    : x % y
        const unit = 10n ** BigInt(shift - scaleOf(result))
        const [least, greatest] = integerRange(result)!
        const wanted = exact === null ? null : exact / unit
        const run = () =>
          scalarAt(
            calculate({
              op,
              left: operandOf(castColumn(columnOfScalars(typeA, [a]), left, false, null, describeIt), false),
              right: new Constant(castColumn(columnOfScalars(typeB, [b]), right, false, null, describeIt)),
              type: result,
              length: 1,
              rows: null,
              describe: describeIt,
            }),
            0,
          )
        if (wanted === null) expect(run).toThrow('division by zero in a calculation: ')
        else if (wanted < least || wanted > greatest) expect(run).toThrow('overflow in a calculation: ')
        else expect(run()).toBe(wanted as Scalar)
      }),
      { numRuns: 2000 },
    )
  })
})
