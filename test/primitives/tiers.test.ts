import fc from 'fast-check'
import { expect, test } from 'vitest'
import { mergedFrom } from '../../src/primitives/tiers.js'

test('merging now and then leaves few files, and rewrites each byte rarely', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 1000 }), { maxLength: 300 }), added => {
      const sizes: number[] = []
      let written = 0
      for (const size of added) {
        sizes.push(size)
        written += size
        const start = mergedFrom(sizes, Number.POSITIVE_INFINITY)
        const one = sizes.splice(start).reduce((sum, each) => sum + each, 0)
        if (start < sizes.length + 1 && one > size) written += one
        sizes.push(one)
      }
      const total = added.reduce((sum, each) => sum + each, 0)
      const bits = Math.ceil(Math.log2(total + 1)) + 1
      expect(sizes.reduce((sum, each) => sum + each, 0)).toBe(total)
      expect(sizes.length).toBeLessThanOrEqual(bits)
      expect(written).toBeLessThanOrEqual(total * bits)
    }),
  )
})

test('no file exceeds the maximum size', () => {
  expect(mergedFrom([10, 10, 10], 25)).toBe(1)
  expect(mergedFrom([10, 5, 5], 30)).toBe(0)
  expect(mergedFrom([11, 5, 5], 30)).toBe(1)
  expect(mergedFrom([], 30)).toBe(0)
})

test('files that are each a little smaller than the one before are merged, too', () => {
  expect(mergedFrom([50, 44, 43, 1, 42], 1000)).toBe(0)
  expect(mergedFrom([500, 44, 43], 1000)).toBe(2)
})
