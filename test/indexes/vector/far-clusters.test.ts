/** Graphs under filters that exclude the query's neighbourhood: no path leads from one cluster to another. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { vectorTable } from '../../../bench/query-vector.js'
import { seededRandom } from '../../../bench/random.js'
import { recallOf, trueNeighbours, type VectorData } from '../../../bench/vector-data.js'
import { connect, type Namespace, type Table } from '../../../src/index.js'
import { gaussian } from '../../support/vectors.js'

const dim = 24
const clusters = 10
const rows = 12_000
const queries = 40
/** Row i is of cluster i mod 10: a filter by the number of the row is one by cluster. */
const data = clustered()
let ns: Namespace
let table: Table

beforeAll(async () => {
  ns = await connect('memory://', { upkeep: { compact: false } })
  table = await vectorTable(ns, data)
}, 60_000)
afterAll(() => ns.close())

test.each([
  ['IVF_HNSW_SQ', 'l2'],
  ['IVF_HNSW_FLAT', 'dot'],
  ['IVF_HNSW_PQ', 'cosine'],
] as const)(
  '%s by %s finds the nearest rows of other clusters',
  async (type, distanceType) => {
    await table.createIndex('vector', { type, distanceType, replace: true, waitTimeoutMs: 60_000 })
    // All queries are of cluster 0, or lie between it and another one.
    const filters: readonly (readonly [string, (row: number) => boolean])[] = [
      ['id >= 0', () => true],
      [`id % ${clusters} <> 0`, row => row % clusters !== 0],
      [`id % ${clusters} <> 0 AND share < 0.5`, row => row % clusters !== 0 && shares[row]! < 0.5],
    ]
    for (const [where, passes] of filters) {
      const found: number[][] = []
      for (let q = 0; q < queries; q++) {
        const near = table.search(data.queries.slice(q * dim, (q + 1) * dim)).where(where)
        found.push((await near.select(['id']).toArray()).map(({ id }) => id as number))
      }
      const recall = recallOf(trueNeighbours(data, distanceType, 10, passes), found)
      expect(recall, where).toBeGreaterThanOrEqual(0.95)
    }
  },
  60_000,
)

const random = seededRandom(7)
/** As `vectorTable` draws them. */
const shares = Float64Array.from({ length: rows }, random)

function clustered(): VectorData {
  const random = seededRandom(31)
  const centres = gaussian(clusters * dim, random)
  const around = (count: number, clusterOf: (i: number) => number) =>
    gaussian(count * dim, random).map((value, i) => {
      const at = clusterOf(Math.floor(i / dim)) * dim + (i % dim)
      return value + 6 * centres[at]!
    })
  const asked = around(queries, () => 0)
  for (let i = 0; i < asked.length; i++) {
    const other = (1 + (Math.floor(i / dim) % 9)) * dim + (i % dim)
    if (Math.floor(i / dim) % 2 === 1) asked[i] = asked[i]! / 2 + 3 * centres[other]!
  }
  return { name: 'far clusters', dim, rows: around(rows, i => i % clusters), queries: asked }
}
