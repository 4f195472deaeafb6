/** Filters over the same rows, warm: one function per engine, the same SQL for all. */
import { createWriteStream, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { DuckDBInstance } from '@duckdb/node-api'
import * as lancedb from '@lancedb/lancedb'
import { tableFromIPC } from 'apache-arrow'
import { race } from '../../dist/bench/harness.js'
import { countTasks, encodePieces, fillTable, loop, makePieces } from '../../dist/bench/query-sql.js'
import { connect } from '../../dist/src/index.js'

export const bench = {
  name: 'sql',
  question:
    'who counts the rows that pass a SQL filter sooner? (duckdb on one thread, lancedb on as many as it likes)',
  small: { rows: 20_000, rounds: 5 },
  full: { rows: 5_000_000, rounds: 25 },
  async run({ rows, rounds }) {
    const pieces = makePieces(rows, 1)
    const folder = mkdtempSync(join(tmpdir(), 'sheaf-bench-'))
    const engines = [
      await sheaf(join(folder, 'sheaf'), pieces),
      await duckdb(folder, pieces),
      await lance(join(folder, 'lance'), pieces),
    ]
    try {
      const results = []
      for (const task of countTasks(rows)) {
        const title = `${task.filter}: count of ${rows} rows`
        const plain = loop(task, pieces)
        const counts = engines.map(({ name, count }) => ({ name, run: () => count(task.filter) }))
        for (const { name, run } of counts) {
          const [answer, expected] = [await run(), plain.run()]
          if (answer !== expected) throw new Error(`${title}: ${name} counts ${answer}, not ${expected}`)
        }
        results.push(await race({ title, contestants: [...counts, plain], rounds }))
      }
      return results
    } finally {
      for (const engine of engines) await engine.close()
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

async function sheaf(path, pieces) {
  const ns = await connect(path)
  const table = await fillTable(ns, pieces)
  return { name: 'sheaf', count: filter => table.countRows(filter), close: () => ns.close() }
}

async function duckdb(folder, pieces) {
  const rows = join(folder, 'rows.csv')
  await pipeline(Readable.from(csvLines(pieces)), createWriteStream(rows))
  const instance = await DuckDBInstance.create(join(folder, 'duck.db'))
  const connection = await instance.connect()
  await connection.run('SET threads TO 1')
  await connection.run('CREATE TABLE t (id BIGINT, x DOUBLE, cat VARCHAR, flag BOOLEAN, ts TIMESTAMP)')
  await connection.run(`COPY t FROM '${rows}' (HEADER false)`)
  await connection.run('CHECKPOINT')
  return {
    name: 'duckdb',
    async count(filter) {
      const reader = await connection.runAndReadAll(`SELECT count(*) FROM t WHERE ${filter}`)
      return Number(reader.getRows()[0][0])
    },
    close() {
      connection.closeSync()
      instance.closeSync()
    },
  }
}

function* csvLines(pieces) {
  for (const { rows, id, x, cat, flag, ts } of pieces) {
    let text = ''
    for (let i = 0; i < rows; i++) {
      const word = Buffer.from(cat.bytes.subarray(cat.offsets[i], cat.offsets[i + 1])).toString('latin1')
      const isSet = ((flag[i >>> 3] >>> (i & 7)) & 1) === 1
      text += `${id[i]},${x[i]},${word},${isSet},${new Date(Number(ts[i] / 1000n)).toISOString().slice(0, 19)}\n`
      if (text.length > 65536 || i === rows - 1) {
        yield text
        text = ''
      }
    }
  }
}

async function lance(path, pieces) {
  const db = await lancedb.connect(path)
  const table = await db.createTable('t', tableFromIPC(encodePieces(pieces)))
  return { name: 'lancedb', count: filter => table.countRows(filter), close: () => db.close() }
}
