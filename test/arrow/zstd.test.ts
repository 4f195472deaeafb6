/** Zstandard frames (RFC 8878) made by hand: raw and repeated blocks. Frames of other programs are in golden.test.ts. */
import { describe, expect, test } from 'vitest'
import { runAtOnce } from '../../src/arrow/steps.js'
import { decodeZstdFrame, ZstdBlocks } from '../../src/arrow/zstd.js'

/** A header without checksum and size, a window of 1 MiB. */
const head = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 10 << 3]
const blockHead = (size: number, kind: number, isLast: boolean) => {
  const word = (size << 3) | (kind << 1) | (isLast ? 1 : 0)
  return [word & 255, (word >> 8) & 255, word >> 16]
}
const raw = (bytes: number[], isLast = false) => [...blockHead(bytes.length, 0, isLast), ...bytes]
const repeated = (byte: number, size: number, isLast = false) => [...blockHead(size, 1, isLast), byte]
const frame = (...blocks: number[][]) => Uint8Array.from([...head, ...blocks.flat()])

function streamed(bytes: Uint8Array, size: number): number[] {
  const blocks = new ZstdBlocks()
  const out: number[] = []
  for (let at = 0; at < bytes.length; at += size) {
    for (const piece of blocks.push(bytes.subarray(at, at + size))) out.push(...piece)
  }
  blocks.finish()
  return out
}

const plain = [1, 2, 3, ...new Array<number>(50).fill(7), 9]
const made = frame(raw([1, 2, 3]), repeated(7, 50), raw([9], true))

test('a frame decodes to its bytes, at once and cut anywhere', () => {
  expect([...runAtOnce(decodeZstdFrame(made, plain.length, 0))]).toEqual(plain)
  for (let size = 1; size <= made.length; size++) expect(streamed(made, size)).toEqual(plain)
})

test('frames follow each other, and skippable frames are skipped', () => {
  const skipped = Uint8Array.of(0x53, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 1, 1)
  const all = Uint8Array.from([...made, ...skipped, ...made])
  for (const size of [1, 5, 1000]) expect(streamed(all, size)).toEqual([...plain, ...plain])
})

describe('refused, with the byte at which the frame begins', () => {
  test.each([
    ['that holds more than was announced', made, plain.length - 1],
    ['that holds less', made, plain.length + 1],
    ['that is cut off', made.subarray(0, -1), plain.length],
    ['of another format', Uint8Array.from([1, 2, 3, 4, 5, 6, 7, 8, 9]), 4],
    ['of no bytes', new Uint8Array(0), 4],
    ['that needs a dictionary', Uint8Array.from([0x28, 0xb5, 0x2f, 0xfd, 1, 80, 5, 1, 0, 0]), 4],
  ])('is a frame %s', (_, bytes, length) => {
    expect(() => runAtOnce(decodeZstdFrame(bytes, length, 17))).toThrow(/^broken zstd frame: .*\(byte 17\)$/)
  })
})

test('a stream with any bit changed never does worse than an error', () => {
  for (let bit = 0; bit < made.length * 8; bit++) {
    const damaged = made.slice()
    damaged[bit >> 3]! ^= 1 << (bit & 7)
    try {
      streamed(damaged, 4)
    } catch (error) {
      expect(error).toBeInstanceOf(Error)
    }
  }
})

test('a stream that needs a window of more than 8 MiB is refused before memory is taken', () => {
  const wide = Uint8Array.from([0x28, 0xb5, 0x2f, 0xfd, 0, 20 << 3, 1, 0, 0])
  expect(() => streamed(wide, 100)).toThrow(/a window of 1073741824 bytes, but at most 8388608 are allowed/)
})
