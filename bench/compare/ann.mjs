/** Approximate nearest rows at equal recall: one function per engine, the same rows and queries for all, one query at a time. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as lancedb from '@lancedb/lancedb'
import {
  Field,
  FixedSizeList,
  Float32,
  Int32,
  makeData,
  RecordBatch,
  Schema,
  Struct,
  Table,
} from 'apache-arrow'
import { MetricKind, ScalarKind, Index as Usearch } from 'usearch'
import { race } from '../../dist/bench/harness.js'
import { vectorTable } from '../../dist/bench/query-vector.js'
import { clusteredData, fashionData, recallOf, trueNeighbours } from '../../dist/bench/vector-data.js'
import { connect } from '../../dist/src/index.js'

/** Needs a compiler to be installed; absent where there was none. */
const hnswlib = await import('hnswlib-node').then(
  module => module.default,
  () => null,
)

export const bench = {
  name: 'ann',
  question:
    'who finds the approximately nearest rows sooner, at the least effort that reaches a recall? (10 of the nearest rows; lancedb may use other threads)',
  small: { rows: 3000, dim: 16, centres: 30, fashion: false, queries: 50, floors: [0.95], rounds: 2 },
  full: {
    rows: 100_000,
    dim: 128,
    centres: 1000,
    fashion: true,
    queries: 500,
    floors: [0.9, 0.95, 0.99],
    rounds: 5,
  },
  async run({ rows, dim, centres, fashion, queries, floors, rounds }) {
    const pictures = fashion ? fashionData(queries) : null
    const all = [clusteredData(rows, dim, centres, 1.5, queries), ...(pictures === null ? [] : [pictures])]
    const results = []
    for (const data of all) results.push(...(await compared(data, floors, rounds)))
    return results
  },
}

async function compared(data, floors, rounds) {
  const folder = mkdtempSync(join(tmpdir(), 'sheaf-bench-'))
  const truth = trueNeighbours(data, 'l2', 10)
  const makers = { sheaf, ...(hnswlib === null ? {} : { hnswlib: hnswlibNode }), usearch, lancedb: lance }
  const engines = []
  const builds = []
  try {
    for (const [name, make] of Object.entries(makers)) {
      const cpu = process.cpuUsage()
      const begun = performance.now()
      const engine = await make(data, join(folder, name))
      const took = performance.now() - begun
      const { user, system } = process.cpuUsage(cpu)
      engines.push({ name, ...engine })
      builds.push({
        name,
        milliseconds: { min: took, p50: took, p95: took },
        relativeTime: took / (builds[0]?.milliseconds.p50 ?? took),
        answer: name,
        figures: { cpuSeconds: (user + system) / 1e6 },
      })
    }
    const results = [{ title: `building, ${data.name}`, entries: builds }]
    const queries = Array.from(truth, (_, q) => data.queries.slice(q * data.dim, (q + 1) * data.dim))
    for (const floor of floors) {
      const contestants = []
      const recalls = []
      for (const engine of engines) {
        const { effort, recall } = await leastEffort(engine, queries, truth, floor)
        recalls.push(recall)
        contestants.push({
          name: `${engine.name}, ${effort}`,
          async run() {
            const found = []
            for (const query of queries) found.push(...(await engine.search(query, effort)))
            return found.length
          },
        })
      }
      const title = `recall >= ${floor}, ${queries.length} queries, ${data.name}`
      const { entries } = await race({ title, contestants, rounds, warmups: 1 })
      const figured = entries.map((entry, i) => ({
        ...entry,
        figures: { recall: recalls[i], perSecond: (1000 * queries.length) / entry.milliseconds.p50 },
      }))
      results.push({ title, entries: figured })
    }
    return results
  } finally {
    for (const engine of engines) await engine.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

const efforts = [10, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024]

async function leastEffort(engine, queries, truth, floor) {
  let recall = 0
  for (const effort of efforts) {
    const found = []
    for (const query of queries) found.push(await engine.search(query, effort))
    recall = recallOf(truth, found)
    if (recall >= floor) return { effort, recall }
  }
  return { effort: efforts.at(-1), recall }
}

async function sheaf(data, folder) {
  const ns = await connect(folder, { buildThreads: 1, upkeep: { compact: false } })
  const table = await vectorTable(ns, data)
  await table.createIndex('vector', {
    type: 'IVF_HNSW_SQ',
    waitTimeoutMs: 3_600_000,
  })
  return {
    search: async (query, ef) =>
      (await table.search(query).ef(ef).select(['id']).limit(10).toArray()).map(row => row.id),
    close: () => ns.close(),
  }
}

function rowsOf({ dim, rows }) {
  return Array.from({ length: rows.length / dim }, (_, i) => rows.subarray(i * dim, (i + 1) * dim))
}

function hnswlibNode(data) {
  const index = new hnswlib.HierarchicalNSW('l2', data.dim)
  const rows = rowsOf(data)
  index.initIndex(rows.length, 16, 200)
  for (const [i, row] of rows.entries()) index.addPoint(Array.from(row), i)
  return {
    search(query, ef) {
      index.setEf(ef)
      return index.searchKnn(Array.from(query), 10).neighbors
    },
    close() {},
  }
}

/** What a search looks at is fixed when an index is made: one is made for each effort, from a file. */
async function usearch(data, folder) {
  const options = ef => ({
    metric: MetricKind.L2sq,
    quantization: ScalarKind.F32,
    dimensions: data.dim,
    connectivity: 16,
    expansion_add: 200,
    expansion_search: ef,
  })
  const index = new Usearch(options(10))
  for (const [i, row] of rowsOf(data).entries()) index.add(BigInt(i), row.slice())
  index.save(`${folder}.usearch`)
  let opened = null
  return {
    search(query, ef) {
      if (opened?.ef !== ef) {
        opened = { ef, index: new Usearch(options(ef)) }
        opened.index.load(`${folder}.usearch`)
      }
      return Array.from(opened.index.search(query, 10, 1).keys, Number)
    },
    close() {},
  }
}

async function lance(data, folder) {
  const db = await lancedb.connect(folder)
  const { dim, rows } = data
  const count = rows.length / dim
  const type = new FixedSizeList(dim, new Field('item', new Float32(), true))
  const floats = makeData({ type: new Float32(), data: rows })
  const vectors = makeData({ type, length: count, nullCount: 0, child: floats })
  const ids = makeData({ type: new Int32(), data: Int32Array.from({ length: count }, (_, i) => i) })
  const schema = new Schema([new Field('id', new Int32(), false), new Field('vector', type, true)])
  const struct = makeData({
    type: new Struct(schema.fields),
    length: count,
    nullCount: 0,
    children: [ids, vectors],
  })
  const table = await db.createTable('vectors', new Table(schema, [new RecordBatch(schema, struct)]))
  const config = lancedb.Index.hnswSq({ distanceType: 'l2', numPartitions: 1, m: 16, efConstruction: 200 })
  await table.createIndex('vector', { config })
  return {
    async search(query, ef) {
      const found = await table
        .query()
        .nearestTo(query)
        .ef(ef)
        .select(['id', '_distance'])
        .limit(10)
        .toArrow()
      return Array.from(found.getChild('id').toArray())
    },
    close: () => db.close(),
  }
}
