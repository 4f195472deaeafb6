/**
 * What every kind of index promises without tuning: of the ten nearest rows, at least 95 of 100, whatever part of them is allowed.
 * `SHEAF_RECALL=full` asks that of data at full size, which takes minutes (`npm run test:long` begins with it).
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { vectorTable } from '../../../bench/query-vector.js'
import { seededRandom } from '../../../bench/random.js'
import {
  clusteredData,
  fashionData,
  recallOf,
  trueNeighbours,
  type VectorData,
} from '../../../bench/vector-data.js'
import { connect, type Namespace, type Table } from '../../../src/index.js'
import { vectorKinds } from '../../../src/indexes/vector/kind.js'

const isFull = process.env.SHEAF_RECALL === 'full'
const queries = isFull ? 200 : 40
/** Parts of the rows that pass a filter. */
const shares = [1, 0.5, 0.1, 0.01, 0.001]

const clusters = isFull
  ? clusteredData(100_000, 128, 1000, 1.5, queries)
  : clusteredData(4000, 32, 40, 1.5, queries)
const pictures = fashionData(queries)

suite(clusters.name, clusters)
suite(
  isFull ? 'Fashion-MNIST' : 'a part of Fashion-MNIST',
  pictures === null || isFull ? pictures : firstRows(pictures, 800),
)

function suite(name: string, data: VectorData | null): void {
  describe.skipIf(data === null)(data === null ? `${name}: not where SHEAF_DATA says` : name, () => {
    let ns: Namespace
    let table: Table
    let truths: readonly (readonly ReadonlySet<number>[])[]
    beforeAll(async () => {
      ns = await connect('memory://', { maintenance: { compact: false } })
      table = await vectorTable(ns, data!)
      const random = seededRandom(7)
      const shareOf = Float64Array.from({ length: data!.rows.length / data!.dim }, random)
      truths = shares.map(share => trueNeighbours(data!, 'l2', 10, row => shareOf[row]! < share))
    }, 600_000)
    afterAll(() => ns.close())

    test.each(vectorKinds)(
      '%s',
      async type => {
        const { name: index } = await table.createIndex('vector', { type })
        await table.waitForIndex(index)
        const recalls: Record<string, number> = {}
        for (const [i, share] of shares.entries()) {
          const found: number[][] = []
          for (let q = 0; q < queries; q++) {
            const query = data!.queries.slice(q * data!.dim, (q + 1) * data!.dim)
            const near = table.search(query).select(['id'])
            const rows = await (share === 1 ? near : near.where('share < ?', [share])).toArray()
            found.push(rows.map(({ id }) => id as number))
          }
          recalls[share] = recallOf(truths[i]!, found)
        }
        const { recall } = await table.indexStats(index)
        if (isFull) console.log(`${name} ${type}`, JSON.stringify({ ...recalls, told: recall }))
        expect(Math.min(...Object.values(recalls)), JSON.stringify(recalls)).toBeGreaterThanOrEqual(0.95)
      },
      1_800_000,
    )
  })
}

function firstRows({ name, dim, rows, queries }: VectorData, count: number): VectorData {
  return { name, dim, rows: rows.slice(0, count * dim), queries }
}
