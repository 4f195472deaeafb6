/** Measures whether maintenance keeps a root as small and as fast as a new root, and the cost of maintenance. */
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ArrowRows } from '../src/client/arrow-rows.js'
import { connect, type MaintenanceEvent, type Namespace, sql, type Table } from '../src/index.js'
import { type Bench, type CaseResult, type Entry, longestGap, race } from './harness.js'
import { seededRandom } from './random.js'
import { makeBatches } from './wide-rows.js'

interface Parameters {
  /** Number of appends of one row. After every ten appends, one row is updated. */
  readonly appends: number
  /** Number of rows of the table that is compacted, and number of its fragments before. */
  readonly rows: number
  readonly fragments: number
  readonly rounds: number
}

export const bench: Bench<Parameters> = {
  name: 'maintenance',
  question: 'does a root stay as small and as fast as a new root, and what does maintenance cost?',
  small: { appends: 300, rows: 4_000, fragments: 20, rounds: 1 },
  full: { appends: 100_000, rows: 500_000, fragments: 50, rounds: 3 },
  async run({ appends, rows, fragments, rounds }) {
    const folder = mkdtempSync(join(tmpdir(), 'sheaf-bench-'))
    try {
      return [
        ...(await worn(join(folder, 'worn'), join(folder, 'fresh'), appends)),
        ...(await compacting(join(folder, 'wide'), rows, fragments, rounds)),
      ]
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

/** Settings with which maintenance deletes everything as soon as it is not needed. */
const nothingKept = { keepVersionsMs: 0, keepOrphansMs: 0, keepLogMs: 0 } as const

// ---- many small commits

async function worn(
  wornFolder: string,
  freshFolder: string,
  appends: number,
): Promise<readonly CaseResult[]> {
  const random = seededRandom(7)
  const row = (id: number) => ({ id, group: id % 97, text: `the text of row ${id}`, value: random() * 1000 })
  const events: MaintenanceEvent[] = []
  const ns = await connect(wornFolder, {
    maintenance: nothingKept,
    onMaintenance: event => events.push(event),
  })
  const table = await ns.createTable('t', [row(0)])
  const memory: number[] = []
  const took: number[] = []
  for (let tenth = 0; tenth < 10; tenth++) {
    const started = process.hrtime.bigint()
    let peak = 0
    for (let i = Math.floor((tenth * appends) / 10); i < Math.floor(((tenth + 1) * appends) / 10); i++) {
      if (i > 0) await table.add([row(i)])
      if (i % 10 === 9) await table.update({ value: sql`value + 1` }, 'id = ?', [Math.floor(random() * i)])
      if (i % 64 === 0) peak = Math.max(peak, process.memoryUsage.rss())
    }
    memory.push(peak)
    took.push(Number(process.hrtime.bigint() - started) / 1e6)
  }
  const [asItIs] = [sizeOf(wornFolder)]
  await ns.optimize()
  const fresh = await connect(freshFolder)
  const rows = await table.query().toArray()
  const freshTable = await fresh.createTable('t', rows as never)
  await fresh.optimize()
  const sizes = { worn: sizeOf(wornFolder), fresh: sizeOf(freshFolder) }
  const title = `${appends} appends of one row, and ${Math.floor(appends / 10)} updates of one`
  const queries: CaseResult[] = []
  for (const [what, ask] of questions) {
    const contestants = [
      { name: 'fresh', run: () => ask(freshTable) },
      { name: 'worn', run: () => ask(table) },
    ]
    queries.push(
      await race({ title: `${what}, after ${title}`, contestants, rounds: appends > 1000 ? 41 : 1 }),
    )
  }
  await fresh.close()
  await ns.close()
  const figures = {
    milliseconds: took.reduce((sum, ms) => sum + ms, 0),
    filesBeforeLastOptimize: asItIs.files,
    files: sizes.worn.files,
    filesFresh: sizes.fresh.files,
    bytes: sizes.worn.bytes,
    bytesToFresh: sizes.worn.bytes / sizes.fresh.bytes,
    compactions: events.filter(({ kind }) => kind === 'compaction').length,
    rowsWrittenAnewPerRow:
      events.reduce((sum, event) => sum + (event.kind === 'compaction' ? event.rows : 0), 0) / appends,
    rssFirstTenthMiB: memory[0]! / 2 ** 20,
    rssLastTenthMiB: memory[9]! / 2 ** 20,
    rssLastToFirst: memory[9]! / memory[0]!,
    msPerCommitFirstTenth: took[0]! / (0.11 * appends),
    msPerCommitLastTenth: took[9]! / (0.11 * appends),
  }
  return [
    {
      title,
      entries: [
        entry(
          'all',
          took.reduce((sum, ms) => sum + ms, 0),
          figures,
        ),
      ],
    },
    ...queries,
  ]
}

const questions: readonly (readonly [string, (table: Table) => Promise<number>])[] = [
  ['count of a filter', table => table.countRows('value > 500 AND group < 50')],
  [
    'rows of a filter',
    async table =>
      (await table.query().where('group = 13').select(['id', 'text']).limit(100).toArray()).length,
  ],
  ['one row by key', async table => (await table.query().where('id = 77').toArray()).length],
]

function sizeOf(folder: string): { readonly files: number; readonly bytes: number } {
  let files = 0
  let bytes = 0
  for (const name of readdirSync(folder, { recursive: true }) as string[]) {
    const stat = statSync(join(folder, name))
    if (!stat.isFile()) continue
    files++
    bytes += stat.size
  }
  return { files, bytes }
}

function entry(name: string, ms: number, figures: Readonly<Record<string, number>>): Entry {
  return { name, milliseconds: { min: ms, p50: ms, p95: ms }, relativeTime: 1, answer: '', figures }
}

// ---- compaction, compared with a plain copy, and its effect on queries

async function compacting(
  folder: string,
  rows: number,
  fragments: number,
  rounds: number,
): Promise<readonly CaseResult[]> {
  const ns = await connect(folder, { maintenance: { compact: false } })
  try {
    const copies: Entry[] = []
    const compactions: Entry[] = []
    const ratios: number[] = []
    for (let round = 0; round < rounds; round++) {
      const table = await manyFragments(ns, `t${round}`, rows, fragments)
      const copied = await timed(() => copy(ns, table, `copy${round}`))
      const compacted = await timed(() => ns.optimize())
      ratios.push(copied / compacted)
      copies.push(entry('copied', copied, {}))
      compactions.push(entry('compacted', compacted, {}))
      await ns.dropTable(`copy${round}`)
    }
    const ratio = ratios.sort((a, b) => a - b)[Math.floor(rounds / 2)]!
    const title = `${rows} rows x 128 f32 in ${fragments} fragments`
    const throughput = {
      title: `${title}: throughput beside a plain copy`,
      entries: [entry('compaction to copy', 0, { ratio })],
    }
    const table = await manyFragments(ns, 'queried', rows, fragments)
    const idle = await latencies(table, async () => {
      for (let i = 0; i < 10; i++) await new Promise(resolve => setTimeout(resolve, 100))
    })
    const end = longestGap()
    const busy = await latencies(table, () => ns.optimize())
    const longestGapMs = end()
    const latency = {
      title: `${title}: queries beside the compaction`,
      entries: [
        entry('idle', idle.p50, { p50: idle.p50, p99: idle.p99, queries: idle.count }),
        entry('compacting', busy.p50, {
          p50: busy.p50,
          p99: busy.p99,
          queries: busy.count,
          p99ToIdle: busy.p99 / idle.p99,
          longestGapMs,
        }),
      ],
    }
    return [{ title, entries: [...copies, ...compactions] }, throughput, latency]
  } finally {
    await ns.close()
  }
}

async function manyFragments(ns: Namespace, name: string, rows: number, fragments: number): Promise<Table> {
  const each = Math.ceil(rows / fragments)
  for (let f = 0; f < fragments; f++) {
    const { schema, batches } = makeBatches({
      rows: each,
      dim: 128,
      batchRows: 10_000,
      idOf: row => f * each + row,
    })
    const body = new ArrowRows(schema, batches)
    if (f === 0) await ns.operations.createTable({ id: [name] }, body)
    else await ns.operations.insertIntoTable({ id: [name] }, body)
  }
  return ns.openTable(name)
}

/** Copy a table through the public API: read all rows, and write them. */
async function copy(ns: Namespace, table: Table, name: string): Promise<void> {
  await ns.createTable(name, table.query().batches())
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = process.hrtime.bigint()
  await work()
  return Number(process.hrtime.bigint() - started) / 1e6
}

/** Measure the latency of queries for one row by its key while `work` runs. A query is sent every few milliseconds. */
async function latencies(table: Table, work: () => Promise<unknown>) {
  let isOver = false
  const working = work().finally(() => {
    isOver = true
  })
  const random = seededRandom(3)
  const rows = await table.countRows()
  const took: number[] = []
  while (!isOver) {
    const id = Math.floor(random() * rows)
    took.push(await timed(() => table.query().where('id = ?', [id]).select(['id', 'text']).toArray()))
    await new Promise(resolve => setTimeout(resolve, 5))
  }
  await working
  const sorted = took.sort((a, b) => a - b)
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!
  return { p50: at(0.5), p99: at(0.99), count: sorted.length }
}
