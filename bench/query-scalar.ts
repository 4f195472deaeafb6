/** Measures the benefit and the cost of scalar indexes, and compares a lookup of one row with a `Map` in memory. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ArrowRows } from '../src/client/arrow-rows.js'
import { connect, type Namespace, type Table } from '../src/index.js'
import { type Bench, type CaseResult, type Contestant, type Entry, race } from './harness.js'
import { count, countTasks, fillTable, loop, makePieces } from './query-sql.js'
import { seededRandom } from './random.js'
import { makeBatches, textOf } from './wide-rows.js'

interface Parameters {
  /** Number of rows of the table from which a few rows are read or changed. */
  readonly rows: number
  readonly fragments: number
  /** Number of rows of the table for counts and index builds. */
  readonly countedRows: number
  /** Number of rows of a merge. The table already has half of them. */
  readonly merged: number
  readonly rounds: number
}

export const bench: Bench<Parameters> = {
  name: 'query-scalar',
  question: 'how much time do scalar indexes save, and what do they cost?',
  small: { rows: 4_000, fragments: 4, countedRows: 8_000, merged: 50, rounds: 1 },
  full: { rows: 1_000_000, fragments: 8, countedRows: 5_000_000, merged: 10_000, rounds: 31 },
  async run({ rows, fragments, countedRows, merged, rounds }) {
    const folder = mkdtempSync(join(tmpdir(), 'sheaf-bench-'))
    const ns = await connect(folder, { maintenance: { compact: false } })
    try {
      return [
        ...(await fewRows(ns, rows, fragments, merged, rounds)),
        ...(await manyRows(ns, countedRows, rounds)),
      ]
    } finally {
      await ns.close()
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

// ---- few rows of many

/** Number of queries per round. One query is too short to be timed. */
const queries = 100

async function fewRows(
  ns: Namespace,
  rows: number,
  fragments: number,
  merged: number,
  rounds: number,
): Promise<readonly CaseResult[]> {
  const each = Math.ceil(rows / fragments)
  const shape = { dim: 16, batchRows: 10_000 }
  for (let f = 0; f < fragments; f++) {
    const { schema, batches } = makeBatches({ ...shape, rows: each, idOf: row => (f * each + row) * 7 })
    const body = new ArrowRows(schema, batches)
    if (f === 0) await ns.operations.createTable({ id: ['keyed'] }, body)
    else await ns.operations.insertIntoTable({ id: ['keyed'] }, body)
  }
  const table = await ns.openTable('keyed')
  await indexed(table, 'id', 'BTREE')
  const snapshot = await ns.snapshot()
  const pinned = await snapshot.openTable('keyed')
  const map = new Map<number, { id: number; text: string }>()
  for (let i = 0; i < rows; i++) map.set(i * 7, { id: i * 7, text: textOf(i * 7) })
  const perQuery = (name: string, ask: (id: number) => unknown): Contestant => ({
    name,
    async run() {
      const random = seededRandom(5)
      let found = 0
      for (let i = 0; i < queries; i++)
        if ((await ask(7 * Math.floor(random() * rows))) !== undefined) found++
      return found
    },
  })
  const oneOf = (from: Pick<Table, 'query'>) => async (id: number) => {
    return (await from.query().where('id = ?', [id]).select(['id', 'text']).toArray())[0]
  }
  const prepared = (from: Pick<Table, 'prepare'>) => {
    const byId = from.prepare(query => query.where('id = ?').select(['id', 'text']))
    return async (id: number) => (await byId.all([id]))[0]
  }
  const one = await race({
    title: `${queries} x one row of ${rows} by its key`,
    contestants: [
      perQuery('Map', async id => ({ ...map.get(id)! })),
      perQuery('snapshot', oneOf(pinned)),
      perQuery('snapshot, prepared', prepared(pinned)),
      perQuery('newest version', oneOf(table)),
      perQuery('newest version, prepared', prepared(table)),
    ],
    rounds,
    // Warm up until V8 has compiled the code that runs a hundred times per round.
    warmups: rounds,
  })
  const hundred = (i: number) => Array.from({ length: 100 }, (_, k) => ((k * 7919 + i) % rows) * 7)
  const inList = (name: string, from: Pick<Table, 'query'>): Contestant => {
    let i = 0
    return {
      name,
      async run() {
        const list = hundred(i++).join()
        return (await from.query().where(`id IN (${list})`).select(['id', 'text']).toArray()).length
      },
    }
  }
  let at = 0
  const many = await race({
    title: `100 rows of ${rows} by their keys`,
    contestants: [
      { name: 'Map', run: () => hundred(at++).map(id => ({ ...map.get(id)! })).length },
      inList('snapshot', pinned),
      inList('newest version', table),
    ],
    rounds: 4 * rounds,
  })
  await snapshot.close()
  return [perOne(one), many, ...(await changes(ns, table, rows, merged, rounds))]
}

/** Convert the figures of a round to those of one query. */
function perOne(result: CaseResult): CaseResult {
  return {
    ...result,
    entries: result.entries.map(entry => ({
      ...entry,
      figures: { ...entry.figures, microsecondsEach: (1000 * entry.milliseconds.p50) / queries },
    })),
  }
}

async function changes(
  ns: Namespace,
  table: Table,
  rows: number,
  merged: number,
  rounds: number,
): Promise<readonly CaseResult[]> {
  const random = seededRandom(9)
  let i = 0
  const single = await race({
    title: `changing one row of ${rows} by its key`,
    contestants: [
      {
        name: 'update',
        run: async () => {
          const id = 7 * Math.floor(random() * rows)
          await table.update({ text: `changed ${i++}` }, 'id = ?', [id])
          return true
        },
      },
      {
        name: 'delete',
        run: async () => {
          await table.delete('id = ?', [7 * Math.floor(random() * rows)])
          return true
        },
      },
    ],
    rounds: 2 * rounds,
  })
  const few = Math.max(2, Math.floor(rounds / 3))
  const sources = Array.from({ length: few + 3 }, (_, s) => {
    const idOf = (row: number) =>
      row % 2 === 0 ? 7 * (rows * (s + 1) + row) + 1 : 7 * ((row * 7919 + s) % rows)
    const { schema, batches } = makeBatches({ rows: merged, dim: 16, batchRows: 10_000, idOf })
    return new ArrowRows(schema, batches)
  })
  let merges = 0
  const merging = await race({
    title: `merging ${merged} rows into ${rows}, half of them new`,
    contestants: [
      {
        name: 'merge-insert',
        async run() {
          const request = {
            id: ['keyed'],
            on: ['id'],
            when_matched_update_all: true,
            when_not_matched_insert_all: true,
          }
          await ns.operations.mergeInsertIntoTable(request, sources[merges++]!)
          return true
        },
      },
    ],
    rounds: few,
  })
  return [single, merging]
}

// ---- counts, and building

async function manyRows(ns: Namespace, rows: number, rounds: number): Promise<readonly CaseResult[]> {
  const pieces = makePieces(rows, 1)
  const table = await fillTable(ns, pieces)
  // Read the columns first, so that they are in memory, as in a process that has been running for a while.
  const task = countTasks(rows)[0]!
  const scanned = await table.countRows(task.filter)
  const builds: Entry[] = []
  for (let round = 0; round < 3; round++) builds.push(await built(table, 'x', 'BTREE', rows))
  const building = { title: `building a BTREE over ${rows} float64`, entries: builds }
  await table.dropIndex('x_idx')
  const scan = await race({
    title: `${task.filter}: count of ${rows} rows by a scan`,
    contestants: [loop(task, pieces), count(task, table)],
    rounds,
  })
  for (const column of ['cat', 'flag']) await indexed(table, column, 'BITMAP')
  if ((await table.countRows(task.filter)) !== scanned)
    throw new Error('the count with indexes differs from the count by a scan')
  const byIndexes = await race({
    title: `${task.filter}: count of ${rows} rows with BITMAPs on cat and flag`,
    contestants: [loop(task, pieces), count(task, table)],
    rounds,
  })
  return [building, scan, byIndexes]
}

async function indexed(table: Table, column: string, type: 'BTREE' | 'BITMAP'): Promise<void> {
  await table.createIndex(column, { type })
  await table.waitForIndex([`${column}_idx`])
}

async function built(table: Table, column: string, type: 'BTREE', rows: number): Promise<Entry> {
  const started = process.hrtime.bigint()
  await indexed(table, column, type)
  const ms = Number(process.hrtime.bigint() - started) / 1e6
  const { bytes } = (await table.listIndices()).find(({ name }) => name === `${column}_idx`)!
  return {
    name: 'create and wait',
    milliseconds: { min: ms, p50: ms, p95: ms },
    relativeTime: 1,
    answer: '',
    figures: { bytesToColumn: bytes / (8 * rows) },
  }
}
