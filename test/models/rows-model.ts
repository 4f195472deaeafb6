/**
 * A table of plain objects, and what each way to change rows does to it: the model that tables are held against. `u` names
 * a row for ever, unless a merge inserted it; `k` is the key merges go by, `n` a number or nothing.
 */
import fc from 'fast-check'
import { type Namespace, sql, type Table } from '../../src/index.js'

export interface ModelRow {
  readonly u: number | null
  readonly k: number
  readonly n: number | null
}

export type Rows = readonly ModelRow[]

/** One change, on the model and on the table. */
export interface RowOp {
  readonly name: string
  /** `past`: the rows of every version so far, by its number. */
  readonly model: (rows: Rows, past: ReadonlyMap<number, Rows>) => Rows
  readonly run: (table: Table, past: ReadonlyMap<number, Rows>) => Promise<unknown>
  /** Whether a table that others change at the same time may refuse it. */
  readonly mayConflict?: boolean
}

/** Conditions over a row, as SQL and as the model sees them: three-valued, so that a null passes none. */
const condition = fc.oneof(
  fc.record({ m: fc.integer({ min: 1, max: 4 }), r: fc.nat(3) }).map(({ m, r }) => ({
    text: `k % ${m} = ${r % m}`,
    holds: ({ k }: ModelRow) => k % m === r % m,
  })),
  fc.integer({ min: -5, max: 30 }).map(c => ({
    text: `n > ${c}`,
    holds: ({ n }: ModelRow) => n !== null && n > c,
  })),
  fc.constant({ text: 'n IS NULL', holds: ({ n }: ModelRow) => n === null }),
  fc.nat(12).map(c => ({ text: `k = ${c}`, holds: ({ k }: ModelRow) => k === c })),
)

/** What an update sets: reads of one column, writes of the other, so that the order of two shows. */
const setting = fc.oneof(
  fc.integer({ min: -9, max: 9 }).map(c => ({
    text: `n = n + ${c}`,
    set: { n: sql`n + ${c}` },
    model: (row: ModelRow): ModelRow => ({ ...row, n: row.n === null ? null : row.n + c }),
  })),
  fc.nat(12).map(c => ({
    text: `k = ${c}, n = k`,
    set: { k: c, n: sql`k` },
    model: (row: ModelRow): ModelRow => ({ ...row, k: c, n: row.k }),
  })),
  fc.constant({
    text: 'n = NULL',
    set: { n: null },
    model: (row: ModelRow): ModelRow => ({ ...row, n: null }),
  }),
)

let nextRow = 1

const someRows = (most: number) =>
  fc
    .array(fc.record({ k: fc.nat(12), n: fc.option(fc.integer({ min: -9, max: 40 })) }), {
      minLength: 1,
      maxLength: most,
    })
    .map(rows => rows.map((row): ModelRow => ({ ...row, u: nextRow++ })))

/** Too many to ride in a slot. */
const manyRows = fc.nat(1000).map(seed => {
  return Array.from({ length: 4000 }, (_, i): ModelRow => {
    return { u: nextRow++, k: (i * 7 + seed) % 13, n: (i + seed) % 5 === 0 ? null : (i * seed) % 40 }
  })
})

const add: fc.Arbitrary<RowOp> = fc
  .oneof({ weight: 5, arbitrary: someRows(5) }, { weight: 1, arbitrary: manyRows })
  .map(rows => ({
    name: `add ${rows.length}`,
    model: before => [...before, ...rows],
    run: table => table.add(rows),
  }))

const update: fc.Arbitrary<RowOp> = fc.tuple(setting, condition).map(([{ text, set, model }, where]) => ({
  name: `update ${text} where ${where.text}`,
  model: before => before.map(row => (where.holds(row) ? model(row) : row)),
  run: table => table.update(set, where.text),
}))

const remove: fc.Arbitrary<RowOp> = condition.map(where => ({
  name: `delete ${where.text}`,
  model: before => before.filter(row => !where.holds(row)),
  run: table => table.delete(where.text),
}))

const merge: fc.Arbitrary<RowOp> = fc
  .record({
    rows: someRows(4).map(rows => [...new Map(rows.map(({ k, n }) => [k, { u: null, k, n }])).values()]),
    update: fc.option(fc.constantFrom('true', 'source.n > target.n')),
    insert: fc.boolean(),
    remove: fc.option(condition),
  })
  .filter(({ update, insert, remove }) => update !== null || insert || remove !== null)
  .map(({ rows, update, insert, remove }) => ({
    name: `merge ${rows.map(({ k, n }) => `${k}: ${n}`)} update ${update} insert ${insert} delete ${remove?.text}`,
    model(before) {
      const byKey = new Map(rows.map(row => [row.k, row]))
      const replaced = (row: ModelRow): ModelRow => {
        const n = byKey.get(row.k)?.n
        const isGreater = n !== undefined && n !== null && row.n !== null && n > row.n
        return n === undefined || update === null || (update !== 'true' && !isGreater) ? row : { ...row, n }
      }
      const kept = before.filter(row => byKey.has(row.k) || remove === null || !remove.holds(row))
      const known = new Set(before.map(({ k }) => k))
      return [...kept.map(replaced), ...(insert ? rows.filter(({ k }) => !known.has(k)) : [])]
    },
    run(table) {
      let all = table.mergeInsert('k')
      if (update !== null) all = all.whenMatchedUpdateAll(update === 'true' ? {} : { where: update })
      if (insert) all = all.whenNotMatchedInsertAll()
      if (remove !== null) all = all.whenNotMatchedBySourceDelete({ where: remove.text })
      // Without `u`: a row that is replaced keeps what names it.
      return all.execute(rows.map(({ k, n }) => ({ k, n })))
    },
  }))

const overwrite: fc.Arbitrary<RowOp> = someRows(4).map(rows => ({
  name: `overwrite by ${rows.length}`,
  mayConflict: true,
  model: () => rows,
  run: table => table.add(rows, { mode: 'overwrite' }),
}))

const restore: fc.Arbitrary<RowOp> = fc.nat().map(choice => {
  const version = (past: ReadonlyMap<number, Rows>) => [...past.keys()][choice % past.size]!
  return {
    name: `restore ${choice}`,
    mayConflict: true,
    model: (_, past) => past.get(version(past))!,
    run: (table, past) => table.restore(version(past)),
  }
})

export const rowOp: fc.Arbitrary<RowOp> = fc.oneof(
  { weight: 4, arbitrary: add },
  { weight: 5, arbitrary: update },
  { weight: 3, arbitrary: remove },
  { weight: 4, arbitrary: merge },
  { weight: 1, arbitrary: overwrite },
  { weight: 1, arbitrary: restore },
)

/** Several operations in one transaction. */
export async function together(
  ns: Namespace,
  ops: readonly RowOp[],
  past: ReadonlyMap<number, Rows>,
): Promise<void> {
  await ns.transaction(async tx => {
    for (const op of ops) await op.run(tx.table('t'), past)
  })
}

/** The rows of a table in an order that depends on nothing but them. */
export function inOrder(rows: Rows): Rows {
  const key = ({ u, k, n }: ModelRow) => `${u} ${k} ${n}`
  return rows.map(({ u, k, n }) => ({ u, k, n })).sort((a, b) => (key(a) < key(b) ? -1 : 1))
}
