/** Measures large vector indexes: how long it takes to build, open and search them, and how much memory this needs. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type VectorIndexType } from '../src/index.js'
import { builtIndex } from './built-index.js'
import type { Bench, CaseResult, Entry } from './harness.js'
import { asking, contest, leastEffort, vectorTable } from './query-vector.js'
import { clusteredData, trueNeighbours, type VectorData } from './vector-data.js'

interface Parameters {
  readonly rows: number
  readonly dim: number
  readonly centres: number
  readonly queries: number
  /**
   * The index types, with the recall at which searches are compared, and the number of threads that build the index.
   */
  readonly kinds: readonly {
    readonly type: VectorIndexType
    readonly floor: number
    readonly threads: number
  }[]
  readonly rounds: number
}

/** Size in bytes of the cache while an index is built. */
const cacheBytes = 128 * 1024 * 1024

export const bench: Bench<Parameters> = {
  name: 'index-build',
  question: 'how long does it take to build, open and search a large vector index?',
  small: {
    rows: 1500,
    dim: 16,
    centres: 10,
    queries: 20,
    kinds: [{ type: 'IVF_PQ', floor: 0.9, threads: 1 }],
    rounds: 1,
  },
  full: {
    rows: 1_000_000,
    dim: 128,
    centres: 1000,
    queries: 200,
    kinds: [
      { type: 'IVF_PQ', floor: 0.9, threads: 1 },
      { type: 'IVF_HNSW_SQ', floor: 0.95, threads: 1 },
      { type: 'IVF_HNSW_SQ', floor: 0.95, threads: 2 },
    ],
    rounds: 3,
  },
  async run({ rows, dim, centres, queries, kinds, rounds }) {
    const data = clusteredData(rows, dim, centres, 1.5, queries)
    const truth = trueNeighbours(data, 'l2', 10)
    const results: CaseResult[] = []
    for (const { type, floor, threads } of kinds) {
      const folder = mkdtempSync(join(tmpdir(), 'sheaf-bench-'))
      try {
        // Use a small cache, so that cached data does not count as memory of the build.
        const ns = await connect(folder, {
          buildThreads: threads,
          cacheBytes,
          maintenance: { compact: false },
        })
        const table = await vectorTable(ns, data)
        results.push({
          title: `building, threads: ${threads}, ${data.name}`,
          entries: [await builtIndex(table, 'vector', type, { type })],
        })
        await ns.close()
        results.push(await opened(folder, data))
        const again = await connect(folder, { maintenance: { compact: false } })
        const reopened = await again.openTable('vectors')
        const untuned = { name: 'untuned', ask: asking(data, query => reopened.search(query)) }
        const tuned = await leastEffort(data, truth, floor, type, query => reopened.search(query))
        results.push(await contest(`${type}, ${data.name}, k 10`, [untuned, tuned], truth, rounds))
        await again.close()
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    }
    return results
  },
}

/** Measure the time from a closed root to the first answer, and the time of a batch of 100 queries after it. */
async function opened(folder: string, { dim, queries }: VectorData): Promise<CaseResult> {
  const of = (first: number, count: number) =>
    Array.from({ length: count }, (_, i) => {
      const at = ((first + i) * dim) % queries.length
      return [...queries.subarray(at, at + dim)]
    })
  const begun = performance.now()
  const ns = await connect(folder, { maintenance: { compact: false } })
  const table = await ns.openTable('vectors')
  const first = await table.search(of(0, 1)[0]!).select(['id']).limit(10).toArray()
  const toFirst = performance.now() - begun
  const batch = performance.now()
  const body = { id: ['vectors'], k: 10, vector: { multi_vector: of(0, 100) } }
  await ns.operations.queryTable({ ...body, columns: { column_names: ['id'] } })
  const toBatch = performance.now() - batch
  await ns.close()
  const entry = (name: string, took: number): Entry => ({
    name,
    milliseconds: { min: took, p50: took, p95: took },
    relativeTime: took / toFirst,
    answer: String(first[0]?.id),
  })
  return {
    title: 'opening',
    entries: [entry('first answer', toFirst), entry('100 queries at once', toBatch)],
  }
}
