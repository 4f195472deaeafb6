/** The nearest of the rows that pass a filter, whatever share of them passes: at equal recall, one query at a time. */
import { join } from 'node:path'
import { sharesOf } from '../../dist/bench/query-vector.js'
import { clusteredData, trueNeighbours } from '../../dist/bench/vector-data.js'
import { atFloor, curveLines, queriesOf, swept } from './ann-contest.mjs'
import { duckdb, hnswlib, lance, sheaf, sqliteVec } from './ann-engines.mjs'
import { made } from './made.mjs'
import { inScratch } from './scratch.mjs'

/** usearch has no filter in JavaScript. */
const makers = { sheaf: sheaf(), hnswlib, lancedb: lance(), 'sqlite-vec': sqliteVec, duckdb }

export const bench = {
  name: 'filtered',
  question:
    'who finds the nearest of the rows that pass a filter sooner, by how many pass? (hnswlib asks a function of ours about each row; sqlite-vec and duckdb measure every row that passes; lancedb may use other threads)',
  small: { rows: 3000, dim: 16, centres: 30, queries: 20, shares: [0.01, 0.5], floor: 0.95, rounds: 2 },
  full: {
    rows: 100_000,
    dim: 128,
    centres: 1000,
    queries: 100,
    shares: [0.001, 0.01, 0.1, 0.5],
    floor: 0.95,
    rounds: 5,
  },
  async run({ rows, dim, centres, queries: count, shares, floor, rounds }) {
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
        lines: engines.map(({ name }, who) => ({
          name,
          points: shares.map((share, i) => [share, results[i].entries[who].figures.perSecond]),
        })),
      }
      return [{ title: `building, ${data.name}`, entries: builds, lines: bySpeed }, ...results]
    })
  },
}
