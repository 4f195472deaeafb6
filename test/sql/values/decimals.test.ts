import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatDecimal } from '../../../src/arrow/decimal.js'
import {
  decimalToDouble,
  digitsAt,
  digitsOfFloat,
  parseDigits,
  rescaled,
} from '../../../src/sql/values/decimals.js'

const value = fc.bigInt({ min: -(10n ** 76n), max: 10n ** 76n })
const scale = fc.integer({ min: -20, max: 76 })

test('a decimal is rounded down when it loses digits, and says so', () => {
  fc.assert(
    fc.property(value, scale, scale, (number, from, to) => {
      const { floor, exact } = rescaled(number, from, to)
      const one = 10n ** 200n
      const at = (count: bigint, digits: number) => (count * one) / 10n ** BigInt(100 + digits)
      const size = 10n ** BigInt(100 - to)
      expect(at(floor, to)).toBeLessThanOrEqual(at(number, from))
      expect(at(floor, to) + size).toBeGreaterThan(at(number, from))
      expect(exact).toBe(at(floor, to) === at(number, from))
    }),
  )
})

test('text and digits are the same number', () => {
  fc.assert(
    fc.property(value, fc.integer({ min: 0, max: 76 }), (number, digits) => {
      const parsed = parseDigits(formatDecimal(number, digits))!
      expect(digitsAt(parsed, digits)).toEqual({ floor: number, exact: true })
    }),
  )
})

test('a double is the one nearest to the decimal', () => {
  fc.assert(
    fc.property(value, scale, (number, digits) => {
      expect(decimalToDouble(number, digits)).toBe(Number(formatDecimal(number, digits)))
    }),
  )
  expect(decimalToDouble(9_007_199_254_740_993n, 0)).toBe(9_007_199_254_740_992)
})

test('a whole float is exact in digits, one with a fraction the shortest that reads back', () => {
  fc.assert(
    fc.property(fc.double({ noDefaultInfinity: true, noNaN: true }), number => {
      const { digits, scale: places } = digitsOfFloat(number, 64)!
      expect(decimalToDouble(digits, places)).toBe(number === 0 ? 0 : number)
      if (Number.isInteger(number)) expect(digits).toBe(BigInt(number))
    }),
  )
  expect(digitsOfFloat(Math.fround(0.1), 32)).toEqual({ digits: 1n, scale: 1, cut: false })
  expect(digitsOfFloat(Number.NaN, 64)).toBe(null)
})

test.each(['', '.', '-', 'e5', '1e', '1.2.3', '0x1', ' 1', '1_000', 'inf', '１'])(
  '%j is not a decimal',
  text => {
    expect(parseDigits(text)).toBe(null)
  },
)

test('numbers of any length take linear time', () => {
  const long = '9'.repeat(2_000_000)
  expect(digitsAt(parseDigits(`0.${long}`)!, 0)).toEqual({ floor: 0n, exact: false })
  expect(digitsAt(parseDigits(`-0.${long}`)!, 0)).toEqual({ floor: -1n, exact: false })
  expect(parseDigits(`1e${long}`)?.scale).toBe(-2000)
  expect(parseDigits(`1e-${long}`)?.scale).toBe(2000)
})
