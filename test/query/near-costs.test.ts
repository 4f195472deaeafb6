/** What it costs to ask an index, beside measuring all rows. */
import { expect, test } from 'vitest'
import { asking, measuring } from '../../src/query/near-costs.js'

const dim = 128
const rowBytes = 4 * dim
const vectors = 100_000

/** A graph of codes that measures a fifth of its rows for an answer. */
function graph(facts: { readonly unsettled?: number }, forTen: number): number {
  const known = { vectors, partitions: 1, recall: 0.98, measured: vectors / 5, rowBytes: 32, ...facts }
  const segment = { facts: known, candidatesFor: () => forTen }
  return asking('IVF_HNSW_PQ', segment, forTen, 1, dim, rowBytes)
}

test('an index of which a third of the searches ends with measuring all rows costs more than measuring them', () => {
  const all = measuring(vectors, 1, rowBytes)
  expect(graph({}, 100)).toBeLessThan(0.7 * all)
  expect(graph({ unsettled: 0.3 }, 1200)).toBeGreaterThan(all)
})

test('a walk that keeps more candidates costs more', () => {
  expect(graph({}, 1000)).toBeGreaterThan(2 * graph({}, 10))
})
