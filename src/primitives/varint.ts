/**
 * Encodes and decodes integers from 0 to 2^53 - 1 as LEB128 varints: seven bits per byte, least significant bits first.
 */

/** Return the encoded length of a number, in bytes. */
export function varintBytes(value: number): number {
  let bytes = 1
  for (let rest = value; rest >= 128; rest = Math.floor(rest / 128)) bytes++
  return bytes
}

/** Write `value` at index `from`. Returns the index after the last written byte. */
export function writeVarint(bytes: Uint8Array, from: number, value: number): number {
  let at = from
  let rest = value
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes[at++] = (rest % 128) + 128
  bytes[at++] = rest
  return at
}

/** Reads varints from bytes. `at` is the index of the next byte. */
export class VarintReader {
  readonly #bytes: Uint8Array
  readonly #end: number
  at: number

  /** Create a reader of the bytes from index `at` (default 0) to `end - 1` (default: the last byte). */
  constructor(bytes: Uint8Array, at = 0, end = bytes.length) {
    this.#bytes = bytes
    this.#end = end
    this.at = at
  }

  /**
   * Read the next number. Returns NaN if the bytes are not a complete number below 2^53; callers must then stop
   * reading.
   */
  next(): number {
    let value = 0
    for (let factor = 1; this.at < this.#end && factor <= 2 ** 49; factor *= 128) {
      const byte = this.#bytes[this.at++]!
      if (byte < 128 && factor === 1) return byte
      value += (byte % 128) * factor
      if (byte < 128) return Number.isSafeInteger(value) ? value : Number.NaN
    }
    return Number.NaN
  }
}
