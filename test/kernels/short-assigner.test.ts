import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fillFloats, seededRandom } from '../../bench/random.js'
import { squaredDistance } from '../../src/kernels/assigner.js'
import { ShortAssigner } from '../../src/kernels/short-assigner.js'

test('an assigner gives each vector one of the nearest centroids, the same with and without the kernel', () => {
  const shape = fc.record({
    seed: fc.nat(),
    dim: fc.integer({ min: 1, max: 40 }),
    count: fc.integer({ min: 1, max: 60 }),
    rows: fc.integer({ min: 1, max: 20 }),
    scale: fc.constantFrom(1e-12, 1, 1e12),
    far: fc.constantFrom(0, 100),
  })
  fc.assert(
    fc.property(shape, ({ seed, dim, count, rows, scale, far }) => {
      const random = seededRandom(seed)
      const draw = (length: number) =>
        fillFloats(new Float32Array(length), random).map(value => scale * (far + value))
      const values = draw(count * dim)
      const vectors = draw(rows * dim)
      const [kernel, plain] = [false, true].map(isPlain => {
        const assigner = new ShortAssigner({ count, dim, values }, rows, isPlain)
        assigner.vectors.set(vectors)
        return [...assigner.assign(rows)]
      })
      expect(kernel).toEqual(plain)
      for (let row = 0; row < rows; row++) {
        const distances = Array.from({ length: count }, (_, c) =>
          squaredDistance(vectors, row * dim, values, c * dim, dim),
        )
        const excess = distances[kernel![row]!]! - Math.min(...distances)
        expect(excess).toBeLessThan(1e-3 * dim * scale ** 2)
      }
    }),
    { numRuns: 100 },
  )
})

test.each([false, true])('rows and centroids may all be the same, plain: %s', plain => {
  const values = new Float32Array(9 * 5).fill(7)
  const assigner = new ShortAssigner({ count: 9, dim: 5, values }, 3, plain)
  assigner.vectors.set(values.subarray(0, 15))
  expect([...assigner.assign(3)]).toEqual([0, 0, 0])
  const two = new ShortAssigner({ count: 2, dim: 1, values: Float32Array.of(-1, 1) }, 3, plain)
  two.vectors.set([0, 0.5, -1e-9])
  expect([...two.assign(3)]).toEqual([0, 1, 0])
})

test('rows far longer than the centroids are assigned to the nearest', () => {
  const values = Float32Array.of(-1, 0, 1, 0, 0, 1, 0, -1)
  const assigner = new ShortAssigner({ count: 4, dim: 2, values }, 4)
  assigner.vectors.set([1e6, 10, -1e15, 1, 3, 1e10, 5, -1e6])
  expect([...assigner.assign(4)]).toEqual([1, 0, 2, 3])
})
