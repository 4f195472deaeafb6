/**
 * Measures updates, deletes and merges, and whether the cost of changing one row depends on the number of fragments.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ArrowRows } from '../src/client/arrow-rows.js'
import { connect, type Namespace, sql, type Table } from '../src/index.js'
import { type Bench, type CaseResult, type Contestant, longestGap, race } from './harness.js'
import { seededRandom } from './random.js'
import { makeBatches } from './wide-rows.js'

const shape = { dim: 128, batchRows: 10_000 } as const

interface Parameters {
  readonly rows: number
  readonly fragments: number
  /** Number of commits of one row each that a table consists of. */
  readonly commits: number
  /** Number of rows of a merge. The table already has half of them. */
  readonly merged: number
  readonly rounds: number
}

export const bench: Bench<Parameters> = {
  name: 'mutate',
  question:
    'what do updates, deletes and merges cost, and does changing one row cost more with many fragments?',
  small: { rows: 4_000, fragments: 20, commits: 40, merged: 100, rounds: 2 },
  full: { rows: 1_000_000, fragments: 500, commits: 10_000, merged: 10_000, rounds: 15 },
  async run({ rows, fragments, commits, merged, rounds }) {
    const folder = mkdtempSync(join(tmpdir(), 'sheaf-bench-'))
    const ns = await connect(folder, { maintenance: { compact: false } })
    try {
      const one = await wideTable(ns, 'one', rows, 1)
      const many = await wideTable(ns, 'many', rows, fragments)
      // Read the columns first, so that they are in memory, as in a process that has been running for a while.
      for (const table of [one, many]) await table.search(new Float32Array(shape.dim)).limit(1).toArray()
      return [
        await single('update one row', { one, many }, rows, rounds, async (table, id, i) => {
          return (await table.update({ text: `changed ${i}` }, 'id = ?', [id])).rows
        }),
        await single('delete one row', { one, many }, rows, rounds, async (table, id) => {
          return (await table.delete('id = ?', [id])).rows
        }),
        await smallCommits(ns, commits, rounds),
        await bulk(ns, one, rows, merged, rounds),
      ]
    } finally {
      await ns.close()
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

async function wideTable(ns: Namespace, name: string, rows: number, fragments: number): Promise<Table> {
  const each = Math.ceil(rows / fragments)
  for (let f = 0; f < fragments; f++) {
    const { schema, batches } = makeBatches({ ...shape, rows: each, idOf: row => f * each + row })
    const body = new ArrowRows(schema, batches)
    if (f === 0) await ns.operations.createTable({ id: [name] }, body)
    else await ns.operations.insertIntoTable({ id: [name] }, body)
  }
  return ns.openTable(name)
}

/** Change single rows. Both tables get the same changes. */
async function single(
  title: string,
  { one, many }: { readonly one: Table; readonly many: Table },
  rows: number,
  rounds: number,
  run: (table: Table, id: number, i: number) => Promise<number>,
): Promise<CaseResult> {
  const contestant = (name: string, table: Table): Contestant => {
    const random = seededRandom(title.length)
    let i = 0
    return { name, run: () => run(table, Math.floor(random() * rows), i++) }
  }
  const title_ = `${title} of ${rows} x 128 f32, id, text`
  const contestants = [contestant('1 fragment', one), contestant('many fragments', many)]
  return gapped(await race({ title: title_, contestants, rounds: 4 * rounds }), contestants)
}

/** Change single rows of a table that consists of commits of one row each, which no compaction has joined. */
async function smallCommits(ns: Namespace, commits: number, rounds: number): Promise<CaseResult> {
  const table = await ns.createTable('small', [{ id: 0, text: 'the text of row 0' }])
  for (let id = 1; id < commits; id++) await table.add([{ id, text: `the text of row ${id}` }])
  const random = seededRandom(commits)
  const drawn = () => Math.floor(random() * commits)
  let i = 0
  const contestants: Contestant[] = [
    {
      name: 'update',
      run: async () => (await table.update({ text: `changed ${i++}` }, 'id = ?', [drawn()])).rows,
    },
    { name: 'get', run: async () => (await table.get(drawn())) !== null },
  ]
  return race({ title: `one row of ${commits} commits of one row`, contestants, rounds: 4 * rounds })
}

async function bulk(
  ns: Namespace,
  table: Table,
  rows: number,
  merged: number,
  rounds: number,
): Promise<CaseResult> {
  let merges = 0
  let updates = 0
  const sources = Array.from({ length: rounds + 3 }, (_, i) => upserts(rows, merged, i + 1))
  const contestants: Contestant[] = [
    {
      name: `merge ${merged}, half of them new`,
      async run() {
        const body = sources[merges++]!
        const request = {
          id: ['one'],
          on: ['id'],
          when_matched_update_all: true,
          when_not_matched_insert_all: true,
        }
        const reply = await ns.operations.mergeInsertIntoTable(request, body)
        return reply.num_inserted_rows + reply.num_updated_rows > 0 ? merged : 0
      },
    },
    {
      name: 'update 1 %',
      async run() {
        const { rows: updated } = await table.update(
          { text: sql`text || '!'` },
          `id % 100 = ${updates++ % 100}`,
        )
        return updated > 0
      },
    },
  ]
  return gapped(await race({ title: `changing many of ${rows} rows`, contestants, rounds }), contestants)
}

/** Return rows to merge. Every other row is new. The other rows exist in random positions of the table. */
function upserts(rows: number, count: number, seed: number): ArrowRows {
  const random = seededRandom(seed)
  const taken = new Set<number>()
  const known = () => {
    for (;;) {
      const id = Math.floor(random() * rows)
      if (taken.has(id)) continue
      taken.add(id)
      return id
    }
  }
  const idOf = (row: number) => (row % 2 === 0 ? rows * (seed + 1) + row : known())
  const { schema, batches } = makeBatches({ ...shape, rows: count, idOf })
  return new ArrowRows(schema, batches)
}

/** Run each contestant once more, and add the maximum event-loop delay to its entry. */
async function gapped(result: CaseResult, contestants: readonly Contestant[]): Promise<CaseResult> {
  const entries = []
  for (const [i, entry] of result.entries.entries()) {
    const end = longestGap()
    await contestants[i]!.run()
    entries.push({ ...entry, figures: { longestGapMs: end() } })
  }
  return { ...result, entries }
}
