/** Compares the maximum memory of each kind of work, each in a separate process. */
import { join } from 'node:path'
import { hashOf, timesOf } from '../../dist/bench/harness.js'
import { clusteredData, trueNeighbours } from '../../dist/bench/vector-data.js'
import { queriesOf } from './ann-contest.mjs'
import { agree, checkFound } from './checks.mjs'
import { makers as vectorMakers } from './cold.mjs'
import { made } from './made.mjs'
import { able } from './packages.mjs'
import { inScratch } from './scratch.mjs'
import { encodedQuery, workedApart } from './spawned.mjs'
import { makers as textMakers } from './text-engines.mjs'

const rowEngines = ['sheaf', 'sqlite, WAL, synchronous FULL', 'duckdb', 'lancedb, not synced']
const graphs = ['hnswlib', 'usearch']

export const bench = {
  name: 'memory',
  question: 'what is the maximum memory of a process that does the same work? (times are those of one run)',
  small: {
    searched: [{ rows: 1000, dim: 16, centres: 10, hasGraphs: true }],
    texts: { documents: 1000, wordNet: false },
    written: { rows: 5000, dim: 16, batchRows: 1000 },
  },
  full: {
    searched: [
      { rows: 100_000, dim: 128, centres: 1000, hasGraphs: true },
      { rows: 1_000_000, dim: 128, centres: 1000, hasGraphs: false },
    ],
    texts: { documents: 118_000, wordNet: true },
    written: { rows: 1_000_000, dim: 128, batchRows: 10_000 },
  },
  async run({ searched, texts, written }) {
    const results = []
    for (const size of searched) results.push(await searching(size))
    results.push(
      await building('texts', Object.keys(textMakers), texts, count => `indexing ${count} texts`),
      await building('rows', rowEngines, written, count => `writing ${count} rows of ${written.dim} float32`),
    )
    return results
  },
}

async function searching({ rows, dim, centres, hasGraphs }) {
  const data = clusteredData(rows, dim, centres, 1.5, 1)
  const [truth] = trueNeighbours(data, 'l2', 10)
  const query = encodedQuery(queriesOf(data)[0])
  const wanted = Object.entries(vectorMakers).filter(([name]) => hasGraphs || !graphs.includes(name))
  return inScratch(async folder => {
    const engines = []
    await made(Object.fromEntries(wanted), engines, (make, name) => make(data, join(folder, name)))
    for (const engine of engines) await engine.close()
    const title = `opening ${data.name}, and one search`
    const done = engines.map(({ name }) => {
      const worked = workedApart('search', name, join(folder, name), { query })
      checkFound(title, name, worked.answer, truth, graphs.includes(name) ? 8 : 10)
      return { name, ...worked }
    })
    const bare = { name: 'bare process', ...workedApart('nothing', '', folder) }
    return told(title, [...done, bare])
  })
}

/** Measure writes, together with a process that only has the data in memory. */
async function building(work, names, options, titleOf) {
  return inScratch(async folder => {
    const engines = Object.keys(await able(Object.fromEntries(names.map(name => [name, null]))))
    const bare = { name: 'the data alone', ...workedApart(work, '', folder, options) }
    const title = titleOf(bare.answer)
    const done = engines.map(name => {
      const worked = workedApart(work, name, join(folder, name), options)
      agree(title, name, worked.answer, bare.answer)
      return { name, ...worked }
    })
    return told(title, [...done, bare])
  })
}

function told(title, done) {
  const entries = done.map(({ name, answer, milliseconds, peakBytes }) => ({
    name,
    milliseconds: timesOf(Float64Array.of(milliseconds)),
    relativeTime: milliseconds / done[0].milliseconds,
    answer: hashOf(answer),
    figures: {
      peakMegabytes: peakBytes / 1e6,
      peakRelative: peakBytes / done[0].peakBytes,
    },
  }))
  return { title, entries }
}
