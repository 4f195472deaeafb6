/** Opening those engines that keep files, the same way for every task: on one thread where they let us say so. */

/**
 * `isSynced`: whether what it answered is on disk (a write-ahead log synced at every commit: Sheaf's own promise) or may be lost with
 * the power. `hasVectors`: with sqlite-vec.
 */
export async function openSqlite(path, { isSynced = true, hasVectors = false } = {}) {
  const { default: Sqlite } = await import('better-sqlite3')
  const db = new Sqlite(path)
  db.pragma('journal_mode = WAL')
  db.pragma(`synchronous = ${isSynced ? 'FULL' : 'NORMAL'}`)
  if (hasVectors) (await import('sqlite-vec')).load(db)
  return db
}

/** Commits are on disk when it answers. Gives its connection, `ask` for all rows of a query, and `close`. */
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
 * Appends `count` rows to a table of DuckDB, a chunk of 2048 at a time. `write(i, vector, first, length)` writes rows `first` to
 * `first + length` of column `i` into a vector: values one by one by `setItem`, or at once where the vector is an array of numbers.
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
