/** Encodings of version 2.0 that LanceDB 0.39 does not write for the golden files. */
import { describe, expect, test } from 'vitest'
import type { DataType } from '../../src/arrow/types.js'
import { decodePlain } from '../../src/lance/plain-page.js'

const number = (field: number, value: number) => [field * 8, value]
const message = (field: number, bytes: readonly number[]) => [field * 8 + 2, bytes.length, ...bytes]
/** The message of buffer 0 of the page. */
const noFields: readonly number[] = []

function decode(type: DataType, rows: number, encoding: readonly number[], buffer: Uint8Array): unknown {
  return decodePlain({ rows, encoding: Uint8Array.from(encoding), buffers: [buffer], type }).block
}

/** Write bits one after the other, the lowest bit first. */
function packBits(values: readonly number[], width: number): Uint8Array {
  const out = new Uint8Array(Math.ceil((values.length * width) / 8))
  values.forEach((value, i) => {
    for (let bit = 0; bit < width; bit++) {
      const at = i * width + bit
      if ((value >> bit) & 1) out[at >>> 3]! |= 1 << (at & 7)
    }
  })
  return out
}

const int32: DataType = { kind: 'int', bits: 32, signed: true }

describe('decodePlain', () => {
  test('Bitpacked: signed values keep their sign', () => {
    const values = [-3, 2, 0, -16, 15, 7, -1]
    const fields = [...number(1, 5), ...number(2, 32), ...message(3, noFields), ...number(4, 1)]
    const block = decode(int32, values.length, message(10, fields), packBits(values, 5)) as {
      bytes: Uint8Array
    }
    expect(Array.from(new Int32Array(block.bytes.slice().buffer))).toEqual(values)
  })

  test('BitpackedForNonNeg: the lanes of a block alternate', () => {
    const values = Array.from({ length: 1000 }, (_, i) => (i * 37) % 512)
    const width = 9
    const order = [0, 4, 2, 6, 1, 5, 3, 7]
    const words = new Uint32Array((1024 * width) / 32)
    for (let lane = 0; lane < 32; lane++) {
      for (let row = 0; row < 32; row++) {
        const value = values[order[row >>> 3]! * 16 + (row & 7) * 128 + lane] ?? 0
        for (let bit = 0; bit < width; bit++) {
          const at = row * width + bit
          if ((value >> bit) & 1) words[(at >>> 5) * 32 + lane]! |= 1 << (at & 31)
        }
      }
    }
    const fields = [...number(1, width), ...number(2, 32), ...message(3, noFields)]
    const block = decode(int32, values.length, message(12, fields), new Uint8Array(words.buffer)) as {
      bytes: Uint8Array
    }
    expect(Array.from(new Uint32Array(block.bytes.slice().buffer))).toEqual(values)
  })

  test('FixedSizeBinary: texts of one length have no offsets', () => {
    const flat = message(1, [...number(1, 8), ...message(2, noFields)])
    const encoding = message(11, [...message(1, flat), ...number(2, 3)])
    const buffer = new TextEncoder().encode('abcdefghi')
    const block = decode({ kind: 'utf8', large: false }, 3, encoding, buffer)
    expect(block).toEqual({ kind: 'variable', count: 3, offsets: Int32Array.of(0, 3, 6, 9), bytes: buffer })
  })
})
