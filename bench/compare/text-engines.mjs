/**
 * Full-text engines with a common interface. A maker gets the texts and its own path. It returns an engine with:
 *
 * - `or`, `and` and `phrase`, if the engine supports such a search: each returns the numbers of the ten best texts.
 * - `bytes`: returns the size of its files, or its heap.
 */
import { textTable } from '../../dist/bench/query-text.js'
import { connect } from '../../dist/src/index.js'
import { bytesAt } from './scratch.mjs'
import { openLance, openSqlite } from './stores.mjs'

export const makers = { sheaf, minisearch, flexsearch, orama, 'sqlite fts5': sqlite, lancedb: lance }

async function sheaf(documents, folder) {
  const ns = await connect(folder, { buildThreads: 1, maintenance: { compact: false } })
  const table = await textTable(ns, 'texts', documents)
  const { name } = await table.createIndex('text', { type: 'FTS', withPosition: true })
  await table.waitForIndex(name)
  const ask = queryOf => async text => {
    const rows = await table.query().fullText(queryOf(text)).select(['id']).limit(10).toArray()
    return rows.map(({ id }) => id)
  }
  return {
    or: ask(text => text),
    and: ask(match => ({ match, operator: 'and' })),
    phrase: ask(phrase => ({ phrase })),
    bytes: () => bytesAt(folder),
    close: () => ns.close(),
  }
}

async function minisearch(documents) {
  const { default: MiniSearch } = await import('minisearch')
  const index = new MiniSearch({ fields: ['text'] })
  const bytes = await heapTaken(() => index.addAll(documents.map((text, id) => ({ id, text }))))
  const ask = combineWith => text =>
    index
      .search(text, { combineWith })
      .slice(0, 10)
      .map(({ id }) => id)
  return { or: ask('OR'), and: ask('AND'), bytes: () => bytes, close() {} }
}

/** Make an engine with FlexSearch. It ranks by positions and number of matching words, not by BM25. */
async function flexsearch(documents) {
  const { Index } = (await import('flexsearch')).default
  const index = new Index({ tokenize: 'strict' })
  const bytes = await heapTaken(() => {
    for (const [id, text] of documents.entries()) index.add(id, text)
  })
  return {
    or: text => index.search(text, { limit: 10, suggest: true }),
    and: text => index.search(text, { limit: 10 }),
    bytes: () => bytes,
    close() {},
  }
}

async function orama(documents) {
  const { create, insertMultiple, search } = await import('@orama/orama')
  const db = create({
    schema: { text: 'string' },
    components: { tokenizer: { stemming: true, language: 'english' } },
  })
  const bytes = await heapTaken(() =>
    insertMultiple(
      db,
      documents.map((text, id) => ({ id: String(id), text })),
    ),
  )
  const ask = threshold => async term => {
    const { hits } = await search(db, { term, limit: 10, threshold })
    return hits.map(({ id }) => Number(id))
  }
  return { or: ask(1), and: ask(0), bytes: () => bytes, close() {} }
}

async function heapTaken(work) {
  const before = process.memoryUsage().heapUsed
  await work()
  return process.memoryUsage().heapUsed - before
}

async function sqlite(documents, path) {
  const db = await openSqlite(path)
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
    bytes: () => bytesAt(path),
    close: () => db.close(),
  }
}

async function lance(documents, folder) {
  const { lancedb, db } = await openLance(folder)
  const table = await db.createTable(
    'texts',
    documents.map((text, id) => ({ id, text })),
  )
  await table.createIndex('text', { config: lancedb.Index.fts({ withPosition: true }) })
  const { MatchQuery, PhraseQuery, Operator } = lancedb
  const ask = queryOf => async text => {
    const asked = table.query().fullTextSearch(queryOf(text)).select(['id', '_score']).limit(10)
    // A result without rows has no columns.
    return Array.from((await asked.toArrow()).getChild('id')?.toArray() ?? [], Number)
  }
  return {
    or: ask(text => new MatchQuery(text, 'text')),
    and: ask(text => new MatchQuery(text, 'text', { operator: Operator.And })),
    phrase: ask(text => new PhraseQuery(text, 'text')),
    bytes: () => bytesAt(folder),
    close: () => db.close(),
  }
}
