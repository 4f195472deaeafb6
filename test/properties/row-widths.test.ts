/** Rows of 0 bytes to 1 MB in one table, in any order: every operation that writes rows anew keeps each of them as it was. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { connect, type Schema, sql, type Table } from '../../src/index.js'

const text = { kind: 'utf8', large: false } as const
const whole = { kind: 'int', bits: 64, signed: true } as const
const schema: Schema = {
  fields: [
    { name: 'id', type: whole, nullable: false },
    { name: 'n', type: whole, nullable: true },
    { name: 's', type: text, nullable: true },
    {
      name: 'words',
      type: { kind: 'list', large: false, child: { name: 'item', type: text, nullable: true } },
      nullable: true,
    },
  ],
}

interface Row {
  readonly id: number
  readonly n: number
  readonly s: string | null
  readonly words: readonly string[]
}

function rowOf(id: number, width: number): Row {
  const letter = String.fromCharCode(97 + (id % 26))
  const s = letter.repeat(width)
  return {
    id,
    n: id % 7,
    s: width === 0 && id % 2 === 0 ? null : s,
    words: width % 3 === 0 ? [] : [s, letter],
  }
}

/** Rows that follow each other, of one width: many short ones, few long ones. */
const run = fc.oneof(
  fc.record({ count: fc.integer({ min: 1, max: 6000 }), width: fc.integer({ min: 0, max: 60 }) }),
  fc.record({ count: fc.integer({ min: 1, max: 400 }), width: fc.integer({ min: 500, max: 4000 }) }),
  fc.record({ count: fc.integer({ min: 1, max: 40 }), width: fc.integer({ min: 10_000, max: 40_000 }) }),
  fc.record({ count: fc.integer({ min: 1, max: 2 }), width: fc.integer({ min: 300_000, max: 1_000_000 }) }),
)
type Run = typeof run extends fc.Arbitrary<infer R> ? R : never

const some = fc.record({ by: fc.integer({ min: 1, max: 5 }), rest: fc.nat(4) })
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ add: run }) },
  { weight: 2, arbitrary: fc.record({ update: some }) },
  { weight: 1, arbitrary: fc.record({ lengthen: some }) },
  { weight: 2, arbitrary: fc.record({ merge: fc.array(run, { minLength: 1, maxLength: 2 }), at: fc.nat() }) },
  { weight: 2, arbitrary: fc.record({ remove: some }) },
  { weight: 2, arbitrary: fc.record({ optimize: fc.constant(true) }) },
  { weight: 1, arbitrary: fc.record({ refresh: fc.constant(true) }) },
  { weight: 1, arbitrary: fc.record({ copy: fc.constant(true) }) },
  { weight: 1, arbitrary: fc.record({ widen: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ restore: fc.nat() }) },
)
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

/** The rows by id, as every version had them. */
type Model = Map<number, Row>

function rowsOfRuns(runs: readonly Run[], firstId: number): Row[] {
  const rows: Row[] = []
  for (const { count, width } of runs) {
    for (let i = 0; i < count; i++) rows.push(rowOf(firstId + rows.length, width))
  }
  return rows
}

const chosen = ({ by, rest }: { by: number; rest: number }) => `id % ${by} = ${rest % by}`
const isChosen = ({ by, rest }: { by: number; rest: number }, id: number) => id % by === rest % by

async function expectRows(table: Table, model: Model): Promise<void> {
  const rows = await table.query().select(['id', 'n', 's', 'words']).toArray()
  expect(rows.length).toBe(model.size)
  for (const row of rows as unknown as Row[]) {
    const { n, s, words } = model.get(row.id)!
    const isSame = Number(row.n) === n && row.s === s && [...row.words].join() === words.join()
    if (!isSame) expect.fail(`row ${row.id} was changed`)
  }
}

async function change(table: Table, model: Model, each: Step): Promise<Model> {
  const next = new Map(model)
  if ('add' in each) {
    const rows = rowsOfRuns([each.add], Math.max(-1, ...model.keys()) + 1)
    await table.add(rows)
    for (const row of rows) next.set(row.id, row)
  } else if ('update' in each) {
    await table.update({ n: sql`n + 1` }, chosen(each.update))
    for (const row of model.values())
      if (isChosen(each.update, row.id)) next.set(row.id, { ...row, n: row.n + 1 })
  } else if ('lengthen' in each) {
    await table.update({ s: sql`concat(s, '+')` }, `${chosen(each.lengthen)} AND s IS NOT NULL`)
    for (const row of model.values())
      if (isChosen(each.lengthen, row.id) && row.s !== null) next.set(row.id, { ...row, s: `${row.s}+` })
  } else if ('merge' in each) {
    const first = [...model.keys()][each.at % model.size] ?? 0
    const rows = rowsOfRuns(each.merge, first).map(row => ({ ...row, n: 100 }))
    await table.mergeInsert('id').whenMatchedUpdateAll().whenNotMatchedInsertAll().execute(rows)
    for (const row of rows) next.set(row.id, row)
  } else if ('remove' in each) {
    await table.delete(chosen(each.remove))
    for (const id of model.keys()) if (isChosen(each.remove, id)) next.delete(id)
  } else if ('copy' in each) {
    await table.addColumns({ copy: 's' })
    const wrong = await table.countRows(`NOT (copy = s OR (copy IS NULL AND s IS NULL))`)
    expect(wrong).toBe(0)
    await table.dropColumns(['copy'])
  } else if ('widen' in each) {
    await table.alterColumns({ n: { type: each.widen ? 'float64' : 'int64' } })
  }
  return next
}

async function check(runs: readonly Run[], steps: readonly Step[]): Promise<void> {
  const ns = await connect('memory://')
  const rows = rowsOfRuns(runs, 0)
  const table = await ns.createTable('t', rows, { schema })
  const view = await ns.createView('v', {
    source: 't',
    columns: { id: 'id', n: 'CAST(n AS bigint)', s: 's', words: 'words' },
  })
  let model: Model = new Map(rows.map(row => [row.id, row]))
  const versions = new Map<number, Model>([[await table.version(), model]])
  let isFloat = false
  const floats = new Map<number, boolean>()
  for (const each of steps) {
    if ('optimize' in each) await ns.optimize()
    else if ('refresh' in each) {
      await view.refresh()
      await expectRows(view, model)
    } else if ('restore' in each) {
      const version = [...versions.keys()][each.restore % versions.size]!
      await table.restore(version)
      model = versions.get(version)!
      isFloat = floats.get(version) ?? false
    } else if ('widen' in each && each.widen === isFloat) continue
    else {
      model = await change(table, model, each)
      if ('widen' in each) isFloat = each.widen
    }
    versions.set(await table.version(), model)
    floats.set(await table.version(), isFloat)
    await expectRows(table, model)
  }
  await view.refresh()
  await expectRows(view, model)
  await ns.optimize()
  await expectRows(table, model)
  expect((await ns.verify()).problems).toEqual([])
  await ns.close()
}

const short = { count: 5000, width: 40 }
const wide = { count: 30, width: 20_000 }

const all = { by: 1, rest: 0 }
const wideAppends = Array.from({ length: 20 }, () => ({ add: { count: 1, width: 20_000 } }))

test.each<[string, readonly Step[]]>([
  ['an update', [{ add: wide }, { update: all }]],
  ['a merge of whole rows', [{ add: wide }, { merge: [short, wide], at: 0 }]],
  ['the refresh of a view', [{ add: wide }, { refresh: true }]],
  ['a compaction', [...wideAppends, { optimize: true }]],
])('short rows followed by wide ones survive %s', (_, steps) => check([short], steps))

test('any operations on rows of any widths give what arrays give', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(run, { minLength: 1, maxLength: 4 }),
      fc.array(step, { minLength: 2, maxLength: 8 }),
      check,
    ),
    { numRuns: 12 },
  )
})
