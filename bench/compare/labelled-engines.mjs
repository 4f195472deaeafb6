/**
 * Engines for vector search with filters by label, with a common interface. A maker gets labelled vectors
 * (bench/labelled-data.ts), its own path, and a metric. It returns an engine with:
 *
 * - `efforts`: `untuned` for the engine's default, or numbers of candidates of a graph.
 * - `search(query, filter, q, effort)`: returns the numbers of the nearest rows that match `filter` for the query with
 *   the number `q`.
 */
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
import { labelledTable } from '../../dist/bench/labelled-data.js'
import { connect } from '../../dist/src/index.js'
import { openLance } from './stores.mjs'

const efs = [64, 256, 1024]

export async function sheaf(data, folder, metric) {
  const ns = await connect(folder, { buildThreads: 1, maintenance: { compact: false } })
  const table = await labelledTable(ns, 'vectors', data)
  await table.createIndex('vector', { type: 'IVF_HNSW_SQ', distanceType: metric, waitTimeoutMs: 3_600_000 })
  return {
    efforts: ['untuned'],
    async search(query, filter, q) {
      const rows = await table.search(query).where(filter.where(q)).select(['id']).limit(10).toArray()
      return rows.map(({ id }) => id)
    },
    close: () => ns.close(),
  }
}

export async function lancedb(data, folder, metric) {
  const { lancedb, db } = await openLance(folder)
  const table = await db.createTable('vectors', arrowTable(data))
  const config = lancedb.Index.hnswSq({ distanceType: metric, numPartitions: 1, m: 16, efConstruction: 200 })
  await table.createIndex('vector', { config })
  return {
    efforts: ['untuned', ...efs],
    async search(query, filter, q, effort) {
      const asked = table.query().nearestTo(query).distanceType(metric).where(filter.where(q))
      const told = effort === 'untuned' ? asked : asked.ef(effort)
      const found = await told.select(['id', '_distance']).limit(10).toArrow()
      return Array.from(found.getChild('id')?.toArray() ?? [])
    },
    close: () => db.close(),
  }
}

/** Make an engine with hnswlib. It calls a JavaScript function for each row to filter rows. */
export async function hnswlib(data, _, metric) {
  const { HierarchicalNSW } = (await import('hnswlib-node')).default
  const { dim, rows, labels } = data
  const index = new HierarchicalNSW(metric, dim)
  index.initIndex(labels.length, 16, 200)
  for (let row = 0; row < labels.length; row++) {
    index.addPoint(Array.from(rows.subarray(row * dim, (row + 1) * dim)), row)
  }
  return {
    efforts: ['untuned', ...efs],
    search(query, filter, q, effort) {
      index.setEf(effort === 'untuned' ? 10 : effort)
      return index.searchKnn(Array.from(query), 10, row => filter.passes(q, row)).neighbors
    },
    close() {},
  }
}

function arrowTable({ dim, rows, labels }) {
  const count = labels.length
  const type = new FixedSizeList(dim, new Field('item', new Float32(), true))
  const floats = makeData({ type: new Float32(), data: rows })
  const vectors = makeData({ type, length: count, nullCount: 0, child: floats })
  const ids = makeData({ type: new Int32(), data: Int32Array.from({ length: count }, (_, i) => i) })
  const classes = makeData({ type: new Int32(), data: labels })
  const schema = new Schema([
    new Field('id', new Int32(), false),
    new Field('c', new Int32(), false),
    new Field('vector', type, true),
  ])
  const struct = makeData({
    type: new Struct(schema.fields),
    length: count,
    nullCount: 0,
    children: [ids, classes, vectors],
  })
  return new Table(schema, [new RecordBatch(schema, struct)])
}
