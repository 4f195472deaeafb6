/**
 * Compares full-text search in short texts, one query at a time, and the quality of the results. All engines get the
 * same documents and queries.
 */
import { join } from 'node:path'
import { timedOneByOne } from '../../dist/bench/one-by-one.js'
import { textQueries, textsOf } from '../../dist/bench/text-data.js'
import { cranfield, meanGain, sciFact } from '../../dist/test/support/judged.js'
import { madeApart } from './apart.mjs'
import { made } from './made.mjs'
import { able } from './packages.mjs'
import { inScratch } from './scratch.mjs'
import { makers } from './text-engines.mjs'

/** The engine with whose results the other results are compared. */
const reference = 'sqlite fts5'

const classes = [
  { title: 'one of three words', way: 'or', queries: 'words3' },
  { title: 'all of three words', way: 'and', queries: 'words3' },
  { title: 'two in a row', way: 'phrase', queries: 'phrases2' },
]

export const bench = {
  name: 'text',
  question:
    'which engine finds texts by words fastest, and which has the best results as judged by people? (ranking by BM25, except flexsearch; each engine in a separate process; calls of sqlite are synchronous; minisearch, flexsearch and orama keep all data in memory and have no phrases, and only orama of these has stemming; lancedb may use other threads)',
  small: { documents: 2000, wordNet: false, queries: 30, rounds: 2, judged: ['Cranfield'] },
  full: {
    documents: 118_000,
    wordNet: true,
    queries: 500,
    rounds: 15,
    judged: ['Cranfield', 'SciFact'],
  },
  async run({ documents, wordNet, queries, rounds, judged }) {
    const results = await timed({ documents, wordNet }, queries, rounds)
    for (const name of judged) results.push(...(await gains(name)))
    return results
  },
}

async function timed(texts, queries, rounds) {
  const data = textsOf(texts)
  const asked = textQueries(data, queries)
  return inScratch(async (folder, engines) => {
    for (const name of Object.keys(await able(makers)))
      engines.push(await madeApart(name, join(folder, name), texts))
    const [{ took: first }] = engines
    const builds = engines.map(({ took }) => ({
      ...took,
      relativeTime: took.milliseconds.p50 / first.milliseconds.p50,
    }))
    const results = [{ title: `texts and index, ${data.name}`, entries: builds }]
    for (const { title, way, queries } of classes) {
      const fit = engines.filter(({ ways }) => ways.includes(way))
      const overlaps = await overlapsOf(fit, way, asked[queries])
      const askers = fit.map(({ name, ask }) => ({
        name,
        queries: asked[queries],
        ask: each => ask(way, each),
      }))
      const named = `${title}, ${asked[queries].length} queries, k 10, ${data.name}`
      const result = await timedOneByOne(named, askers, rounds)
      const entries = result.entries.map((entry, i) => ({
        ...entry,
        figures: { ...entry.figures, ...(overlaps.length > 0 && { overlap: overlaps[i] }) },
      }))
      results.push({ ...result, entries })
    }
    return results
  })
}

/**
 * Return for each engine the share of the reference's rows that it finds, over all queries. Throws if an engine finds
 * less than an eighth of them.
 */
async function overlapsOf(engines, way, queries) {
  const theirs = engines.find(({ name }) => name === reference)
  if (theirs === undefined) return []
  const rowsOf = async ({ ask }) => {
    const rows = []
    for (const query of queries) rows.push((await ask(way, [query])).found)
    return rows
  }
  const expected = (await rowsOf(theirs)).map(rows => new Set(rows))
  const all = expected.reduce((sum, { size }) => sum + size, 0)
  const overlaps = []
  for (const engine of engines) {
    const rows = await rowsOf(engine)
    const same = rows.reduce((sum, found, q) => sum + found.filter(id => expected[q].has(id)).length, 0)
    if (same < all / 8)
      throw new Error(`${engine.name} finds only ${same} of the ${all} rows that ${reference} finds`)
    overlaps.push(same / all)
  }
  return overlaps
}

/**
 * Measure nDCG@10 of the ten best texts for any of a query's words. Times are those of indexing. Returns no cases if
 * the collection is not on this machine.
 */
async function gains(name) {
  const judged = { Cranfield: cranfield, SciFact: sciFact }[name]()
  if (judged === null) return []
  const names = [...judged.documents.keys()]
  // Replace all other characters by spaces, because some engines use them as operators.
  const plain = query =>
    query
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, ' ')
      .trim()
  return inScratch(async (folder, engines) => {
    const entries = await made(
      makers,
      engines,
      (make, name) => make([...judged.documents.values()], join(folder, name)),
      async ({ or }) => ({
        nDCG: await meanGain(judged, async query => (await or(plain(query))).map(id => names[id])),
      }),
    )
    return [
      {
        title: `nDCG@10 of ${judged.grades.size} queries, indexing ${names.length} texts of ${name}`,
        entries,
      },
    ]
  })
}
