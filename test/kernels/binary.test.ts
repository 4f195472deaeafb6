import fc from 'fast-check'
import { expect, test } from 'vitest'
import { seededRandom } from '../../bench/random.js'
import type { Arena } from '../../src/kernels/arena.js'
import { encodeSigns, type Rotation, rotate, tabulateSigns } from '../../src/kernels/binary.js'
import { onTwins } from '../support/twins.js'
import { gaussian } from '../support/vectors.js'

const [signs, vectors, work, codes, factors, tables] = [0, 65_536, 131_072, 147_456, 163_840, 180_224]
const bytes = 262_144

function rotation(arena: Arena, dim: number, dims: number, seed: number): Rotation {
  const random = seededRandom(seed)
  const rounds = 4
  new Uint32Array(arena.buffer, signs, rounds * dims).set(
    Array.from({ length: rounds * dims }, () => (random() < 0.5 ? 0 : 0x8000_0000)),
  )
  return { dim, dims, signs, rounds }
}

test('a rotation keeps lengths and angles, and leaves no element where it was', () => {
  for (const dims of [64, 96, 160, 224, 768]) {
    const random = seededRandom(dims)
    const pair = [gaussian(dims, random), gaussian(dims, random)] as const
    const spike = new Float32Array(dims)
    spike[dims - 1] = 1
    const [a, b, spread] = onTwins(bytes, arena =>
      [...pair, spike].map(values => {
        const at = new Float32Array(arena.buffer, vectors, dims)
        at.set(values)
        rotate(arena, vectors, rotation(arena, dims, dims, 5))
        return at.slice()
      }),
    ) as [Float32Array, Float32Array, Float32Array]
    const product = (x: Float32Array, y: Float32Array) => x.reduce((sum, value, i) => sum + value * y[i]!, 0)
    expect(product(a, a)).toBeCloseTo(product(pair[0], pair[0]), 1)
    expect(product(a, b)).toBeCloseTo(product(pair[0], pair[1]), 1)
    expect(Math.max(...spread.map(Math.abs))).toBeLessThan(6 / Math.sqrt(dims))
  }
})

test('vectors of any length are coded, and queries tabulated, to the same bits with and without the kernel', () => {
  const shape = fc.record({
    seed: fc.nat(),
    dim: fc.integer({ min: 1, max: 200 }),
    rows: fc.integer({ min: 1, max: 5 }),
    scale: fc.constantFrom(0, 1, 1e-30, 1e30),
  })
  fc.assert(
    fc.property(shape, ({ seed, dim, rows, scale }) => {
      const dims = Math.ceil(dim / 32) * 32
      const values = gaussian(rows * dim, seededRandom(seed)).map(value => value * scale)
      onTwins(bytes, arena => {
        new Float32Array(arena.buffer, vectors, values.length).set(values)
        encodeSigns(arena, vectors, rows, rotation(arena, dim, dims, seed), work, codes, factors)
        tabulateSigns(arena, work, dims, tables)
        return [
          ...new Uint8Array(arena.buffer, codes, (rows * dims) / 4),
          ...new Float32Array(arena.buffer, factors, rows * 2),
          ...new Float32Array(arena.buffer, tables, dims * 4),
        ]
      })
    }),
    { numRuns: 15 },
  )
})
