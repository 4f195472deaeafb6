/** Queries that lie far from all rows, where codes of a byte can say no more than which way they lie. */
import { expect, test } from 'vitest'
import { vectorTable } from '../../../bench/query-vector.js'
import { seededRandom } from '../../../bench/random.js'
import { recallOf, trueNeighbours, type VectorData } from '../../../bench/vector-data.js'
import { connect } from '../../../src/index.js'
import { gaussian } from '../../support/vectors.js'

const dim = 16
const queries = 30

test.each(['IVF_SQ', 'IVF_HNSW_SQ', 'IVF_HNSW_FLAT'] as const)(
  '%s finds the nearest rows to queries far from all rows',
  async type => {
    const random = seededRandom(3)
    const asked = gaussian(queries * dim, random).map(value => 30 * value)
    const data: VectorData = { name: 'one cloud', dim, rows: gaussian(4000 * dim, random), queries: asked }
    const ns = await connect('memory://', { upkeep: { compact: false } })
    const table = await vectorTable(ns, data)
    await table.createIndex('vector', { type, waitTimeoutMs: 60_000 })
    const found: number[][] = []
    for (let q = 0; q < queries; q++) {
      const near = table.search(asked.slice(q * dim, (q + 1) * dim)).select(['id'])
      found.push((await near.toArray()).map(({ id }) => id as number))
    }
    expect(recallOf(trueNeighbours(data, 'l2', 10), found)).toBeGreaterThanOrEqual(0.95)
    await ns.close()
  },
  60_000,
)
