/** As `ann-large`, by those that keep a graph in memory: building one of many rows takes them a quarter of an hour and more. */
import { clusteredData } from '../../dist/bench/vector-data.js'
import { compared } from './ann.mjs'
import { hnswlib, sheaf, usearch } from './ann-engines.mjs'

export const bench = {
  name: 'ann-large-graphs',
  question: 'what does a large graph take to build, and who finds more with it? (10 of the nearest rows)',
  small: { rows: 3000, dim: 16, centres: 30, queries: 50, rounds: 2 },
  full: { rows: 1_000_000, dim: 128, centres: 1000, queries: 200, rounds: 3 },
  run: ({ rows, dim, centres, queries, rounds }) =>
    compared(
      clusteredData(rows, dim, centres, 1.5, queries),
      { sheaf: sheaf(), hnswlib, usearch },
      [0.9, 0.95],
      rounds,
    ),
}
