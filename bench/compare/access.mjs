/** Compares reads of a few rows with all columns: by key and by offset. */
import { join } from 'node:path'
import { race } from '../../dist/bench/harness.js'
import { seededRandom } from '../../dist/bench/random.js'
import { agree } from './checks.mjs'
import { made } from './made.mjs'
import { inScratch } from './scratch.mjs'
import { duckdb, lance, makeWide, sheaf, sqlite } from './wide.mjs'

const makers = {
  sheaf: sheaf({ hasKey: true }),
  'sqlite, key': sqlite(),
  'duckdb, key': duckdb({ hasKey: true }),
  lancedb: lance({ hasKey: true }),
}

export const bench = {
  name: 'access',
  question:
    'which engine reads a few rows {id, text, vector} of a large table fastest, with files in the page cache? (sheaf and lancedb have a BTREE on id; calls of sqlite are synchronous; lancedb may use other threads)',
  small: { rows: 20_000, dim: 16, batchRows: 5_000, rounds: 3 },
  full: { rows: 1_000_000, dim: 128, batchRows: 10_000, rounds: 25 },
  async run({ rounds, ...size }) {
    const data = makeWide(size)
    const random = seededRandom(5)
    const drawn = Array.from({ length: 10 }, () => {
      const ids = new Set()
      while (ids.size < 100) ids.add(Math.floor(random() * size.rows))
      return [...ids]
    })
    const expected = sumOf(drawn.flat().map(id => [id, '', data.vectorAt(id)]))
    return inScratch(async (folder, engines) => {
      const fills = await made(makers, engines, (make, name) => make(data, join(folder, name)))
      const contest = async (title, able, fetch) => {
        const contestants = able.map(engine => ({ name: engine.name, run: () => fetch(engine) }))
        for (const { name, run } of contestants) agree(title, name, await run(), expected)
        return race({ title, contestants, rounds, distribution: true })
      }
      const byHundreds = way => async engine => {
        const found = []
        for (const asked of drawn) found.push(...(await engine[way](asked)))
        return sumOf(found)
      }
      const of = `of ${size.rows}, vectors of ${size.dim} float32`
      return [
        { title: `${size.rows} rows in, with a key`, entries: fills },
        await contest(`10 x 100 rows by their keys ${of}`, engines, byHundreds('hundred')),
        await contest(
          `10 x 100 rows by their offsets ${of}`,
          engines.filter(({ offsets }) => offsets !== undefined),
          byHundreds('offsets'),
        ),
        await contest(`1000 x one row by its key ${of}`, engines, async ({ one }) => {
          const found = []
          for (const id of drawn.flat()) found.push(...(await one(id)))
          return sumOf(found)
        }),
      ]
    })
  },
}

/**
 * Return a summary of rows that does not depend on their order: the count, the sum of the ids, and a sum of the first
 * and last elements of the vectors.
 */
function sumOf(rows) {
  let [ids, numbers] = [0, 0]
  for (const [id, , vector] of rows) {
    ids += Number(id)
    numbers += Math.round(1e6 * (vector[0] + vector.at(-1)))
  }
  return [rows.length, ids, numbers]
}
