/** Rows found by indexes are the rows that looking at every row finds, whatever the indexes cover and guess. */
import fc from 'fast-check'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { connect, type Namespace, type Schema, type Table } from '../../src/index.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import type { TableReader } from '../../src/table/table-reader.js'
import { FakeIndex, type FakeIndexOptions } from '../support/fake-index.js'
import { WrappedStore } from '../support/stores.js'

/** The indexes that tables have from now on; all that were made, the newest last. */
const fake = vi.hoisted(() => ({
  options: [] as readonly unknown[],
  make: (_reader: unknown, _options: unknown): unknown => undefined,
  /** What asking an index costs, as a part of what it does. */
  cost: 1,
}))

vi.mock('../../src/query/probe-costs.js', async original => {
  const module = await original<typeof import('../../src/query/probe-costs.js')>()
  const probing: typeof module.probing = (...what) => fake.cost * module.probing(...what)
  return { ...module, probing }
})

vi.mock('../../src/table/table-reader.js', async original => {
  const module = await original<typeof import('../../src/table/table-reader.js')>()
  class IndexedReader extends module.TableReader {
    constructor(...[source, location, layout]: ConstructorParameters<typeof TableReader>) {
      const indexes: unknown[] = []
      super(source, location, layout, indexes as never)
      indexes.push(...fake.options.map(options => fake.make(this, options)))
    }
  }
  return { ...module, TableReader: IndexedReader }
})

const made: FakeIndex[] = []
fake.make = (reader, options) => {
  made.push(new FakeIndex(reader as TableReader, options as FakeIndexOptions))
  return made.at(-1)
}

function indexBy(...options: readonly FakeIndexOptions[]): void {
  fake.options = options
}

afterEach(() => {
  indexBy()
  made.length = 0
  fake.cost = 1
})

const schema: Schema = {
  fields: [
    { name: 'id', type: { kind: 'int', bits: 64, signed: true }, nullable: false },
    { name: 'x', type: { kind: 'int', bits: 32, signed: true }, nullable: true },
    { name: 'name', type: { kind: 'utf8', large: false }, nullable: true },
    { name: 'flag', type: { kind: 'bool' }, nullable: true },
    {
      name: 'tags',
      type: {
        kind: 'list',
        large: false,
        child: { name: 'item', type: { kind: 'utf8', large: false }, nullable: true },
      },
      nullable: true,
    },
    {
      name: 's',
      type: {
        kind: 'struct',
        children: [{ name: 'n', type: { kind: 'float', bits: 64 }, nullable: true }],
      },
      nullable: true,
    },
    {
      name: 'v',
      type: {
        kind: 'fixed_size_list',
        size: 2,
        child: { name: 'item', type: { kind: 'float', bits: 32 }, nullable: true },
      },
      nullable: true,
    },
  ],
}

const indexOn = {
  id: { name: 'id_idx', kind: 'BTREE', path: ['id'] },
  x: { name: 'x_idx', kind: 'BTREE', path: ['x'] },
  name: { name: 'name_idx', kind: 'BTREE', path: ['name'] },
  flag: { name: 'flag_idx', kind: 'BITMAP', path: ['flag'] },
  tags: { name: 'tags_idx', kind: 'LABEL_LIST', path: ['tags'] },
  s: { name: 's_idx', kind: 'BTREE', path: ['s', 'n'] },
} as const

// ---- the property

const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: null })
const number = fc.integer({ min: -2, max: 6 })
const text = fc.constantFrom('', 'a', 'ab', 'abc', 'b', 'é', '\u{10ffff}')
const rowOf = fc.record({
  x: maybe(number),
  name: maybe(text),
  flag: maybe(fc.boolean()),
  tags: maybe(fc.array(maybe(text), { maxLength: 3 })),
  s: maybe(fc.record({ n: maybe(fc.constantFrom(0, 1, 2.5, Number.NaN, Number.POSITIVE_INFINITY)) })),
  v: maybe(fc.tuple(number, number)),
})

const quoted = text.map(value => `'${value}'`)
const condition = fc.oneof(
  fc
    .tuple(
      fc.constantFrom('x', 'id', 's.n', 'x + 1'),
      fc.constantFrom('=', '<>', '<', '<=', '>', '>='),
      number,
    )
    .map(parts => parts.join(' ')),
  fc.tuple(number, number).map(([a, b]) => `x BETWEEN ${a} AND ${b}`),
  fc
    .tuple(
      fc.constantFrom('x IN', 'x NOT IN', 'id IN'),
      fc.array(fc.oneof(number, fc.constant('NULL')), { minLength: 1, maxLength: 4 }),
    )
    .map(([start, list]) => `${start} (${list.join(', ')})`),
  fc.constantFrom(
    ...['x', 'name', 'flag', 's.n', 'tags'].flatMap(name => [`${name} IS NULL`, `${name} IS NOT NULL`]),
    ...[
      'flag',
      'NOT flag',
      'flag IS TRUE',
      'flag IS NOT TRUE',
      'flag IS FALSE',
      'flag IS NOT FALSE',
      'flag <> true',
    ],
    ...['(x > 2) IS TRUE', '(x > 2) IS NOT TRUE', '(x > 2 OR flag) IS NOT TRUE', 'x IS DISTINCT FROM 2'],
    ...['id % 3 = 0', 'x = id', '_rowid IN (1, 5, 9, 12)', '_rowoffset >= 4', 'length(name) = 2'],
  ),
  fc
    .tuple(
      fc.constantFrom('LIKE', 'NOT LIKE', 'ILIKE'),
      fc.constantFrom('a%', 'ab', '%', '', 'a_', '%b', 'a%c', '\u{10ffff}%'),
    )
    .map(([operator, pattern]) => `name ${operator} '${pattern}'`),
  quoted.map(start => `starts_with(name, ${start})`),
  fc.tuple(fc.constantFrom('', 'NOT '), quoted).map(([not, element]) => `${not}array_has(tags, ${element})`),
  fc
    .tuple(
      fc.constantFrom('', 'NOT '),
      fc.constantFrom('array_has_any', 'array_has_all'),
      fc.array(fc.oneof(quoted, fc.constant('NULL')), { maxLength: 3 }),
    )
    .map(([not, name, list]) => `${not}${name}(tags, CAST([${list.join(', ')}] AS text[]))`),
)
const { filter } = fc.letrec<{ filter: string; both: string; not: string }>(tie => ({
  filter: fc.oneof({ maxDepth: 3 }, condition, tie('both'), tie('both'), tie('not')),
  both: fc
    .tuple(fc.constantFrom('AND', 'AND', 'OR'), fc.array(tie('filter'), { minLength: 2, maxLength: 3 }))
    .map(([kind, operands]) => `(${operands.join(` ${kind} `)})`),
  not: tie('filter').map(operand => `NOT (${operand})`),
}))

/** Whole fragments, none, some rows of each; a right guess, far too low, far too high. */
const indexOptions = fc.record({
  covers: fc.constantFrom<NonNullable<FakeIndexOptions['covers']>>(
    () => true,
    () => true,
    () => false,
    ({ id }) => id % 2 === 0,
    (_, row) => row % 3 > 0,
    ({ id }, row) => id > 1 || row < 5,
  ),
  guess: fc.constantFrom<NonNullable<FakeIndexOptions['guess']>>(
    rows => rows,
    () => 0,
    () => 0,
    rows => 1000 * rows + 1000,
  ),
})

const step = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      add: fc.array(rowOf, { minLength: 1, maxLength: 12 }),
      times: fc.constantFrom(1, 1, 40),
    }),
  },
  { weight: 1, arbitrary: fc.record({ drop: fc.integer({ min: 2, max: 5 }) }) },
  { weight: 1, arbitrary: fc.record({ change: fc.integer({ min: 2, max: 5 }), x: maybe(number) }) },
)

const firstRow = { x: 2, name: 'ab', flag: true, tags: ['a'], s: null, v: [1, 2] }

/** Builds a table without any index; ids are numbers from 0. */
async function built(
  steps: readonly (typeof step extends fc.Arbitrary<infer Step> ? Step : never)[],
  store: MemoryStore,
) {
  indexBy()
  const ns = await connect('memory', { store })
  const table = await ns.createTable('t', [], { schema })
  let id = 0
  for (const each of [{ add: [firstRow], times: 1 }, ...steps]) {
    if ('drop' in each) await table.delete('id % ? = 1', [each.drop])
    else if ('change' in each) await table.update({ x: each.x }, 'id % ? = 0', [each.change])
    else {
      const rows = Array.from({ length: each.times }, () => each.add).flat()
      await table.add(rows.map(row => ({ id: id++, ...row })))
    }
  }
  await ns.close()
}

async function withTable<T>(
  store: MemoryStore,
  work: (table: Table, ns: Namespace) => Promise<T>,
): Promise<T> {
  const ns = await connect('memory', { store })
  try {
    return await work(await ns.openTable('t'), ns)
  } finally {
    await ns.close()
  }
}

/** Everything a filter takes part in. */
function answers(store: MemoryStore, where: string, place: number) {
  return withTable(store, async (table, ns) => {
    const search = table.query().where(where).select({ id: 'id', r: '_rowid', o: '_rowoffset' })
    const request = { id: ['t'], vector: null, k: 100, filter: where, columns: { column_names: ['id'] } }
    const ids = async (more: object) => {
      const reply = (await ns.operations.queryTable({ ...request, ...more })) as unknown as {
        batches: { length: number }[]
      }
      return reply.batches.reduce((sum, { length }) => sum + length, 0)
    }
    const nearest = table.search([1, 1]).limit(4).select(['id', '_distance'])
    return {
      rows: await search.toArray(),
      some: await search.offset(1).limit(3).toArray(),
      count: await table.countRows(where),
      nearest: await nearest.where(where).toArray(),
      thinned: await nearest.where(where).postfilter().toArray(),
      later: await ids({ resume_at: place }),
      differing: await ids({ differs_from: 2 }),
      sorted: await search.orderBy({ column: 'x', ascending: false }).limit(4).toArray(),
    }
  })
}

/** The names of all rows by their ids, after a change of those that a filter names. */
function changed(store: MemoryStore, where: string, change: 'delete' | 'update' | 'nothing') {
  return withTable(store, async table => {
    if (change === 'delete') await table.delete(where)
    else if (change === 'update') await table.update({ name: 'changed' }, where)
    const rows = await table.query().select(['id', 'name']).toArray()
    return new Map(rows.map(({ id, name }) => [id, name]))
  })
}

test('A-095 with any indexes a filter finds, counts, changes and deletes the same rows as without', async () => {
  const indexes = fc.uniqueArray(fc.tuple(fc.constantFrom(...Object.values(indexOn)), indexOptions), {
    minLength: 1,
    selector: ([{ name }]) => name,
  })
  const steps = fc.array(step, { minLength: 2, maxLength: 6 })
  const change = fc.constantFrom('delete', 'update')
  await fc.assert(
    fc.asyncProperty(steps, indexes, filter, number, change, async (steps, indexes, where, place, change) => {
      const store = new MemoryStore('t')
      await built(steps, store)
      const expected = await answers(store, where, Math.max(0, place))
      const before = await changed(store, where, 'nothing')
      // Tables are small here: no index would be asked but for nothing.
      fake.cost = 0
      indexBy(...indexes.map(([index, options]) => ({ ...index, ...options })))
      expect(await answers(store, where, Math.max(0, place))).toEqual(expected)
      const after = await changed(store, where, change)
      for (const { id } of expected.rows) {
        if (change === 'delete') before.delete(id)
        else before.set(id, 'changed')
      }
      expect(new Map([...after].sort())).toEqual(new Map([...before].sort()))
    }),
    { numRuns: 45 },
  )
})

// ---- what is asked, read and said

/** Notes which data files are read. */
class NotingStore extends WrappedStore {
  readonly read = new Set<string>()

  protected around<T>(call: string, _conditional: boolean, run: () => Promise<T>, key: string): Promise<T> {
    if (/data\/.*arrow$/.test(key) && ['getRange', 'readInto', 'readRanges'].includes(call))
      this.read.add(key)
    return run()
  }
}

const perFragment = 30_000

/** Four fragments of rows with `id` scattered over all of them, so that no zone says where one is; `c` is one of ten. */
async function scattered(): Promise<{ readonly store: NotingStore; readonly open: () => Promise<Table> }> {
  const store = new NotingStore(new MemoryStore('noted'))
  const writer = await connect('noted', { store })
  for (let f = 0; f < 4; f++) {
    const rows = Array.from({ length: perFragment }, (_, i) => ({ id: i * 4 + f, c: i % 10, plain: i % 7 }))
    if (f === 0) await writer.createTable('t', rows)
    else await (await writer.openTable('t')).add(rows)
  }
  await writer.close()
  return {
    store,
    async open() {
      const table = await (await connect('noted', { store })).openTable('t')
      store.read.clear()
      return table
    },
  }
}

const onId = { name: 'id_idx', kind: 'BTREE', path: ['id'] } as const
const onC = { name: 'c_idx', kind: 'BITMAP', path: ['c'] } as const

describe('a table with indexes on id and c', async () => {
  const { store, open } = await scattered()

  test('a count that an index answers reads nothing, one row is read from one file', async () => {
    indexBy(onId)
    const table = await open()
    // The fake index reads what it is made of when it is first asked.
    await table.countRows('id = 0')
    store.read.clear()
    expect(await table.countRows('id IN (5, 6, 7, 200000)')).toBe(3)
    expect([...store.read]).toEqual([])
    expect(await table.query().where('id = 5').select(['c']).toArray()).toEqual([{ c: 1 }])
    expect(store.read.size).toBe(1)
  })

  test('the index with the fewest rows is probed first, and others if that pays', async () => {
    indexBy(onId, onC)
    const table = await open()
    expect(await table.countRows('c = 3 AND id < 40')).toBe(4)
    expect(made.at(-2)!.asked).toHaveLength(1)
    expect(made.at(-1)!.asked).toEqual([])
    const plan = await table.query().where('c = 3 AND id < 40').explain()
    expect(plan.replace(/[\d.]+ ms/, 'some ms')).toBe(
      [
        'Project: id, c, plain',
        '  Filter: c = 3.0',
        '    ScalarIndexQuery: query=[id < 40.0]@id_idx(BTREE), about 40 rows',
        '      Scan: t version 4, 4 of 4 fragments may hold matching rows, 120000 rows in them',
        'not used: [c = 3.0]@c_idx(BITMAP), about 12000 rows in some ms: evaluating the rows that the other indexes find is cheaper',
      ].join('\n'),
    )
  })

  test('a costly condition is evaluated for the rows that pass all indexes', async () => {
    indexBy(onId, onC)
    const table = await open()
    const search = table.query().where("c = 3 AND id < 10000 AND CAST(id AS text) ~ '^1.*2[.]0$'")
    expect((await search.explain()).split('\n').slice(1, 4)).toEqual([
      "  Filter: regexp_like(CAST(id AS string), '^1.*2[.]0$')",
      '    ScalarIndexQuery: query=[c = 3.0]@c_idx(BITMAP), about 12000 rows',
      '      ScalarIndexQuery: query=[id < 10000.0]@id_idx(BTREE), about 10000 rows',
    ])
    const ids = (await table.query().where('c = 3').select(['id']).toArray()).map(({ id }) => String(id))
    expect(await search.select(['id']).toArray()).toEqual(
      ids.filter(id => Number(id) < 10_000 && /^1.*2$/.test(id)).map(id => ({ id: Number(id) })),
    )
  })

  test('many values are looked up in one probe', async () => {
    indexBy(onId)
    const table = await open()
    const ids = Array.from({ length: 1000 }, (_, i) => i * 240)
    expect(await table.countRows('id IN ($1)', [ids])).toBe(500)
    expect(made.at(-1)!.asked.map(({ kind }) => kind)).toEqual(['members'])
  })

  test('an index that finds half of the table is not probed', async () => {
    indexBy(onId, onC)
    const table = await open()
    const search = table.query().where('id < 60000 AND plain = 1').select(['id'])
    expect((await search.toArray()).length).toBe(8572)
    expect(made.flatMap(({ asked }) => asked)).toEqual([])
    expect(await search.explain()).toMatch(
      /\nnot used: \[id < 60000.0\]@id_idx\(BTREE\), about 60000 rows in 0.\d+ ms: a scan of 120000 rows in about 0.\d+ ms is cheaper$/,
    )
  })

  test('an index that the filter does not use is reported as unused', async () => {
    indexBy({ ...onId, kind: 'LABEL_LIST' })
    const table = await open()
    expect(await table.query().where('id = 5').explain()).toMatch(
      /\nnot used: id_idx\(LABEL_LIST\): the filter has no condition that this index can answer$/,
    )
  })

  test('a limit far below the number of matches is scanned, not looked up', async () => {
    indexBy(onC)
    const table = await open()
    expect(await table.query().where('c = 3').limit(2).select(['id']).toArray()).toEqual([
      { id: 12 },
      { id: 52 },
    ])
    expect(made.flatMap(({ asked }) => asked)).toEqual([])
    expect(await table.countRows('c = 3')).toBe(12_000)
    expect(made.flatMap(({ asked }) => asked)).toHaveLength(1)
  })

  test('rows that a filter names by number are read directly', async () => {
    indexBy(onC)
    const table = await open()
    expect(await table.countRows('c = 3 AND _rowid IN (3, 4, 30003)')).toBe(2)
    expect(made.flatMap(({ asked }) => asked)).toEqual([])
  })

  test('skipped rows raise no errors', async () => {
    indexBy(onId)
    const table = await open()
    expect(await table.countRows('id IN (7, 8) AND 1 / CAST(id - 4 AS int) = 0')).toBe(2)
    await expect(table.countRows('id IN (4, 8) AND 1 / CAST(id - 4 AS int) = 0')).rejects.toThrow(
      /division by zero/,
    )
  })

  test('an analyzed query reports each step', async () => {
    indexBy(onId, onC)
    const table = await open()
    // The columns lie in memory: else how many blocks are read depends on how the work is cut into steps.
    await table.countRows('c + plain + id < 0')
    const search = table.query().where('c = 3 AND id < 400').select(['id']).orderBy('plain').limit(5)
    const lines = (await search.analyze()).replaceAll(/elapsed=\d+\.\d{3} ms/g, 'elapsed').split('\n')
    expect(lines.slice(0, -1)).toEqual([
      'Analyze: metrics=[output_rows=5, elapsed]',
      '  Project: id, metrics=[output_rows=5, elapsed]',
      '    Limit: 5 rows, metrics=[output_rows=5, elapsed]',
      '      Sort: plain ASC NULLS LAST, metrics=[output_rows=5, elapsed, bytes=960000]',
      '        Filter: c = 3.0, metrics=[output_rows=40, elapsed, bytes=960000]',
      '          ScalarIndexQuery: query=[id < 400.0]@id_idx(BTREE), about 400 rows, metrics=[output_rows=400, elapsed]',
      '            Scan: t version 4, 4 of 4 fragments may hold matching rows, 120000 rows in them, metrics=[output_rows=400, elapsed, fragments=4, parts=4]',
    ])
    expect(lines.at(-1)).toMatch(/^not used: \[c = 3.0\]/)
    const groups = await table.query().where('id < 8').select({ n: 'count(*)' }).groupBy('c').analyze()
    expect(groups).toMatch(/\n {4}Aggregate: .*, metrics=\[output_rows=2, /)
  })
})
