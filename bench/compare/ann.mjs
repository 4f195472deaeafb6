/**
 * Compares approximate vector search at equal recall. All engines get the same rows and queries, one query at a time.
 */

import { join } from 'node:path'
import { clusteredData, fashionData, trueNeighbours } from '../../dist/bench/vector-data.js'
import { atFloor, curveLines, queriesOf, swept } from './ann-contest.mjs'
import { hnswlib, lance, sheaf, usearch } from './ann-engines.mjs'
import { made } from './made.mjs'
import { inScratch } from './scratch.mjs'

const makers = { sheaf: sheaf(), hnswlib, usearch, lancedb: lance() }

export const bench = {
  name: 'ann',
  question:
    'which engine finds the approximate nearest rows fastest, with the smallest effort that reaches a recall? (10 nearest rows; lancedb may use other threads)',
  small: { rows: 3000, dim: 16, centres: 30, fashion: false, queries: 50, floors: [0.95], rounds: 2 },
  full: {
    rows: 100_000,
    dim: 128,
    centres: 1000,
    fashion: true,
    queries: 500,
    floors: [0.9, 0.95, 0.99],
    rounds: 5,
  },
  async run({ rows, dim, centres, fashion, queries, floors, rounds }) {
    const pictures = fashion ? fashionData(queries) : null
    const all = [clusteredData(rows, dim, centres, 1.5, queries), ...(pictures === null ? [] : [pictures])]
    const results = []
    for (const data of all) results.push(...(await compared(data, makers, floors, rounds)))
    return results
  },
}

/**
 * Build an index with each of `makers`, and compare the searches at each recall of `floors`. Figures are relative to
 * the first engine.
 */
export async function compared(data, makers, floors, rounds) {
  return inScratch(async (folder, engines) => {
    const builds = await made(makers, engines, (make, name) => make(data, join(folder, name)))
    const truth = trueNeighbours(data, 'l2', 10)
    const queries = queriesOf(data)
    const curves = await swept(engines, queries, truth, Math.min(3, rounds))
    const results = [{ title: `building, ${data.name}`, entries: builds, lines: curveLines(engines, curves) }]
    for (const floor of floors) {
      const title = `recall >= ${floor}, ${queries.length} queries, ${data.name}`
      results.push(await atFloor(title, engines, curves, floor, queries, rounds))
    }
    return results
  })
}
