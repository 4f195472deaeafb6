/** Queries that lie far from all rows, where codes of a byte can say no more than which way they lie. */
import { expect, test } from 'vitest'
import { vectorTable } from '../../../bench/query-vector.js'
import { seededRandom } from '../../../bench/random.js'
import { recallOf, trueNeighbours, type VectorData } from '../../../bench/vector-data.js'
import { connect } from '../../../src/index.js'
import { gaussian } from '../../support/vectors.js'

const dim = 16
const queries = 30

test.each(['IVF_SQ', 'IVF_HNSW_SQ'] as const)(
  '%s finds the nearest rows to queries far from all rows',
  async type => {
    const random = seededRandom(3)
    const asked = gaussian(queries * dim, random).map((value, i) => value + 40 * Math.sin(i))
    const rows = gaussian(10_000 * dim, random)
    // Ten clusters that overlap.
    for (let i = 0; i < rows.length; i++)
      rows[i]! += 1.5 * Math.sin((Math.floor(i / dim) % 10) * 7 + 3 * (i % dim))
    const data: VectorData = { name: 'ten clouds', dim, rows, queries: asked }
    const ns = await connect('memory://', { maintenance: { compact: false } })
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
