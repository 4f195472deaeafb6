/**
 * Tables of many rows {id, text, vector} in engines with tables on disk, with a common interface. A maker gets rows and
 * its own path. It returns an engine that counts, reads and changes rows:
 *
 * - `one`, `hundred` and `offsets` return rows whose vectors are arrays.
 * - `insertOne` inserts a row with a new id.
 * - `tally` returns the number of rows, and the number of rows with the text `changed`.
 *
 * The name of a maker says if its commits are not synced.
 */
import { tableFromIPC } from 'apache-arrow'
import { makeBatches, textOf } from '../../dist/bench/wide-rows.js'
import { concatChunks, encodeIpcStream } from '../../dist/src/arrow/encode-ipc.js'
import { connect } from '../../dist/src/index.js'
import {
  checkZvec,
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

/**
 * Generate rows. They are available as an Arrow table, and one by one: `idAt(row)`, `vectorAt(row)`, and
 * `vectors(first, length)` for consecutive rows of one batch.
 */
export function makeWide(shape) {
  const { schema, batches, pool } = makeBatches(shape)
  const { rows, dim, batchRows, idOf = row => row } = shape
  const vectors = (first, length) => {
    const from = (first * dim) % pool.length
    return pool.subarray(from, from + length * dim)
  }
  return {
    rows,
    dim,
    batchRows,
    idAt: idOf,
    vectorAt: row => vectors(row, 1),
    vectors,
    arrow: tableFromIPC(concatChunks(encodeIpcStream(schema, batches))),
  }
}

/** Return a maker for Sheaf. `hasKey`: whether the ids have an index. In SQLite they always have one. */
export function sheaf({ hasKey = false } = {}) {
  return async (data, path) => {
    const ns = await connect(path)
    const table = await ns.createTable('t', data.arrow)
    if (hasKey) {
      await table.createIndex('id', { type: 'BTREE' })
      await table.waitForIndex(['id_idx'])
    }
    const rows = async asked => (await asked.toArray()).map(({ id, text, vector }) => [id, text, vector])
    const byId = table.prepare(query => query.where('id = ?'))
    return {
      tally: async () => [await table.countRows(), await table.countRows("text = 'changed'")],
      one: async id => (await byId.all([id])).map(({ id, text, vector }) => [id, text, vector]),
      hundred: ids => rows(table.query().where(`id IN (${ids.join()})`)),
      offsets: offsets => rows(table.takeOffsets(offsets)),
      insertOne: (id, vector) => table.add([{ id, text: textOf(id), vector }]),
      updateOne: id => table.update({ text: 'changed' }, 'id = ?', [id]),
      updateMany: i => table.update({ text: 'changed' }, `id % 100 = ${i}`),
      removeOne: id => table.delete(`id = ${id}`),
      removeMany: i => table.delete(`id % 100 = ${i}`),
      merge: ({ arrow }) =>
        table.mergeInsert('id').whenMatchedUpdateAll().whenNotMatchedInsertAll().execute(arrow),
      nearest: async query => (await table.search(query).select(['id']).limit(10).toArray()).length,
      close: () => ns.close(),
    }
  }
}

export function lance({ hasKey = false } = {}) {
  return async (data, path) => {
    const { lancedb, db } = await openLance(path)
    const table = await db.createTable('t', data.arrow)
    if (hasKey) await table.createIndex('id', { config: lancedb.Index.btree() })
    const rows = async asked =>
      (await asked.toArray()).map(({ id, text, vector }) => [id, text, vector.toArray()])
    return {
      tally: async () => [await table.countRows(), await table.countRows("text = 'changed'")],
      one: id => rows(table.query().where(`id = ${id}`)),
      hundred: ids => rows(table.query().where(`id IN (${ids.join()})`)),
      offsets: offsets => rows(table.takeOffsets(offsets)),
      updateOne: id => table.update({ where: `id = ${id}`, values: { text: 'changed' } }),
      updateMany: i => table.update({ where: `id % 100 = ${i}`, values: { text: 'changed' } }),
      removeOne: id => table.delete(`id = ${id}`),
      removeMany: i => table.delete(`id % 100 = ${i}`),
      merge: ({ arrow }) =>
        table.mergeInsert('id').whenMatchedUpdateAll().whenNotMatchedInsertAll().execute(arrow),
      nearest: async query =>
        (await table.query().nearestTo(query).select(['id', '_distance']).limit(10).toArrow()).numRows,
      close: () => db.close(),
    }
  }
}

/** Return a maker for SQLite. Each batch is one transaction. Vectors are stored as blobs. */
export function sqlite({ isSynced = true } = {}) {
  return async (data, path) => {
    const db = await openSqlite(`${path}.db`, { isSynced, hasVectors: true })
    db.exec('CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT, vector BLOB)')
    const insert = db.prepare('INSERT INTO t VALUES (?, ?, ?)')
    const upsert = db.prepare(
      'INSERT INTO t VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET text = excluded.text, vector = excluded.vector',
    )
    const write = db.transaction((statement, { idAt, vectorAt }, first, end) => {
      for (let row = first; row < end; row++) {
        const id = idAt(row)
        statement.run(id, textOf(id), vectorAt(row))
      }
    })
    for (let first = 0; first < data.rows; first += data.batchRows)
      write(insert, data, first, Math.min(data.rows, first + data.batchRows))
    const tally = db.prepare("SELECT count(*), count(*) FILTER (WHERE text = 'changed') FROM t").raw()
    const prepared = new Map()
    const run = (sql, value) => {
      if (!prepared.has(sql)) prepared.set(sql, db.prepare(sql))
      prepared.get(sql).run(value)
    }
    const one = db.prepare('SELECT * FROM t WHERE id = ?')
    const hundred = db.prepare('SELECT * FROM t WHERE id IN (SELECT value FROM json_each(?))')
    const nearest = db.prepare('SELECT id FROM t ORDER BY vec_distance_L2(vector, ?) LIMIT 10')
    const rows = found => found.map(({ id, text, vector }) => [id, text, floatsOf(vector)])
    return {
      tally: () => tally.get(),
      one: id => rows(one.all(id)),
      hundred: ids => rows(hundred.all(JSON.stringify(ids))),
      insertOne: (id, vector) => insert.run(id, textOf(id), vector),
      updateOne: id => run("UPDATE t SET text = 'changed' WHERE id = ?", id),
      updateMany: i => run("UPDATE t SET text = 'changed' WHERE id % 100 = ?", i),
      removeOne: id => run('DELETE FROM t WHERE id = ?', id),
      removeMany: i => run('DELETE FROM t WHERE id % 100 = ?', i),
      merge: source => write(upsert, source, 0, source.rows),
      nearest: query => nearest.all(query).length,
      close: () => db.close(),
    }
  }
}

/** Copy a blob to a new array, because its offset in its buffer may not be a multiple of 4. */
function floatsOf(blob) {
  return new Float32Array(blob.buffer.slice(blob.byteOffset, blob.byteOffset + blob.byteLength))
}

export function duckdb({ hasKey = false } = {}) {
  return async (data, path) => {
    const { ARRAY, BIGINT, FLOAT, VARCHAR, arrayValue } = await import('@duckdb/node-api')
    const duck = await openDuckdb(`${path}.duck`)
    const { ask, connection, close } = duck
    const type = ARRAY(FLOAT, data.dim)
    const columns = key => `(id BIGINT${key ? ' PRIMARY KEY' : ''}, text VARCHAR, vector FLOAT[${data.dim}])`
    const fill = async (table, { rows, idAt, vectorAt }) =>
      fillDuckdb(duck, table, [BIGINT, VARCHAR, type], rows, (i, vector, first, length) => {
        for (let n = 0; n < length; n++) {
          const id = idAt(first + n)
          if (i === 0) vector.setItem(n, BigInt(id))
          if (i === 1) vector.setItem(n, textOf(id))
          if (i === 2) vector.childData.items.set(vectorAt(first + n), n * data.dim)
        }
      })
    await connection.run(`CREATE TABLE t ${columns(hasKey)}`)
    await fill('t', data)
    const rows = async sql => (await ask(sql)).map(([id, text, { items }]) => [Number(id), text, items])
    return {
      tally: async () =>
        (await ask("SELECT count(*), count(*) FILTER (text = 'changed') FROM t"))[0].map(Number),
      one: id => rows(`SELECT * FROM t WHERE id = ${id}`),
      hundred: ids => rows(`SELECT * FROM t WHERE id IN (${ids.join()})`),
      updateOne: id => connection.run(`UPDATE t SET text = 'changed' WHERE id = ${id}`),
      updateMany: i => connection.run(`UPDATE t SET text = 'changed' WHERE id % 100 = ${i}`),
      removeOne: id => connection.run(`DELETE FROM t WHERE id = ${id}`),
      removeMany: i => connection.run(`DELETE FROM t WHERE id % 100 = ${i}`),
      async merge(source) {
        await connection.run(`CREATE TEMP TABLE source ${columns(false)}`)
        await fill('source', source)
        const set = 'text = excluded.text, vector = excluded.vector'
        await connection.run(`INSERT INTO t SELECT * FROM source ON CONFLICT (id) DO UPDATE SET ${set}`)
        await connection.run('DROP TABLE source')
      },
      async nearest(query) {
        const statement = await connection.prepare(
          `SELECT id FROM t ORDER BY array_distance(vector, $1::FLOAT[${data.dim}]) LIMIT 10`,
        )
        statement.bindArray(1, arrayValue(Array.from(query)), type)
        return (await statement.runAndReadAll()).getRows().length
      },
      close,
    }
  }
}

/** Return a maker for PGlite with pgvector. */
export function pglite() {
  return async (data, path) => {
    const db = await openPglite(`${path}.pg`)
    await db.exec('CREATE EXTENSION vector')
    await db.exec(`CREATE TABLE t (id bigint PRIMARY KEY, text text, vector vector(${data.dim}))`)
    for (let first = 0; first < data.rows; first += data.batchRows) {
      const lines = Array.from({ length: Math.min(data.batchRows, data.rows - first) }, (_, i) => {
        const id = data.idAt(first + i)
        return `${id}\t${textOf(id)}\t${pgvectorText(data.vectorAt(first + i))}\n`
      })
      await fillPglite(db, 't', lines)
    }
    // As the server does in the background: statistics for the planner, and a map of the visible rows.
    await db.exec('VACUUM ANALYZE t')
    const changed = "SELECT count(*), count(*) FILTER (WHERE text = 'changed') FROM t"
    return {
      tally: async () => Object.values((await db.query(changed, [], { rowMode: 'array' })).rows[0]),
      one: async id =>
        (await db.query('SELECT * FROM t WHERE id = $1', [id])).rows.map(({ id, text, vector }) => [
          id,
          text,
          Float32Array.from(JSON.parse(vector)),
        ]),
      insertOne: (id, vector) =>
        db.query('INSERT INTO t VALUES ($1, $2, $3)', [id, textOf(id), pgvectorText(vector)]),
      updateOne: id => db.query("UPDATE t SET text = 'changed' WHERE id = $1", [id]),
      close: () => db.close(),
    }
  }
}

/** Return a maker for Zvec. Its ids are texts. */
export function zvec() {
  return async (data, path) => {
    const collection = await createZvec(`${path}.zvec`, data.dim, { text: 'STRING' })
    const document = (id, vector) => ({ id: String(id), fields: { text: textOf(id) }, vectors: { vector } })
    fillZvec(collection, data.rows, row => document(data.idAt(row), data.vectorAt(row)))
    return {
      tally() {
        let changed = 0
        for (const { fields } of collection.iterDocsSync({ includeVector: false }))
          if (fields.text === 'changed') changed++
        return [collection.stats.docCount, changed]
      },
      one: id =>
        Object.values(collection.fetchSync(String(id))).map(({ fields, vectors }) => [
          id,
          fields.text,
          Float32Array.from(vectors.vector),
        ]),
      insertOne: (id, vector) => checkZvec(collection.insertSync(document(id, vector))),
      updateOne: id => checkZvec(collection.updateSync({ id: String(id), fields: { text: 'changed' } })),
      close: () => collection.closeSync(),
    }
  }
}
