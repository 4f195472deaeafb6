/**
 * Compares filtered vector search, one query at a time. With random filters, engines are compared at equal recall for
 * different shares of matching rows. With filters that depend on the position of the query, engines are not tuned, and
 * the recall of each is reported.
 */
import { join } from 'node:path'
import {
  bySmallLabels,
  clouds,
  filtersOf,
  questionsToTexts,
  squaresBetween,
} from '../../dist/bench/labelled-data.js'
import { oneByOne, timedOneByOne } from '../../dist/bench/one-by-one.js'
import { sharesOf } from '../../dist/bench/query-vector.js'
import { clusteredData, recallOf, trueNeighbours } from '../../dist/bench/vector-data.js'
import { atFloor, curveLines, queriesOf, swept } from './ann-contest.mjs'
import { duckdb, hnswlib, lance, sheaf, sqliteVec } from './ann-engines.mjs'
import {
  hnswlib as labelledHnswlib,
  lancedb as labelledLance,
  sheaf as labelledSheaf,
} from './labelled-engines.mjs'
import { made } from './made.mjs'
import { inScratch } from './scratch.mjs'

/** The engines. usearch is left out, because its JavaScript API has no filters. */
const makers = { sheaf: sheaf(), hnswlib, lancedb: lance(), 'sqlite-vec': sqliteVec, duckdb }

export const bench = {
  name: 'filtered',
  question:
    'which engine is fastest at filtered vector search, depending on the share of matching rows? (hnswlib calls a JavaScript function for each row; sqlite-vec and duckdb measure every matching row; lancedb may use other threads)',
  small: {
    rows: 3000,
    dim: 16,
    centres: 30,
    queries: 20,
    shares: [0.01, 0.5],
    floor: 0.95,
    clusters: [{ rows: 3000, dim: 16, count: 10, apart: 4 }],
    texts: false,
    rounds: 2,
  },
  full: {
    rows: 100_000,
    dim: 128,
    centres: 1000,
    queries: 100,
    shares: [0.001, 0.01, 0.1, 0.5],
    floor: 0.95,
    clusters: [
      { rows: 100_000, dim: 128, count: 10, apart: 1 },
      { rows: 24_000, dim: 24, count: 10, apart: 6 },
    ],
    texts: true,
    rounds: 5,
  },
  async run({ clusters, texts, ...random }) {
    const results = await atRandom(random)
    const { queries, rounds } = random
    for (const { rows, dim, count, apart } of clusters) {
      const name = `${rows} x ${dim}, ${count} clusters`
      const data = bySmallLabels(clouds(name, rows, dim, count, apart, 2 * queries))
      results.push(...(await byLabel(data, 'l2', rounds)))
    }
    const questions = texts ? questionsToTexts(queries) : null
    if (questions !== null) results.push(...(await byLabel(questions, 'cosine', rounds)))
    return results
  },
}

async function atRandom({ rows, dim, centres, queries: count, shares, floor, rounds }) {
  const data = clusteredData(rows, dim, centres, 1.5, count)
  const queries = queriesOf(data)
  const shareOf = sharesOf(rows)
  return inScratch(async (folder, engines) => {
    const builds = await made(makers, engines, (make, name) => make(data, join(folder, name)))
    const results = []
    for (const share of shares) {
      const truth = trueNeighbours(data, 'l2', 10, row => shareOf[row] < share)
      const curves = await swept(engines, queries, truth, 1, share)
      const title = `${100 * share} % of ${data.name} pass, recall >= ${floor}, ${count} queries`
      results.push({
        ...(await atFloor(title, engines, curves, floor, queries, rounds, share)),
        lines: curveLines(engines, curves),
      })
    }
    const bySpeed = {
      x: { name: 'share of rows that pass', logarithmic: true },
      y: { name: `queries/s at recall >= ${floor}`, logarithmic: true },
      lines: engines.map(({ name }, index) => ({
        name,
        points: shares.map((share, i) => [share, results[i].entries[index].figures.perSecond]),
      })),
    }
    return [{ title: `building, ${data.name}`, entries: builds, lines: bySpeed }, ...results]
  })
}

const labelledMakers = { sheaf: labelledSheaf, hnswlib: labelledHnswlib, lancedb: labelledLance }

/** The names of filters that depend on the position of the query. */
const correlated = ['other label', 'largest label', 'farthest label', 'three far labels']

/**
 * Compare searches with a filter by label: without tuning, and with more candidates if the engine has such an option.
 */
async function byLabel(data, metric, rounds) {
  const queries = queriesOf(data)
  const numbers = [...queries.keys()]
  return inScratch(async (folder, engines) => {
    await made(labelledMakers, engines, (make, name) => make(data, join(folder, name), metric))
    const results = []
    for (const filter of filtersOf(data).filter(({ name }) => correlated.includes(name))) {
      const truth = numbers.map(q => nearestPassing(data, metric, queries[q], row => filter.passes(q, row)))
      const askers = engines.flatMap(({ name, efforts, search }) =>
        efforts.map(effort => {
          const one = q => search(queries[q], filter, q, effort)
          const title = effort === 'untuned' ? `${name}, untuned` : `${name}, ef ${effort}`
          return { name: title, queries: numbers, one, ask: some => oneByOne(some, one) }
        }),
      )
      const title = `${filter.name} of ${data.name}, ${queries.length} queries`
      const result = await timedOneByOne(title, askers, rounds)
      const entries = []
      for (const [i, entry] of result.entries.entries()) {
        const found = []
        for (const q of numbers) found.push(await askers[i].one(q))
        const perSecond = (1000 * queries.length) / entry.milliseconds.p50
        entries.push({ ...entry, figures: { recall: recallOf(truth, found), perSecond, ...entry.figures } })
      }
      results.push({ ...result, entries })
    }
    return results
  })
}

/** Return the ten nearest matching rows, by an exact scan in plain JavaScript. */
function nearestPassing({ dim, rows, labels }, metric, query, passes) {
  const far = []
  for (let row = 0; row < labels.length; row++) {
    if (!passes(row)) continue
    const vector = rows.subarray(row * dim, (row + 1) * dim)
    far.push([metric === 'cosine' ? 1 - cosine(vector, query) : squaresBetween(vector, query), row])
  }
  return new Set(
    far
      .sort(([a], [b]) => a - b)
      .slice(0, 10)
      .map(([, row]) => row),
  )
}

function cosine(a, b) {
  let [dot, one, other] = [0, 0, 0]
  for (let i = 0; i < a.length; i++) {
    dot += a[i] * b[i]
    one += a[i] * a[i]
    other += b[i] * b[i]
  }
  return dot / Math.sqrt(one * other)
}
