/**
 * Compares the smallest commits, one at a time, and the cost of a table with many versions. All engines get the same
 * changes.
 */
import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { race } from '../../dist/bench/harness.js'
import { syncs } from '../sync-meter.mjs'
import { agree } from './checks.mjs'
import { able } from './packages.mjs'
import { inScratch } from './scratch.mjs'
import { openDuckdb, openLance, openSqlite } from './stores.mjs'

const durable = { sheaf, 'sqlite, WAL, synchronous FULL': sqlite(true), duckdb }
const lossy = { 'lancedb, not synced': lance, 'sqlite, WAL, not synced': sqlite(false) }

export const bench = {
  name: 'commit',
  question:
    'which engine commits the smallest change fastest, and what does a table with many versions cost? (commits that are not synced may be lost at a power loss; no engine compacts; cpuMs is the CPU time per commit of all threads, syncMs the time in syncs of Sheaf)',
  small: { rounds: 5, versions: [20, 60], times: 3 },
  full: { rounds: 500, versions: [20, 100, 500, 2_000, 10_000], times: 5 },
  async run({ rounds, versions, times }) {
    return [...(await latency(rounds)), ...(await growth(versions, times))]
  },
}

async function opened(makers, folder, engines) {
  const made = []
  for (const [name, make] of Object.entries(await able(makers))) {
    const engine = { name, ...(await make(join(folder, name))) }
    engines.push(engine)
    made.push(engine)
  }
  return made
}

/**
 * Return a contestant that also counts the CPU time of the process and the time in syncs. `figures`: returns their means
 * per run. Syncs of engines with native code cannot be measured.
 */
function counted(name, run) {
  const sums = { runs: 0, cpuMs: 0, syncMs: 0 }
  return {
    name,
    async run() {
      const before = syncs.milliseconds
      const cpu = process.cpuUsage()
      const answer = await run()
      const { user, system } = process.cpuUsage(cpu)
      sums.runs++
      sums.cpuMs += (user + system) / 1000
      sums.syncMs += syncs.milliseconds - before
      return answer
    },
    figures: () => ({
      cpuMs: sums.cpuMs / sums.runs,
      ...(sums.syncMs > 0 && { syncMs: sums.syncMs / sums.runs }),
    }),
  }
}

async function latency(rounds) {
  return inScratch(async (folder, engines) => {
    const synced = await opened(durable, folder, engines)
    const others = await opened(lossy, folder, engines)
    const contest = async (title, way, who, options) => {
      const contestants = who
        .filter(engine => engine[way] !== undefined)
        .map(engine =>
          counted(engine.name, async () => {
            await engine[way]()
            return title
          }),
        )
      const result = await race({ title, contestants, rounds, distribution: true, ...options })
      const entries = result.entries.map((entry, i) => ({ ...entry, figures: contestants[i].figures() }))
      return { ...result, entries }
    }
    const limit = syncing(join(folder, 'bytes'))
    engines.push(limit)
    const results = [
      await contest('a row appended, on disk when it answers', 'append', [...synced, limit], {
        limit: limit.name,
      }),
      await contest('a row appended, beside those that do not sync', 'append', [synced[0], ...others]),
      await contest('a tag moved (sqlite, duckdb: a row updated), on disk when it answers', 'move', synced),
      await contest('a tag moved (sqlite: a row updated), beside those that do not sync', 'move', [
        synced[0],
        ...others,
      ]),
    ]
    // By now V8 has not compiled much of the code of Sheaf. Compare once more when it has.
    for (const { append } of synced) for (let i = 0; i < 10 * rounds; i++) await append()
    results.push(
      await contest(`a row appended, on disk, after ${10 * rounds} appends`, 'append', [...synced, limit], {
        limit: limit.name,
      }),
    )
    for (const { name, count, appended } of [...synced, ...others])
      agree('rows appended', name, await count(), appended())
    return results
  })
}

/**
 * Return a contestant that does the minimum work of a durable commit: it appends bytes to a file and syncs the file.
 */
function syncing(path) {
  const file = openSync(path, 'a')
  const bytes = new Uint8Array(128)
  return {
    name: '128 bytes appended to a file, synced',
    append() {
      writeSync(file, bytes)
      fdatasyncSync(file)
    },
    close: () => closeSync(file),
  }
}

/**
 * Let tables grow by appends of one row. At each number in `versions`, measure how long it takes to open the table, to
 * list its versions, and to change one row.
 */
async function growth(versions, times) {
  return inScratch(async (folder, engines) => {
    const makers = { sheaf, 'lancedb, not synced': lance, 'sqlite, WAL, synchronous FULL': sqlite(true) }
    const grown = await opened(makers, folder, engines)
    const works = {
      open: 'opening it and counting its rows',
      list: 'listing its versions',
      update: 'update of one row',
      remove: 'delete of one row',
    }
    const results = []
    for (const wanted of versions) {
      for (const engine of grown) while (engine.appended() < wanted) await engine.append()
      for (const [way, title] of Object.entries(works)) {
        const contestants = grown
          .filter(engine => engine[way] !== undefined)
          .map(engine => ({
            name: engine.name,
            async run() {
              const listed = await engine[way]()
              if (way === 'list' && listed < wanted)
                throw new Error(`${engine.name} lists ${listed} versions of ${wanted}`)
              return way
            },
          }))
        // Measure lists less often, because some engines need a minute for a list of many versions.
        const often = way === 'list' ? { rounds: 2, warmups: 0 } : { rounds: times, warmups: 1 }
        const result = await race({ title: `${title}, ${wanted} versions`, contestants, ...often })
        results.push({ way, wanted, result })
      }
      const left = await grown[0].count()
      for (const { name, count } of grown) agree(`rows left of ${wanted}`, name, await count(), left)
    }
    return results.map(({ way, wanted, result }) =>
      wanted === versions.at(-1)
        ? { ...result, lines: linesOf(results.filter(each => each.way === way)) }
        : result,
    )
  })
}

function linesOf(stops) {
  return {
    x: { name: 'versions', logarithmic: true },
    y: { name: 'ms', logarithmic: true },
    lines: stops[0].result.entries.map(({ name }, who) => ({
      name,
      points: stops.map(({ wanted, result }) => [wanted, result.entries[who].milliseconds.p50]),
    })),
  }
}

async function sheaf(path) {
  // Loaded after the meter of syncs, which replaces functions of `node:fs`.
  const { connect } = await import('../../dist/src/index.js')
  const options = { maintenance: { compact: false } }
  const ns = await connect(path, options)
  const table = await ns.createTable('t', [{ id: 0, name: 'first' }])
  await table.add([{ id: 1, name: 'second' }])
  const { operations } = ns
  await operations.createTableTag({ id: ['t'], tag: 'prod', version: 1 })
  let [moves, rows, removed] = [0, 2, 0]
  return {
    move: () => operations.updateTableTag({ id: ['t'], tag: 'prod', version: 1 + (moves++ % 2) }),
    append: () => table.add([{ id: rows++, name: 'another' }]),
    update: () => table.update({ name: `changed ${moves++}` }, `id = ${rows - 1}`),
    remove: () => table.delete(`id = ${removed++}`),
    list: async () => (await table.versions()).length,
    async open() {
      const again = await connect(path, options)
      await (await again.openTable('t')).countRows()
      await again.close()
    },
    appended: () => rows,
    count: () => table.countRows(),
    close: () => ns.close(),
  }
}

async function lance(path) {
  const { lancedb, db } = await openLance(path)
  const table = await db.createTable('t', [{ id: 0, name: 'first' }])
  await table.add([{ id: 1, name: 'second' }])
  const tags = await table.tags()
  await tags.create('prod', 1)
  let [moves, rows, removed] = [0, 2, 0]
  return {
    move: () => tags.update('prod', 1 + (moves++ % 2)),
    append: () => table.add([{ id: rows++, name: 'another' }]),
    update: () => table.update({ where: `id = ${rows - 1}`, values: { name: `changed ${moves++}` } }),
    remove: () => table.delete(`id = ${removed++}`),
    list: async () => (await table.listVersions()).length,
    async open() {
      const again = await lancedb.connect(path)
      await (await again.openTable('t')).countRows()
      again.close()
    },
    appended: () => rows,
    count: () => table.countRows(),
    close: () => db.close(),
  }
}

/** Return a maker for SQLite. It has no versions, so the table just gets the same number of commits. */
function sqlite(isSynced) {
  return async path => {
    const file = `${path}.db`
    const db = await openSqlite(file, { isSynced })
    db.exec(
      'CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT); CREATE TABLE tags (name TEXT PRIMARY KEY, version INTEGER)',
    )
    db.exec("INSERT INTO t VALUES (0, 'first'), (1, 'second'); INSERT INTO tags VALUES ('prod', 1)")
    const move = db.prepare("UPDATE tags SET version = ? WHERE name = 'prod'")
    const append = db.prepare('INSERT INTO t VALUES (?, ?)')
    const update = db.prepare('UPDATE t SET name = ? WHERE id = ?')
    const remove = db.prepare('DELETE FROM t WHERE id = ?')
    const count = db.prepare('SELECT count(*) FROM t').pluck()
    let [moves, rows, removed] = [0, 2, 0]
    return {
      move: () => move.run(1 + (moves++ % 2)),
      append: () => append.run(rows++, 'another'),
      // Use another text each time, because an unchanged row would not be written.
      update: () => update.run(`changed ${moves++}`, rows - 1),
      remove: () => remove.run(removed++),
      async open() {
        const again = await openSqlite(file, { isSynced })
        again.prepare('SELECT count(*) FROM t').pluck().get()
        again.close()
      },
      appended: () => rows,
      count: () => count.get(),
      close: () => db.close(),
    }
  }
}

async function duckdb(path) {
  const { connection, ask, close } = await openDuckdb(`${path}.duck`)
  await connection.run('CREATE TABLE t (id BIGINT, name VARCHAR)')
  await connection.run('CREATE TABLE tags (name VARCHAR, version BIGINT)')
  await connection.run("INSERT INTO t VALUES (0, 'first'), (1, 'second')")
  await connection.run("INSERT INTO tags VALUES ('prod', 1)")
  const move = await connection.prepare("UPDATE tags SET version = $1 WHERE name = 'prod'")
  const append = await connection.prepare("INSERT INTO t VALUES ($1, 'another')")
  const run = (statement, value) => {
    statement.bindInteger(1, value)
    return statement.run()
  }
  let [moves, rows] = [0, 2]
  return {
    move: () => run(move, 1 + (moves++ % 2)),
    append: () => run(append, rows++),
    appended: () => rows,
    count: async () => Number((await ask('SELECT count(*) FROM t'))[0][0]),
    close,
  }
}
