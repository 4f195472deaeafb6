/** By dot, what is nearest depends on how long vectors are: codes have to tell that as well as where they point. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { vectorTable } from '../../../bench/query-vector.js'
import { seededRandom } from '../../../bench/random.js'
import { recallOf, trueNeighbours, type VectorData } from '../../../bench/vector-data.js'
import { connect, type Namespace, type Table } from '../../../src/index.js'

const dim = 48
const queries = 60
let ns: Namespace
let table: Table
const data = brightness(2000)

beforeAll(async () => {
  ns = await connect('memory://', { maintenance: { compact: false } })
  table = await vectorTable(ns, data)
}, 60_000)
afterAll(() => ns.close())

test.each(['IVF_SQ', 'IVF_HNSW_SQ', 'IVF_PQ', 'IVF_HNSW_FLAT'] as const)(
  '%s finds 97 of 100 nearest by dot among vectors of any length',
  async type => {
    await table.createIndex('vector', { type, distanceType: 'dot', waitTimeoutMs: 60_000 })
    const ask = async (where?: string) => {
      const found: number[][] = []
      for (let q = 0; q < queries; q++) {
        const near = table.search(data.queries.slice(q * dim, (q + 1) * dim)).select(['id'])
        const rows = await (where === undefined ? near : near.where(where)).toArray()
        found.push(rows.map(({ id }) => id as number))
      }
      return found
    }
    expect(recallOf(trueNeighbours(data, 'dot', 10), await ask())).toBeGreaterThanOrEqual(0.97)
    const dark = trueNeighbours(data, 'dot', 10, row => row % 5 !== 0)
    expect(recallOf(dark, await ask('id % 5 <> 0'))).toBeGreaterThanOrEqual(0.97)
  },
  60_000,
)

/** Whole numbers of a byte: pictures of one of ten kinds, each as bright as it likes. */
function brightness(rows: number): VectorData {
  const random = seededRandom(21)
  const kinds = Float32Array.from({ length: 10 * dim }, () => (random() < 0.5 ? 0 : 200 * random()))
  const picture = () => {
    const kind = Math.floor(random() * 10) * dim
    const light = 0.1 + 0.9 * random()
    return Array.from({ length: dim }, (_, i) =>
      Math.round(Math.min(255, light * (kinds[kind + i]! + 55 * random()))),
    )
  }
  const many = (count: number) => Float32Array.from(Array.from({ length: count }, picture).flat())
  return { name: 'pictures', dim, rows: many(rows), queries: many(queries) }
}
