import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  isApart,
  placeQuery,
  placeVector,
  spaceOf,
  squaredLength,
} from '../../../src/indexes/vector/space.js'

const dim = 5
const element = fc.float({ min: -100, max: 100, noNaN: true })
const vectors = fc.array(fc.array(element, { minLength: dim, maxLength: dim }), {
  minLength: 2,
  maxLength: 8,
})

const exact = {
  l2: (x: number[], q: number[]) => x.reduce((sum, value, i) => sum + (value - q[i]!) ** 2, 0),
  cosine: (x: number[], q: number[]) => 1 - dot(x, q) / Math.sqrt(dot(x, x) * dot(q, q)),
  dot: (x: number[], q: number[]) => 1 - dot(x, q),
}

function dot(x: number[], y: number[]): number {
  return x.reduce((sum, value, i) => sum + value * y[i]!, 0)
}

test.each(['l2', 'cosine', 'dot'] as const)('a row nearer by %s is nearer in the space', metric => {
  fc.assert(
    fc.property(vectors, ([query, ...rows]) => {
      const squares = rows.map(row => squaredLength(row, 0, dim))
      const space = spaceOf(metric, dim, Math.max(...squares))
      fc.pre(![query!, ...rows].some(vector => isApart({ metric }, squaredLength(vector, 0, dim))))
      const placed = placeQuery(space, Float32Array.from(query!))!
      const inside = rows.map((row, i) => {
        const target = new Float32Array(space.innerDim)
        placeVector(space, row, 0, squares[i]!, target, 0)
        return exact.l2([...target], [...placed])
      })
      const outside = rows.map(row => exact[metric](row, query!))
      const scale = Math.max(1, ...inside)
      for (let a = 0; a < rows.length; a++) {
        for (let b = 0; b < rows.length; b++) {
          const least = metric === 'cosine' ? 1e-5 : 1e-5 * Math.max(1, ...outside.map(Math.abs), ...squares)
          if (outside[a]! < outside[b]! - least) expect(inside[a]).toBeLessThan(inside[b]! + 1e-5 * scale)
        }
      }
    }),
  )
})

test('vectors without a direction, or beyond float32, are apart', () => {
  expect(isApart({ metric: 'cosine' }, 0)).toBe(true)
  expect(isApart({ metric: 'l2' }, 0)).toBe(false)
  expect(isApart({ metric: 'dot' }, Number.POSITIVE_INFINITY)).toBe(true)
  expect(isApart({ metric: 'l2' }, 1e38)).toBe(true)
  expect(placeQuery(spaceOf('cosine', 2, 0), Float32Array.of(0, 0))).toBeNull()
})

test('a vector longer than any the space was made for is placed as if it had the maximum length', () => {
  const space = spaceOf('dot', 2, 25)
  const target = new Float32Array(3)
  placeVector(space, [6, 8], 0, 100, target, 0)
  expect([...target]).toEqual([6, 8, 0])
  placeVector(space, [3, 0], 0, 9, target, 0)
  expect([...target]).toEqual([3, 0, 4])
})
