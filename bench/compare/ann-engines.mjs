/** Engines that find the approximately nearest rows, behind one interface, and how they are compared. */
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
import { recallOf, trueNeighbours } from '../../dist/bench/vector-data.js'
import { connect } from '../../dist/src/index.js'
import { made } from './made.mjs'

/** Needs a compiler to be installed; absent where there was none. */
export const hnswlib = await import('hnswlib-node').then(
  module => module.default,
  () => null,
)

/** Builds what each of `makers` makes, and asks it for as much as reaches a recall. Figures are relative to the first. */
export async function compared(data, makers, floors, rounds) {
  const folder = mkdtempSync(join(tmpdir(), 'sheaf-bench-'))
  const truth = trueNeighbours(data, 'l2', 10)
  const engines = []
  try {
    const builds = await made(makers, engines, (make, name) => make(data, join(folder, name)))
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

/** What to try of how hard a graph is searched, or how many partitions are. */
const efs = [10, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024]
const probes = [1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256]

async function leastEffort(engine, queries, truth, floor) {
  let recall = 0
  const { efforts } = engine
  for (const effort of efforts) {
    const found = []
    for (const query of queries) found.push(await engine.search(query, effort))
    recall = recallOf(truth, found)
    if (recall >= floor) return { effort, recall }
  }
  return { effort: efforts.at(-1), recall }
}

export function sheaf({ type = 'IVF_HNSW_SQ', buildThreads = 1 } = {}) {
  return async (data, folder) => {
    const ns = await connect(folder, { buildThreads, upkeep: { compact: false } })
    const table = await vectorTable(ns, data)
    await table.createIndex('vector', { type, waitTimeoutMs: 3_600_000 })
    const isGraph = type.startsWith('IVF_HNSW')
    return {
      efforts: isGraph ? efs : probes,
      async search(query, effort) {
        const asked = table.search(query).select(['id']).limit(10)
        const rows = await (isGraph ? asked.ef(effort) : asked.nprobes(effort)).toArray()
        return rows.map(row => row.id)
      },
      close: () => ns.close(),
    }
  }
}

function rowsOf({ dim, rows }) {
  return Array.from({ length: rows.length / dim }, (_, i) => rows.subarray(i * dim, (i + 1) * dim))
}

export function hnswlibNode(data) {
  const index = new hnswlib.HierarchicalNSW('l2', data.dim)
  const rows = rowsOf(data)
  index.initIndex(rows.length, 16, 200)
  for (const [i, row] of rows.entries()) index.addPoint(Array.from(row), i)
  return {
    efforts: efs,
    search(query, ef) {
      index.setEf(ef)
      return index.searchKnn(Array.from(query), 10).neighbors
    },
    close() {},
  }
}

/** What a search looks at is fixed when an index is made: one is made for each effort, from a file. */
export async function usearch(data, folder) {
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
    efforts: efs,
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

/** A graph unless partitions are given. `refined`: how many times as many rows as wanted are measured exactly. */
export function lance({ partitions = 0, refined = 0 } = {}) {
  return async (data, folder) => {
    const db = await lancedb.connect(folder)
    const table = await db.createTable('vectors', arrowTable(data))
    const config =
      partitions === 0
        ? lancedb.Index.hnswSq({ distanceType: 'l2', numPartitions: 1, m: 16, efConstruction: 200 })
        : lancedb.Index.ivfPq({ distanceType: 'l2', numPartitions: partitions, numSubVectors: data.dim / 4 })
    await table.createIndex('vector', { config })
    return {
      efforts: partitions === 0 ? efs : probes.filter(count => count <= partitions),
      async search(query, effort) {
        const asked = table.query().nearestTo(query).select(['id', '_distance']).limit(10)
        const harder = partitions === 0 ? asked.ef(Math.max(effort, 10 * refined)) : asked.nprobes(effort)
        const found = await (refined === 0 ? harder : harder.refineFactor(refined)).toArrow()
        return Array.from(found.getChild('id').toArray())
      },
      close: () => db.close(),
    }
  }
}

function arrowTable({ dim, rows }) {
  const count = rows.length / dim
  const type = new FixedSizeList(dim, new Field('item', new Float32(), true))
  const floats = makeData({ type: new Float32(), data: rows })
  const vectors = makeData({ type, length: count, nullCount: 0, child: floats })
  const ids = makeData({ type: new Int32(), data: Int32Array.from({ length: count }, (_, i) => i) })
  const schema = new Schema([new Field('id', new Int32(), false), new Field('vector', type, true)])
  const children = [ids, vectors]
  const struct = makeData({ type: new Struct(schema.fields), length: count, nullCount: 0, children })
  return new Table(schema, [new RecordBatch(schema, struct)])
}
