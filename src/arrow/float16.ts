/** Converts between numbers and IEEE 754 binary16. Node 20 has no typed array for binary16. */

const scratch = new Float64Array(1)
const words = new Uint32Array(scratch.buffer)
/**
 * Index in `words` of the half of a double with the sign and the exponent. It depends on the byte order of the machine.
 */
const high = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1 ? 1 : 0

let table: Float32Array | null = null

/** Convert the 16 bits of a binary16 to a number. */
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
 * By exponent of a number, from -14 on: a factor. After the multiplication, the last of the 11 significant bits of the
 * number has the value 1.
 */
const scales = Float64Array.from({ length: 30 }, (_, i) => 2 ** (24 - i))
/**
 * 2^52: doubles from this value on have no fraction bits. So adding this value to a smaller number and subtracting it
 * again rounds the number to a whole number, ties to even.
 */
const roundingOffset = 2 ** 52

/** Convert a number to the bits of the nearest binary16, ties to even. Magnitudes of at least 65520 become infinity. */
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
