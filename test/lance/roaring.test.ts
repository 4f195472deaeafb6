/** Sets of numbers in the portable format of Roaring bitmaps. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decodeRoaring } from '../../src/lance/roaring.js'
import { NumberRuns } from '../../src/primitives/number-runs.js'

/** Encode a set as the format describes it. `runs`: whether containers are lists of runs. */
function encode(numbers: readonly number[], runs: boolean): Uint8Array {
  const containers = new Map<number, number[]>()
  for (const number of numbers) {
    const key = Math.floor(number / 65536)
    const lows = containers.get(key) ?? []
    lows.push(number % 65536)
    containers.set(key, lows)
  }
  const bytes: number[] = []
  const put = (value: number, width: number) => {
    for (let i = 0; i < width; i++) bytes.push(Math.floor(value / 2 ** (8 * i)) % 256)
  }
  if (runs) {
    put(12347 + (containers.size - 1) * 65536, 4)
    for (let i = 0; i < containers.size; i += 8) put(255, 1)
  } else {
    put(12346, 4)
    put(containers.size, 4)
  }
  for (const [key, lows] of containers) {
    put(key, 2)
    put(lows.length - 1, 2)
  }
  if (!runs || containers.size >= 4) for (const _ of containers) put(0, 4)
  for (const lows of containers.values()) {
    if (runs) {
      const { starts, ranks } = NumberRuns.of(lows)
      put(starts.length, 2)
      for (const [i, start] of starts.entries()) {
        put(start, 2)
        put(ranks[i + 1]! - ranks[i]! - 1, 2)
      }
    } else if (lows.length <= 4096) for (const low of lows) put(low, 2)
    else {
      const bits = new Array<number>(8192).fill(0)
      for (const low of lows) bits[low >> 3]! |= 1 << (low & 7)
      bytes.push(...bits)
    }
  }
  return Uint8Array.from(bytes)
}

const dense = Array.from({ length: 10_000 }, (_, i) => 65536 + 2 * i + (i % 3 === 0 ? 1 : 0))
const sparse = fc.uniqueArray(fc.integer({ min: 0, max: 2 ** 20 }), { minLength: 1, maxLength: 200 })

describe('a Roaring bitmap', () => {
  test.each([true, false])('is decoded, with lists of runs: %s', runs => {
    fc.assert(
      fc.property(fc.oneof(sparse, fc.constant([...new Set(dense)])), numbers => {
        const ascending = [...numbers].sort((a, b) => a - b)
        const decoded = decodeRoaring(encode(ascending, runs), 'x.bin')
        expect(Array.from({ length: decoded.count }, (_, i) => decoded.at(i))).toEqual(ascending)
      }),
      { numRuns: 50 },
    )
  })

  test('that is damaged is refused, or decoded to other numbers', () => {
    const bytes = encode([1, 2, 3, 70_000, 140_000, 210_000, 280_000], true)
    for (let end = 0; end < bytes.length; end++)
      expect(() => decodeRoaring(bytes.subarray(0, end), 'x.bin')).toThrow('x.bin')
    for (let at = 0; at < bytes.length; at++) {
      const changed = bytes.slice()
      changed[at]! ^= 0x55
      try {
        expect(decodeRoaring(changed, 'x.bin').count).toBeLessThan(2 ** 20)
      } catch (error) {
        expect(error).toMatchObject({ status: 400 })
      }
    }
  })
})
