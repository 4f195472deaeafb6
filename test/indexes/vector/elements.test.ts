/** Columns of every type of elements under indexes, near to zero and far from it. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { seededRandom } from '../../../bench/random.js'
import { connect, type DataType, type Namespace, type Table } from '../../../src/index.js'
import { type VectorKind, vectorKinds } from '../../../src/indexes/vector/kind.js'
import { MemoryStore } from '../../../src/storage/memory-store.js'

const dim = 12
const float = (bits: 16 | 32 | 64): DataType => ({ kind: 'float', bits })
const byte = (signed: boolean): DataType => ({ kind: 'int', bits: 8, signed })

/** Elements of a normal distribution around 0 of variance 1, or somewhat more, as a column has them. */
const columns: Readonly<Record<string, readonly [DataType, (x: number) => number]>> = {
  int8: [byte(true), x => Math.max(-128, Math.min(127, Math.round(x * 12)))],
  uint8: [byte(false), x => Math.max(0, Math.min(255, Math.round(128 + x * 12)))],
  float16: [float(16), x => x],
  float64: [float(64), x => x],
  float16_tiny: [float(16), x => x * 1e-4],
  float32_tiny: [float(32), x => x * 1e-4],
  float32_far: [float(32), x => 1e4 + x],
  float64_far: [float(64), x => 1e4 + x],
}

/** Every kind has a column, and every column a kind. */
const cases = Object.keys(columns).map((column, i) => [column, vectorKinds[i % vectorKinds.length]!] as const)

const random = seededRandom(1)
const gauss = () => 1.7 * (random() + random() + random() + random() - 2)
const centres = Array.from({ length: 15 * dim }, () => 2 * gauss())
const draw = () => {
  const centre = Math.floor(15 * random()) * dim
  return Array.from({ length: dim }, (_, i) => centres[centre + i]! + gauss())
}

describe('indexed', () => {
  let ns: Namespace
  let table: Table
  const queries = Array.from({ length: 12 }, draw)

  beforeAll(async () => {
    ns = await connect('memory://', { store: new MemoryStore('memory://') })
    const fields = Object.entries(columns).map(([name, [type]]) => ({
      name,
      type: {
        kind: 'fixed_size_list',
        size: dim,
        child: { name: 'item', type, nullable: true },
      } as const,
      nullable: true,
    }))
    const rows = Array.from({ length: 600 }, draw).map(vector =>
      Object.fromEntries(Object.entries(columns).map(([name, [, place]]) => [name, vector.map(place)])),
    )
    table = await ns.createTable('t', rows, { schema: { fields } })
  })
  afterAll(() => ns.close())

  /** Of the ten nearest rows of some queries, how many are found; others that are as near are as good. */
  async function recallOf(column: string, kind: VectorKind): Promise<number> {
    const name = `${column}_${kind}`
    await table.createIndex(column, { type: kind, name, waitTimeoutMs: 60_000 })
    const [, place] = columns[column]!
    let found = 0
    for (const query of queries) {
      const near = table.search(query.map(place)).column(column).select(['_distance'])
      expect(await near.explain()).toContain(`ANNSubIndex: name=${name}`)
      const exact = await near.bypassVectorIndex().toArray()
      const proposed = await near.toArray()
      found += proposed.filter(({ _distance }) => _distance <= exact.at(-1)!._distance).length
    }
    await table.dropIndex(name)
    return found / (10 * queries.length)
  }

  test.each(cases)('%s by %s', async (column, kind) => {
    expect(await recallOf(column, kind)).toBeGreaterThan(0.93)
  })
})
