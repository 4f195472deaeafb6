/** Opens engines with files in the same way for all comparisons: with one thread if the engine has such an option. */

/**
 * Open SQLite. `isSynced`: whether commits are durable, as in Sheaf (the write-ahead log is synced at every commit);
 * otherwise they may be lost at a power loss. `hasVectors`: whether to load sqlite-vec.
 */
export async function openSqlite(path, { isSynced = true, hasVectors = false } = {}) {
  const { default: Sqlite } = await import('better-sqlite3')
  const db = new Sqlite(path)
  db.pragma('journal_mode = WAL')
  db.pragma(`synchronous = ${isSynced ? 'FULL' : 'NORMAL'}`)
  if (hasVectors) (await import('sqlite-vec')).load(db)
  return db
}

/** Open DuckDB. Commits are durable. Returns the connection, `ask` (returns all rows of a query), and `close`. */
export async function openDuckdb(path) {
  const { DuckDBInstance } = await import('@duckdb/node-api')
  const instance = await DuckDBInstance.create(path)
  const connection = await instance.connect()
  await connection.run('SET threads TO 1')
  return {
    connection,
    ask: async (sql, values) => (await connection.runAndReadAll(sql, values)).getRows(),
    close() {
      connection.closeSync()
      instance.closeSync()
    },
  }
}

/**
 * Append `count` rows to a table of DuckDB, in chunks of 2,048 rows. `write(i, vector, first, length)` writes the rows
 * `first` to `first + length` of column `i` to a vector: one by one with `setItem`, or together if the vector is an
 * array of numbers.
 */
export async function fillDuckdb({ connection }, table, types, count, write) {
  const { DuckDBDataChunk } = await import('@duckdb/node-api')
  const appender = await connection.createAppender(table)
  const chunkRows = 2048
  for (let first = 0; first < count; first += chunkRows) {
    const length = Math.min(chunkRows, count - first)
    const chunk = DuckDBDataChunk.create(types, length)
    for (let i = 0; i < types.length; i++) {
      const vector = chunk.getColumnVector(i)
      write(i, vector, first, length)
      vector.flush()
    }
    appender.appendDataChunk(chunk)
  }
  appender.closeSync()
}

export async function openLance(folder) {
  const lancedb = await import('@lancedb/lancedb')
  return { lancedb, db: await lancedb.connect(folder) }
}

/**
 * Open PGlite with pgvector. PGlite runs PostgreSQL with `fsync = off`, so its commits may be lost at a power loss.
 */
export async function openPglite(folder) {
  const { PGlite } = await import('@electric-sql/pglite')
  const { vector } = await import('@electric-sql/pglite-pgvector')
  return PGlite.create(folder, { extensions: { vector } })
}

/** Return a vector as text, in the form in which pgvector reads and writes it. */
export const pgvectorText = vector => `[${vector.join()}]`

/** Copy rows into a table of PGlite. `lines`: rows in the text format of COPY. */
export async function fillPglite(db, table, lines) {
  await db.query(`COPY ${table} FROM '/dev/blob'`, [], { blob: new Blob(lines) })
}

/**
 * Create a collection of Zvec with vectors of float32 that are searched exactly, by L2. `fields`: names of fields, by
 * their type. Zvec does not sync its write-ahead log, so its writes may be lost at a power loss.
 */
export async function createZvec(folder, dim, fields) {
  const zvec = (await import('@zvec/zvec')).default
  const { ZVecCollectionSchema, ZVecCreateAndOpen, ZVecDataType, ZVecIndexType, ZVecMetricType } = zvec
  zvec.ZVecInitialize({ logLevel: zvec.ZVecLogLevel.ERROR, queryThreads: 1 })
  const schema = new ZVecCollectionSchema({
    name: 'vectors',
    fields: Object.entries(fields).map(([name, type]) => ({ name, dataType: ZVecDataType[type] })),
    vectors: {
      name: 'vector',
      dataType: ZVecDataType.VECTOR_FP32,
      dimension: dim,
      indexParams: { indexType: ZVecIndexType.FLAT, metricType: ZVecMetricType.L2 },
    },
  })
  return ZVecCreateAndOpen(folder, schema)
}

/** Insert `count` documents into a collection of Zvec, in batches. `docAt`: returns a document. */
export function fillZvec(collection, count, docAt) {
  const batchRows = 1000
  for (let first = 0; first < count; first += batchRows) {
    const length = Math.min(batchRows, count - first)
    const all = collection.insertSync(Array.from({ length }, (_, i) => docAt(first + i)))
    checkZvec(all)
  }
  collection.optimizeSync()
}

/** Throw an error if a write of Zvec failed. Zvec returns the state of each document. */
export function checkZvec(states) {
  for (const { ok, message } of [states].flat()) if (!ok) throw new Error(`zvec: ${message}`)
}
