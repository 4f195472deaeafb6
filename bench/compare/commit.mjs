/** The smallest commits, one by one: one function per engine, the same change for all. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as lancedb from '@lancedb/lancedb'
import Sqlite from 'better-sqlite3'
import { race } from '../../dist/bench/harness.js'
import { connect } from '../../dist/src/index.js'

export const bench = {
  name: 'commit',
  question:
    'who commits the smallest change sooner? (lancedb syncs nothing to disk: what it answered may be lost with the power)',
  small: { rounds: 5 },
  full: { rounds: 300 },
  async run({ rounds }) {
    const folder = mkdtempSync(join(tmpdir(), 'sheaf-bench-'))
    const engines = [
      await sheaf(join(folder, 'sheaf')),
      await lance(join(folder, 'lance')),
      sqlite(join(folder, 'sqlite.db')),
    ]
    const contestants = work => engines.map(engine => ({ name: engine.name, run: engine[work] }))
    try {
      return [
        await race({
          title: 'a tag moved (sqlite: a row updated)',
          contestants: contestants('move'),
          rounds,
        }),
        await race({ title: 'a row appended', contestants: contestants('append'), rounds }),
      ]
    } finally {
      for (const engine of engines) await engine.close()
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

async function sheaf(path) {
  const ns = await connect(path)
  const table = await ns.createTable('t', [{ id: 0, name: 'first' }])
  await table.add([{ id: 1, name: 'second' }])
  const { operations } = ns
  await operations.createTableTag({ id: ['t'], tag: 'prod', version: 1 })
  let moves = 0
  let rows = 2
  return {
    name: 'sheaf',
    async move() {
      await operations.updateTableTag({ id: ['t'], tag: 'prod', version: 1 + (moves++ % 2) })
      return 'done'
    },
    async append() {
      await table.add([{ id: rows++, name: 'another' }])
      return 'done'
    },
    close: () => ns.close(),
  }
}

async function lance(path) {
  const db = await lancedb.connect(path)
  const table = await db.createTable('t', [{ id: 0, name: 'first' }])
  await table.add([{ id: 1, name: 'second' }])
  const tags = await table.tags()
  await tags.create('prod', 1)
  let moves = 0
  let rows = 2
  return {
    name: 'lancedb, no sync',
    async move() {
      await tags.update('prod', 1 + (moves++ % 2))
      return 'done'
    },
    async append() {
      await table.add([{ id: rows++, name: 'another' }])
      return 'done'
    },
    close: () => db.close(),
  }
}

/** With a write-ahead log that is synced at every commit: the same promise as Sheaf's. */
function sqlite(path) {
  const db = new Sqlite(path)
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = FULL')
  db.exec(
    'create table t (id integer, name text); create table tags (name text primary key, version integer)',
  )
  db.exec("insert into t values (0, 'first'), (1, 'second'); insert into tags values ('prod', 1)")
  const update = db.prepare("update tags set version = ? where name = 'prod'")
  const insert = db.prepare('insert into t values (?, ?)')
  let moves = 0
  let rows = 2
  return {
    name: 'sqlite, WAL, synchronous FULL',
    move() {
      update.run(1 + (moves++ % 2))
      return 'done'
    },
    append() {
      insert.run(rows++, 'another')
      return 'done'
    },
    close: () => db.close(),
  }
}
