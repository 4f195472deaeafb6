/** Exact top-k on one thread: one function per engine, the same rows and queries for all. */
import { exactSearch, MetricKind } from 'usearch'
import { race } from '../../dist/bench/harness.js'
import { kernel, makeColumn, makeQuery } from '../../dist/bench/query-exact.js'

const metricKinds = { l2: MetricKind.L2sq, cosine: MetricKind.Cos, dot: MetricKind.IP }

export const bench = {
  name: 'exact',
  question: 'who finds the exact nearest rows sooner?',
  small: { sizes: [{ rows: 20_000, dim: 64 }], k: 10, rounds: 5 },
  full: {
    sizes: [
      { rows: 1_000_000, dim: 128 },
      { rows: 100_000, dim: 784 },
    ],
    k: 10,
    rounds: 25,
  },
  async run({ sizes, k, rounds }) {
    const results = []
    for (const { rows, dim } of sizes) {
      const column = makeColumn('f32', rows, dim, 1)
      const matrix = contiguous(column, rows * dim)
      const query = makeQuery('f32', dim, 2)
      for (const metric of Object.keys(metricKinds)) {
        const title = `${rows} x ${dim} f32, ${metric}, k ${k}`
        const contestants = [sheaf(column, query, metric, k), usearch(matrix, query, metric, k)]
        results.push(await race({ title, contestants, rounds, bytes: matrix.byteLength }))
      }
    }
    return results
  },
}

function sheaf(column, query, metric, k) {
  return { ...kernel(column, query, metric, k), name: 'sheaf' }
}

/** Reads its arguments from the start of their buffers, so they must not be views into larger ones. */
function usearch(matrix, query, metric, k) {
  return {
    name: 'usearch',
    run: () => {
      const { keys } = exactSearch(matrix, query.slice(), query.length, k, metricKinds[metric], 1)
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
