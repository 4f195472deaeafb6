/** Compares changes of rows in a large table. All engines get the same rows and changes. */
import { join } from 'node:path'
import { race } from '../../dist/bench/harness.js'
import { agree } from './checks.mjs'
import { made } from './made.mjs'
import { inScratch } from './scratch.mjs'
import { duckdb, lance, makeWide, sheaf, sqlite } from './wide.mjs'

/** The engines. DuckDB has a key, because it supports merges only by a key. */
const makers = {
  sheaf: sheaf(),
  'sheaf, BTREE on id': sheaf({ hasKey: true }),
  'sqlite, key, WAL, synchronous FULL': sqlite(),
  'duckdb, key': duckdb({ hasKey: true }),
  'lancedb, not synced': lance(),
  'lancedb, BTREE on id, not synced': lance({ hasKey: true }),
}

export const bench = {
  name: 'mutate',
  question:
    'which engine changes rows fastest? (changes that are not synced may be lost at a power loss; sqlite and duckdb find rows by their key)',
  small: { rows: 20_000, dim: 16, batchRows: 5_000, merged: 200, rounds: 2 },
  full: { rows: 1_000_000, dim: 128, batchRows: 10_000, merged: 10_000, rounds: 10 },
  async run({ rounds, rows, merged, ...shape }) {
    const data = makeWide({ rows, ...shape })
    const times = rounds + 2
    // Every other row is new. The other rows exist in random positions of the table.
    const upserts = Array.from({ length: times }, (_, i) => {
      const idOf = row => (row % 2 === 0 ? rows * (i + 1) + row : (row * 7919 + i) % rows)
      return makeWide({ rows: merged, ...shape, idOf })
    })
    return inScratch(async (folder, engines) => {
      const fills = await made(makers, engines, (make, name) => make(data, join(folder, name)))
      // Run a search first, so that data is in memory, as in a process that has been running for a while.
      for (const { nearest } of engines) await nearest(new Float32Array(shape.dim))
      const contest = async (what, change, often = rounds) => {
        const title = `${what}, ${rows} rows, vectors of ${shape.dim} float32`
        const contestants = engines.map(engine => {
          let round = 0
          return {
            name: engine.name,
            async run() {
              await change(engine, round++)
              return what
            },
          }
        })
        const result = await race({ title, contestants, rounds: often })
        const expected = await engines[0].tally()
        for (const { name, tally } of engines) agree(title, name, await tally(), expected)
        return result
      }
      return [
        { title: `${rows} rows in, and their keys or indexes`, entries: fills },
        await contest(
          'update of one row',
          (engine, i) => engine.updateOne((i * 997 + 1) % rows),
          10 * rounds,
        ),
        await contest('update of 1 %', (engine, i) => engine.updateMany(i)),
        await contest(`merge of ${merged} rows, half of them new`, (engine, i) => engine.merge(upserts[i])),
        await contest(
          'delete of one row',
          (engine, i) => engine.removeOne((i * 991 + 2) % rows),
          10 * rounds,
        ),
        await contest('delete of 1 %', (engine, i) => engine.removeMany(99 - i)),
      ]
    })
  },
}
