/** Changing rows of a large table: one function per engine and change, the same rows for both. */
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
  name: 'mutate',
  question:
    'who changes rows sooner? (lancedb syncs nothing to disk: what it answered may be lost with the power)',
  small: { rows: 20_000, dim: 16, batchRows: 5_000, merged: 200, rounds: 2 },
  full: { rows: 1_000_000, dim: 128, batchRows: 10_000, merged: 10_000, rounds: 10 },
  async run({ rounds, rows, merged, ...shape }) {
    const folder = mkdtempSync(join(tmpdir(), 'sheaf-bench-'))
    const arrow = ({ schema, batches }) => tableFromIPC(concatChunks(encodeIpcStream(schema, batches)))
    const table = arrow(makeBatches({ rows, ...shape }))
    // Every other row is new, the others are spread over the table.
    const upserts = Array.from({ length: rounds + 2 }, (_, i) => {
      const idOf = row => (row % 2 === 0 ? rows * (i + 1) + row : (row * 7919 + i) % rows)
      return arrow(makeBatches({ rows: merged, ...shape, idOf }))
    })
    const ns = await connect(join(folder, 'sheaf'))
    const ours = await ns.createTable('t', table)
    const db = await lancedb.connect(join(folder, 'lance'))
    const theirs = await db.createTable('t', table)
    // As in a process that has been at work: what is read is in memory.
    await ours.search(new Float32Array(shape.dim)).limit(1).toArray()
    await theirs.search(new Float32Array(shape.dim)).limit(1).toArray()
    const counted = run => {
      let round = 0
      return () => run(round++)
    }
    const contest = (title, sheaf, lance) =>
      race({
        title: `${title}, ${rows} rows, vectors of ${shape.dim} float32`,
        contestants: [
          { name: 'sheaf', run: counted(sheaf) },
          { name: 'lancedb, no sync', run: counted(lance) },
        ],
        rounds,
      })
    try {
      return [
        await contest(
          'update of one row',
          async i => (await ours.update({ text: 'changed' }, `id = ${i * 997}`)).rows,
          async i =>
            (await theirs.update({ where: `id = ${i * 997}`, values: { text: 'changed' } })).rowsUpdated,
        ),
        await contest(
          'update of 1 %',
          async i => (await ours.update({ text: 'changed' }, `id % 100 = ${i}`)).rows,
          async i =>
            (await theirs.update({ where: `id % 100 = ${i}`, values: { text: 'changed' } })).rowsUpdated,
        ),
        await contest(
          `merge of ${merged} rows, half of them new`,
          async i =>
            (
              await ours
                .mergeInsert('id')
                .whenMatchedUpdateAll()
                .whenNotMatchedInsertAll()
                .execute(upserts[i])
            ).inserted,
          async i =>
            (
              await theirs
                .mergeInsert('id')
                .whenMatchedUpdateAll()
                .whenNotMatchedInsertAll()
                .execute(upserts[i])
            ).numInsertedRows,
        ),
      ]
    } finally {
      await ns.close()
      db.close()
      rmSync(folder, { recursive: true, force: true })
    }
  },
}
