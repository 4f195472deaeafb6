/** Short texts by their words: the same documents and queries for all, one query at a time; and how good what they find is. */
import { join } from 'node:path'
import { timedOneByOne } from '../../dist/bench/one-by-one.js'
import { glosses, textQueries, zipfTexts } from '../../dist/bench/text-data.js'
import { cranfield, meanGain, sciFact } from '../../dist/test/support/judged.js'
import { made } from './made.mjs'
import { inScratch } from './scratch.mjs'
import { makers } from './text-engines.mjs'

/** Whose answers the others are held against. */
const reference = 'sqlite fts5'

const classes = [
  { title: 'one of three words', way: 'or', queries: 'words3' },
  { title: 'all of three words', way: 'and', queries: 'words3' },
  { title: 'two in a row', way: 'phrase', queries: 'phrases2' },
]

export const bench = {
  name: 'text',
  question:
    'who finds texts by their words sooner, and whose ten best do people judge better? (by BM25, except flexsearch; sqlite: synchronous calls in the process; minisearch, flexsearch and orama: all in memory, no phrases, and of these only orama has stems; lancedb may use other threads)',
  small: { documents: 2000, wordNet: false, queries: 30, rounds: 2, judged: ['Cranfield'] },
  full: {
    documents: 118_000,
    wordNet: true,
    queries: 500,
    rounds: 5,
    judged: ['Cranfield', 'SciFact'],
  },
  async run({ documents, wordNet, queries, rounds, judged }) {
    const data = (wordNet ? glosses() : null) ?? zipfTexts(documents)
    const results = await timed(data, textQueries(data, queries), rounds)
    for (const name of judged) results.push(...(await gains(name)))
    return results
  },
}

async function timed(data, asked, rounds) {
  return inScratch(async (folder, engines) => {
    const builds = await made(
      makers,
      engines,
      (make, name) => make(data.documents, join(folder, name)),
      async engine => ({ megabytes: (await engine.bytes()) / 1e6 }),
    )
    const results = [{ title: `texts and index, ${data.name}`, entries: builds }]
    for (const { title, way, queries } of classes) {
      const able = engines.filter(engine => engine[way] !== undefined)
      const overlaps = await overlapsOf(able, way, asked[queries])
      const askers = able.map(engine => ({ name: engine.name, queries: asked[queries], ask: engine[way] }))
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

/** Of each engine: which part of the reference's rows it finds, over all queries. Throws where an engine finds next to nothing. */
async function overlapsOf(engines, way, queries) {
  const theirs = engines.find(({ name }) => name === reference)
  if (theirs === undefined) return []
  const overlaps = []
  for (const engine of engines) {
    let [same, all] = [0, 0]
    for (const query of queries) {
      const expected = new Set(await theirs[way](query))
      all += expected.size
      same += (await engine[way](query)).filter(id => expected.has(id)).length
    }
    if (same < all / 8) throw new Error(`${engine.name} finds ${same} of ${all} rows that ${reference} does`)
    overlaps.push(same / all)
  }
  return overlaps
}

/** nDCG@10 of the ten best for any of a query's words; times are those of indexing. Nothing where the collection is not on this machine. */
async function gains(name) {
  const judged = { Cranfield: cranfield, SciFact: sciFact }[name]()
  if (judged === null) return []
  const names = [...judged.documents.keys()]
  // What is not a word is an operator to some of them.
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
