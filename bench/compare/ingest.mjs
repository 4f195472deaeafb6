/** Compares writes of many rows to a new table. All engines get the same rows. */
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { race } from '../../dist/bench/harness.js'
import { writeFile } from '../../dist/bench/ingest.js'
import { agree } from './checks.mjs'
import { able } from './packages.mjs'
import { bytesAt, inScratch } from './scratch.mjs'
import { duckdb, lance, makeWide, sheaf, sqlite } from './wide.mjs'

const makers = {
  sheaf: sheaf(),
  'sqlite, WAL, synchronous FULL': sqlite(),
  duckdb: duckdb(),
  'lancedb, not synced': lance(),
  'sqlite, not synced': sqlite({ isSynced: false }),
}

export const bench = {
  name: 'ingest',
  question:
    'which engine writes many rows fastest? (sheaf and lancedb get an Arrow table, sqlite and duckdb get rows; rows that are not synced may be lost at a power loss)',
  small: { rows: 20_000, dim: 16, batchRows: 5_000, rounds: 2 },
  full: { rows: 1_000_000, dim: 128, batchRows: 10_000, rounds: 5 },
  async run({ rounds, ...size }) {
    const data = makeWide(size)
    const title = `${size.rows} rows in batches of ${size.batchRows}, vectors of ${size.dim} float32`
    return inScratch(async folder => {
      const megabytes = {}
      const limit = 'as many bytes to one file, synced'
      const bytes = size.rows * (4 * size.dim + 8 + 44)
      /** Return a contestant that runs in a new empty folder each time. The folder is deleted after the run. */
      const contestant = (name, write) => {
        const path = join(folder, name)
        mkdirSync(path)
        return {
          name,
          async run() {
            await write(join(path, 't'))
            return size.rows
          },
          after() {
            megabytes[name] = bytesAt(path) / 1e6
            rmSync(path, { recursive: true })
            mkdirSync(path)
          },
        }
      }
      const contestants = Object.entries(await able(makers)).map(([name, make]) =>
        contestant(name, async path => {
          const engine = await make(data, path)
          if (!(name in megabytes)) agree(title, name, await engine.tally(), [size.rows, 0])
          await engine.close()
        }),
      )
      const plain = contestant(limit, path => writeFile(path, bytes))
      const result = await race({
        title,
        contestants: [...contestants, plain],
        rounds,
        warmups: 1,
        bytes,
        limit,
      })
      const entries = result.entries.map(entry => ({
        ...entry,
        figures: {
          rowsPerSecond: (1000 * size.rows) / entry.milliseconds.p50,
          megabytes: megabytes[entry.name],
        },
      }))
      return [{ ...result, entries }]
    })
  },
}
