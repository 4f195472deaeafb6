import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fillFloats, seededRandom } from '../../bench/random.js'
import { Assigner, assigningHere, type Centroids, trainCentroids } from '../../src/kernels/clusters.js'
import { Pacer } from '../../src/primitives/pacer.js'

const pacer = new Pacer()

function squares(x: Float32Array, y: Float32Array): number {
  return x.reduce((sum, value, i) => sum + (value - y[i]!) ** 2, 0)
}

function rowOf(values: Float32Array, row: number, dim: number): Float32Array {
  return values.subarray(row * dim, (row + 1) * dim)
}

/** Squared distance of the rows from their nearest centroids, on average. */
function errorOf({ count, dim, values }: Centroids, sample: Float32Array): number {
  const rows = sample.length / dim
  let sum = 0
  for (let row = 0; row < rows; row++) {
    let least = Infinity
    for (let c = 0; c < count; c++)
      least = Math.min(least, squares(rowOf(values, c, dim), rowOf(sample, row, dim)))
    sum += least
  }
  return sum / rows
}

/** Rows around `centers` points, each as often. */
function bunches(centers: number, rows: number, dim: number, spread: number, far = 0): Float32Array {
  const random = seededRandom(rows)
  const points = fillFloats(new Float32Array(centers * dim), random).map(value => far + 10 * value)
  return new Float32Array(rows * dim).map((_, i) => {
    const row = Math.floor(i / dim)
    return points[(row % centers) * dim + (i % dim)]! + spread * (random() - 0.5)
  })
}

describe('an assigner', () => {
  test('gives each vector the nearest centroid, to the same bits with and without the kernel', () => {
    const shape = fc.record({
      seed: fc.nat(),
      dim: fc.integer({ min: 1, max: 40 }),
      count: fc.integer({ min: 1, max: 60 }),
      rows: fc.integer({ min: 1, max: 20 }),
      coarse: fc.boolean(),
    })
    fc.assert(
      fc.property(shape, ({ seed, dim, count, rows, coarse }) => {
        const random = seededRandom(seed)
        const draw = (length: number) =>
          fillFloats(new Float32Array(length), random).map(value => (coarse ? Math.round(value) : value))
        const centroids = { count, dim, values: draw(count * dim) }
        const vectors = draw(rows * dim)
        const [kernel, plain] = [false, true].map(isPlain => {
          const assigner = new Assigner(centroids, rows, isPlain)
          assigner.vectors.set(vectors)
          return { numbers: [...assigner.assign(rows)], distances: [...assigner.distances(rows)] }
        })
        expect(kernel).toEqual(plain)
        for (let row = 0; row < rows; row++) {
          const distances = Array.from({ length: count }, (_, c) =>
            squares(rowOf(centroids.values, c, dim), rowOf(vectors, row, dim)),
          )
          const least = Math.min(...distances)
          expect(distances[kernel!.numbers[row]!]!).toBeCloseTo(least, 4)
          expect(kernel!.distances[row]).toBeCloseTo(least, 4)
        }
      }),
      { numRuns: 40 },
    )
  })

  test('returns the first of equal centroids', () => {
    const values = Float32Array.from([5, 5, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1])
    for (const plain of [false, true]) {
      const assigner = new Assigner({ count: 10, dim: 2, values }, 1, plain)
      assigner.vectors.set([1, 1])
      expect([...assigner.assign(1)]).toEqual([1])
    }
  })

  test('distinguishes close centroids far from zero', () => {
    const random = seededRandom(1)
    const values = new Float32Array(32 * 16).map(() => 1000 + Math.fround(random()))
    for (const plain of [false, true]) {
      const assigner = new Assigner({ count: 32, dim: 16, values }, 32, plain)
      assigner.vectors.set(values)
      expect([...assigner.assign(32)]).toEqual([...Array(32).keys()])
    }
  })

  test('accepts other centroids, no more than it was made for', () => {
    const assigner = new Assigner({ count: 2, dim: 1, values: Float32Array.of(0, 10) }, 2)
    assigner.vectors.set([9, 1])
    expect([...assigner.assign(2)]).toEqual([1, 0])
    assigner.use({ count: 1, dim: 1, values: Float32Array.of(9) })
    expect([...assigner.assign(2)]).toEqual([0, 0])
    expect(() => assigner.use({ count: 3, dim: 1, values: new Float32Array(3) })).toThrow('3 centroids')
  })

  test('handles more panels than fit the cache', () => {
    const values = fillFloats(new Float32Array(900 * 100), seededRandom(2))
    const assigner = new Assigner({ count: 900, dim: 100, values }, 900)
    assigner.vectors.set(values)
    expect([...assigner.assign(900)]).toEqual([...Array(900).keys()])
  })
})

describe('k-means', () => {
  test('finds clusters, near zero and far from it', async () => {
    for (const far of [0, 1000]) {
      const sample = bunches(12, 600, 6, 0.2, far)
      const centroids = await trainCentroids(sample, 600, 6, 24, 20, pacer)
      expect(centroids.count).toBe(24)
      expect(errorOf(centroids, sample)).toBeLessThan(0.05)
    }
  })

  test('gives the same result with and without the kernel, every time', async () => {
    const sample = fillFloats(new Float32Array(300 * 7), seededRandom(5))
    const kernel = await trainCentroids(sample, 300, 7, 20, 6, pacer)
    expect(await trainCentroids(sample, 300, 7, 20, 6, pacer)).toEqual(kernel)
    expect(await trainCentroids(sample, 300, 7, 20, 6, pacer, assigningHere(true))).toEqual(kernel)
  })

  test('improves with every round', async () => {
    const sample = fillFloats(new Float32Array(500 * 5), seededRandom(6))
    const errors = await Promise.all(
      [0, 1, 4, 30].map(async rounds =>
        errorOf(await trainCentroids(sample, 500, 5, 16, rounds, pacer), sample),
      ),
    )
    expect(errors).toEqual([...errors].sort((a, b) => b - a))
    expect(errors[3]).toBeLessThan(errors[0]! * 0.8)
  })

  test('over at most as many distinct rows as centroids, gives each its own', async () => {
    const sample = Float32Array.from({ length: 400 }, (_, i) => [1, -0, 7, 0, 3][(i >> 1) % 5]!)
    const centroids = await trainCentroids(sample, 200, 2, 16, 10, pacer)
    expect([...centroids.values].map(value => value + 0).sort()).toEqual([0, 0, 1, 1, 3, 3, 7, 7])
    expect((await trainCentroids(sample, 1, 2, 16, 10, pacer)).count).toBe(1)
  })

  test('divides distinct rows even if most rows are equal', async () => {
    const random = seededRandom(8)
    const sample = new Float32Array(1000 * 3).map((_, i) => (i < 2700 ? 1 : random()))
    const centroids = await trainCentroids(sample, 1000, 3, 30, 15, pacer)
    expect(centroids.count).toBeGreaterThan(25)
    expect(errorOf(centroids, sample)).toBeLessThan(0.002)
  })

  test('refills an empty cluster with half of the largest', async () => {
    const random = seededRandom(9)
    const sample = new Float32Array(2000).map((_, i) => (i % 100 === 0 ? 1e4 * random() : 1e-3 * random()))
    const centroids = await trainCentroids(sample, 2000, 1, 64, 25, pacer)
    expect(centroids.count).toBeGreaterThan(60)
  })

  test('with many centroids is done separately for parts of the rows, with and without the kernel', async () => {
    const sample = fillFloats(new Float32Array(4000 * 2), seededRandom(10))
    const kernel = await trainCentroids(sample, 4000, 2, 1200, 5, pacer)
    expect(kernel.count).toBeLessThanOrEqual(1200)
    expect(kernel.count).toBeGreaterThan(1150)
    expect(errorOf(kernel, sample.subarray(0, 200))).toBeLessThan(0.001)
    expect(await trainCentroids(sample, 4000, 2, 1200, 5, pacer, assigningHere(true))).toEqual(kernel)
  })

  test('with many centroids assigns none to equal rows', async () => {
    const random = seededRandom(11)
    const sample = new Float32Array(20_000).map((_, i) => (i < 17_500 ? 5 : random()))
    const centroids = await trainCentroids(sample, 20_000, 1, 1500, 5, pacer)
    expect(centroids.count).toBeGreaterThan(1300)
    expect(centroids.count).toBeLessThanOrEqual(1500)
    expect((await trainCentroids(sample, 17_500, 1, 1500, 5, pacer)).count).toBe(1)
  })

  test('ends at the abort signal', async () => {
    const controller = new AbortController()
    const sample = fillFloats(new Float32Array(20_000 * 16), seededRandom(7))
    const training = trainCentroids(sample, 20_000, 16, 256, 1000, new Pacer(controller.signal))
    controller.abort(new Error('enough'))
    await expect(training).rejects.toThrow('enough')
  })
})
