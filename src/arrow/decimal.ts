/** Decimals: a little-endian integer of 128 or 256 bits, divided by 10^scale. */

/**
 * Return whether a decimal type is valid. The maximum precision is 38 digits for 128 bits, and 76 digits for 256 bits.
 * The scale must be from -128 to 127.
 */
export function isDecimal(bits: 128 | 256, precision: number, scale: number): boolean {
  const digits = bits === 128 ? 38 : 76
  const whole = Number.isInteger(precision) && Number.isInteger(scale)
  return whole && precision >= 1 && precision <= digits && scale >= -128 && scale <= 127
}

/** Read the unscaled integer of the decimal at row `index`. */
export function readDecimal(bytes: Uint8Array, index: number, bits: 128 | 256): bigint {
  const width = bits >>> 3
  const view = new DataView(bytes.buffer, bytes.byteOffset + width * index, width)
  let value = view.getBigInt64(width - 8, true)
  for (let at = width - 16; at >= 0; at -= 8) value = (value << 64n) | view.getBigUint64(at, true)
  return value
}

/** Write the unscaled integer of the decimal at row `index`. */
export function writeDecimal(bytes: Uint8Array, index: number, bits: 128 | 256, value: bigint): void {
  const width = bits >>> 3
  const view = new DataView(bytes.buffer, bytes.byteOffset + width * index, width)
  for (let at = 0; at < width; at += 8)
    view.setBigUint64(at, BigInt.asUintN(64, value >> BigInt(8 * at)), true)
}

/** Format a decimal, for example 12340 with scale 3 as `12.340`. A negative scale appends zeros. */
export function formatDecimal(value: bigint, scale: number): string {
  if (scale <= 0) return value === 0n ? '0' : `${value}${'0'.repeat(-scale)}`
  const digits = (value < 0n ? -value : value).toString().padStart(scale + 1, '0')
  const point = digits.length - scale
  return `${value < 0n ? '-' : ''}${digits.slice(0, point)}.${digits.slice(point)}`
}

/** Maximum length of a decimal text, and maximum exponent. No 256-bit decimal, with any scale, needs more digits. */
const maxExponent = 400

/**
 * Parse a decimal text, for example `-12.34` or `1e3`, as an unscaled integer: the number times 10^scale. Returns null
 * if the text is not a decimal number, or if the result would have to be rounded.
 */
export function parseDecimal(text: string, scale: number): bigint | null {
  const match = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,4}))?$/.exec(text)
  if (match === null) return null
  const [, sign, whole = '', fraction = '', exponent = '0'] = match
  if (whole.length + fraction.length === 0 || text.length > maxExponent) return null
  const shift = Number(exponent) - fraction.length + scale
  if (Math.abs(shift) > maxExponent) return null
  let value = BigInt(whole + fraction)
  if (shift >= 0) value *= 10n ** BigInt(shift)
  else {
    const divisor = 10n ** BigInt(-shift)
    if (value % divisor !== 0n) return null
    value /= divisor
  }
  return sign === '-' ? -value : value
}
