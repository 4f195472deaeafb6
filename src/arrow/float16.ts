/** IEEE 754 binary16, for which Node 20 has no typed array. */

const scratch = new Float64Array(1)
const words = new Uint32Array(scratch.buffer)
/** The index of the word with the sign and the exponent. */
const high = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1 ? 1 : 0

let table: Float32Array | null = null

/** Convert 16 bits to a number. */
export function fromFloat16(bits: number): number {
  table ??= Float32Array.from({ length: 2 ** 16 }, (_, each) => decode(each))
  return table[bits]!
}

function decode(bits: number): number {
  const exponent = (bits >>> 10) & 0x1f
  const fraction = bits & 0x3ff
  const sign = bits & 0x8000 ? -1 : 1
  if (exponent === 0) return sign * fraction * 2 ** -24
  if (exponent === 0x1f) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15)
}

/**
 * Factors that scale a number so that the last of its 11 significant bits has the value 1; by exponent, from -14 on.
 */
const scales = Float64Array.from({ length: 30 }, (_, i) => 2 ** (24 - i))
/** Doubles from this value on are whole. Adding and subtracting it rounds to a whole number, ties to even. */
const roundingOffset = 2 ** 52

/** Convert a number to the nearest 16 bits, ties to even. Numbers of at least 65520 become infinity. */
export function toFloat16(value: number): number {
  if (Number.isNaN(value)) return 0x7e00
  scratch[0] = value
  const word = words[high]!
  const sign = (word >>> 16) & 0x8000
  const magnitude = Math.abs(value)
  if (magnitude >= 65520) return sign | 0x7c00
  if (magnitude < 2 ** -14) return sign | (magnitude * 2 ** 24 + roundingOffset - roundingOffset)
  const exponent = ((word >>> 20) & 0x7ff) - 1009
  return sign | ((exponent << 10) + (magnitude * scales[exponent]! + roundingOffset - roundingOffset))
}
