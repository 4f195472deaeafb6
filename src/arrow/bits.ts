/** Bitmaps in Arrow's layout: bit `i` is bit `i & 7` of byte `i >>> 3`. The value 1 means "not null" or "true". */

const ones = new Uint8Array(256)
for (let i = 1; i < 256; i++) ones[i] = ones[i >>> 1]! + (i & 1)

/** Return the number of bytes of a bitmap of `length` bits. */
export function bitmapBytes(length: number): number {
  return Math.ceil(length / 8)
}

/** Count the ones among the first `length` bits. Bits past `length` are ignored. */
export function countBits(bits: Uint8Array, length: number): number {
  const whole = length >>> 3
  let total = 0
  for (let i = 0; i < whole; i++) total += ones[bits[i]!]!
  const rest = length & 7
  if (rest !== 0) total += ones[bits[whole]! & ((1 << rest) - 1)]!
  return total
}

/**
 * Return the `length` bits from `start` on as a bitmap that starts at bit 0. A view if `start` is a multiple of 8, else
 * a copy.
 */
export function cutBits(bits: Uint8Array, start: number, length: number): Uint8Array {
  const first = start >>> 3
  if ((start & 7) === 0) return bits.subarray(first, first + bitmapBytes(length))
  const out = new Uint8Array(bitmapBytes(length))
  copyBits(out, 0, bits, start, length)
  return out
}

/**
 * Copy the `length` bits of `source` from `start` on to `target` from bit `at` on. The overwritten bits must be 0
 * before.
 */
export function copyBits(
  target: Uint8Array,
  at: number,
  source: Uint8Array,
  start: number,
  length: number,
): void {
  const shift = start & 7
  let from = start >>> 3
  for (let done = 0; done < length; done += 8, from++) {
    const left = length - done
    let byte = source[from]! >>> shift
    if (shift !== 0 && left > 8 - shift) byte |= (source[from + 1]! << (8 - shift)) & 0xff
    if (left < 8) byte &= (1 << left) - 1
    const to = at + done
    target[to >>> 3]! |= (byte << (to & 7)) & 0xff
    if ((to & 7) !== 0 && left > 8 - (to & 7)) target[(to >>> 3) + 1]! |= byte >>> (8 - (to & 7))
  }
}

/** Set the `length` bits from `start` on to 1. */
export function setBits(target: Uint8Array, start: number, length: number): void {
  let i = start
  const end = start + length
  while (i < end && (i & 7) !== 0) {
    target[i >>> 3]! |= 1 << (i & 7)
    i++
  }
  const whole = (end - i) >>> 3
  target.fill(0xff, i >>> 3, (i >>> 3) + whole)
  for (i += whole * 8; i < end; i++) target[i >>> 3]! |= 1 << (i & 7)
}

/**
 * Return exactly the bytes of `length` bits, with 0 in the unused bits of the last byte. Copies only if one of them is
 * 1.
 */
export function exactBits(bits: Uint8Array, length: number): Uint8Array {
  const exact = bits.subarray(0, bitmapBytes(length))
  const rest = length & 7
  if (rest === 0 || exact[exact.length - 1]! >>> rest === 0) return exact
  const out = new Uint8Array(exact)
  out[out.length - 1]! &= (1 << rest) - 1
  return out
}
