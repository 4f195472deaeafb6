import fc from 'fast-check'
import { expect, test } from 'vitest'
import { crc32, joinedCrc } from '../../src/primitives/checksum.js'

test('the checksum of bytes follows from those of their blocks', () => {
  const bytes = fc.uint8Array({ minLength: 1, maxLength: 3000 })
  fc.assert(
    fc.property(bytes, fc.integer({ min: 1, max: 700 }), (all, block) => {
      const sums = Uint32Array.from({ length: Math.ceil(all.length / block) }, (_, i) =>
        crc32(all.subarray(i * block, (i + 1) * block)),
      )
      expect(joinedCrc(sums, block, all.length)).toBe(crc32(all))
    }),
  )
})
