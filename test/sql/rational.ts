/** Numbers as fractions of whole numbers: the order that comparisons must have, by cross-multiplication and nothing else. */

export interface Fraction {
  readonly over: bigint
  readonly under: bigint
}

/** What has a place among numbers: -infinity, a fraction, infinity, and NaN, which is above all others. */
export type Rational = Fraction | '-inf' | 'inf' | 'nan'

const cell = new DataView(new ArrayBuffer(8))

/** A double, taken apart into its sign, exponent and mantissa. */
export function ofDouble(value: number): Rational {
  if (Number.isNaN(value)) return 'nan'
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf'
  cell.setFloat64(0, value)
  const bits = cell.getBigUint64(0)
  const exponent = (bits >> 52n) & 0x7ffn
  const fraction = bits & ((1n << 52n) - 1n)
  const size = exponent === 0n ? fraction : fraction + (1n << 52n)
  const power = (exponent === 0n ? 1n : exponent) - 1075n
  const signed = bits >> 63n === 1n ? -size : size
  return power >= 0n ? { over: signed << power, under: 1n } : { over: signed, under: 1n << -power }
}

/** A number as it is written: digits with a point and an exponent. */
export function ofText(text: string): Fraction {
  const [, sign, whole, part = '', exponent = '0'] = /^(-?)(\d*)\.?(\d*)(?:e([+-]?\d+))?$/i.exec(text)!
  const over = BigInt(`${sign}${whole}${part}` || '0')
  const power = Number(exponent) - part.length
  return power >= 0
    ? { over: over * 10n ** BigInt(power), under: 1n }
    : { over, under: 10n ** BigInt(-power) }
}

/** `value` divided by ten to the `scale`. */
export function ofDecimal(value: bigint, scale: number): Fraction {
  return scale >= 0
    ? { over: value, under: 10n ** BigInt(scale) }
    : { over: value * 10n ** BigInt(-scale), under: 1n }
}

const rank = (value: Rational) => (value === '-inf' ? 0 : value === 'inf' ? 2 : value === 'nan' ? 3 : 1)

/** -1, 0 or 1. */
export function order(a: Rational, b: Rational): number {
  if (typeof a === 'string' || typeof b === 'string') return Math.sign(rank(a) - rank(b))
  const [x, y] = [a.over * b.under, b.over * a.under]
  return x < y ? -1 : x > y ? 1 : 0
}
