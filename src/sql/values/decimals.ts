/** Decimals as integers with a scale: which decimal holds what, and values moved from one scale to another. */
import { writeDecimal } from '../../arrow/decimal.js'
import type { DataType, IntType } from '../../arrow/types.js'
import { writeFloat } from './floats.js'
import { floorDivide } from './temporal.js'

export type DecimalType = DataType & { readonly kind: 'decimal' }

/** Digits a decimal of that width can have. */
export const maxDigits = { 128: 38, 256: 76 } as const

/** The decimal of that precision and scale, the precision cut to what the width holds. */
export function decimalType(bits: 128 | 256, precision: number, scale: number): DecimalType {
  return { kind: 'decimal', bits, precision: Math.max(1, Math.min(precision, maxDigits[bits])), scale }
}

const digitsOfInt: Readonly<Record<number, number>> = { 8: 3, 16: 5, 32: 10, 64: 20 }

/** The decimal that holds every value of an integer type; a decimal itself; null for other types. */
export function asDecimalType(type: DataType): DecimalType | null {
  if (type.kind === 'decimal') return type
  return type.kind === 'int' ? decimalType(128, digitsOfInt[(type as IntType).bits]!, 0) : null
}

/** The narrowest decimal with the digits of both, as far as its width goes. */
export function widerDecimal(a: DecimalType, b: DecimalType): DecimalType {
  const scale = Math.max(a.scale, b.scale)
  const whole = Math.max(a.precision - a.scale, b.precision - b.scale)
  return decimalType(widerBits(a, b), whole + scale, scale)
}

export function widerBits(a: DecimalType, b: DecimalType): 128 | 256 {
  return a.bits === 256 || b.bits === 256 ? 256 : 128
}

const powers: bigint[] = [1n]

/** 10 to a power of at most a few hundred. */
export function powerOfTen(exponent: number): bigint {
  while (powers.length <= exponent) powers.push(powers.at(-1)! * 10n)
  return powers[exponent]!
}

/** Least and greatest integer behind a decimal. */
export function decimalRange({ precision }: DecimalType): readonly [least: bigint, greatest: bigint] {
  const greatest = powerOfTen(precision) - 1n
  return [-greatest, greatest]
}

/** A value of scale `from` at scale `to`, rounded down, and whether nothing was lost. */
export function rescaled(value: bigint, from: number, to: number): { floor: bigint; exact: boolean } {
  if (to >= from) return { floor: value * powerOfTen(to - from), exact: true }
  const divisor = powerOfTen(from - to)
  const floor = floorDivide(value, divisor)
  return { floor, exact: floor * divisor === value }
}

/** A number written in decimal digits: `digits` divided by ten to the `scale`. */
export interface Digits {
  readonly digits: bigint
  readonly scale: number
  /** Whether digits past the ones no decimal can hold were left out; they are of the sign of `digits`. */
  readonly cut: boolean
}

/** More digits than any decimal has on either side of the point. */
const maxWritten = 500

/**
 * The number a text says (`-12.34`, `1e3`), or null when it says none. Its scale lies within some thousands, whatever
 * the exponent: beyond that it is larger, or closer to 0, than any decimal but 0.
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

/** A float in digits: a whole number exactly, any other in the fewest that say it. Null for what is no number. */
export function digitsOfFloat(value: number, bits: 16 | 32 | 64): Digits | null {
  if (Number.isInteger(value)) return { digits: BigInt(value), scale: 0, cut: false }
  return parseDigits(writeFloat(value, bits))
}

/** All digits of a finite double: every one of them ends somewhere. */
export function exactDigits(value: number): Digits {
  if (Number.isInteger(value)) return { digits: BigInt(value), scale: 0, cut: false }
  const { mantissa, exponent } = partsOfDouble(value)
  // A half to the n is 5 to the n with n digits after the point.
  return { digits: mantissa * 5n ** BigInt(-exponent), scale: -exponent, cut: false }
}

const doubles = new Float64Array(1)
const doubleBits = new BigUint64Array(doubles.buffer)

/** A finite double as a whole number times a power of two. */
function partsOfDouble(value: number): { readonly mantissa: bigint; readonly exponent: number } {
  doubles[0] = Math.abs(value)
  const bits = doubleBits[0]!
  const stored = Number(bits >> 52n)
  const fraction = bits & 0xfffffffffffffn
  const mantissa = stored === 0 ? fraction : fraction | 0x10000000000000n
  return { mantissa: value < 0 ? -mantissa : mantissa, exponent: Math.max(stored, 1) - 1075 }
}

/** Negative, 0 or positive as a float is less than, equal to or greater than `value` divided by ten to the `scale`; NaN is greater. */
export function orderWithDecimal(float: number, value: bigint, scale: number): number {
  if (!Number.isFinite(float)) return float < 0 ? -1 : 1
  const { mantissa, exponent } = partsOfDouble(float)
  const a = (exponent > 0 ? mantissa << BigInt(exponent) : mantissa) * powerOfTen(Math.max(0, scale))
  const whole = value * powerOfTen(Math.max(0, -scale))
  const b = exponent < 0 ? whole << BigInt(-exponent) : whole
  return a < b ? -1 : a > b ? 1 : 0
}

/** `digits` at a scale, rounded down, and whether nothing was lost. */
export function digitsAt({ digits, scale, cut }: Digits, to: number): { floor: bigint; exact: boolean } {
  const { floor, exact } = rescaled(digits, scale, to)
  if (!cut) return { floor, exact }
  // What was cut off a negative number lies below its digits.
  return { floor: digits < 0n && exact ? floor - 1n : floor, exact: false }
}

/** The double nearest to a decimal. */
export function decimalToDouble(value: bigint, scale: number): number {
  const number = Number(value)
  // A quotient of two numbers that doubles hold is rounded once.
  if (scale >= 0 && scale <= 22 && Number.isSafeInteger(number)) return number / 10 ** scale
  return Number(`${value}e${-scale}`)
}

/** The values buffer of a decimal column; every value fits `bits`. */
export function decimalBytes(values: readonly bigint[], bits: 128 | 256): Uint8Array {
  const bytes = new Uint8Array((bits >>> 3) * values.length)
  for (let i = 0; i < values.length; i++) if (values[i] !== 0n) writeDecimal(bytes, i, bits, values[i]!)
  return bytes
}
