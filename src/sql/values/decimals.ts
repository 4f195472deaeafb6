/** Compute with decimals as unscaled integers: choose decimal types, and convert values between scales. */
import { writeDecimal } from '../../arrow/decimal.js'
import type { DataType, IntType } from '../../arrow/types.js'
import { writeFloat } from './floats.js'
import { floorDivide } from './temporal.js'

export type DecimalType = DataType & { readonly kind: 'decimal' }

/** Maximum digits of a decimal by its width in bits. */
export const maxDigits = { 128: 38, 256: 76 } as const

/** Create a decimal type. The precision is reduced to `maxDigits[bits]` if it is larger. */
export function decimalType(bits: 128 | 256, precision: number, scale: number): DecimalType {
  return { kind: 'decimal', bits, precision: Math.max(1, Math.min(precision, maxDigits[bits])), scale }
}

const digitsOfInt: Readonly<Record<number, number>> = { 8: 3, 16: 5, 32: 10, 64: 20 }

/**
 * Return the decimal type that holds every value of an integer type. Return a decimal type unchanged. Return null for
 * other types.
 */
export function asDecimalType(type: DataType): DecimalType | null {
  if (type.kind === 'decimal') return type
  return type.kind === 'int' ? decimalType(128, digitsOfInt[(type as IntType).bits]!, 0) : null
}

/**
 * Return the decimal type with enough digits before and after the point for values of both types. If these are more
 * digits than the width allows, the precision is the maximum of the width.
 */
export function widerDecimal(a: DecimalType, b: DecimalType): DecimalType {
  const scale = Math.max(a.scale, b.scale)
  const whole = Math.max(a.precision - a.scale, b.precision - b.scale)
  return decimalType(widerBits(a, b), whole + scale, scale)
}

/** Return the larger width of two decimal types, in bits. */
export function widerBits(a: DecimalType, b: DecimalType): 128 | 256 {
  return a.bits === 256 || b.bits === 256 ? 256 : 128
}

const powers: bigint[] = [1n]

/** Return `10n ** exponent`. Every power up to the largest exponent stays cached, so the exponent must be small. */
export function powerOfTen(exponent: number): bigint {
  while (powers.length <= exponent) powers.push(powers.at(-1)! * 10n)
  return powers[exponent]!
}

/** Return the minimum and maximum unscaled integer of a decimal type. */
export function decimalRange({ precision }: DecimalType): readonly [least: bigint, greatest: bigint] {
  const greatest = powerOfTen(precision) - 1n
  return [-greatest, greatest]
}

/**
 * Convert an unscaled value from the scale `from` to the scale `to`, rounded down. `exact`: whether no digit was lost.
 */
export function rescaled(value: bigint, from: number, to: number): { floor: bigint; exact: boolean } {
  if (to >= from) return { floor: value * powerOfTen(to - from), exact: true }
  const divisor = powerOfTen(from - to)
  const floor = floorDivide(value, divisor)
  return { floor, exact: floor * divisor === value }
}

/** A number in decimal digits: `digits` divided by ten to the power of `scale`. */
interface Digits {
  readonly digits: bigint
  readonly scale: number
  /**
   * Whether the number has more digits than `maxWritten`, and one of the dropped digits is not 0. So the absolute value
   * of the number is slightly larger than that of `digits`.
   */
  readonly cut: boolean
}

/** Maximum number of digits that `parseDigits` keeps. No decimal has more digits before or after the point. */
const maxWritten = 500

/**
 * Parse a number such as `-12.34` or `1e3`. Return null if the text is not a number.
 *
 * The scale of the result is limited to ±2000. This changes only numbers that are too large for every decimal, or
 * closer to 0 than every decimal other than 0. With the limited scale, this is still the case.
 */
export function parseDigits(text: string): Digits | null {
  const match = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/.exec(text)
  if (match === null) return null
  const [, sign, whole = '', fraction = '', exponent = '0'] = match
  if (whole.length + fraction.length === 0) return null
  const written = `${whole}${fraction}`
  const first = written.search(/[1-9]/)
  if (first === -1) return { digits: 0n, scale: 0, cut: false }
  const kept = written.slice(first, first + maxWritten)
  const rest = written.slice(first + maxWritten)
  const shift = fraction.length - rest.length - Number(exponent)
  return {
    digits: BigInt(`${sign === '-' ? '-' : ''}${kept}`),
    scale: Math.max(-2000, Math.min(2000, shift)),
    cut: /[1-9]/.test(rest),
  }
}

/**
 * Return the decimal digits of a float: all digits of an integer, and the fewest digits that identify any other float.
 * Return null for NaN and infinity.
 */
export function digitsOfFloat(value: number, bits: 16 | 32 | 64): Digits | null {
  if (Number.isInteger(value)) return { digits: BigInt(value), scale: 0, cut: false }
  return parseDigits(writeFloat(value, bits))
}

/** Return all decimal digits of a finite double, so that the result is exactly equal to the double. */
export function exactDigits(value: number): Digits {
  if (Number.isInteger(value)) return { digits: BigInt(value), scale: 0, cut: false }
  const { mantissa, exponent } = partsOfDouble(value)
  // The exponent is negative. With n = -exponent, mantissa / 2^n equals mantissa * 5^n / 10^n.
  return { digits: mantissa * 5n ** BigInt(-exponent), scale: -exponent, cut: false }
}

const doubles = new Float64Array(1)
const doubleBits = new BigUint64Array(doubles.buffer)

/** Return a finite double as an integer times a power of two. */
function partsOfDouble(value: number): { readonly mantissa: bigint; readonly exponent: number } {
  doubles[0] = Math.abs(value)
  const bits = doubleBits[0]!
  const stored = Number(bits >> 52n)
  const fraction = bits & 0xfffffffffffffn
  const mantissa = stored === 0 ? fraction : fraction | 0x10000000000000n
  return { mantissa: value < 0 ? -mantissa : mantissa, exponent: Math.max(stored, 1) - 1075 }
}

/**
 * Compare a float with the decimal `value / 10 ** scale`. Return a negative number, 0 or a positive number if the float
 * is less than, equal to or greater than the decimal. NaN is greater than every decimal.
 */
export function orderWithDecimal(float: number, value: bigint, scale: number): number {
  if (!Number.isFinite(float)) return float < 0 ? -1 : 1
  const { mantissa, exponent } = partsOfDouble(float)
  const a = (exponent > 0 ? mantissa << BigInt(exponent) : mantissa) * powerOfTen(Math.max(0, scale))
  const whole = value * powerOfTen(Math.max(0, -scale))
  const b = exponent < 0 ? whole << BigInt(-exponent) : whole
  return a < b ? -1 : a > b ? 1 : 0
}

/** Convert digits to the scale `to`, rounded down. `exact`: whether no digit was lost. */
export function digitsAt({ digits, scale, cut }: Digits, to: number): { floor: bigint; exact: boolean } {
  const { floor, exact } = rescaled(digits, scale, to)
  if (!cut) return { floor, exact }
  // A negative number is less than `digits`, because of the dropped digits. So an exact `floor` is one too high.
  return { floor: digits < 0n && exact ? floor - 1n : floor, exact: false }
}

/** Return the double nearest to a decimal. */
export function decimalToDouble(value: bigint, scale: number): number {
  const number = Number(value)
  // Doubles hold both operands exactly, so only the division rounds, and the result is the nearest double.
  if (scale >= 0 && scale <= 22 && Number.isSafeInteger(number)) return number / 10 ** scale
  return Number(`${value}e${-scale}`)
}

/** Create the values buffer of a decimal column. Every value must fit into `bits` bits. */
export function decimalBytes(values: readonly bigint[], bits: 128 | 256): Uint8Array {
  const bytes = new Uint8Array((bits >>> 3) * values.length)
  for (let i = 0; i < values.length; i++) if (values[i] !== 0n) writeDecimal(bytes, i, bits, values[i]!)
  return bytes
}
