/** Measures filtered vector search, for different shares of matching rows: queries per second and recall. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type Namespace, type VectorIndexType } from '../src/index.js'
import type { Bench, CaseResult } from './harness.js'
import {
  bySmallLabels,
  clouds,
  filtersOf,
  type LabelledVectors,
  labelledTable,
  questionsToTexts,
} from './labelled-data.js'
import { type Ask, asking, contest, leastEffort, sharesOf, vectorTable } from './query-vector.js'
import { clusteredData, trueNeighbours } from './vector-data.js'

interface Parameters {
  readonly rows: number
  readonly dim: number
  readonly centres: number
  readonly queries: number
  readonly shares: readonly number[]
  /** Data sets of clusters. The first cluster has half of the rows. Queries are filtered by cluster. */
  readonly clusters: readonly {
    readonly rows: number
    readonly dim: number
    readonly count: number
    /** The standard deviation of the cluster centres. */
    readonly apart: number
  }[]
  /** Whether to measure real questions about real texts too, if the data is on this machine. */
  readonly texts: boolean
  readonly kinds: readonly VectorIndexType[]
  /** The recall that tuned searches must reach. */
  readonly floor: number
  readonly rounds: number
}

export const bench: Bench<Parameters> = {
  name: 'query-filtered',
  question:
    'how many filtered vector searches per second are possible, depending on the share of matching rows?',
  small: {
    rows: 1500,
    dim: 16,
    centres: 10,
    queries: 20,
    shares: [0.1],
    clusters: [{ rows: 1500, dim: 16, count: 10, apart: 4 }],
    texts: false,
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
    clusters: [
      { rows: 100_000, dim: 128, count: 10, apart: 1 },
      { rows: 24_000, dim: 24, count: 10, apart: 6 },
    ],
    texts: true,
    kinds: ['IVF_HNSW_SQ', 'IVF_FLAT'],
    floor: 0.97,
    rounds: 3,
  },
  async run({ rows, dim, centres, queries, shares, clusters, texts, kinds, floor, rounds }) {
    const data = clusteredData(rows, dim, centres, 1.5, queries)
    const shareOf = sharesOf(rows)
    const folder = mkdtempSync(join(tmpdir(), 'sheaf-bench-'))
    const ns = await connect(folder, { buildThreads: 1, maintenance: { compact: false } })
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
      for (const { rows, dim, count, apart } of clusters) {
        const name = `${rows} x ${dim}, ${count} clusters`
        const correlated = bySmallLabels(clouds(name, rows, dim, count, apart, 2 * queries))
        results.push(...(await byLabel(ns, correlated, 'l2', kinds, rounds)))
      }
      const questions = texts ? questionsToTexts(queries) : null
      if (questions !== null) results.push(...(await byLabel(ns, questions, 'cosine', kinds, rounds)))
      return results
    } finally {
      await ns.close()
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

/** The names of filters that depend on the position of the query. */
const correlatedFilters = new Set(['other label', 'largest label', 'farthest label', 'three far labels'])

/** Measure searches with a filter by label, without tuning and exact. Sheaf itself computes the exact results. */
async function byLabel(
  ns: Namespace,
  data: LabelledVectors,
  distanceType: 'l2' | 'cosine',
  kinds: readonly VectorIndexType[],
  rounds: number,
): Promise<readonly CaseResult[]> {
  const table = await labelledTable(ns, data.name, data)
  const filters = filtersOf(data).filter(({ name }) => correlatedFilters.has(name))
  const results: CaseResult[] = []
  for (const type of kinds) {
    await table.createIndex('vector', { type, distanceType, waitTimeoutMs: 3_600_000 })
    for (const filter of filters) {
      const filtered = (query: Float32Array, q: number) => table.search(query).where(filter.where(q)!)
      const ask =
        (isExact: boolean): Ask =>
        async q => {
          const query = data.queries.slice(q * data.dim, (q + 1) * data.dim)
          const search = filtered(query, q).select(['id']).limit(10)
          const rows = await (isExact ? search.bypassVectorIndex() : search).toArray()
          return rows.map(({ id }) => id as number)
        }
      const truth: ReadonlySet<number>[] = []
      for (const q of data.own.keys()) truth.push(new Set(await ask(true)(q)))
      const contenders = [
        { name: 'untuned', ask: ask(false) },
        { name: 'exact', ask: ask(true) },
      ]
      results.push(await contest(`${type}, ${filter.name} of ${data.name}, k 10`, contenders, truth, rounds))
    }
  }
  return results
}
