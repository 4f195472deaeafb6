/** Approximate nearest rows at equal recall: one function per engine, the same rows and queries for all, one query at a time. */
import { clusteredData, fashionData } from '../../dist/bench/vector-data.js'
import { compared, hnswlib, hnswlibNode, lance, sheaf, usearch } from './ann-engines.mjs'

const makers = {
  sheaf: sheaf(),
  ...(hnswlib !== null && { hnswlib: hnswlibNode }),
  usearch,
  lancedb: lance(),
}

export const bench = {
  name: 'ann',
  question:
    'who finds the approximately nearest rows sooner, at the least effort that reaches a recall? (10 of the nearest rows; lancedb may use other threads)',
  small: { rows: 3000, dim: 16, centres: 30, fashion: false, queries: 50, floors: [0.95], rounds: 2 },
  full: {
    rows: 100_000,
    dim: 128,
    centres: 1000,
    fashion: true,
    queries: 500,
    floors: [0.9, 0.95, 0.99],
    rounds: 5,
  },
  async run({ rows, dim, centres, fashion, queries, floors, rounds }) {
    const pictures = fashion ? fashionData(queries) : null
    const all = [clusteredData(rows, dim, centres, 1.5, queries), ...(pictures === null ? [] : [pictures])]
    const results = []
    for (const data of all) results.push(...(await compared(data, makers, floors, rounds)))
    return results
  },
}
