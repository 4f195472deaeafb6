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
 * Decode `out.length` values of `width` bits (0 to 32) into `out`. The bytes may hold more values. Throws InvalidInput
 * if they hold fewer.
 */
export function decodeHybrid(part: PagePart, width: number, out: Uint8Array | Uint32Array): void {
  const { bytes, to } = part
  let position = part.from
  let done = 0
  if (width === 0) {
    out.fill(0)
    return
  }
  const valueBytes = (width + 7) >>> 3
  while (done < out.length) {
    let header = 0
    let factor = 1
    for (;;) {
      if (position >= to || factor > 2 ** 28) throw cutOff(part)
      const byte = bytes[position++]!
      header += (byte & 127) * factor
      if (byte < 128) break
      factor *= 128
    }
    if (header % 2 === 0) {
      if (position + valueBytes > to) throw cutOff(part)
      let value = 0
      for (let i = 0; i < valueBytes; i++) value += bytes[position++]! * 2 ** (8 * i)
      const end = Math.min(out.length, done + header / 2)
      out.fill(value, done, end)
      done = end
      continue
    }
    const values = Math.min(out.length - done, ((header - 1) / 2) * 8)
    const packed = ((header - 1) / 2) * width
    // Writers may leave out the padding of the last run.
    if (position + Math.ceil((values * width) / 8) > to) throw cutOff(part)
    unpackBits(bytes, position, width, out.subarray(done, done + values))
    position = Math.min(to, position + packed)
    done += values
  }
}

function cutOff(part: PagePart) {
  return brokenParquet('the levels or indices of a page are cut off', part.at)
}

/** Unpack values of `width` bits, lowest bits first. The bytes must hold all values. */
function unpackBits(bytes: Uint8Array, start: number, width: number, out: Uint8Array | Uint32Array): void {
  if (width === 1) {
    for (let i = 0; i < out.length; i++) out[i] = (bytes[start + (i >>> 3)]! >>> (i & 7)) & 1
    return
  }
  let position = start
  if (width > 24) {
    // The bits of a value may not fit in an integer of 32 bits together with the bits before them.
    for (let i = 0, bit = 0; i < out.length; i++, bit += width) {
      let value = 0
      for (let taken = 0; taken < width; ) {
        const at = bit + taken
        const count = Math.min(8 - (at & 7), width - taken)
        value += ((bytes[start + Math.floor(at / 8)]! >>> (at & 7)) & ((1 << count) - 1)) * 2 ** taken
        taken += count
      }
      out[i] = value
    }
    return
  }
  const mask = 2 ** width - 1
  let bits = 0
  let held = 0
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

/**
 * Decode levels of which `max` is the greatest. Null: all levels are `max`. Throws InvalidInput if a level is greater
 * than `max`.
 */
export function decodeLevels(part: PagePart, max: number, count: number): Uint8Array | null {
  const levels = new Uint8Array(count)
  decodeHybrid(part, bitWidth(max), levels)
  let least = max
  for (let i = 0; i < count; i++) {
    const level = levels[i]!
    if (level > max)
      throw brokenParquet(`a page has the level ${level}, but at most ${max} is allowed`, part.at)
    if (level < least) least = level
  }
  return least === max ? null : levels
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
