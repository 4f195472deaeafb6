/**
 * Every kind of vector index finds the nearest rows under any filter, without tuning. So few rows as here would be measured without asking an
 * index; the index is asked all the same. `SHEAF_RECALL=full` asks more of it (`npm run test:long` begins with it).
 */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import {
  clouds,
  filtersOf,
  type LabelledVectors,
  labelledPictures,
  labelledTable,
  questionsToTexts,
} from '../../../bench/labelled-data.js'
import { connect, type Namespace, type Table } from '../../../src/index.js'
import type { VectorKind } from '../../../src/indexes/vector/kind.js'
import type { Metric } from '../../../src/kernels/metric.js'
import { asked, type Cell, distancesOf, isKept } from './filtered-recall.js'

vi.mock('../../../src/query/near-costs.js', async original => {
  const module = await original<typeof import('../../../src/query/near-costs.js')>()
  return { ...module, isLittle: () => false, asking: () => 0 }
})

const isFull = process.env.SHEAF_RECALL === 'full'
const kinds: readonly VectorKind[] = [
  'IVF_FLAT',
  'IVF_SQ',
  'IVF_PQ',
  'IVF_RQ',
  'IVF_HNSW_FLAT',
  'IVF_HNSW_SQ',
  'IVF_HNSW_PQ',
]
/** Asked about texts each time: one kind for each way to find candidates. `SHEAF_RECALL=full` asks all. */
const textKinds: readonly VectorKind[] = isFull ? kinds : ['IVF_PQ', 'IVF_RQ', 'IVF_HNSW_SQ']
const metrics: readonly Metric[] = ['l2', 'cosine', 'dot']
const limits = isFull ? [1, 10, 100, 1000] : [10, 100]

/** Asked with all kinds and metrics each time. */
const usual = new Set(['none', 'random 10 %', 'other label', 'three far labels', 'first dimension'])
const named = isFull ? null : usual

suite(clouds('clusters far apart', 6000, 16, 10, 5, isFull ? 200 : 50))
if (isFull) suite(clouds('clusters that overlap', 6000, 24, 30, 1, 200, 2))
const texts = questionsToTexts(isFull ? 1109 : 60)
describe.skipIf(texts === null)(texts === null ? 'texts: not where SHEAF_DATA says' : 'texts', () => {
  if (texts !== null) suite(texts, ['cosine'], named, textKinds)
})

if (isFull) {
  const pictures = labelledPictures(200)
  if (pictures !== null) suite(pictures, ['l2'], new Set(['none', 'other label']))
  else console.log('Fashion-MNIST: not where SHEAF_DATA says, skipped')
}

/** Ask each kind of index with each metric. `names`: names of the filters; null: all filters. */
function suite(
  data: LabelledVectors,
  asks = metrics,
  names = named as ReadonlySet<string> | null,
  of = kinds,
): void {
  describe(data.name, () => {
    let ns: Namespace
    let table: Table
    beforeAll(async () => {
      ns = await connect('memory://', { maintenance: { compact: false }, buildThreads: 1 })
      table = await labelledTable(ns, 'vectors', data)
    }, 600_000)
    afterAll(() => ns.close())

    const filters = filtersOf(data).filter(({ name }) => names === null || names.has(name))
    describe.each(asks)('by %s', metric => {
      let distances: readonly Float64Array[]
      beforeAll(() => {
        distances = distancesOf(data, metric)
      }, 600_000)

      test.each(of)(
        '%s keeps its recall under every filter',
        async type => {
          await table.createIndex('vector', {
            type,
            distanceType: metric as 'l2',
            name: 'near',
            replace: true,
            waitTimeoutMs: 600_000,
          })
          const missed: Cell[] = []
          for (const filter of filters) {
            const cells = await asked(table, data, distances, filter, limits)
            missed.push(...cells.filter(cell => !isKept(cell)))
          }
          expect(missed).toEqual([])
        },
        1_800_000,
      )
    })
  })
}
