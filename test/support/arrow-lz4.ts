/** A small LZ4 frame encoder, so that tests need no package for it. */
import { xxh32 } from '../../src/arrow/xxh32.js'

export interface Lz4Options {
  readonly independent?: boolean
  readonly blockChecksum?: boolean
  readonly contentChecksum?: boolean
  readonly contentSize?: boolean
  readonly stored?: boolean
  readonly blockBytes?: number
}

export function encodeLz4Frame(plain: Uint8Array, options: Lz4Options = {}): Uint8Array {
  const { independent = false, blockBytes = 1 << 16 } = options
  const flags =
    0x40 |
    (independent ? 0x20 : 0) |
    (options.blockChecksum ? 0x10 : 0) |
    (options.contentSize ? 8 : 0) |
    (options.contentChecksum ? 4 : 0)
  const descriptor = [flags, 0x40]
  if (options.contentSize) descriptor.push(...word(plain.length), ...word(0))
  const out = [0x04, 0x22, 0x4d, 0x18, ...descriptor, (xxh32(Uint8Array.from(descriptor)) >>> 8) & 0xff]
  for (let at = 0; at < plain.length; at += blockBytes) {
    const end = Math.min(plain.length, at + blockBytes)
    const block = options.stored
      ? plain.subarray(at, end)
      : Uint8Array.from(encodeBlock(plain, at, end, independent ? at : 0))
    out.push(...word(options.stored ? (block.length | 0x80000000) >>> 0 : block.length))
    for (const byte of block) out.push(byte)
    if (options.blockChecksum) out.push(...word(xxh32(block)))
  }
  out.push(...word(0))
  if (options.contentChecksum) out.push(...word(xxh32(plain)))
  return Uint8Array.from(out)
}

function word(value: number): number[] {
  return [value & 0xff, (value >>> 8) & 0xff, (value >>> 16) & 0xff, value >>> 24]
}

/** Greedy matching of 4 bytes, as far back as 65535. */
function encodeBlock(plain: Uint8Array, start: number, end: number, window: number): number[] {
  const out: number[] = []
  const last = new Map<number, number>()
  const keyAt = (at: number): number =>
    (plain[at]! | (plain[at + 1]! << 8) | (plain[at + 2]! << 16) | (plain[at + 3]! << 24)) >>> 0
  for (let at = Math.max(window, start - 65535); at + 4 <= start; at++) last.set(keyAt(at), at)
  let literals = start
  let at = start
  while (at + 12 < end) {
    const from = last.get(keyAt(at))
    last.set(keyAt(at), at)
    if (from === undefined || at - from > 65535) {
      at++
      continue
    }
    let length = 4
    while (at + length + 5 < end && plain[from + length] === plain[at + length]) length++
    sequence(out, plain.subarray(literals, at), at - from, length)
    at += length
    literals = at
  }
  sequence(out, plain.subarray(literals, end), 0, 0)
  return out
}

function sequence(out: number[], literals: Uint8Array, distance: number, length: number): void {
  const match = length === 0 ? 0 : length - 4
  out.push((Math.min(15, literals.length) << 4) | Math.min(15, match))
  extend(out, literals.length)
  for (const byte of literals) out.push(byte)
  if (length === 0) return
  out.push(distance & 0xff, distance >>> 8)
  extend(out, match)
}

function extend(out: number[], length: number): void {
  if (length < 15) return
  let rest = length - 15
  for (; rest >= 255; rest -= 255) out.push(255)
  out.push(rest)
}
