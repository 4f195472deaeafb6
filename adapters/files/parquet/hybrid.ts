/**
 * Decodes and encodes the hybrid of run lengths and packed bits in which Parquet stores levels, dictionary indices and
 * booleans.
 */
import { brokenParquet } from './fault.js'

/** A part of a page: `bytes` from `from` to `to`. `at`: the byte of the file at which `bytes` begin, for messages. */
export interface PagePart {
  readonly bytes: Uint8Array
  readonly from: number
  readonly to: number
  readonly at: number
}

/** Return the number of bits that values up to `max` need. */
export function bitWidth(max: number): number {
  return 32 - Math.clz32(max)
}

/**
 * Decodes values of `width` bits (0 to 32) in order. A few bytes can stand for any number of equal values, so the caller
 * decides how many values are in memory.
 */
export class HybridReader {
  readonly #part: PagePart
  readonly #width: number
  #position: number
  /** Values left in the current run. */
  #left = 0
  /** The value of a run of equal values. */
  #value = 0
  /** Number of the next value of a packed run. -1: the values of the run are equal. */
  #packed = -1
  /** Bounds of the values of the last `read`. */
  least = 0
  greatest = 0

  constructor(part: PagePart, width: number) {
    this.#part = part
    this.#width = width
    this.#position = part.from
    // Values without bits are all 0.
    if (width === 0) this.#left = Infinity
  }

  /** Decode the next `out.length` values. Throws InvalidInput if there are fewer. */
  read(out: Uint8Array | Uint32Array): void {
    let least = Infinity
    let greatest = 0
    for (let done = 0; done < out.length; ) {
      if (this.#left === 0) this.#begin()
      const count = Math.min(this.#left, out.length - done)
      if (this.#packed === -1) {
        out.fill(this.#value, done, done + count)
        least = Math.min(least, this.#value)
        greatest = Math.max(greatest, this.#value)
      } else {
        const unpacked = out.subarray(done, done + count)
        this.#unpack(unpacked)
        for (let i = 0; i < count; i++) {
          const value = unpacked[i]!
          if (value < least) least = value
          if (value > greatest) greatest = value
        }
      }
      this.#pass(count)
      done += count
    }
    this.least = least
    this.greatest = greatest
  }

  /** Pass over the next `total` values. Returns how many of them are `wanted`. */
  count(total: number, wanted: number): number {
    let found = 0
    const scratch = new Uint32Array(Math.min(total, 4096))
    for (let done = 0; done < total; ) {
      if (this.#left === 0) this.#begin()
      let count = Math.min(this.#left, total - done)
      if (this.#packed === -1) {
        if (this.#value === wanted) found += count
      } else {
        count = Math.min(count, scratch.length)
        this.#unpack(scratch.subarray(0, count))
        for (let i = 0; i < count; i++) if (scratch[i] === wanted) found++
      }
      this.#pass(count)
      done += count
    }
    return found
  }

  #pass(count: number): void {
    this.#left -= count
    if (this.#packed === -1) return
    this.#packed += count
    // Writers may leave out the padding of the last run.
    if (this.#left === 0)
      this.#position = Math.min(this.#part.to, this.#position + (this.#packed / 8) * this.#width)
  }

  #begin(): void {
    const { bytes, to } = this.#part
    while (this.#left === 0) {
      let header = 0
      for (let factor = 1; ; factor *= 128) {
        if (this.#position >= to || factor > 2 ** 28) throw cutOff(this.#part)
        const byte = bytes[this.#position++]!
        header += (byte & 127) * factor
        if (byte < 128) break
      }
      if (header % 2 === 1) {
        this.#left = ((header - 1) / 2) * 8
        this.#packed = 0
        continue
      }
      const valueBytes = (this.#width + 7) >>> 3
      if (this.#position + valueBytes > to) throw cutOff(this.#part)
      this.#value = 0
      for (let i = 0; i < valueBytes; i++) this.#value += bytes[this.#position++]! * 2 ** (8 * i)
      this.#left = header / 2
      this.#packed = -1
    }
  }

  #unpack(out: Uint8Array | Uint32Array): void {
    const { bytes, to } = this.#part
    const bit = this.#packed * this.#width
    if (this.#position + Math.ceil((bit + out.length * this.#width) / 8) > to) throw cutOff(this.#part)
    unpackBits(bytes, this.#position + Math.floor(bit / 8), { width: this.#width, shift: bit % 8 }, out)
  }
}

function cutOff(part: PagePart) {
  return brokenParquet('the levels or indices of a page are cut off', part.at)
}

/** Unpack values of `width` bits, lowest bits first, from bit `shift` on. The bytes must hold all values. */
function unpackBits(
  bytes: Uint8Array,
  start: number,
  { width, shift }: { readonly width: number; readonly shift: number },
  out: Uint8Array | Uint32Array,
): void {
  if (width > 24) {
    // The bits of a value may not fit in an integer of 32 bits together with the bits before them.
    for (let i = 0, bit = shift; i < out.length; i++, bit += width) {
      let value = 0
      for (let taken = 0; taken < width; ) {
        const at = bit + taken
        const count = Math.min(8 - (at % 8), width - taken)
        value += ((bytes[start + Math.floor(at / 8)]! >>> (at % 8)) & ((1 << count) - 1)) * 2 ** taken
        taken += count
      }
      out[i] = value
    }
    return
  }
  if (width === 1) {
    unpackSingle(bytes, start, shift, out)
    return
  }
  const mask = 2 ** width - 1
  let position = start
  let bits = 0
  let held = 0
  if (shift > 0) {
    bits = bytes[position++]! >>> shift
    held = 8 - shift
  }
  for (let i = 0; i < out.length; i++) {
    while (held < width) {
      bits |= bytes[position++]! << held
      held += 8
    }
    out[i] = bits & mask
    bits >>>= width
    held -= width
  }
}

/** Unpack values of one bit, as `unpackBits`. */
function unpackSingle(bytes: Uint8Array, start: number, shift: number, out: Uint8Array | Uint32Array): void {
  const { length } = out
  let i = 0
  for (let bit = shift; bit < 8 && shift > 0 && i < length; bit++) out[i++] = (bytes[start]! >>> bit) & 1
  for (let position = shift > 0 ? start + 1 : start; i < length; position++) {
    const bits = bytes[position]!
    const end = Math.min(length, i + 8)
    if (bits === 0 || bits === 255) {
      const value = bits & 1
      while (i < end) out[i++] = value
    } else for (let bit = 0; i < end; bit++) out[i++] = (bits >>> bit) & 1
  }
}

/**
 * Decode the next `count` levels, of which `max` is the greatest. Null: all of them are `max`. Throws InvalidInput if a
 * level is greater than `max`.
 */
export function readLevels(reader: HybridReader, max: number, count: number, at: number): Uint8Array | null {
  const levels = new Uint8Array(count)
  reader.read(levels)
  const { least, greatest } = reader
  if (greatest > max)
    throw brokenParquet(`a page has the level ${greatest}, but at most ${max} is allowed`, at)
  return least >= max ? null : levels
}

/** Encode values of `width` bits as runs of equal values and packed groups of 8. */
export function encodeHybrid(values: Uint8Array, width: number): Uint8Array {
  const out: number[] = []
  const count = values.length
  const varint = (value: number) => {
    let rest = value
    for (; rest >= 128; rest >>>= 7) out.push((rest & 127) | 128)
    out.push(rest)
  }
  const runFrom = (start: number) => {
    let end = start + 1
    while (end < count && values[end] === values[start]) end++
    return end - start
  }
  for (let at = 0; at < count; ) {
    const run = runFrom(at)
    if (run >= 8) {
      varint(run * 2)
      out.push(values[at]!)
      at += run
      continue
    }
    // A packed run continues in groups of 8 until a long run begins at the start of a group.
    let end = at
    do end += 8
    while (end < count && runFrom(end) < 16)
    varint(((end - at) / 8) * 2 + 1)
    for (let group = at; group < end; group += 8) {
      let bits = 0
      let held = 0
      for (let i = group; i < group + 8; i++) {
        bits |= (i < count ? values[i]! : 0) << held
        held += width
        for (; held >= 8; held -= 8, bits >>>= 8) out.push(bits & 255)
      }
    }
    at = Math.min(end, count)
  }
  return Uint8Array.from(out)
}
