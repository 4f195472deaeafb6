/** Compares exact top-k search on one thread. All engines get the same rows and queries. */
import { join } from 'node:path'
import { race } from '../../dist/bench/harness.js'
import { kernel, makeColumn, makeQuery } from '../../dist/bench/query-exact.js'
import { sumSegment } from '../../dist/src/kernels/exact.js'
import { duckdb, lance, sheaf, sqliteVec } from './ann-engines.mjs'
import { checkFound } from './checks.mjs'
import { made } from './made.mjs'
import { able } from './packages.mjs'
import { inScratch } from './scratch.mjs'

const metrics = ['l2', 'cosine', 'dot']

export const bench = {
  name: 'exact',
  question:
    'which engine finds the exact 10 nearest rows fastest, in memory or in files in the page cache? (lancedb may use other threads)',
  small: { sizes: [{ rows: 20_000, dim: 64 }], rounds: 5 },
  full: {
    sizes: [
      { rows: 1_000_000, dim: 128 },
      { rows: 100_000, dim: 784 },
    ],
    rounds: 25,
  },
  async run({ sizes, rounds }) {
    const results = []
    for (const { rows, dim } of sizes) {
      const column = makeColumn('f32', rows, dim, 1)
      const query = makeQuery('f32', dim, 2)
      const data = { dim, rows: contiguous(column, rows * dim) }
      for (const metric of metrics) results.push(await asked(data, column, query, metric, rounds))
    }
    return results
  },
}

async function asked(data, column, query, metric, rounds) {
  const title = `${data.rows.length / data.dim} x ${data.dim} f32, ${metric}, k 10`
  const limit = 'reading that memory'
  return inScratch(async (folder, engines) => {
    const makers = {
      'sheaf, whole query': sheaf({ type: null }),
      // A vec0 table does not support the dot product.
      ...(metric !== 'dot' && { 'sqlite-vec': sqliteVec }),
      duckdb,
      lancedb: lance({ kind: null }),
    }
    await made(makers, engines, (make, name) => make(data, join(folder, name), metric))
    const { run } = kernel(column, query, metric, 10)
    const inMemory = await able({ usearch: () => usearch(data.rows, query, metric) })
    const finders = [
      { name: 'sheaf', run },
      ...(await Promise.all(Object.values(inMemory).map(make => make()))),
      ...engines.map(({ name, search }) => ({
        name,
        run: async () => Uint32Array.from(await search(query, 'exact')),
      })),
    ]
    const truth = new Set(run())
    for (const { name, run } of finders) checkFound(title, name, await run(), truth, 10)
    const contestants = [...finders, { name: limit, run: () => column.map(sumSegment) }]
    return race({ title, contestants, rounds, bytes: data.rows.byteLength, limit })
  })
}

/** Measure usearch. It reads arrays from the start of their buffers, so they must not be views into larger buffers. */
async function usearch(matrix, query, metric) {
  const { exactSearch, MetricKind } = await import('usearch')
  const kind = { l2: MetricKind.L2sq, cosine: MetricKind.Cos, dot: MetricKind.IP }[metric]
  return {
    name: 'usearch',
    run() {
      const { keys } = exactSearch(matrix, query.slice(), query.length, 10, kind, 1)
      return Uint32Array.from(keys, Number)
    },
  }
}

function contiguous(column, length) {
  const matrix = new Float32Array(length)
  let at = 0
  for (const { values } of column) {
    matrix.set(values, at)
    at += values.length
  }
  return matrix
}
