/**
 * Compares SQL filters over the same rows in warm processes. There is one function per engine, and the SQL is the same
 * where the engine supports it.
 */
import { join } from 'node:path'
import { tableFromIPC } from 'apache-arrow'
import { race } from '../../dist/bench/harness.js'
import { countTasks, encodePieces, fillTable, loop, makePieces } from '../../dist/bench/query-sql.js'
import { connect } from '../../dist/src/index.js'
import { agree } from './checks.mjs'
import { made } from './made.mjs'
import { inScratch } from './scratch.mjs'
import { fillDuckdb, openDuckdb, openLance, openSqlite } from './stores.mjs'

export const bench = {
  name: 'sql',
  question:
    'which engine counts the rows that match a SQL filter fastest? (duckdb uses one thread, lancedb may use other threads; no indexes; alasql has objects in memory, and fewer rounds)',
  small: { rows: 20_000, rounds: 5 },
  full: { rows: 5_000_000, rounds: 25 },
  async run({ rows, rounds }) {
    const pieces = makePieces(rows, 1)
    return inScratch(async (folder, engines) => {
      const makers = { sheaf, duckdb, lancedb: lance, sqlite, alasql }
      await made(makers, engines, (make, name) => make(join(folder, name), pieces))
      const results = []
      for (const task of countTasks(rows)) {
        const title = `${task.filter}: count of ${rows} rows`
        const plain = loop(task, pieces)
        const counts = engines.map(({ name, count }) => ({ name, run: () => count(task.filter) }))
        const expected = plain.run()
        for (const { name, run } of counts) agree(title, name, await run(), expected)
        const isSlow = ({ name }) => name === 'alasql'
        const contestants = [...counts.filter(each => !isSlow(each)), plain]
        results.push(await race({ title, contestants, rounds, limit: plain.name }))
        const slow = counts.filter(isSlow)
        if (slow.length === 0) continue
        results.push(
          await race({
            title: `${title}, beside objects in memory`,
            contestants: [counts[0], ...slow],
            rounds: Math.ceil(rounds / 8),
            warmups: 1,
          }),
        )
      }
      return results
    })
  },
}

async function sheaf(path, pieces) {
  const ns = await connect(path)
  const table = await fillTable(ns, pieces)
  return { count: filter => table.countRows(filter), close: () => ns.close() }
}

async function duckdb(path, pieces) {
  const { BIGINT, BOOLEAN, DOUBLE, TIMESTAMP, VARCHAR } = await import('@duckdb/node-api')
  const duck = await openDuckdb(`${path}.duck`)
  await duck.connection.run('CREATE TABLE t (id BIGINT, x DOUBLE, cat VARCHAR, flag BOOLEAN, ts TIMESTAMP)')
  for (const { rows, id, x, cat, flag, ts } of pieces) {
    const write = (i, vector, first, length) => {
      if (i === 0) vector.items.set(id.subarray(first, first + length))
      if (i === 1) vector.items.set(x.subarray(first, first + length))
      if (i === 2) for (let n = 0; n < length; n++) vector.setItem(n, wordAt(cat, first + n))
      if (i === 3) for (let n = 0; n < length; n++) vector.setItem(n, isSet(flag, first + n))
      if (i === 4) vector.items.set(ts.subarray(first, first + length))
    }
    await fillDuckdb(duck, 't', [BIGINT, DOUBLE, VARCHAR, BOOLEAN, TIMESTAMP], rows, write)
  }
  await duck.connection.run('CHECKPOINT')
  return {
    count: async filter => Number((await duck.ask(`SELECT count(*) FROM t WHERE ${filter}`))[0][0]),
    close: duck.close,
  }
}

async function lance(path, pieces) {
  const { db } = await openLance(path)
  const table = await db.createTable('t', tableFromIPC(encodePieces(pieces)))
  return { count: filter => table.countRows(filter), close: () => db.close() }
}

/** Replace times in a filter by microseconds, because these engines store times as numbers. */
const withNumbers = filter =>
  filter.replace(/timestamp '([^']+)'/g, (_, time) => String(1000 * Date.parse(`${time.replace(' ', 'T')}Z`)))

async function sqlite(path, pieces) {
  const db = await openSqlite(`${path}.db`, { isSynced: false })
  db.exec('CREATE TABLE t (id INTEGER, x REAL, cat TEXT, flag INTEGER, ts INTEGER)')
  const insert = db.prepare('INSERT INTO t VALUES (?, ?, ?, ?, ?)')
  db.transaction(() => {
    for (const { rows, id, x, cat, flag, ts } of pieces)
      for (let i = 0; i < rows; i++) insert.run(id[i], x[i], wordAt(cat, i), isSet(flag, i) ? 1 : 0, ts[i])
  })()
  return {
    count: filter =>
      db
        .prepare(`SELECT count(*) FROM t WHERE ${withNumbers(filter)}`)
        .pluck()
        .get(),
    close: () => db.close(),
  }
}

async function alasql(_, pieces) {
  const { default: alasql } = await import('alasql')
  const all = pieces.flatMap(({ rows, id, x, cat, flag, ts }) =>
    Array.from({ length: rows }, (_, i) => ({
      id: Number(id[i]),
      x: x[i],
      cat: wordAt(cat, i),
      flag: isSet(flag, i),
      ts: Number(ts[i]),
    })),
  )
  return {
    // alasql does not accept a boolean column as a condition, so compare it with true.
    count: filter =>
      alasql(`SELECT count(*) AS n FROM ? WHERE ${withNumbers(filter).replace(/flag$/, 'flag = true')}`, [
        all,
      ])[0].n,
    close() {},
  }
}

const isSet = (bits, i) => ((bits[i >>> 3] >>> (i & 7)) & 1) === 1

/** The words by their bytes. There are only a hundred different words, so create each string once. */
const words = new Map()
function wordAt({ bytes, offsets }, i) {
  const [first, end] = [offsets[i], offsets[i + 1]]
  let key = 0
  for (let at = first; at < end; at++) key = key * 256 + bytes[at]
  const known = words.get(key)
  if (known !== undefined) return known
  const word = Buffer.from(bytes.subarray(first, end)).toString('latin1')
  words.set(key, word)
  return word
}
