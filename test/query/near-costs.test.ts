/** What it costs to ask an index, beside measuring all rows. */
import { expect, test } from 'vitest'
import { asking, measuring } from '../../src/query/near-costs.js'

const dim = 128
const column = { rowBytes: 4 * dim, readRows: 0 }
const vectors = 100_000

/** A graph of codes that measures a fifth of its rows for an answer. */
function graph(facts: { readonly unsettled?: number }, forTen: number): number {
  const known = { vectors, partitions: 1, recall: 0.98, measured: vectors / 5, rowBytes: 32, ...facts }
  const segment = { facts: known, candidatesFor: () => forTen }
  return asking('IVF_HNSW_PQ', segment, forTen, 1, dim, column)
}

test('an index with a third of its searches measuring all rows costs more than measuring them', () => {
  const all = measuring(vectors, 1, column)
  expect(graph({}, 100)).toBeLessThan(0.7 * all)
  expect(graph({ unsettled: 0.3 }, 1200)).toBeGreaterThan(all)
})

test('a search that keeps more candidates costs more', () => {
  expect(graph({}, 1000)).toBeGreaterThan(2 * graph({}, 10))
})

test('for a column larger than memory, an index is used if many rows pass, and not if few do', () => {
  const outside = { ...column, readRows: 100 * vectors }
  const known = { vectors: 100 * vectors, partitions: 3000, recall: 0.98, measured: 22_000, rowBytes: 16 }
  const segment = { facts: known, candidatesFor: () => 500 }
  const asked = (share: number, of: typeof column) => asking('IVF_PQ', segment, 500, share, dim, of)
  const all = (share: number, of: typeof column) => measuring(share * known.vectors, 80, of)
  expect(asked(0.1, outside)).toBeLessThan(0.1 * all(0.1, outside))
  expect(asked(0.00001, outside)).toBeGreaterThan(all(0.00001, outside))
})
