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
