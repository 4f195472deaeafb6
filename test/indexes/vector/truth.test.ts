/** What the recall of a segment is measured against. */
import { expect, test } from 'vitest'
import { type Question, Truth, truthDepth } from '../../../src/indexes/vector/truth.js'
import { Pacer } from '../../../src/primitives/pacer.js'

const dim = 2

/** What is nearest to (0, 0) of points on a line, which come in pieces. */
async function nearestOf(points: readonly number[], pieceRows: number) {
  const question: Question = { kind: 'between', vector: new Float32Array(dim), row: null, excluded: null }
  const truth = new Truth([question], dim)
  for (let from = 0; from < points.length; from += pieceRows) {
    const some = points.slice(from, from + pieceRows)
    const vectors = Float32Array.from(some.flatMap(x => [x, 0]))
    const ordinals = Uint32Array.from(some, (_, i) => from + i)
    await truth.pass(vectors, ordinals, null, some.length, new Pacer())
  }
  const known = truth.neighbours(0)
  return known && { ...known, ordinals: known.ordinals.toSorted((a, b) => a - b) }
}

/** Twenty copies of each point, the far ones first. */
const copies = Array.from({ length: 200 }, (_, i) => 10 - Math.floor(i / 20))

test.each([200, 64])('rows as near as the tenth are neighbours too, in pieces of %i', async pieceRows => {
  const last = Array.from({ length: 20 }, (_, i) => 180 + i)
  expect(await nearestOf(copies, pieceRows)).toEqual({ ordinals: last, points: 1 })
  const mixed = [...copies, 0.1, 0.2, 0.3]
  expect(await nearestOf(mixed, pieceRows)).toEqual({ ordinals: [...last, 200, 201, 202], points: 4 })
})

test.each([500, 64])(
  'if more rows tie than are kept, the neighbours are unknown, in pieces of %i',
  async pieceRows => {
    const crowd = Array.from({ length: 400 }, () => 5)
    expect(await nearestOf(crowd, pieceRows)).toBeNull()
    const nearer = Array.from({ length: truthDepth }, (_, i) => i / 10)
    const ordinals = Array.from({ length: truthDepth }, (_, i) => 400 + i)
    expect(await nearestOf([...crowd, ...nearer.slice(1)], pieceRows)).toBeNull()
    expect(await nearestOf([...crowd, ...nearer], pieceRows)).toEqual({ ordinals, points: truthDepth })
  },
)

test('if there are fewer rows than requested, all are neighbours', async () => {
  expect(await nearestOf([3, 1, 2], 16)).toEqual({ ordinals: [0, 1, 2], points: 3 })
})
