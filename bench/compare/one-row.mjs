/** Compares calls that read, insert or update one row by its key. All engines get the same rows. */
import { join } from 'node:path'
import { race } from '../../dist/bench/harness.js'
import { agree } from './checks.mjs'
import { made } from './made.mjs'
import { inScratch } from './scratch.mjs'
import { makeWide, pglite, sheaf, sqlite, zvec } from './wide.mjs'

/** The engines. The names of engines that do not sync their commits say so. */
const makers = {
  sheaf: sheaf({ hasKey: true }),
  'sqlite, key, WAL, synchronous FULL': sqlite(),
  'pglite, key, not synced': pglite(),
  'zvec, not synced': zvec(),
}

export const bench = {
  name: 'one-row',
  question:
    'which engine reads, inserts and updates one row {id, text, vector} by its key fastest? (changes that are not synced may be lost at a power loss; calls of sqlite and zvec are synchronous)',
  small: { rows: 2_000, dim: 16, batchRows: 500, reads: 20, rounds: 3 },
  full: { rows: 100_000, dim: 128, batchRows: 10_000, reads: 100, rounds: 500 },
  async run({ reads, rounds, ...size }) {
    const data = makeWide(size)
    const { rows, dim } = size
    return inScratch(async (folder, engines) => {
      const fills = await made(makers, engines, (make, name) => make(data, join(folder, name)))
      const contest = (title, run, options) =>
        race({
          title: `${title}, ${rows} rows, vectors of ${dim} float32`,
          contestants: engines.map(engine => ({ name: engine.name, run: run(engine) })),
          distribution: true,
          ...options,
        })
      const pick = i => (i * 7919) % rows
      const read = await contest(
        `${reads} x one row by its key`,
        ({ one }) => {
          let i = 0
          return async () => {
            let found = 0
            for (let n = 0; n < reads; n++, i++) {
              const [row] = await one(pick(i))
              if (row[2][0] === data.vectorAt(pick(i))[0]) found++
            }
            return found
          }
        },
        { rounds: Math.ceil(rounds / 5) },
      )
      for (const { name, answer } of read.entries) agree(read.title, name, answer, read.entries[0].answer)
      const change = async (title, run) => {
        const result = await contest(title, run, { rounds })
        const expected = await engines[0].tally()
        for (const { name, tally } of engines) agree(title, name, await tally(), expected)
        return result
      }
      return [
        { title: `${rows} rows in, with a key`, entries: fills },
        read,
        await change('one row inserted', ({ insertOne }) => {
          let i = 0
          return async () => {
            await insertOne(rows + i, data.vectorAt(pick(i)))
            i++
            return true
          }
        }),
        await change('one row updated by its key', ({ updateOne }) => {
          let i = 0
          return async () => {
            await updateOne(pick(i++))
            return true
          }
        }),
      ]
    })
  },
}
