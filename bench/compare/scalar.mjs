/** Few rows of many by an indexed key, a count by small indexes, changes by key: one function per engine, the same rows. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as lancedb from '@lancedb/lancedb'
import { tableFromIPC } from 'apache-arrow'
import Sqlite from 'better-sqlite3'
import { race } from '../../dist/bench/harness.js'
import { countTasks, encodePieces, fillTable, makePieces } from '../../dist/bench/query-sql.js'
import { connect } from '../../dist/src/index.js'

export const bench = {
  name: 'scalar',
  question:
    'who finds few rows of many by a key sooner, and who changes them? (sqlite: synchronous calls in the process, full durability; lancedb syncs nothing to disk)',
  small: { rows: 20_000, countedRows: 20_000, merged: 100, rounds: 3 },
  full: { rows: 1_000_000, countedRows: 5_000_000, merged: 10_000, rounds: 25 },
  async run({ rows, countedRows, merged, rounds }) {
    const folder = mkdtempSync(join(tmpdir(), 'sheaf-bench-'))
    const engines = [
      await sheaf(join(folder, 'sheaf'), rows),
      await lance(join(folder, 'lance'), rows),
      sqlite(join(folder, 'sqlite.db'), rows),
    ]
    const contest = (title, run, times = rounds) =>
      race({
        title,
        contestants: engines.map(engine => ({ name: engine.name, run: run(engine) })),
        rounds: times,
      })
    try {
      const pick = i => (i * 7919) % rows
      return [
        await contest(`100 x one row of ${rows} by its key`, ({ one }) => {
          let i = 0
          return async () => {
            let found = 0
            for (let n = 0; n < 100; n++) found += (await one(pick(i++))).length
            return found
          }
        }),
        await contest(`100 rows of ${rows} by their keys`, ({ hundred }) => {
          let i = 0
          return async () => (await hundred(Array.from({ length: 100 }, () => pick(i++)))).length
        }),
        await contest(`update of one row of ${rows} by its key`, ({ update }) => {
          let i = 0
          return async () => Number(await update(pick(i++)))
        }),
        await contest(`delete of one row of ${rows} by its key`, ({ remove }) => {
          let i = 0
          return async () => {
            await remove(pick(500_000 + i++))
            return true
          }
        }),
        await contest(
          `merge of ${merged} rows into ${rows}, half of them new`,
          ({ merge }) => {
            let i = 0
            return async () => {
              const round = i++
              await merge(
                Array.from({ length: merged }, (_, k) => {
                  const id = k % 2 === 0 ? rows * (round + 1) + k : (k * 7919 + round) % rows
                  return { id, text: `merged ${round}` }
                }),
              )
              return true
            }
          },
          Math.max(2, Math.floor(rounds / 5)),
        ),
        ...(await counts(folder, countedRows, rounds)),
      ]
    } finally {
      for (const engine of engines) await engine.close()
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

const textOf = id => `the text of the row that has the id ${id}`

function* batches(rows) {
  for (let first = 0; first < rows; first += 100_000) {
    yield Array.from({ length: Math.min(100_000, rows - first) }, (_, i) => ({
      id: first + i,
      text: textOf(first + i),
    }))
  }
}

async function sheaf(path, rows) {
  const ns = await connect(path)
  let table = null
  for (const batch of batches(rows)) {
    if (table === null) table = await ns.createTable('t', batch)
    else await table.add(batch)
  }
  await table.createIndex('id', { type: 'BTREE' })
  await table.waitForIndex(['id_idx'])
  return {
    name: 'sheaf',
    one: id => table.search().where('id = ?', [id]).toArray(),
    hundred: ids => table.search().where(`id IN (${ids.join()})`).toArray(),
    update: async id => (await table.update({ text: 'changed' }, 'id = ?', [id])).rows,
    remove: id => table.delete('id = ?', [id]),
    merge: source => table.mergeInsert('id').whenMatchedUpdateAll().whenNotMatchedInsertAll().execute(source),
    close: () => ns.close(),
  }
}

async function lance(path, rows) {
  const db = await lancedb.connect(path)
  let table = null
  for (const batch of batches(rows)) {
    if (table === null) table = await db.createTable('t', batch)
    else await table.add(batch)
  }
  await table.createIndex('id', { config: lancedb.Index.btree() })
  return {
    name: 'lancedb, no sync',
    one: id => table.query().where(`id = ${id}`).toArray(),
    hundred: ids => table.query().where(`id IN (${ids.join()})`).toArray(),
    update: async id =>
      (await table.update({ where: `id = ${id}`, values: { text: 'changed' } })).rowsUpdated,
    remove: id => table.delete(`id = ${id}`),
    merge: source => table.mergeInsert('id').whenMatchedUpdateAll().whenNotMatchedInsertAll().execute(source),
    close: () => db.close(),
  }
}

function sqlite(path, rows) {
  const db = new Sqlite(path)
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = FULL')
  db.exec('CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT)')
  const insert = db.prepare('INSERT INTO t VALUES (?, ?)')
  db.transaction(() => {
    for (let id = 0; id < rows; id++) insert.run(id, textOf(id))
  })()
  const one = db.prepare('SELECT * FROM t WHERE id = ?')
  const update = db.prepare("UPDATE t SET text = 'changed' WHERE id = ?")
  const remove = db.prepare('DELETE FROM t WHERE id = ?')
  const upsert = db.prepare('INSERT INTO t VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET text = excluded.text')
  const merge = db.transaction(source => {
    for (const { id, text } of source) upsert.run(id, text)
  })
  return {
    name: 'sqlite',
    one: id => one.all(id),
    hundred: ids => db.prepare(`SELECT * FROM t WHERE id IN (${ids.join()})`).all(),
    update: id => update.run(id).changes,
    remove: id => remove.run(id),
    merge,
    close: () => db.close(),
  }
}

/** The first of the filters of the bench of SQL, with an index that says whole sets of rows on each small column. */
async function counts(folder, rows, rounds) {
  const pieces = makePieces(rows, 1)
  const { filter } = countTasks(rows)[0]
  const ns = await connect(join(folder, 'sheaf-counts'))
  const ours = await fillTable(ns, pieces)
  const db = await lancedb.connect(join(folder, 'lance-counts'))
  const theirs = await db.createTable('t', tableFromIPC(encodePieces(pieces)))
  for (const column of ['cat', 'flag']) {
    await ours.createIndex(column, { type: 'BITMAP' })
    await theirs.createIndex(column, { config: lancedb.Index.bitmap() })
  }
  await ours.waitForIndex(['cat_idx', 'flag_idx'])
  const contestants = [
    { name: 'sheaf', run: () => ours.countRows(filter) },
    { name: 'lancedb', run: () => theirs.countRows(filter) },
  ]
  const counted = await race({
    title: `${filter}: count of ${rows} rows with BITMAPs on cat and flag`,
    contestants,
    rounds,
  })
  const build = (name, work) => ({ name, run: work })
  const built = await race({
    title: `building a BTREE over ${rows} float64`,
    contestants: [
      build('sheaf', async () => {
        await ours.createIndex('x', { type: 'BTREE' })
        await ours.waitForIndex(['x_idx'])
        return true
      }),
      build('lancedb', async () => {
        await theirs.createIndex('x', { config: lancedb.Index.btree() })
        return true
      }),
    ],
    rounds: 3,
  })
  await ns.close()
  db.close()
  return [counted, built]
}
