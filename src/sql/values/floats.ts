/** Round floats of 16, 32 and 64 bits, find the next float, and write floats as text. */
import { fromFloat16, toFloat16 } from '../../arrow/float16.js'

/** Return the float of `bits` bits that is nearest to `value`. A value out of range becomes infinite. */
export function roundFloat(bits: 16 | 32 | 64, value: number): number {
  return bits === 64 ? value : bits === 32 ? Math.fround(value) : fromFloat16(toFloat16(value))
}

const double = new Float64Array(1)
const doubleBits = new BigInt64Array(double.buffer)
const single = new Float32Array(1)
const singleBits = new Int32Array(single.buffer)

/** Return the next smaller float of `bits` bits. `value` must be a finite float of this width. */
export function floatBelow(bits: 16 | 32 | 64, value: number): number {
  if (bits === 64) return stepDouble(value, -1)
  if (bits === 16) {
    const half = toFloat16(value)
    return fromFloat16(value === 0 ? 0x8001 : value > 0 ? half - 1 : half + 1)
  }
  single[0] = value + 0
  if (value === 0) singleBits[0] = 0x80000001 | 0
  else singleBits[0]! += value > 0 ? -1 : 1
  return single[0]
}

/** Return the next greater double (direction 1) or the next smaller double (-1). Infinity is followed by itself. */
export function stepDouble(value: number, direction: 1 | -1): number {
  if (!Number.isFinite(value)) return value * direction < 0 ? Math.sign(value) * Number.MAX_VALUE : value
  if (value === 0) return direction * Number.MIN_VALUE
  double[0] = value
  doubleBits[0]! += BigInt(value > 0 === direction > 0 ? 1 : -1)
  return double[0]
}

/** Write a float as the shortest text that is parsed as the same float. The text has a point or an exponent. */
export function writeFloat(value: number, bits: 16 | 32 | 64): string {
  if (Number.isNaN(value)) return 'NaN'
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf'
  let text = Object.is(value, -0) ? '-0' : String(value)
  for (let digits = 1; bits !== 64 && digits < 10; digits++) {
    const shorter = Number(value.toPrecision(digits))
    if (roundFloat(bits, shorter) === value) {
      text = String(shorter)
      break
    }
  }
  return /[.e]/.test(text) ? text : `${text}.0`
}
