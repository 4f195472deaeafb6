/**
 * Rows against a model: whatever changes them, every version has the rows the model says, under ids that stay. What several
 * do at the same time, through several openers, comes to what some order of it would have.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { connect, type Namespace, schema, type Table } from '../../src/index.js'
import { inOrder, type ModelRow, type RowOp, type Rows, rowOp, together } from './rows-model.js'

type Step =
  | { readonly kind: 'one'; readonly op: RowOp }
  /** At the same time, through openers in turn, while the table is compacted through so many of them. */
  | { readonly kind: 'race'; readonly ops: readonly RowOp[]; readonly compacting: number }
  /** In one transaction. */
  | { readonly kind: 'together'; readonly ops: readonly RowOp[] }
  | { readonly kind: 'reopen' }
  | { readonly kind: 'compact' }

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('one' as const), op: rowOp }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('race' as const),
      ops: fc.array(rowOp, { minLength: 2, maxLength: 3 }),
      compacting: fc.nat(2),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('together' as const),
      ops: fc.array(rowOp, { minLength: 1, maxLength: 3 }),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'reopen' as const }) },
  { weight: 2, arbitrary: fc.constant({ kind: 'compact' as const }) },
)

const columns = ['u', 'k', 'n'] as const

async function rowsOf(table: Table): Promise<{ rows: Rows; ids: Map<number, number> }> {
  const found = await table
    .query()
    .select([...columns])
    .withRowId()
    .toArray()
  const ids = new Map<number, number>()
  for (const { u, _rowid } of found) if (u !== null) ids.set(u as number, _rowid as number)
  expect(new Set(found.map(({ _rowid }) => _rowid)).size).toBe(found.length)
  return { rows: inOrder(found.map(({ u, k, n }) => ({ u, k, n }) as ModelRow)), ids }
}

/** Rows are found by their ids, wherever they lie. */
async function checkLookups(table: Table, rows: readonly Record<string, unknown>[]): Promise<void> {
  const ids = rows.map(({ _rowid }) => _rowid as number)
  const some = ids.filter((_, i) => i % 3 === 0).slice(0, 20)
  const [least, greatest] = [Math.min(...some, 7), Math.max(...some, 0)]
  for (const [where, wanted] of [
    [`_rowid IN (${[...some, 1e9].join(', ')})`, (id: number) => some.includes(id)],
    [`_rowid >= ${least} AND _rowid < ${greatest}`, (id: number) => id >= least && id < greatest],
  ] as const) {
    const found = await table.query().where(where).withRowId().toArray()
    expect(found).toEqual(rows.filter(({ _rowid }) => wanted(_rowid as number)))
  }
}

function* permutations<T>(items: readonly T[]): Generator<readonly T[]> {
  if (items.length === 0) yield []
  for (const [i, first] of items.entries()) {
    for (const rest of permutations([...items.slice(0, i), ...items.slice(i + 1)])) yield [first, ...rest]
  }
}

let roots = 0

async function history(steps: readonly Step[]): Promise<void> {
  const path = `memory://rows-${roots++}`
  const openers: Namespace[] = [await connect(path), await connect(path)]
  const first: Rows = [{ u: 0, k: 0, n: 0 }]
  await openers[0]!.createTable('t', first, {
    schema: schema({ u: 'float64', k: 'float64', n: 'float64' }),
  })
  const past = new Map<number, Rows>([[1, first]])
  const rowIds = new Map<number, number>()
  const rowsById = new Map<number, number>()
  let rows: Rows = first
  const apply = (ops: readonly RowOp[]) => ops.reduce((before, op) => op.model(before, past), rows)
  for (const step of steps) {
    const [ns, other] = openers as [Namespace, Namespace]
    if (step.kind === 'one') {
      await step.op.run(ns.table('t'), past)
      rows = apply([step.op])
    } else if (step.kind === 'together') {
      await together(ns, step.ops, past)
      rows = apply(step.ops)
    } else if (step.kind === 'race') {
      const compacting = Promise.all(openers.slice(0, step.compacting).map(opener => opener.optimize()))
      const results = await Promise.allSettled(
        step.ops.map((op, i) => op.run((i % 2 === 0 ? ns : other).table('t'), past)),
      )
      await compacting
      const done = step.ops.filter((_, i) => results[i]!.status === 'fulfilled')
      for (const result of results) {
        if (result.status === 'fulfilled') continue
        expect(result.reason).toMatchObject({ code: 14 })
        expect(step.ops.some(op => op.mayConflict)).toBe(true)
      }
      const actual = (await rowsOf(ns.table('t'))).rows
      const orders = [...permutations(done)].map(ops => inOrder(apply(ops)))
      const texts = orders.map(order => JSON.stringify(order))
      expect(texts, step.ops.map(op => op.name).join(' | ')).toContain(JSON.stringify(actual))
      rows = actual
    } else if (step.kind === 'compact') {
      const table = ns.table('t')
      const before = await table.query().withRowId().toArray()
      await other.optimize()
      expect(await table.query().withRowId().toArray()).toEqual(before)
      await checkLookups(table, before)
    } else {
      await openers.shift()!.close()
      openers.push(await connect(path))
    }
    const table = await openers[0]!.openTable('t')
    const now = await rowsOf(table)
    expect(now.rows).toEqual(inOrder(rows))
    expect(await table.countRows()).toBe(rows.length)
    for (const [u, id] of now.ids) {
      expect(rowIds.get(u) ?? id, `row ${u}`).toBe(id)
      expect(rowsById.get(id) ?? u, `row id ${id}`).toBe(u)
      rowIds.set(u, id)
      rowsById.set(id, u)
    }
    const version = await table.version()
    expect(past.get(version) ?? now.rows).toEqual(inOrder(past.get(version) ?? rows))
    past.set(version, inOrder(rows))
    // Versions that several made at the same time were not looked at one by one.
    const live = new Set((await table.versions()).map(({ version }) => version))
    for (const known of past.keys()) expect(live).toContain(known)
  }
  const table = await openers[0]!.openTable('t')
  for (const [version, then] of past) {
    expect((await rowsOf(await table.checkout(version))).rows, `version ${version}`).toEqual(inOrder(then))
  }
  for (const ns of openers) await ns.close()
}

test('every version has the rows of the model: alone, in transactions, and concurrently', async () => {
  await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 14 }), history), { numRuns: 30 })
}, 120_000)
