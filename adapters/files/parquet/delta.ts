/** Decodes integers that are stored as packed differences (Encodings.md, DELTA_BINARY_PACKED). */
import { unsupported } from '../../../src/errors.js'
import { brokenParquet } from './fault.js'
import type { PagePart } from './hybrid.js'

/** Maximum number of values in a block. */
const maxBlock = 1 << 16

/** Maximum number of values in a page. A few bytes can stand for many values with equal differences. */
const maxValues = 1 << 25

/**
 * Decode `count` integers. `isLong`: they have 64 instead of 32 bits. Returns the values, and `end`: the byte of the page
 * after them. Throws InvalidInput if the page has fewer values.
 */
export function decodeDelta(
  part: PagePart,
  count: number,
  isLong: boolean,
): { readonly values: Int32Array | BigInt64Array; readonly end: number } {
  const reader = new DeltaReader(part)
  const blockValues = reader.varint()
  const blocks = reader.varint()
  const total = reader.varint()
  const first = reader.zigZag()
  const perBlock = blockValues / blocks
  if (blocks === 0 || blockValues > maxBlock || !Number.isInteger(perBlock / 8))
    throw brokenParquet('a page of integers has invalid block sizes', part.at)
  if (total !== count) throw brokenParquet(`a page has ${total} integers, but needs ${count}`, part.at)
  if (count > maxValues)
    throw unsupported(`a page of the Parquet file has more than ${maxValues} packed integers`)
  // Each block of values takes at least one byte, so a short page cannot ask for much memory.
  if ((count - 1) / blockValues > part.to - part.from) throw reader.cutOff()
  const values = isLong ? new BigInt64Array(count) : new Int32Array(count)
  const put = (i: number, value: bigint) => {
    if (values instanceof BigInt64Array) values[i] = value
    else values[i] = Number(BigInt.asIntN(32, value))
  }
  let last = first
  if (count > 0) put(0, last)
  for (let done = 1; done < total; ) {
    const least = reader.zigZag()
    const widths = reader.take(blocks)
    for (let block = 0; block < blocks && done < total; block++) {
      const width = widths[block]!
      if (width > 64) throw brokenParquet(`a page of integers has differences of ${width} bits`, part.at)
      const packed = reader.take((perBlock * width) / 8)
      const here = Math.min(perBlock, total - done)
      if (width <= 32 && here <= shortBlock && isShort(last, 1) && isShort(least, here)) {
        last = addShort({ values, done, here, width, packed, last, least })
      } else {
        for (let i = 0; i < here; i++) {
          last = BigInt.asIntN(64, last + least + bitsAt(packed, i * width, width))
          put(done + i, last)
        }
      }
      done += here
    }
  }
  return { values, end: reader.position }
}

/** Return whether sums with up to `times` of such numbers are exact as floats. */
function isShort(value: bigint, times: number): boolean {
  const limit = 2n ** 51n / BigInt(times)
  return value > -limit && value < limit
}

/** Maximum values of a block that are added as floats: with differences below 2^32, their sum is below 2^48. */
const shortBlock = 1 << 16

interface Block {
  readonly values: Int32Array | BigInt64Array
  readonly done: number
  readonly here: number
  readonly width: number
  readonly packed: Uint8Array
  readonly last: bigint
  readonly least: bigint
}

/** Add differences of at most 32 bits. Returns the last value. */
function addShort({ values, done, here, width, packed, last, least }: Block): bigint {
  const step = Number(least)
  const whole = 2 ** width
  let value = Number(last)
  let position = 0
  let held = 0
  let bits = 0
  for (let i = 0; i < here; i++) {
    while (held < width) {
      bits += packed[position++]! * 2 ** held
      held += 8
    }
    const rest = Math.floor(bits / whole)
    const difference = bits - rest * whole
    bits = rest
    held -= width
    value += step + difference
    if (values instanceof BigInt64Array) values[done + i] = BigInt(value)
    else values[done + i] = value
  }
  return BigInt(value)
}

/** Return the `width` bits from bit `start` on, lowest bits first. */
function bitsAt(bytes: Uint8Array, start: number, width: number): bigint {
  let value = 0n
  for (let taken = 0; taken < width; ) {
    const at = start + taken
    const count = Math.min(8 - (at & 7), width - taken)
    value |= BigInt((bytes[at >>> 3]! >>> (at & 7)) & ((1 << count) - 1)) << BigInt(taken)
    taken += count
  }
  return value
}

class DeltaReader {
  readonly #part: PagePart
  position: number

  constructor(part: PagePart) {
    this.#part = part
    this.position = part.from
  }

  take(length: number): Uint8Array {
    if (length > this.#part.to - this.position) throw this.cutOff()
    this.position += length
    return this.#part.bytes.subarray(this.position - length, this.position)
  }

  varint(): number {
    let value = 0
    for (let i = 0; i < 5; i++) {
      const byte = this.take(1)[0]!
      value += (byte & 127) * 2 ** (7 * i)
      if (byte < 128) return value
    }
    throw brokenParquet('a page of integers has a length of more than 5 bytes', this.#part.at)
  }

  zigZag(): bigint {
    let value = 0n
    for (let i = 0n; i < 10n; i++) {
      const byte = this.take(1)[0]!
      value |= BigInt(byte & 127) << (7n * i)
      if (byte < 128) return BigInt.asIntN(64, (value >> 1n) ^ -(value & 1n))
    }
    throw brokenParquet('a page of integers has an integer of more than 10 bytes', this.#part.at)
  }

  cutOff() {
    return brokenParquet('the integers of a page are cut off', this.#part.at)
  }
}
