/** What rows are when the program is compiled, and that they are that when it runs. */
import * as arrow from 'apache-arrow'
import { expect, expectTypeOf, test } from 'vitest'
import {
  connect,
  type FacetValue,
  type Namespace,
  type Parameters,
  type PreparedQuery,
  type Row,
  type RowOf,
  type Schema,
  type Search,
  sql,
  type Table,
  schema as textSchema,
} from '../../src/index.js'

const int64 = { kind: 'int', bits: 64, signed: true } as const
const utf8 = { kind: 'utf8', large: false } as const
const float32 = { kind: 'float', bits: 32 } as const

const schema = {
  fields: [
    { name: 'id', type: int64, nullable: false },
    { name: 'title', type: utf8, nullable: true },
    {
      name: 'vector',
      type: { kind: 'fixed_size_list', size: 2, child: { name: 'item', type: float32, nullable: false } },
      nullable: false,
    },
    {
      name: 'tags',
      type: { kind: 'list', large: false, child: { name: 'item', type: utf8, nullable: true } },
      nullable: true,
    },
    { name: 'at', type: { kind: 'timestamp', unit: 'ms', timezone: null }, nullable: true },
    {
      name: 'by',
      type: {
        kind: 'struct',
        children: [
          { name: 'name', type: utf8, nullable: false },
          { name: 'flag', type: { kind: 'bool' }, nullable: true },
        ],
      },
      nullable: false,
    },
    {
      name: 'word',
      type: {
        kind: 'dictionary',
        index: { kind: 'int', bits: 8, signed: true },
        value: utf8,
        ordered: false,
      },
      nullable: false,
    },
  ],
} as const satisfies Schema

interface Doc {
  readonly id: number
  readonly title: string | null
  readonly vector: Float32Array
  readonly tags: readonly (string | null)[] | null
  readonly at: Date | null
  readonly by: { readonly name: string; readonly flag: boolean | null }
  readonly word: string
}

const rows = [
  { id: 1n, vector: [1, 2], tags: ['a', null], at: '2026-01-31T00:00:00Z', by: { name: 'ada' }, word: 'x' },
  { id: 2, title: 'two', vector: Float32Array.of(3, 4), by: { name: 'bob', flag: true }, word: 'y' },
]

test('a schema that is written down gives the type of its rows', () => {
  expectTypeOf<RowOf<typeof schema>>().toEqualTypeOf<Doc>()
  expectTypeOf<RowOf<typeof schema, bigint>['id']>().toEqualTypeOf<bigint>()
  expectTypeOf<RowOf<Schema>>().toEqualTypeOf<Row>()
})

test('every type of column has its values', () => {
  type Of<T> = RowOf<{
    readonly fields: readonly [{ name: 'x'; nullable: false; type: T & Schema['fields'][0]['type'] }]
  }>['x']
  type Vector<T, Nullable extends boolean = false> = Of<{
    kind: 'fixed_size_list'
    size: 2
    child: { name: 'item'; nullable: Nullable; type: T & Schema['fields'][0]['type'] }
  }>
  expectTypeOf<Of<{ kind: 'null' }>>().toEqualTypeOf<null>()
  expectTypeOf<Of<{ kind: 'int'; bits: 16; signed: true }>>().toEqualTypeOf<number>()
  expectTypeOf<Of<{ kind: 'decimal'; bits: 128; precision: 5; scale: 2 }>>().toEqualTypeOf<string>()
  expectTypeOf<Of<{ kind: 'binary'; large: false }>>().toEqualTypeOf<Uint8Array>()
  expectTypeOf<Of<{ kind: 'date'; unit: 'day' }>>().toEqualTypeOf<Date>()
  expectTypeOf<Of<{ kind: 'timestamp'; unit: 'ns'; timezone: null }>>().toEqualTypeOf<Date | bigint>()
  expectTypeOf<Of<{ kind: 'time'; unit: 's' }>>().toEqualTypeOf<number>()
  expectTypeOf<Of<{ kind: 'interval'; unit: 'day_time' }>>().toEqualTypeOf<{
    readonly days: number
    readonly milliseconds: number
  }>()
  expectTypeOf<Vector<{ kind: 'float'; bits: 16 }>>().toEqualTypeOf<Float32Array>()
  expectTypeOf<Vector<{ kind: 'float'; bits: 64 }>>().toEqualTypeOf<Float64Array>()
  expectTypeOf<Vector<{ kind: 'int'; bits: 8; signed: false }>>().toEqualTypeOf<Uint8Array>()
  expectTypeOf<Vector<{ kind: 'int'; bits: 64; signed: true }>>().toEqualTypeOf<readonly number[]>()
  expectTypeOf<Vector<typeof float32, true>>().toEqualTypeOf<Float32Array | readonly (number | null)[]>()
})

test('a table made with one has typed rows, which are what their types say', async () => {
  const ns = await connect('memory://')
  const docs = await ns.createTable('docs', rows, { schema })
  expectTypeOf(docs).toEqualTypeOf<Table<RowOf<typeof schema>>>()
  const [first, second] = await docs.query().toArray()
  expectTypeOf(first!.vector).toEqualTypeOf<Float32Array>()
  const expected: readonly Doc[] = [
    {
      id: 1,
      title: null,
      vector: Float32Array.of(1, 2),
      tags: ['a', null],
      at: new Date('2026-01-31'),
      by: { name: 'ada', flag: null },
      word: 'x',
    },
    {
      id: 2,
      title: 'two',
      vector: Float32Array.of(3, 4),
      tags: null,
      at: null,
      by: { name: 'bob', flag: true },
      word: 'y',
    },
  ]
  expect([first, second]).toEqual(expected)

  const opened = await ns.openTable<Doc>('docs')
  await opened.add([{ id: 3, vector: [0, 0], by: { name: 'cy' }, word: 'z' }])
  expectTypeOf(await opened.checkout(1)).toEqualTypeOf<Table<Doc>>()
  // @ts-expect-error: no text is an id
  await expect(opened.add([{ id: 'x', vector: [0, 0], by: { name: 'cy' }, word: 'z' }])).rejects.toThrow()
  // @ts-expect-error: the vector may not be null
  await expect(opened.add([{ id: 4, by: { name: 'cy' }, word: 'z' }])).rejects.toThrow()
  await ns.close()
})

test('a search has typed results with its selected and added columns', async () => {
  const ns = await connect('memory://')
  const docs = await ns.createTable('docs', rows, { schema })
  const near = docs.search([1, 2]).select(['id', 'title']).limit(1)
  const [row] = await near.toArray()
  expectTypeOf(row!).branded.toEqualTypeOf<{
    readonly id: number
    readonly title: string | null
    readonly _distance: number
  }>()
  expect(row).toEqual({ id: 1, title: null, _distance: 0 })
  const [numbered] = await docs.query().withRowId().select(['word']).toArray()
  expectTypeOf(numbered!).branded.toEqualTypeOf<{ readonly word: string; readonly _rowid: number }>()
  expect(Object.keys(numbered!)).toEqual(['word', '_rowid'])
  expectTypeOf(docs.query().where('id > 1')).toEqualTypeOf<Search<RowOf<typeof schema>>>()
  await ns.close()
})

test('names of columns are checked when the program is compiled', async () => {
  const ns = await connect('memory://')
  const docs = await ns.createTable('docs', rows, { schema })
  const twice = docs.query().select({ twice: 'id * 2', name: 'title', by: sql`upper(title)` })
  expectTypeOf<RowsOf<typeof twice>>().branded.toEqualTypeOf<{
    readonly twice: unknown
    readonly name: string | null
    readonly by: unknown
  }>()
  expect(await docs.query().select({ length: 'id', name: 'title' }).first()).toEqual({
    length: 1,
    name: null,
  })
  const fields = docs.query().select(['by.name', '_rowid'])
  expectTypeOf<RowsOf<typeof fields>>().branded.toEqualTypeOf<{
    readonly 'by.name': unknown
    readonly _rowid: number
  }>()
  // @ts-expect-error: no such column
  expect(await refused(docs.query().select(['idd']).toArray())).toBe(12)
  // @ts-expect-error: no such column
  expect(await refused(docs.takeRowIds([0]).select(['idd']).toArray())).toBe(12)
  // @ts-expect-error: no such column
  expect(await refused(docs.update({ nmae: 1 }))).toBe(12)
  // @ts-expect-error: no such column
  expect(await refused(docs.mergeInsert('idd').whenMatchedUpdateAll().execute(rows.slice(0, 1)))).toBe(12)
  // @ts-expect-error: no such column
  expect(await refused(docs.upsert([{ id: 1 }], { on: 'idd' }))).toBe(12)
  // @ts-expect-error: no such column
  expect(await refused(docs.upsert([{ id: 1, titel: 'x' }], { on: 'id' }))).toBe(20)
  // @ts-expect-error: no such column
  expect(await refused(docs.get(1, { on: 'idd' }))).toBe(12)
  // @ts-expect-error: no such column
  expect(await refused(docs.query().orderBy('idd').toArray())).toBe(12)
  // @ts-expect-error: no such column
  expect(await refused(docs.query().orderBy({ column: 'idd' }).toArray())).toBe(12)
  // @ts-expect-error: no such direction
  expect(() => docs.query().orderBy('id down')).toThrow()
  // @ts-expect-error: the key is a number
  expect(await refused(docs.get('x'))).toBe(20)
  await ns.close()
})

test('an order names columns of the table and of the answer', async () => {
  const ns = await connect('memory://')
  const docs = await ns.createTable('docs', rows, { schema })
  const ids = async (query: Search<object>) =>
    ((await query.toArray()) as unknown as readonly { readonly id: number }[]).map(({ id }) => id)
  expect(await ids(docs.query().orderBy('id desc'))).toEqual([2, 1])
  expect(await ids(docs.query().select(['id']).orderBy('title nulls first', 'id desc'))).toEqual([1, 2])
  expect(await ids(docs.query().select({ id: 'id', n: '-id' }).orderBy('n'))).toEqual([2, 1])
  expect(await ids(docs.query().orderBy('by.name DESC NULLS LAST'))).toEqual([2, 1])
  expect(await ids(docs.query().orderBy('"id" desc', '`title`', { column: 'word' }))).toEqual([2, 1])
  expect(await ids(docs.query().withRowId().orderBy('_rowid desc'))).toEqual([2, 1])
  const loose: Table = await ns.openTable('docs')
  expect(await ids(loose.query().orderBy(String('id desc')))).toEqual([2, 1])
  await ns.close()
})

test('every way of reading a typed table has its rows', async () => {
  const ns = await connect('memory://')
  const docs = await ns.createTable('docs', rows, { schema })
  type Read = RowOf<typeof schema>
  expectTypeOf(await docs.get(1)).toEqualTypeOf<Read | null>()
  expectTypeOf(await docs.get('x', { on: 'word' })).toEqualTypeOf<Read | null>()
  expectTypeOf(await docs.query().first()).toEqualTypeOf<Read | null>()
  expectTypeOf(await docs.takeRowIds([0]).toArray()).toEqualTypeOf<Read[]>()
  expectTypeOf((await docs.takeOffsets([0]).select(['id']).toArray())[0]!).branded.toEqualTypeOf<{
    readonly id: number
  }>()
  for await (const row of docs.query()) expectTypeOf(row).toEqualTypeOf<Read>()
  expectTypeOf(await docs.diff(1, 1).added.toArray()).toEqualTypeOf<(Read & { readonly _rowid: number })[]>()
  expectTypeOf((await docs.diff(1, 1).changed.toArray())[0]?.before.title).toEqualTypeOf<
    string | null | undefined
  >()
  type Change = Awaited<ReturnType<ReturnType<typeof docs.changes>['next']>>['value'] & object
  expectTypeOf<Change['added']>().toEqualTypeOf<ReturnType<typeof docs.diff>['added']>()
  await ns.transaction(async tx => {
    expectTypeOf(await tx.openTable<Doc>('docs')).toEqualTypeOf<Table<Doc>>()
    expectTypeOf(tx.table<Doc>('docs')).toEqualTypeOf<Table<Doc>>()
  })
  const [big] = await docs.search([1, 2]).toArray({ int64: 'bigint' })
  expectTypeOf(big!.id).toEqualTypeOf<number | bigint>()
  expectTypeOf(big!.title).toEqualTypeOf<string | null>()
  expectTypeOf(big!.vector).toEqualTypeOf<Float32Array>()
  expectTypeOf(big!._distance).toEqualTypeOf<number>()
  expectTypeOf((await docs.get(1, { int64: 'string' }))!.id).toEqualTypeOf<number | string>()
  expectTypeOf((await docs.get(1, { vectors: 'array' }))!.id).toEqualTypeOf<number>()
  await ns.close()
})

async function refused(call: Promise<unknown>): Promise<number> {
  return call.then(
    () => -1,
    error => error.code,
  )
}

test('rows give the type of the rows that are read', async () => {
  const ns = await connect('memory://')
  interface Note {
    id: bigint
    more?: string
    vector: number[]
    points: number[]
    by: { at: Date }
  }
  const notes: Note[] = [{ id: 1n, vector: [1], points: [2], by: { at: new Date(0) } }]
  const table = await ns.createTable('t', notes)
  expectTypeOf<RowsOf<ReturnType<typeof table.search>>>().toEqualTypeOf<{
    readonly id: number
    readonly more: string | null
    readonly vector: Float32Array
    readonly points: readonly number[]
    readonly by: { readonly at: Date }
  }>()
  const [row] = await table.query().toArray()
  expect(row).toEqual({ id: 1, vector: Float32Array.of(1), points: [2], by: { at: new Date(0) } })
  await ns.close()
})

test('aggregates have the types of their results, and a fragment has the type that it declares', async () => {
  const ns = await connect('memory://')
  const table = await ns.createTable('t', [], {
    schema: textSchema({ city: 'string!', n: 'int64', price: 'decimal(6,2)!', at: 'timestamp!' }),
  })
  await table.add([
    { city: 'Bonn', n: 2, price: '1.50', at: new Date('2026-03-09') },
    { city: 'Bonn', n: 3, price: '2.00', at: new Date('2026-03-10') },
  ])
  const groups = table
    .query()
    .groupBy('city', "date_trunc('month', at)")
    .select({
      city: 'city',
      month: "date_trunc('month', at)",
      rows: 'COUNT(*)',
      cities: 'count(DISTINCT city)',
      n: 'sum(n)',
      price: 'sum(price)',
      middle: 'median(price)',
      high: 'percentile(n, 0.5)',
      last: 'max(at)',
      half: sql<number | null>`sum(n) / ${2}`,
      mixed: 'count(*) + count(n)',
      length: 'max(length(city))',
    })
  type Group = RowsOf<typeof groups>
  expectTypeOf<Omit<Group, never>>().toEqualTypeOf<{
    readonly city: string
    readonly month: Date
    readonly rows: number
    readonly cities: number
    readonly n: number | null
    readonly price: string | null
    readonly middle: number | null
    readonly high: number | null
    readonly last: Date | null
    readonly half: number | null
    readonly mixed: unknown
    readonly length: unknown
  }>()
  expect(await groups.toArray()).toEqual([
    {
      city: 'Bonn',
      month: new Date('2026-03-01'),
      rows: 2,
      cities: 1,
      n: 5,
      price: '3.50',
      middle: 1.75,
      high: 2.5,
      last: new Date('2026-03-10'),
      half: 2,
      mixed: 4,
      length: 4,
    },
  ])
  const bigints = await table.query().select({ n: 'count(*)' }).toArray({ int64: 'bigint' })
  expectTypeOf(bigints).toEqualTypeOf<{ readonly n: number | bigint }[]>()
  expect(bigints).toEqual([{ n: 2n }])

  const ofText = table.search('Bonn').groupBy('city').select({ city: 'city', best: 'max(_score)' })
  expectTypeOf<keyof RowsOf<typeof ofText>>().toEqualTypeOf<'city' | 'best'>()
  expect(Object.keys((await ofText.first()) ?? {})).toEqual(['city', 'best'])

  const ofUntyped = ns.table('t').query().select({ n: 'count(*)', sum: 'sum(n)' })
  expectTypeOf<RowsOf<typeof ofUntyped>['n']>().toEqualTypeOf<number>()
  expectTypeOf<RowsOf<typeof ofUntyped>['sum']>().toBeUnknown()
  await ns.close()
})

test('without a type any row is accepted', async () => {
  const ns = await connect('memory://')
  const loose: readonly object[] = [{ id: 1 }]
  const table = await ns.createTable('t', loose)
  expectTypeOf(table).toEqualTypeOf<Table>()
  const [row] = await table.query().select(['id']).toArray()
  expectTypeOf(row!.id).toBeUnknown()
  expect(row!.id).toBe(1)
  const plain: Schema = schema
  expectTypeOf(await ns.createTable('u', rows, { schema: plain })).toEqualTypeOf<Table>()
  await ns.close()
})

type RowsOf<S> = S extends Search<infer R, object> ? R : never

test('rows of a search have the added columns, which may be null in a hybrid search', async () => {
  const ns = await connect('memory://')
  const table = await ns.createTable('t', [], { schema })
  const near = table.search([1, 2])
  const matching = table.query().fullText('a')
  const both = near.fullText('a').select(['id'])
  expectTypeOf<RowsOf<typeof near>['_distance']>().toEqualTypeOf<number>()
  expectTypeOf<RowsOf<typeof matching>['_score']>().toEqualTypeOf<number>()
  type Both = RowsOf<typeof both>
  expectTypeOf<keyof Both>().toEqualTypeOf<'id' | '_distance' | '_score' | '_relevance_score'>()
  expectTypeOf<Both['_distance']>().toEqualTypeOf<number | null>()
  expectTypeOf<Both['_score']>().toEqualTypeOf<number | null>()
  expectTypeOf<Both['_relevance_score']>().toEqualTypeOf<number>()
  await ns.close()
})

test('the values of an update have the types of the columns', async () => {
  const ns = await connect('memory://')
  const docs = await ns.createTable('docs', rows, { schema })
  await docs.update({
    id: 3n,
    title: null,
    vector: [5, 6],
    tags: ['b'],
    at: '2026-01-31',
    word: sql`upper(word)`,
  })
  await docs.update({ vector: Float32Array.of(1, 2), at: new Date(0) }, 'title = ?', ['two'])
  expect((await docs.query().toArray())[0]).toMatchObject({ id: 3, title: null, tags: ['b'], word: 'X' })
  // @ts-expect-error numbers for texts; they are converted when the program runs
  await docs.update({ tags: [1] })
  const wrong = [
    // @ts-expect-error a number for text
    docs.update({ title: 5 }),
    // @ts-expect-error null for a column that is not nullable
    docs.update({ id: null }),
    // @ts-expect-error a number for a point in time
    docs.update({ at: 5 }),
    // @ts-expect-error no such column
    docs.update({ titel: 'x' }),
  ]
  const outcomes = await Promise.allSettled(wrong)
  expect(outcomes.map(({ status }) => status)).toEqual(wrong.map(() => 'rejected'))
})

test('a row with a wrong column is reported at the column', async () => {
  const ns = await connect('memory://')
  const goods = await ns.createTable('goods', [], {
    schema: textSchema({ id: 'int64!', price: 'decimal(5,2)' }),
  })
  // Decimals are read as text, and written as text or numbers.
  await goods.add([
    { id: 1, price: 2.5 },
    { id: 2n, price: '3.25' },
  ])
  expect(await goods.query().toArray()).toEqual([
    { id: 1, price: '2.50' },
    { id: 2, price: '3.25' },
  ])
  await goods
    .add([
      // @ts-expect-error the column is a number
      { id: 'three', price: null },
    ])
    .catch(() => null)
  await goods
    .add([
      // @ts-expect-error a misspelt column
      { id: 3, prise: 1 },
    ])
    .catch(() => null)
  const made = ns.createTable('more', [{ id: 1 }], {
    schema: textSchema({ id: 'int64!' }),
    // @ts-expect-error there is no such option
    overwrite: true,
  })
  await made.catch(() => null)
})

test('a prepared query has typed rows and typed values', async () => {
  const ns = await connect('memory://')
  const docs = await ns.createTable('docs', rows, { schema })
  const byTitle = docs.query().where('title = ?').select(['id', 'title']).prepare<[title: string]>()
  expectTypeOf(await byTitle.all(['two'])).toEqualTypeOf<
    { readonly id: number; readonly title: string | null }[]
  >()
  const inBigints = await byTitle.first(['two'], { int64: 'bigint' })
  expectTypeOf(inBigints!.id).toEqualTypeOf<number | bigint>()
  // @ts-expect-error the value is a string
  await byTitle.all([2]).catch(() => null)
  // @ts-expect-error a value is missing
  await byTitle.all([]).catch(() => null)
  const cheap = docs.prepare(query => query.where('id < ?').select({ name: 'title' }))
  expectTypeOf(await cheap.all([2])).toEqualTypeOf<{ readonly name: string | null }[]>()
  expectTypeOf(docs.prepare(query => query.where('id < ?'))).toEqualTypeOf<PreparedQuery<Doc, Parameters>>()
  // @ts-expect-error no such column
  docs.prepare(query => query.select(['titel']))
})

test('a condition that is a function has typed names', async () => {
  const ns = await connect('memory://')
  const docs = await ns.createTable('docs', rows, { schema })
  const found = docs.query().where(c => sql`${c.title} = ${'two'} OR ${c._rowid} = ${0}`)
  expect(await found.count()).toBe(2)
  // @ts-expect-error no such column
  docs.query().where(c => sql`${c.titel} = ${'two'}`)
  // @ts-expect-error a text is not a fragment
  expect(() => docs.query().where(() => 'title')).toThrow()
})

interface Log {
  readonly at: number
  readonly text: string | null
}

test('a typed catalogue knows the rows of its tables, and refuses other names', async () => {
  const ns = await connect<{ docs: Doc; logs: Log }>('memory://')
  const docs = await ns.createTable('docs', rows, { schema })
  expectTypeOf(docs).toEqualTypeOf<Table<Doc>>()
  await ns.createTable('logs', [{ at: 1, text: 'begun' }])
  expectTypeOf(ns.table('logs')).toEqualTypeOf<Table<Log>>()
  expectTypeOf(await ns.openTable('docs')).toEqualTypeOf<Table<Doc>>()
  expect(await ns.table('logs').query().select(['text']).toArray()).toEqual([{ text: 'begun' }])
  await ns.transaction(async tx => {
    expectTypeOf(tx.table('logs')).toEqualTypeOf<Table<Log>>()
    await tx.table('logs').update({ text: 'done' })
  })
  const frozen = await ns.snapshot()
  expectTypeOf(frozen.table('logs')).toEqualTypeOf<Table<Log>>()
  expect(await frozen.table('logs').query().first()).toEqual({ at: 1, text: 'done' })
  await frozen.close()
  // @ts-expect-error not a table of the catalogue
  ns.table('lgos')
  // @ts-expect-error the column is a number
  await ns.createTable('logs', [] as { at: string }[]).catch(() => null)
  await ns
    .table('logs')
    // @ts-expect-error the column is a number
    .add([{ at: 'now' }])
    .catch(() => null)
  // Other tables are named by an array.
  expectTypeOf(ns.table(['others'])).toEqualTypeOf<Table>()
  expectTypeOf(ns.table<Log>(['others'])).toEqualTypeOf<Table<Log>>()
  const made = await ns.createTable(['others'], [{ n: 1 }])
  expectTypeOf(made).toEqualTypeOf<Table<{ readonly n: number }>>()
  // A function that takes any namespace takes one with a catalogue.
  const names = (any: Namespace) => any.tableNames()
  expect(await names(ns)).toEqual(['docs', 'logs', 'others'])
})

test('a catalogue of schemas knows what may be written', async () => {
  const goods = textSchema({ id: 'int64!', price: 'decimal(5,2)' })
  const ns = await connect<{ goods: typeof goods }>('memory://', { int64: 'bigint' })
  const table = await ns.createTable('goods', [{ id: 1, price: 2.5 }], { schema: goods })
  await ns.table('goods').update({ price: 3.5 }, 'id = 1')
  expect(await table.query().toArray()).toEqual([{ id: 1n, price: '3.50' }])
  expectTypeOf(await table.get(1n)).toEqualTypeOf<{
    readonly id: bigint
    readonly price: string | null
  } | null>()
  await ns.transaction(async tx => {
    await tx.table('goods').add([{ id: 2, price: 1 }])
    await tx.table('goods').upsert([{ id: 2, price: 1.5 }], { on: 'id' })
  })
  // @ts-expect-error the column is a decimal
  await table.update({ price: true }).catch(() => null)
})

test('a connection that reads bigints has bigints in the types and in the rows', async () => {
  const ns = await connect('memory://', { int64: 'bigint' })
  const big = 2n ** 60n
  const made = await ns.createTable('t', [{ id: big, n: 1 }])
  expectTypeOf(made).toEqualTypeOf<Table<{ readonly id: bigint; readonly n: number }>>()
  const docs = await ns.createTable('docs', rows, { schema })
  expectTypeOf(docs).toEqualTypeOf<Table<RowOf<typeof schema, bigint>>>()
  expect((await docs.get(1n))!.id).toBe(1n)
  expectTypeOf((await docs.get(1n))!.id).toEqualTypeOf<bigint>()
  const asNumber = await docs.get(1n, { int64: 'number' })
  expectTypeOf(asNumber!.id).toEqualTypeOf<number | bigint>()
  expect(asNumber!.id).toBe(1)
  // @ts-expect-error another representation than the two
  await connect('memory://', { int64: 'string' }).catch(() => null)
})

test('a page has typed rows and facets', async () => {
  const ns = await connect('memory://')
  const docs = await ns.createTable('docs', rows, { schema })
  const {
    rows: found,
    total,
    facets,
  } = await docs
    .query()
    .select(['id'])
    .page({ total: true, facets: ['title'] })
  expectTypeOf(found).toEqualTypeOf<{ readonly id: number }[]>()
  expectTypeOf(total).toEqualTypeOf<number>()
  expectTypeOf(facets.title).toEqualTypeOf<readonly FacetValue<string | null>[]>()
  expectTypeOf((await docs.query().page({})).total).toEqualTypeOf<number | undefined>()
  const misspelt = docs.query()
  // @ts-expect-error no such column
  await misspelt.page({ facets: ['titel'] }).catch(() => null)
})

test('a Schema of apache-arrow that declares its columns gives the type of the rows', async () => {
  const arrowSchema = new arrow.Schema<{
    id: arrow.Int64
    n: arrow.Int32
    title: arrow.Utf8
    v: arrow.FixedSizeList<arrow.Float32>
    tags: arrow.List<arrow.Utf8>
    at: arrow.TimestampMillisecond
    by: arrow.Struct<{ name: arrow.Utf8 }>
  }>([
    arrow.Field.new({ name: 'id', type: new arrow.Int64() }),
    arrow.Field.new({ name: 'n', type: new arrow.Int32() }),
    arrow.Field.new({ name: 'title', type: new arrow.Utf8(), nullable: true }),
    arrow.Field.new({
      name: 'v',
      type: new arrow.FixedSizeList(2, arrow.Field.new({ name: 'item', type: new arrow.Float32() })),
    }),
    arrow.Field.new({
      name: 'tags',
      type: new arrow.List(arrow.Field.new({ name: 'item', type: new arrow.Utf8() })),
      nullable: true,
    }),
    arrow.Field.new({ name: 'at', type: new arrow.TimestampMillisecond(), nullable: true }),
    arrow.Field.new({
      name: 'by',
      type: new arrow.Struct<{ name: arrow.Utf8 }>([
        arrow.Field.new({ name: 'name', type: new arrow.Utf8(), nullable: true }),
      ]),
      nullable: true,
    }),
  ])
  interface ArrowDoc {
    readonly id: number | null
    readonly n: number | null
    readonly title: string | null
    readonly v: Float32Array | null
    readonly tags: readonly (string | null)[] | null
    readonly at: Date | null
    readonly by: { readonly name: string | null } | null
  }
  expectTypeOf<RowOf<typeof arrowSchema>>().toEqualTypeOf<ArrowDoc>()
  expectTypeOf<RowOf<arrow.Schema>>().toEqualTypeOf<Row>()
  const ns = await connect('memory://')
  const at = new Date(5)
  const table = await ns.createTable(
    't',
    [{ id: 1n, n: 2, title: 'a', v: [1, 2], tags: ['x'], at, by: { name: 'b' } }],
    {
      schema: arrowSchema,
    },
  )
  expectTypeOf(await table.query().first()).toEqualTypeOf<ArrowDoc | null>()
  expect(await table.query().first()).toEqual({
    id: 1,
    n: 2,
    title: 'a',
    v: Float32Array.of(1, 2),
    tags: ['x'],
    at,
    by: { name: 'b' },
  })
  // @ts-expect-error no such column
  table.query().select(['titel'])
})
