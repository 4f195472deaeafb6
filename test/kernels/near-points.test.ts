import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fillFloats, seededRandom } from '../../bench/random.js'
import { squaredDistance } from '../../src/kernels/assigner.js'
import { NearPoints } from '../../src/kernels/near-points.js'

test('no row within the bound of a point is missed, few others are returned, and kernel and plain loops agree', () => {
  const shape = fc.record({
    seed: fc.nat(),
    dim: fc.integer({ min: 1, max: 40 }),
    count: fc.integer({ min: 1, max: 30 }),
    rows: fc.integer({ min: 1, max: 30 }),
    far: fc.constantFrom(0, 1000),
    limit: fc.constantFrom(0, 0.3, 1, Infinity),
  })
  fc.assert(
    fc.property(shape, ({ seed, dim, count, rows, far, limit }) => {
      const random = seededRandom(seed)
      const draw = (length: number) => fillFloats(new Float32Array(length), random).map(value => far + value)
      const values = draw(count * dim)
      const vectors = draw(rows * dim)
      const bounds = Array.from({ length: count }, () => limit * random() * dim)
      const [kernel, plain] = [false, true].map(isPlain => {
        const near = new NearPoints({ count, dim, values }, rows, isPlain)
        near.vectors.set(vectors)
        return [...near.find(rows, bounds)]
      })
      expect(kernel).toEqual(plain)
      const named = new Set(kernel)
      expect(named.size).toBe(kernel!.length)
      for (let row = 0; row < rows; row++) {
        for (let point = 0; point < count; point++) {
          const distance = squaredDistance(vectors, row * dim, values, point * dim, dim)
          const isNamed = named.has((row << 16) | point)
          if (distance < bounds[point]!) expect(isNamed).toBe(true)
          if (distance > bounds[point]! + dim * 1e-3) expect(isNamed).toBe(false)
        }
      }
    }),
    { numRuns: 200 },
  )
})
