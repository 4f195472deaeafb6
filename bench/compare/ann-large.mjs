/** Compares large indexes like `ann`, for engines with an index on disk: graphs, and codes of a few bytes per row. */
import { clusteredData } from '../../dist/bench/vector-data.js'
import { compared } from './ann.mjs'
import { lance, sheaf } from './ann-engines.mjs'

export const bench = {
  name: 'ann-large',
  question:
    'how long does it take to build a large vector index, and which engine has the higher recall with it? (10 nearest rows; lancedb may use other threads)',
  small: { rows: 3000, dim: 16, centres: 30, queries: 50, partitions: 16, rounds: 2 },
  full: { rows: 1_000_000, dim: 128, centres: 1000, queries: 200, partitions: 1000, rounds: 3 },
  async run({ rows, dim, centres, queries, partitions, rounds }) {
    const data = clusteredData(rows, dim, centres, 1.5, queries)
    const graphs = {
      sheaf: sheaf(),
      'sheaf, two threads building': sheaf({ buildThreads: 2 }),
      'lancedb, refined': lance({ refined: 3 }),
    }
    const codes = {
      'sheaf, IVF_PQ': sheaf({ type: 'IVF_PQ' }),
      'lancedb, IVF_PQ, refined': lance({ kind: 'pq', partitions, refined: 10 }),
    }
    return [
      ...(await compared(data, codes, [0.9], rounds)),
      ...(await compared(data, graphs, [0.95], rounds)),
    ]
  },
}
