/**
 * Compares large indexes like `ann-large`, for engines with a graph in memory. A build takes them 15 minutes or more.
 */
import { clusteredData } from '../../dist/bench/vector-data.js'
import { compared } from './ann.mjs'
import { hnswlib, sheaf, usearch } from './ann-engines.mjs'

export const bench = {
  name: 'ann-large-graphs',
  question:
    'how long does it take to build a large graph, and which engine has the higher recall with it? (10 nearest rows)',
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
