/** The nearest of the rows that pass a filter: how many a second, and how well, whatever share of the rows passes. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type VectorIndexType } from '../src/index.js'
import type { Bench, CaseResult } from './harness.js'
import { asking, contest, leastEffort, sharesOf, vectorTable } from './query-vector.js'
import { clusteredData, trueNeighbours } from './vector-data.js'

interface Parameters {
  readonly rows: number
  readonly dim: number
  readonly centres: number
  readonly queries: number
  readonly shares: readonly number[]
  readonly kinds: readonly VectorIndexType[]
  /** Recall to be reached. */
  readonly floor: number
  readonly rounds: number
}

export const bench: Bench<Parameters> = {
  name: 'query-filtered',
  question: 'how many nearest rows a second are found among those that pass a filter, by how many pass?',
  small: {
    rows: 1500,
    dim: 16,
    centres: 10,
    queries: 20,
    shares: [0.1],
    kinds: ['IVF_HNSW_SQ'],
    floor: 0.97,
    rounds: 1,
  },
  full: {
    rows: 100_000,
    dim: 128,
    centres: 1000,
    queries: 500,
    shares: [0.001, 0.01, 0.1, 0.5],
    kinds: ['IVF_HNSW_SQ', 'IVF_FLAT'],
    floor: 0.97,
    rounds: 3,
  },
  async run({ rows, dim, centres, queries, shares, kinds, floor, rounds }) {
    const data = clusteredData(rows, dim, centres, 1.5, queries)
    const shareOf = sharesOf(rows)
    const folder = mkdtempSync(join(tmpdir(), 'sheaf-bench-'))
    const ns = await connect(folder, { buildThreads: 1, upkeep: { compact: false } })
    try {
      const table = await vectorTable(ns, data)
      const results: CaseResult[] = []
      for (const type of kinds) {
        await table.createIndex('vector', { type, waitTimeoutMs: 3_600_000 })
        for (const share of shares) {
          const truth = trueNeighbours(data, 'l2', 10, row => shareOf[row]! < share)
          const filtered = (query: Float32Array) => table.search(query).where('share < ?', [share])
          const untuned = { name: 'untuned', ask: asking(data, filtered) }
          const tuned = await leastEffort(data, truth, floor, type, filtered)
          const exact = { name: 'exact', ask: asking(data, query => filtered(query).bypassVectorIndex()) }
          const title = `${type}, ${100 * share} % of ${data.name}, k 10`
          results.push(await contest(title, [untuned, tuned, exact], truth, rounds))
        }
      }
      return results
    } finally {
      await ns.close()
      rmSync(folder, { recursive: true, force: true })
    }
  },
}
