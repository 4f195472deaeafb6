/** IEEE 754 binary16, which Node 20 has no array for. */

const scratch = new DataView(new ArrayBuffer(8))

/** The number that 16 bits stand for. */
export function fromFloat16(bits: number): number {
  const exponent = (bits >>> 10) & 0x1f
  const fraction = bits & 0x3ff
  const sign = bits & 0x8000 ? -1 : 1
  if (exponent === 0) return sign * fraction * 2 ** -24
  if (exponent === 0x1f) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15)
}

/** The nearest 16 bits, ties to even; past 65504 + half a step it is an infinity. */
export function toFloat16(value: number): number {
  const magnitude = Math.abs(value)
  const sign = Object.is(value, -0) || value < 0 ? 0x8000 : 0
  if (Number.isNaN(value)) return 0x7e00
  if (magnitude >= 65520) return sign | 0x7c00
  if (magnitude < 2 ** -14) return sign | roundToEven(magnitude * 2 ** 24)
  scratch.setFloat64(0, magnitude)
  const exponent = (scratch.getUint16(0) >>> 4) - 1023
  const step = 2 ** (exponent - 10)
  return sign | (((exponent + 14) << 10) + roundToEven(magnitude / step))
}

function roundToEven(value: number): number {
  const floor = Math.floor(value)
  const over = value - floor
  return over > 0.5 || (over === 0.5 && (floor & 1) === 1) ? floor + 1 : floor
}
