/** Compares the time until a new process has its first answer: loading the engine, opening the data, and one search. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { race } from '../../dist/bench/harness.js'
import { clusteredData, trueNeighbours } from '../../dist/bench/vector-data.js'
import { queriesOf } from './ann-contest.mjs'
import { duckdb, hnswlib, lance, pglite, sheaf, sqliteVec, usearch, zvec } from './ann-engines.mjs'
import { checkFound } from './checks.mjs'
import { made } from './made.mjs'
import { inScratch } from './scratch.mjs'
import { encodedQuery, plainEnvironment, workedApart } from './spawned.mjs'

/** The engines. They search exactly, except those that support only graphs. */
export const makers = {
  sheaf: sheaf({ type: null }),
  lancedb: lance({ kind: null }),
  duckdb,
  'sqlite-vec': sqliteVec,
  zvec,
  pglite,
  hnswlib,
  usearch,
}

export const bench = {
  name: 'cold',
  question:
    'how long does a new process take until it has the ten nearest rows, with files in the page cache? (hnswlib and usearch search a graph; sheaf, lancedb, duckdb and pglite open the data for writing, the others only for reading)',
  small: { rows: 1000, dim: 16, centres: 10, rounds: 2 },
  full: { rows: 10_000, dim: 128, centres: 100, rounds: 15 },
  async run({ rows, dim, centres, rounds }) {
    const data = clusteredData(rows, dim, centres, 1.5, 1)
    const [truth] = trueNeighbours(data, 'l2', 10)
    const query = encodedQuery(queriesOf(data)[0])
    return inScratch(async folder => {
      const engines = []
      await made(makers, engines, (make, name) => make(data, join(folder, name)))
      for (const engine of engines) await engine.close()
      const found = new Map()
      const title = `${data.name}, a process from its start to its end`
      const contestants = engines.map(({ name }) => ({
        name,
        run() {
          const { answer } = workedApart('search', name, join(folder, name), { query })
          found.set(name, answer)
          return answer
        },
        after: () =>
          checkFound(title, name, found.get(name), truth, name === 'hnswlib' || name === 'usearch' ? 8 : 10),
      }))
      const limit = 'bare node'
      const bare = {
        name: limit,
        run: () => spawnSync(process.execPath, ['-e', '0'], { env: plainEnvironment }).status,
      }
      return [await race({ title, contestants: [...contestants, bare], rounds, limit, distribution: true })]
    })
  },
}
