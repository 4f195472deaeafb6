/** Whole numbers below 2^53 as LEB128 varints: seven bits per byte, least significant first. */

/** Return the encoded length of a number, in bytes. */
export function varintBytes(value: number): number {
  let bytes = 1
  for (let rest = value; rest >= 128; rest = Math.floor(rest / 128)) bytes++
  return bytes
}

/** Write `value` at index `from`. Returns the index after it. */
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

  /** Reads from index `at` up to `end`, exclusive. */
  constructor(bytes: Uint8Array, at = 0, end = bytes.length) {
    this.#bytes = bytes
    this.#end = end
    this.at = at
  }

  /** Read the next number. Returns NaN if there is no number below 2^53; then stop reading. */
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
