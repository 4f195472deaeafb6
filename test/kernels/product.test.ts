import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { seededRandom } from '../../bench/random.js'
import { closeNearest, openNearest } from '../../src/kernels/nearest-lists.js'
import { codesScratchBytes, nearestColumns, scanCodes, squareColumns } from '../../src/kernels/product.js'
import { onTwins } from '../support/twins.js'
import { gaussian } from '../support/vectors.js'

/** Places that hold what any of these tests needs. */
const [columns, halves, vectors, out] = [0, 65_536, 131_072, 196_608]
const bytes = 262_144

describe('centroids by columns', () => {
  const shape = fc.record({
    seed: fc.nat(),
    width: fc.integer({ min: 1, max: 20 }),
    count: fc.constantFrom(16, 256),
    rows: fc.integer({ min: 1, max: 11 }),
    scale: fc.constantFrom(1, 1e-30, 1e30),
  })

  test('give distances, and the nearest, with the same bits with and without the kernel', () => {
    fc.assert(
      fc.property(shape, ({ seed, width, count, rows, scale }) => {
        const random = seededRandom(seed)
        const values = gaussian(width * count, random).map(value => value * scale)
        const norms = gaussian(count, random).map(Math.abs)
        const stride = (width + 3) * 4
        const some = gaussian(rows * (width + 3), random).map(value => value * scale)
        onTwins(bytes, arena => {
          new Float32Array(arena.buffer, columns, values.length).set(values)
          new Float32Array(arena.buffer, halves, count).set(norms)
          new Float32Array(arena.buffer, vectors, some.length).set(some)
          const part = { columns, halves, width, count }
          nearestColumns(arena, part, vectors, stride, rows, out, 5)
          const codes = [...new Uint8Array(arena.buffer, out, rows * 5)]
          squareColumns(arena, part, vectors, out)
          return { codes, distances: [...new Float32Array(arena.buffer, out, count)] }
        })
      }),
      { numRuns: 20 },
    )
  })

  test('of equal ones the first is the nearest', () => {
    const codes = onTwins(bytes, arena => {
      new Float32Array(arena.buffer, columns, 256).fill(2)
      new Float32Array(arena.buffer, columns, 256)[77] = 1
      new Float32Array(arena.buffer, columns, 256)[201] = 1
      new Float32Array(arena.buffer, halves, 256).set(
        new Float32Array(arena.buffer, columns, 256).map(value => value ** 2 / 2),
      )
      new Float32Array(arena.buffer, vectors, 2).set([0, 9])
      nearestColumns(arena, { columns, halves, width: 1, count: 256 }, vectors, 4, 2, out, 1)
      return [...new Uint8Array(arena.buffer, out, 2)]
    })
    expect(codes).toEqual([77, 0])
  })
})

test('rows with any number of parts are ranked by the sum of their entries', () => {
  fc.assert(
    fc.property(
      fc.nat(),
      fc.integer({ min: 1, max: 21 }),
      fc.integer({ min: 1, max: 70 }),
      (seed, parts, rows) => {
        const random = seededRandom(seed)
        const codes = Uint8Array.from({ length: rows * parts }, () => 256 * random())
        const table = gaussian(parts * 256, random).map(Math.abs)
        const [tableAt, ordinals, scratch] = [65_536, 98_304, 131_072]
        const { distances, ordinals: found } = onTwins(bytes, arena => {
          new Uint8Array(arena.buffer, 0, codes.length).set(codes)
          new Float32Array(arena.buffer, tableAt, table.length).set(table)
          new Uint32Array(arena.buffer, ordinals, rows).set([...Array(rows).keys()])
          openNearest(arena, scratch + codesScratchBytes, 5, 0)
          scanCodes(arena, 0, rows, parts, tableAt, scratch, ordinals, 0.25)
          return closeNearest(arena)
        })
        const sums = Array.from({ length: rows }, (_, row) =>
          table.reduce(
            (sum, entry, i) => (codes[row * parts + (i >> 8)] === (i & 255) ? sum + entry : sum),
            0.25,
          ),
        )
        const least = [...sums.keys()].sort((a, b) => sums[a]! - sums[b]!).slice(0, 5)
        found.forEach((row, i) => {
          expect(distances[i]).toBeCloseTo(sums[row]!, 4)
          expect(sums[row]).toBeCloseTo(sums[least[i]!]!, 4)
        })
        expect(found.length).toBe(Math.min(5, rows))
      },
    ),
    { numRuns: 10 },
  )
})
