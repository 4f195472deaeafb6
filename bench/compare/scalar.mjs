/**
 * Compares lookups of a few rows by an indexed key, a count with bitmap indexes, and changes by key. There is one
 * function per engine, and all engines get the same rows.
 */
import { join } from 'node:path'
import { tableFromIPC } from 'apache-arrow'
import { race } from '../../dist/bench/harness.js'
import { countTasks, encodePieces, fillTable, loop, makePieces } from '../../dist/bench/query-sql.js'
import { connect } from '../../dist/src/index.js'
import { agree, agreed } from './checks.mjs'
import { made } from './made.mjs'
import { able } from './packages.mjs'
import { inScratch } from './scratch.mjs'
import { openLance, openSqlite } from './stores.mjs'

export const bench = {
  name: 'scalar',
  question:
    'which engine finds a few rows by a key fastest, and which changes them fastest? (calls of sqlite are synchronous and fully durable; lancedb does not sync)',
  small: { rows: 20_000, countedRows: 20_000, merged: 100, rounds: 3 },
  full: { rows: 1_000_000, countedRows: 5_000_000, merged: 10_000, rounds: 25 },
  async run({ rows, countedRows, merged, rounds }) {
    return inScratch(async (folder, engines) => {
      const makers = { sheaf, 'lancedb, not synced': lance, sqlite }
      const fills = await made(makers, engines, (make, name) => make(join(folder, name), rows))
      const contest = async (title, run, times = rounds, readers = engines) =>
        agreed(
          await race({
            title,
            contestants: readers.map(engine => ({ name: engine.name, run: run(engine) })),
            rounds: times,
          }),
        )
      const pick = i => (i * 7919) % rows
      // A reader of a snapshot need not check for new commits.
      const readers = engines.flatMap(({ name, one, oneOfSnapshot }) => {
        const own = { name, one }
        return oneOfSnapshot === undefined ? [own] : [own, { name: `${name}, snapshot`, one: oneOfSnapshot }]
      })
      return [
        { title: `${rows} rows in, with a key`, entries: fills },
        await contest(
          `100 x one row of ${rows} by its key`,
          ({ one }) => {
            let i = 0
            return async () => {
              let found = 0
              for (let n = 0; n < 100; n++) found += (await one(pick(i++))).length
              return found
            }
          },
          rounds,
          readers,
        ),
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
        ...(await counts(countedRows, rounds)),
      ]
    })
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
  const byId = table.prepare(query => query.where('id = ?'))
  const snapshot = await ns.snapshot()
  const ofSnapshot = (await snapshot.openTable('t')).prepare(query => query.where('id = ?'))
  return {
    one: id => byId.all([id]),
    oneOfSnapshot: id => ofSnapshot.all([id]),
    hundred: ids => table.query().where(`id IN (${ids.join()})`).toArray(),
    update: async id => (await table.update({ text: 'changed' }, 'id = ?', [id])).rows,
    remove: id => table.delete('id = ?', [id]),
    merge: source => table.mergeInsert('id').whenMatchedUpdateAll().whenNotMatchedInsertAll().execute(source),
    async close() {
      await snapshot.close()
      await ns.close()
    },
  }
}

async function lance(path, rows) {
  const { lancedb, db } = await openLance(path)
  let table = null
  for (const batch of batches(rows)) {
    if (table === null) table = await db.createTable('t', batch)
    else await table.add(batch)
  }
  await table.createIndex('id', { config: lancedb.Index.btree() })
  return {
    one: id => table.query().where(`id = ${id}`).toArray(),
    hundred: ids => table.query().where(`id IN (${ids.join()})`).toArray(),
    update: async id =>
      (await table.update({ where: `id = ${id}`, values: { text: 'changed' } })).rowsUpdated,
    remove: id => table.delete(`id = ${id}`),
    merge: source => table.mergeInsert('id').whenMatchedUpdateAll().whenNotMatchedInsertAll().execute(source),
    close: () => db.close(),
  }
}

async function sqlite(path, rows) {
  const db = await openSqlite(`${path}.db`)
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
    one: id => one.all(id),
    hundred: ids => db.prepare(`SELECT * FROM t WHERE id IN (${ids.join()})`).all(),
    update: id => update.run(id).changes,
    remove: id => remove.run(id),
    merge,
    close: () => db.close(),
  }
}

/** Compare a count with the first filter of the bench `sql`. The small columns have bitmap indexes. */
async function counts(rows, rounds) {
  const pieces = makePieces(rows, 1)
  const [task] = countTasks(rows)
  return inScratch(async (folder, engines) => {
    const makers = { sheaf: sheafCounting, lancedb: lanceCounting }
    for (const [name, make] of Object.entries(await able(makers)))
      engines.push({ name, ...(await make(join(folder, name), pieces)) })
    const title = `${task.filter}: count of ${rows} rows with BITMAPs on cat and flag`
    const plain = loop(task, pieces)
    const counting = engines.map(({ name, count }) => ({ name, run: () => count(task.filter) }))
    const expected = plain.run()
    for (const { name, run } of counting) agree(title, name, await run(), expected)
    return [
      await race({ title, contestants: [...counting, plain], rounds, limit: plain.name }),
      await race({
        title: `building a BTREE over ${rows} float64`,
        contestants: engines.map(({ name, build }) => ({
          name,
          async run() {
            await build()
            return true
          },
        })),
        rounds: 3,
      }),
    ]
  })
}

async function sheafCounting(path, pieces) {
  const ns = await connect(path)
  const table = await fillTable(ns, pieces)
  const build = async (column, type) => {
    await table.createIndex(column, { type })
    await table.waitForIndex([`${column}_idx`])
  }
  for (const column of ['cat', 'flag']) await build(column, 'BITMAP')
  return {
    count: filter => table.countRows(filter),
    build: () => build('x', 'BTREE'),
    close: () => ns.close(),
  }
}

async function lanceCounting(path, pieces) {
  const { lancedb, db } = await openLance(path)
  const table = await db.createTable('t', tableFromIPC(encodePieces(pieces)))
  for (const column of ['cat', 'flag']) await table.createIndex(column, { config: lancedb.Index.bitmap() })
  return {
    count: filter => table.countRows(filter),
    build: () => table.createIndex('x', { config: lancedb.Index.btree() }),
    close: () => db.close(),
  }
}
