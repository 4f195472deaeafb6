/**
 * Vector search engines with a common interface. A maker gets vectors, its own path, and a metric (default `l2`). It
 * returns an engine with:
 *
 * - `efforts`: the efforts of a search, the smallest one first. An exact engine has one effort.
 * - `search(query, effort, share)`: returns the numbers of the nearest rows, among all rows or among the rows whose
 *   number in `sharesOf` is less than `share`.
 */
import {
  Field,
  FixedSizeList,
  Float32,
  Float64,
  Int32,
  makeData,
  RecordBatch,
  Schema,
  Struct,
  Table,
} from 'apache-arrow'
import { sharesOf, vectorTable } from '../../dist/bench/query-vector.js'
import { connect } from '../../dist/src/index.js'
import {
  createZvec,
  fillDuckdb,
  fillPglite,
  fillZvec,
  openDuckdb,
  openLance,
  openPglite,
  openSqlite,
  pgvectorText,
} from './stores.mjs'

/** The efforts of graphs: the number of candidates. */
const efs = [10, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024]
/** The efforts of partitioned indexes: the number of partitions that are searched. */
const probes = [1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256]
/** The only effort of an exact engine. */
const one = ['exact']

/** Return a maker for Sheaf. `type`: the index type; null for no index, so that searches are exact. */
export function sheaf({ type = 'IVF_HNSW_SQ', buildThreads = 1 } = {}) {
  return async (data, folder, metric = 'l2') => {
    const ns = await connect(folder, { buildThreads, maintenance: { compact: false } })
    const table = await vectorTable(ns, data)
    const isGraph = type?.startsWith('IVF_HNSW')
    if (type !== null) await table.createIndex('vector', { type, waitTimeoutMs: 3_600_000 })
    return {
      efforts: type === null ? one : isGraph ? efs : probes,
      async search(query, effort, share = 1) {
        let asked = table.search(query).distanceType(metric).select(['id']).limit(10)
        if (share < 1) asked = asked.where('share < ?', [share])
        if (type !== null) asked = isGraph ? asked.ef(effort) : asked.nprobes(effort)
        return (await asked.toArray()).map(row => row.id)
      },
      close: () => ns.close(),
    }
  }
}

function rowsOf({ dim, rows }) {
  return Array.from({ length: rows.length / dim }, (_, i) => rows.subarray(i * dim, (i + 1) * dim))
}

export async function hnswlib(data, path) {
  const { HierarchicalNSW } = (await import('hnswlib-node')).default
  const index = new HierarchicalNSW('l2', data.dim)
  const rows = rowsOf(data)
  index.initIndex(rows.length, 16, 200)
  for (const [i, row] of rows.entries()) index.addPoint(Array.from(row), i)
  index.writeIndexSync(`${path}.hnsw`)
  const shares = sharesOf(rows.length)
  return {
    efforts: efs,
    search(query, ef, share = 1) {
      index.setEf(ef)
      const filter = share < 1 ? row => shares[row] < share : undefined
      return index.searchKnn(Array.from(query), 10, filter).neighbors
    },
    close() {},
  }
}

/**
 * Make an engine with usearch. The effort of an index is fixed when it is created. So a new index is loaded from a file
 * for each effort. Does not support filters.
 */
export async function usearch(data, path) {
  const { Index, MetricKind, ScalarKind } = await import('usearch')
  const options = ef => ({
    metric: MetricKind.L2sq,
    quantization: ScalarKind.F32,
    dimensions: data.dim,
    connectivity: 16,
    expansion_add: 200,
    expansion_search: ef,
  })
  const index = new Index(options(10))
  for (const [i, row] of rowsOf(data).entries()) index.add(BigInt(i), row.slice())
  index.save(`${path}.usearch`)
  let opened = null
  return {
    efforts: efs,
    search(query, ef) {
      if (opened?.ef !== ef) {
        opened = { ef, index: new Index(options(ef)) }
        opened.index.load(`${path}.usearch`)
      }
      return Array.from(opened.index.search(query, 10, 1).keys, Number)
    },
    close() {},
  }
}

/**
 * Return a maker for LanceDB. `kind`: `hnsw` for a graph, `pq` for product codes in `partitions` partitions, or null
 * for no index. `refined`: the refine factor; 0 for none.
 */
export function lance({ kind = 'hnsw', partitions = 1, refined = 0 } = {}) {
  return async (data, folder, metric = 'l2') => {
    const { lancedb, db } = await openLance(folder)
    const table = await db.createTable('vectors', arrowTable(data))
    const config = {
      hnsw: () =>
        lancedb.Index.hnswSq({ distanceType: metric, numPartitions: 1, m: 16, efConstruction: 200 }),
      pq: () =>
        lancedb.Index.ivfPq({ distanceType: metric, numPartitions: partitions, numSubVectors: data.dim / 4 }),
    }[kind]?.()
    if (config !== undefined) await table.createIndex('vector', { config })
    const efforts = { hnsw: efs, pq: probes.filter(count => count <= partitions) }[kind] ?? one
    return {
      efforts,
      async search(query, effort, share = 1) {
        let asked = table.query().nearestTo(query).distanceType(metric).select(['id', '_distance']).limit(10)
        if (share < 1) asked = asked.where(`share < ${share}`)
        if (kind === 'hnsw') asked = asked.ef(Math.max(effort, 10 * refined))
        if (kind === 'pq') asked = asked.nprobes(effort)
        if (refined > 0) asked = asked.refineFactor(refined)
        return Array.from((await asked.toArrow()).getChild('id')?.toArray() ?? [])
      },
      close: () => db.close(),
    }
  }
}

/** Make an engine with sqlite-vec. It is exact and does not support the dot product. */
export async function sqliteVec(data, path, metric = 'l2') {
  const db = await openSqlite(`${path}.db`, { isSynced: false, hasVectors: true })
  const column = `vector float[${data.dim}] distance_metric=${metric}`
  db.exec(`CREATE VIRTUAL TABLE vectors USING vec0 (id INTEGER PRIMARY KEY, share FLOAT, ${column})`)
  const insert = db.prepare('INSERT INTO vectors (id, share, vector) VALUES (?, ?, ?)')
  const rows = rowsOf(data)
  const shares = sharesOf(rows.length)
  db.transaction(() => {
    for (const [i, row] of rows.entries()) insert.run(BigInt(i), shares[i], row)
  })()
  const nearest = 'SELECT id FROM vectors WHERE vector MATCH ? AND k = 10'
  const all = db.prepare(`${nearest} ORDER BY distance`).pluck()
  const some = db.prepare(`${nearest} AND share < ? ORDER BY distance`).pluck()
  return {
    efforts: one,
    search: (query, _, share = 1) => (share < 1 ? some.all(query, share) : all.all(query)),
    close: () => db.close(),
  }
}

const distances = {
  l2: 'array_distance',
  cosine: 'array_cosine_distance',
  dot: 'array_negative_inner_product',
}

/** Make an engine with DuckDB. It is exact. */
export async function duckdb(data, path, metric = 'l2') {
  const { ARRAY, DOUBLE, FLOAT, INTEGER } = await import('@duckdb/node-api')
  const duck = await openDuckdb(`${path}.duck`)
  const { dim, rows } = data
  const shares = sharesOf(rows.length / dim)
  await duck.connection.run(`CREATE TABLE vectors (id INTEGER, share DOUBLE, vector FLOAT[${dim}])`)
  const types = [INTEGER, DOUBLE, ARRAY(FLOAT, dim)]
  await fillDuckdb(duck, 'vectors', types, rows.length / dim, (i, vector, first, length) => {
    if (i === 0) for (let n = 0; n < length; n++) vector.setItem(n, first + n)
    if (i === 1) vector.items.set(shares.subarray(first, first + length))
    if (i === 2) vector.childData.items.set(rows.subarray(first * dim, (first + length) * dim))
  })
  const ask = where =>
    duck.connection.prepare(
      `SELECT id FROM vectors ${where} ORDER BY ${distances[metric]}(vector, $1::FLOAT[${dim}]) LIMIT 10`,
    )
  const { arrayValue } = await import('@duckdb/node-api')
  const all = await ask('')
  const some = await ask('WHERE share < $2')
  return {
    efforts: one,
    async search(query, _, share = 1) {
      const statement = share < 1 ? some : all
      statement.bindArray(1, arrayValue(Array.from(query)), ARRAY(FLOAT, dim))
      if (share < 1) statement.bindDouble(2, share)
      return (await statement.runAndReadAll()).getRows().map(([id]) => id)
    },
    close: duck.close,
  }
}

/** Make an engine with Zvec. It is exact, and measures L2 distances only. */
export async function zvec(data, path) {
  const collection = await createZvec(`${path}.zvec`, data.dim, {})
  const rows = rowsOf(data)
  fillZvec(collection, rows.length, i => ({ id: String(i), vectors: { vector: rows[i] } }))
  return {
    efforts: one,
    search: query =>
      collection.querySync({ fieldName: 'vector', vector: query, topk: 10 }).map(({ id }) => Number(id)),
    close: () => collection.closeSync(),
  }
}

/** Make an engine with PGlite and pgvector. It is exact, and measures L2 distances only. */
export async function pglite(data, path) {
  const db = await openPglite(`${path}.pg`)
  await db.exec(`CREATE EXTENSION vector; CREATE TABLE vectors (id integer, vector vector(${data.dim}))`)
  await fillPglite(
    db,
    'vectors',
    rowsOf(data).map((row, i) => `${i}\t${pgvectorText(row)}\n`),
  )
  const sql = 'SELECT id FROM vectors ORDER BY vector <-> $1 LIMIT 10'
  return {
    efforts: one,
    search: async query => (await db.query(sql, [pgvectorText(query)])).rows.map(({ id }) => id),
    close: () => db.close(),
  }
}

function arrowTable({ dim, rows }) {
  const count = rows.length / dim
  const type = new FixedSizeList(dim, new Field('item', new Float32(), true))
  const floats = makeData({ type: new Float32(), data: rows })
  const vectors = makeData({ type, length: count, nullCount: 0, child: floats })
  const ids = makeData({ type: new Int32(), data: Int32Array.from({ length: count }, (_, i) => i) })
  const shares = makeData({ type: new Float64(), data: sharesOf(count) })
  const schema = new Schema([
    new Field('id', new Int32(), false),
    new Field('share', new Float64(), false),
    new Field('vector', type, true),
  ])
  const children = [ids, shares, vectors]
  const struct = makeData({ type: new Struct(schema.fields), length: count, nullCount: 0, children })
  return new Table(schema, [new RecordBatch(schema, struct)])
}
