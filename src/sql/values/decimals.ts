/** Decimals as integers with a scale: choose decimal types, and convert values between scales. */
import { writeDecimal } from '../../arrow/decimal.js'
import type { DataType, IntType } from '../../arrow/types.js'
import { writeFloat } from './floats.js'
import { floorDivide } from './temporal.js'

export type DecimalType = DataType & { readonly kind: 'decimal' }

/** Maximum digits of a decimal by its width in bits. */
export const maxDigits = { 128: 38, 256: 76 } as const

/** Return the decimal type with this precision and scale. The precision is limited to what the width holds. */
export function decimalType(bits: 128 | 256, precision: number, scale: number): DecimalType {
  return { kind: 'decimal', bits, precision: Math.max(1, Math.min(precision, maxDigits[bits])), scale }
}

const digitsOfInt: Readonly<Record<number, number>> = { 8: 3, 16: 5, 32: 10, 64: 20 }

/**
 * Return the decimal type that holds every value of an integer type. Return a decimal type itself, and null for other
 * types.
 */
export function asDecimalType(type: DataType): DecimalType | null {
  if (type.kind === 'decimal') return type
  return type.kind === 'int' ? decimalType(128, digitsOfInt[(type as IntType).bits]!, 0) : null
}

/** Return the narrowest decimal type with the digits of both, limited by its width. */
export function widerDecimal(a: DecimalType, b: DecimalType): DecimalType {
  const scale = Math.max(a.scale, b.scale)
  const whole = Math.max(a.precision - a.scale, b.precision - b.scale)
  return decimalType(widerBits(a, b), whole + scale, scale)
}

/** Return the width in bits of a decimal that can hold values of both types. */
export function widerBits(a: DecimalType, b: DecimalType): 128 | 256 {
  return a.bits === 256 || b.bits === 256 ? 256 : 128
}

const powers: bigint[] = [1n]

/** Return 10 to a power of at most a few hundred. */
export function powerOfTen(exponent: number): bigint {
  while (powers.length <= exponent) powers.push(powers.at(-1)! * 10n)
  return powers[exponent]!
}

/** Return the least and greatest unscaled integer of a decimal type. */
export function decimalRange({ precision }: DecimalType): readonly [least: bigint, greatest: bigint] {
  const greatest = powerOfTen(precision) - 1n
  return [-greatest, greatest]
}

/** Convert an unscaled value from scale `from` to scale `to`, rounded down. `exact` is false if digits were lost. */
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
   * Whether further non-zero digits were dropped, beyond all that a decimal can hold. They have the sign of `digits`.
   */
  readonly cut: boolean
}

/** Maximum number of digits that are read; more than any decimal has on either side of the point. */
const maxWritten = 500

/**
 * Parse a number (`-12.34`, `1e3`). Return null if the text is not one.
 *
 * The scale is limited to ±2000, whatever the exponent. Numbers beyond that are larger, or closer to 0, than any
 * decimal but 0.
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
 * Return a float in digits: an integer exactly, any other float in the fewest digits that identify it. Return null for
 * NaN and infinity.
 */
export function digitsOfFloat(value: number, bits: 16 | 32 | 64): Digits | null {
  if (Number.isInteger(value)) return { digits: BigInt(value), scale: 0, cut: false }
  return parseDigits(writeFloat(value, bits))
}

/** Return all digits of a finite double. Every double has finitely many digits. */
export function exactDigits(value: number): Digits {
  if (Number.isInteger(value)) return { digits: BigInt(value), scale: 0, cut: false }
  const { mantissa, exponent } = partsOfDouble(value)
  // 1 / 2^n equals 5^n / 10^n.
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
 * Compare a float with `value` divided by ten to the power of `scale`. Return a negative number, 0 or a positive
 * number. NaN is greater.
 */
export function orderWithDecimal(float: number, value: bigint, scale: number): number {
  if (!Number.isFinite(float)) return float < 0 ? -1 : 1
  const { mantissa, exponent } = partsOfDouble(float)
  const a = (exponent > 0 ? mantissa << BigInt(exponent) : mantissa) * powerOfTen(Math.max(0, scale))
  const whole = value * powerOfTen(Math.max(0, -scale))
  const b = exponent < 0 ? whole << BigInt(-exponent) : whole
  return a < b ? -1 : a > b ? 1 : 0
}

/** Return `digits` at a scale, rounded down. `exact` is false if digits were lost. */
export function digitsAt({ digits, scale, cut }: Digits, to: number): { floor: bigint; exact: boolean } {
  const { floor, exact } = rescaled(digits, scale, to)
  if (!cut) return { floor, exact }
  // For a negative number, the dropped digits lie below `digits`.
  return { floor: digits < 0n && exact ? floor - 1n : floor, exact: false }
}

/** Return the double nearest to a decimal. */
export function decimalToDouble(value: bigint, scale: number): number {
  const number = Number(value)
  // The quotient of two numbers that doubles hold exactly is rounded only once.
  if (scale >= 0 && scale <= 22 && Number.isSafeInteger(number)) return number / 10 ** scale
  return Number(`${value}e${-scale}`)
}

/** Return the values buffer of a decimal column. Every value must fit `bits`. */
export function decimalBytes(values: readonly bigint[], bits: 128 | 256): Uint8Array {
  const bytes = new Uint8Array((bits >>> 3) * values.length)
  for (let i = 0; i < values.length; i++) if (values[i] !== 0n) writeDecimal(bytes, i, bits, values[i]!)
  return bytes
}
