/** Short texts by their words: one function per engine, the same documents and queries for all, one query at a time. */
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as lancedb from '@lancedb/lancedb'
import Sqlite from 'better-sqlite3'
import MiniSearch from 'minisearch'
import { textTable, timedOneByOne } from '../../dist/bench/query-text.js'
import { glosses, textQueries, zipfTexts } from '../../dist/bench/text-data.js'
import { connect } from '../../dist/src/index.js'
import { made } from './made.mjs'

const makers = { sheaf, minisearch, 'sqlite fts5': sqlite, lancedb: lance }
/** Whose answers the others are held against. */
const reference = 'sqlite fts5'

export const bench = {
  name: 'text',
  question:
    'who finds texts by their words sooner? (10 best by BM25; sqlite: synchronous calls in the process; minisearch: no stems, no phrases, and all in memory; lancedb may use other threads)',
  small: { documents: 2000, wordNet: false, queries: 30, rounds: 2 },
  full: { documents: 118_000, wordNet: true, queries: 500, rounds: 5 },
  async run({ documents, wordNet, queries, rounds }) {
    const data = (wordNet ? glosses() : null) ?? zipfTexts(documents)
    const { words3, phrases2 } = textQueries(data, queries)
    const classes = { 'one of three words': words3, 'all of three words': words3, 'two in a row': phrases2 }
    const ways = { 'one of three words': 'or', 'all of three words': 'and', 'two in a row': 'phrase' }
    const folder = mkdtempSync(join(tmpdir(), 'sheaf-bench-'))
    const engines = []
    try {
      const builds = await made(
        makers,
        engines,
        (make, name) => make(data.documents, join(folder, name)),
        async engine => ({ megabytes: (await engine.bytes()) / 1e6 }),
      )
      const results = [{ title: `texts and index, ${data.name}`, entries: builds }]
      for (const [title, queries] of Object.entries(classes)) {
        const way = ways[title]
        const able = engines.filter(engine => engine[way] !== undefined)
        const overlaps = await overlapsOf(able, way, queries)
        const askers = able.map(engine => ({ name: engine.name, queries, ask: engine[way] }))
        const { entries } = await timedOneByOne(`${title}, ${queries.length} queries, k 10`, askers, rounds)
        results.push({
          title: `${title}, ${queries.length} queries, k 10`,
          entries: entries.map((entry, i) => ({
            ...entry,
            figures: { ...entry.figures, overlap: overlaps[i] },
          })),
        })
      }
      return results
    } finally {
      for (const engine of engines) await engine.close()
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

/** Of each engine: which part of the reference's rows it finds, over all queries. Throws where an engine finds next to nothing. */
async function overlapsOf(engines, way, queries) {
  const theirs = engines.find(({ name }) => name === reference)
  const overlaps = []
  for (const engine of engines) {
    let [same, all] = [0, 0]
    for (const query of queries) {
      const expected = new Set(await theirs[way](query))
      all += expected.size
      same += (await engine[way](query)).filter(id => expected.has(id)).length
    }
    if (same < all / 4) throw new Error(`${engine.name} finds ${same} of ${all} rows that ${reference} does`)
    overlaps.push(same / all)
  }
  return overlaps
}

async function sheaf(documents, folder) {
  const ns = await connect(folder, { buildThreads: 1, upkeep: { compact: false } })
  const table = await textTable(ns, 'texts', documents)
  const { name } = await table.createIndex('text', { type: 'FTS', withPosition: true })
  await table.waitForIndex(name)
  const ask = queryOf => async text => {
    const rows = await table.search().fullText(queryOf(text)).select(['id']).limit(10).toArray()
    return rows.map(({ id }) => id)
  }
  return {
    or: ask(text => text),
    and: ask(match => ({ match, operator: 'and' })),
    phrase: ask(phrase => ({ phrase })),
    bytes: () => bytesIn(folder),
    close: () => ns.close(),
  }
}

function minisearch(documents) {
  const index = new MiniSearch({ fields: ['text'] })
  const before = process.memoryUsage().heapUsed
  index.addAll(documents.map((text, id) => ({ id, text })))
  const bytes = process.memoryUsage().heapUsed - before
  const ask = combineWith => text =>
    index
      .search(text, { combineWith })
      .slice(0, 10)
      .map(({ id }) => id)
  return { or: ask('OR'), and: ask('AND'), bytes: () => bytes, close() {} }
}

function sqlite(documents, path) {
  const db = new Sqlite(path)
  db.pragma('journal_mode = WAL')
  db.exec("CREATE VIRTUAL TABLE texts USING fts5(text, tokenize = 'porter unicode61')")
  const insert = db.prepare('INSERT INTO texts (rowid, text) VALUES (?, ?)')
  db.transaction(() => {
    for (const [id, text] of documents.entries()) insert.run(id, text)
  })()
  db.exec("INSERT INTO texts (texts) VALUES ('optimize')")
  db.pragma('wal_checkpoint(TRUNCATE)')
  const best = db.prepare('SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rank LIMIT 10').pluck()
  const quoted = text => text.split(' ').map(word => `"${word}"`)
  return {
    or: text => best.all(quoted(text).join(' OR ')),
    and: text => best.all(quoted(text).join(' AND ')),
    phrase: text => best.all(`"${text}"`),
    bytes: () => statSync(path).size,
    close: () => db.close(),
  }
}

async function lance(documents, folder) {
  const db = await lancedb.connect(folder)
  const table = await db.createTable(
    'texts',
    documents.map((text, id) => ({ id, text })),
  )
  await table.createIndex('text', { config: lancedb.Index.fts({ withPosition: true }) })
  const { MatchQuery, PhraseQuery, Operator } = lancedb
  const ask = queryOf => async text => {
    const asked = table.query().fullTextSearch(queryOf(text)).select(['id', '_score']).limit(10)
    // An answer of no rows has no columns.
    return Array.from((await asked.toArrow()).getChild('id')?.toArray() ?? [], Number)
  }
  return {
    or: ask(text => new MatchQuery(text, 'text')),
    and: ask(text => new MatchQuery(text, 'text', { operator: Operator.And })),
    phrase: ask(text => new PhraseQuery(text, 'text')),
    bytes: () => bytesIn(folder),
    close: () => db.close(),
  }
}

function bytesIn(folder) {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(file => file.isFile())
  return files.reduce((sum, file) => sum + statSync(join(file.parentPath, file.name)).size, 0)
}
