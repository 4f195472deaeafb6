/** Many rows into a fresh table: one function per engine, the same Arrow table for all. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as lancedb from '@lancedb/lancedb'
import { tableFromIPC } from 'apache-arrow'
import { race } from '../../dist/bench/harness.js'
import { makeBatches } from '../../dist/bench/wide-rows.js'
import { concatChunks, encodeIpcStream } from '../../dist/src/arrow/encode-ipc.js'
import { connect } from '../../dist/src/index.js'

export const bench = {
  name: 'ingest',
  question:
    'who writes many rows sooner? (lancedb syncs nothing to disk: what it answered may be lost with the power)',
  small: { rows: 20_000, dim: 16, batchRows: 5_000, rounds: 2 },
  full: { rows: 1_000_000, dim: 128, batchRows: 10_000, rounds: 5 },
  async run({ rounds, ...size }) {
    const folder = mkdtempSync(join(tmpdir(), 'sheaf-bench-'))
    const { schema, batches } = makeBatches(size)
    const table = tableFromIPC(concatChunks(encodeIpcStream(schema, batches)))
    let roots = 0
    const fresh = () => join(folder, `root-${roots++}`)
    try {
      return [
        await race({
          title: `${size.rows} rows of an Arrow table in batches of ${size.batchRows}, vectors of ${size.dim} float32`,
          contestants: [
            { name: 'sheaf', run: () => sheaf(fresh(), table) },
            { name: 'lancedb, no sync', run: () => lance(fresh(), table) },
          ],
          rounds,
          warmups: 1,
        }),
      ]
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

async function sheaf(path, rows) {
  const ns = await connect(path)
  const table = await ns.createTable('t', rows)
  const count = await table.countRows()
  await ns.close()
  return count
}

async function lance(path, rows) {
  const db = await lancedb.connect(path)
  const table = await db.createTable('t', rows)
  const count = await table.countRows()
  db.close()
  return count
}
