/**
 * Runs one kind of work with one engine in a separate process, for `cold` and `memory`. Arguments: the work, the
 * engine, a path, and options as JSON. Prints as JSON the answer, the time, and the maximum memory of the process.
 * Loads only modules that the work needs.
 */
import { peakBytes } from '../peak-bytes.mjs'

const [work, engine, path, json] = process.argv.slice(2)
const options = JSON.parse(json)

/** By engine: search the ten nearest rows in the files that a maker of `ann-engines` wrote. */
const searches = {
  async sheaf(query) {
    const { connect } = await import('../../dist/lib/index.js')
    const ns = await connect(path, { create: false })
    const found = await (await ns.openTable('vectors')).search(query).select(['id']).limit(10).toArray()
    await ns.close()
    return found.map(({ id }) => id)
  },
  async lancedb(query) {
    const { connect } = await import('@lancedb/lancedb')
    const table = await (await connect(path)).openTable('vectors')
    const asked = table.query().nearestTo(query).select(['id', '_distance']).limit(10)
    return Array.from((await asked.toArrow()).getChild('id').toArray())
  },
  async duckdb(query) {
    const { DuckDBInstance } = await import('@duckdb/node-api')
    const connection = await (await DuckDBInstance.create(`${path}.duck`)).connect()
    const vector = `[${query.join()}]::FLOAT[${query.length}]`
    const sql = `SELECT id FROM vectors ORDER BY array_distance(vector, ${vector}) LIMIT 10`
    return (await connection.runAndReadAll(sql)).getRows().map(([id]) => id)
  },
  async 'sqlite-vec'(query) {
    const { default: Sqlite } = await import('better-sqlite3')
    const db = new Sqlite(`${path}.db`, { readonly: true })
    ;(await import('sqlite-vec')).load(db)
    return db
      .prepare('SELECT id FROM vectors WHERE vector MATCH ? AND k = 10 ORDER BY distance')
      .pluck()
      .all(query)
  },
  async hnswlib(query) {
    const { HierarchicalNSW } = (await import('hnswlib-node')).default
    const index = new HierarchicalNSW('l2', query.length)
    index.readIndexSync(`${path}.hnsw`)
    index.setEf(256)
    return index.searchKnn(Array.from(query), 10).neighbors
  },
  async usearch(query) {
    const { Index, MetricKind, ScalarKind } = await import('usearch')
    const index = new Index({
      metric: MetricKind.L2sq,
      quantization: ScalarKind.F32,
      dimensions: query.length,
      connectivity: 16,
      expansion_add: 200,
      expansion_search: 256,
    })
    // Map the file into memory instead of reading it.
    index.view(`${path}.usearch`)
    return Array.from(index.search(query, 10, 1).keys, Number)
  },
  async zvec(query) {
    const { default: zvec } = await import('@zvec/zvec')
    const collection = zvec.ZVecOpen(`${path}.zvec`, { readOnly: true })
    const found = collection.querySync({ fieldName: 'vector', vector: query, topk: 10 })
    collection.closeSync()
    return found.map(({ id }) => Number(id))
  },
  async pglite(query) {
    const { PGlite } = await import('@electric-sql/pglite')
    const { vector } = await import('@electric-sql/pglite-pgvector')
    const db = await PGlite.create(`${path}.pg`, { extensions: { vector } })
    const sql = 'SELECT id FROM vectors ORDER BY vector <-> $1 LIMIT 10'
    const { rows } = await db.query(sql, [`[${query.join()}]`])
    await db.close()
    return rows.map(({ id }) => id)
  },
}

/** By engine: return a function that scans columns of `options.name` and returns the number of rows. */
const scans = {
  async sheaf() {
    const { connect } = await import('../../dist/lib/index.js')
    const { readParquet } = await import('../../dist/lib/files.js')
    const { format, name, columns } = options
    const count = async batches => {
      let rows = 0
      for await (const { numRows } of batches) rows += numRows
      return rows
    }
    if (format === 'parquet') return () => count(readParquet(`${path}/${name}`, { columns }))
    return async () => {
      const ns = await connect(`lance+file://${path}/lance`)
      const rows = await count((await ns.openTable(name)).query().select(columns).batches())
      await ns.close()
      return rows
    }
  },
  async lancedb() {
    const { connect } = await import('@lancedb/lancedb')
    return async () => {
      const table = await (await connect(`${path}/lance`)).openTable(options.name)
      let rows = 0
      for await (const { numRows } of table.query().select(options.columns)) rows += numRows
      return rows
    }
  },
  async duckdb() {
    const { openDuckdb } = await import('./stores.mjs')
    const { connection } = await openDuckdb(':memory:')
    return async () => {
      const result = await connection.stream(
        `SELECT ${options.columns.join()} FROM '${path}/${options.name}'`,
      )
      let rows = 0
      for (;;) {
        const chunk = await result.fetchChunk()
        if (chunk === null || chunk.rowCount === 0) return rows
        rows += chunk.rowCount
      }
    }
  },
}

/** By engine: open the table `options.name`, and return a function that finds the ids of the ten nearest rows. */
const nearest = {
  async sheaf(query) {
    const { connect } = await import('../../dist/lib/index.js')
    const folder = `${path}/${options.place}`
    const ns = await (options.place === 'lance' ? connect(`lance+file://${folder}`) : connect(folder))
    const table = await ns.openTable(options.name)
    return async () => (await table.search(query).select(['id']).limit(10).toArray()).map(({ id }) => id)
  },
  async lancedb(query) {
    const { connect } = await import('@lancedb/lancedb')
    const table = await (await connect(`${path}/${options.place}`)).openTable(options.name)
    const asked = table.query().nearestTo(query).select(['id', '_distance']).limit(10)
    return async () => Array.from((await asked.toArrow()).getChild('id').toArray())
  },
}

const works = {
  /** Run one search. `options.query`: the elements of the query as float32 in native byte order, in base 64. */
  async search() {
    const bytes = Buffer.from(options.query, 'base64')
    return searches[engine](
      new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length)),
    )
  },
  /** Build a text index, in files or in memory. */
  async texts() {
    const { makers } = await import('./text-engines.mjs')
    const { textsOf } = await import('../../dist/bench/text-data.js')
    const { documents } = textsOf(options)
    await makers[engine]?.(documents, path)
    return documents.length
  },
  /** Write a table of rows that are already in memory. */
  async rows() {
    const { duckdb, lance, makeWide, sheaf, sqlite } = await import('./wide.mjs')
    const data = makeWide(options)
    const make = { sheaf, 'sqlite, WAL, synchronous FULL': sqlite, duckdb, 'lancedb, not synced': lance }[
      engine
    ]
    const made = await make?.()(data, path)
    return (await made?.tally())?.[0] ?? data.rows
  },
  /** Scan a table or file several times. The first scan is not counted. */
  async scan() {
    const scan = await scans[engine]()
    const [milliseconds, cpu] = [[], []]
    let rows = 0
    for (let i = 0; i < options.times; i++) {
      const before = process.cpuUsage()
      const started = performance.now()
      rows = await scan()
      milliseconds.push(performance.now() - started)
      cpu.push(millisecondsSince(before))
    }
    return { rows, milliseconds: milliseconds.slice(1), cpu: cpu.slice(1) }
  },
  /** Search the nearest rows several times. The first search is counted apart. */
  async nearest() {
    const bytes = Buffer.from(options.query, 'base64')
    const query = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length))
    const search = await nearest[engine](query)
    const [milliseconds, cpu] = [[], []]
    let found
    for (let i = 0; i < 12; i++) {
      const before = process.cpuUsage()
      const started = performance.now()
      found = (await search()).map(Number)
      milliseconds.push(performance.now() - started)
      cpu.push(millisecondsSince(before))
    }
    return { found, first: milliseconds[0], milliseconds: milliseconds.slice(1), cpu: cpu.slice(1) }
  },
  async nothing() {
    return null
  },
}

function millisecondsSince(before) {
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

const begun = performance.now()
const answer = await works[work]()
const milliseconds = performance.now() - begun
process.stdout.write(JSON.stringify({ answer, milliseconds, peakBytes: peakBytes() }), () => process.exit(0))
