/** Reads by key that need no request return what a scan returns, and fail as a request fails. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { connect, type Namespace, type Row, type Schema, SheafError, type Table } from '../../src/index.js'
import { directReadsOf } from '../../src/protocol/direct-reads.js'
import { outcomeOf } from '../support/outcome.js'

const dictionary = {
  kind: 'dictionary',
  index: { kind: 'int', bits: 32, signed: true },
  value: { kind: 'utf8', large: false },
  ordered: false,
} as const

/** The types of keys, with values that rows have. */
const keyTypes = {
  int32: { type: { kind: 'int', bits: 32, signed: true }, values: [-1, 0, 1, 2, 2147483647] },
  uint8: { type: { kind: 'int', bits: 8, signed: false }, values: [0, 1, 2, 255] },
  int64: { type: { kind: 'int', bits: 64, signed: true }, values: [-5n, 0n, 1n, 2n, 9007199254740993n] },
  uint64: { type: { kind: 'int', bits: 64, signed: false }, values: [0n, 1n, 18446744073709551615n] },
  float32: { type: { kind: 'float', bits: 32 }, values: [-0, 0, 0.1, 1, Number.NaN, 16777216] },
  float64: {
    type: { kind: 'float', bits: 64 },
    values: [-0, 0, 0.1, 1, Number.NaN, Number.POSITIVE_INFINITY],
  },
  utf8: { type: { kind: 'utf8', large: false }, values: ['', '1', 'a', 'ab', 'ü', '\u{10000}', '\uffff'] },
  binary: {
    type: { kind: 'binary', large: false },
    values: [Uint8Array.of(), Uint8Array.of(1), Uint8Array.of(0, 255)],
  },
  bool: { type: { kind: 'bool' }, values: [true, false] },
  timestamp: {
    type: { kind: 'timestamp', unit: 'us', timezone: null },
    values: [new Date(0), new Date(1), new Date('2026-01-31T12:00:00Z')],
  },
  date: { type: { kind: 'date', unit: 'day' }, values: [new Date(0), new Date('2026-01-31')] },
  decimal: {
    type: { kind: 'decimal', bits: 128, precision: 10, scale: 2 },
    values: ['0.00', '1.00', '1.25'],
  },
  dictionary: { type: dictionary, values: ['a', 'b', 'ü'] },
} as const

type KeyType = keyof typeof keyTypes

/** Values of parameters, of the type of the key and of others. */
const foreign: readonly unknown[] = [
  0,
  1,
  2,
  -0,
  0.1,
  1.5,
  3e9,
  2 ** 60,
  Number.NaN,
  1n,
  2n ** 70n,
  '1',
  'a',
  'half \ud800',
  '2026-01-31',
  true,
  null,
  new Date(0),
  new Date(Number.NaN),
  Uint8Array.of(1),
  [1, 2],
  ['a', 'b', 'a'],
  [],
  [1, null],
  [1, 'a'],
  new Float64Array([1, 0.1]),
  BigInt64Array.of(1n, 2n),
  undefined,
  {},
  { $int: '1' },
]

function schemaOf(key: KeyType): Schema {
  return {
    fields: [
      { name: 'key', type: keyTypes[key].type, nullable: true },
      { name: 'n', type: { kind: 'int', bits: 32, signed: true }, nullable: false },
      { name: '__proto__', type: { kind: 'utf8', large: false }, nullable: true },
    ],
  } as Schema
}

/** A number below the number of values selects a value; other numbers mean NULL. */
const keyNumber = fc.nat({ max: 8 })
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ add: fc.array(keyNumber, { minLength: 1, maxLength: 4 }) }) },
  { weight: 2, arbitrary: fc.record({ many: keyNumber }) },
  { weight: 2, arbitrary: fc.record({ update: keyNumber, to: keyNumber }) },
  { weight: 2, arbitrary: fc.record({ remove: keyNumber }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      { index: 'BTREE' },
      { index: 'BITMAP' },
      { optimize: true },
      { snapshot: true },
    ),
  },
)
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

const queries = fc.record({
  text: fc.constantFrom(
    'key = ?',
    '? = key',
    'key = $1',
    'key = :k',
    'KEY = ?',
    '`key` = ?',
    'key IN (?)',
    'key IN ?',
  ),
  select: fc.constantFrom(null, ['n'], ['key'], ['__proto__', 'n'], ['N'], ['n', 'gone']),
  limit: fc.constantFrom(undefined, undefined, 0, 1, 2),
  offset: fc.constantFrom(0, 0, 1),
  int64: fc.constantFrom(undefined, 'bigint' as const, 'string' as const),
  value: fc.oneof(
    keyNumber,
    fc.constantFrom(...foreign.keys()).map(i => ({ foreign: i })),
  ),
})

/** A root with one table, and all handles through which the test reads. */
class Case {
  readonly handles: Table<Row>[] = []
  readonly #ns: Namespace
  readonly #key: KeyType
  readonly #table: Table<Row>
  readonly #snapshots: Namespace[] = []
  #n = 0

  private constructor(ns: Namespace, key: KeyType, table: Table<Row>) {
    this.#ns = ns
    this.#key = key
    this.#table = table
    this.handles.push(table)
  }

  static async of(key: KeyType): Promise<Case> {
    const ns = await connect('memory://', { maintenance: { compact: false } })
    return new Case(ns, key, (await ns.createTable('t', [], { schema: schemaOf(key) })) as Table<Row>)
  }

  valueOf(number: number): unknown {
    return keyTypes[this.#key].values[number] ?? null
  }

  async run(step: Step): Promise<void> {
    const table = this.#table
    const row = (number: number) => ({ key: this.valueOf(number), n: this.#n++, ['__proto__']: 'p' }) as Row
    if ('add' in step) await table.add(step.add.map(row))
    else if ('many' in step) await table.add(Array.from({ length: 40 }, (_, i) => row(step.many + i)))
    else if ('update' in step) {
      await table.update({ n: this.#n++ }, 'key = ?', [this.valueOf(step.update)] as never)
    } else if ('remove' in step)
      await table.delete('key = ? AND n % 2 = 0', [this.valueOf(step.remove)] as never)
    else if ('index' in step) {
      await table.createIndex('key', { type: step.index as 'BTREE', name: 'i' }).catch(() => {})
      await table.waitForIndex(['i']).catch(() => {})
    } else if ('optimize' in step) await this.#ns.optimize()
    else {
      const snapshot = await this.#ns.snapshot()
      this.#snapshots.push(snapshot)
      this.handles.push((await snapshot.openTable('t')) as Table<Row>)
      this.handles.push(await table.checkout(await table.version()))
    }
  }

  async close(): Promise<void> {
    for (const snapshot of this.#snapshots) await snapshot.close()
    await this.#ns.close()
  }
}

/** With a signal, a call is always sent as a request. */
const { signal } = new AbortController()

async function check(
  table: Table<Row>,
  { text, select, limit, offset, int64, value }: typeof queries extends fc.Arbitrary<infer Q> ? Q : never,
  values: (number: number) => unknown,
) {
  const own = typeof value === 'number' ? values(value) : foreign[value.foreign]
  const parameters = (text.includes(':') ? { k: own } : [own]) as never
  const build = (filter: string, isOpen: boolean) => {
    let query = table.query()
    query = isOpen ? query.where(filter) : query.where(filter, parameters)
    if (select !== null) query = query.select(select as never) as never
    if (limit !== undefined) query = query.limit(limit)
    return offset === 0 ? query : query.offset(offset)
  }
  const how = { ...(int64 !== undefined && { int64 }) }
  const prepared = await outcomeOf(() => build(text, true).prepare())
  const requested = await outcomeOf(() => build(text, false).toArray({ ...how, signal }))
  // A scan evaluates this condition for every row.
  const scanned = await outcomeOf(() =>
    build(`CASE WHEN ${text} THEN true ELSE false END`, false).toArray({ ...how, signal }),
  )
  if ('rows' in scanned || 'rows' in requested) expect(requested).toEqual(scanned)
  for (let time = 0; time < 2; time++) {
    expect(await outcomeOf(() => build(text, false).toArray(how))).toEqual(requested)
    const query = (prepared as { rows: ReturnType<Table['prepare']> }).rows
    if (requested && 'rows' in requested) {
      expect(await query.all(parameters, how)).toEqual(requested.rows)
      expect(await query.first(parameters, how)).toEqual((requested.rows as unknown[])[0] ?? null)
    } else await expect(query.all(parameters, how)).rejects.toThrow(SheafError)
    const count = await outcomeOf(() => table.countRows(text, parameters))
    expect(count).toEqual(await outcomeOf(() => table.countRows(text, parameters, { signal })))
    if (select === null) {
      const counted = await outcomeOf(() => build(text, false).count())
      if ('rows' in counted && 'rows' in requested)
        expect(counted.rows).toBe((requested.rows as unknown[]).length)
    }
  }
}

test('reads by key return the rows of a scan, for any history of a table and any values', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...(Object.keys(keyTypes) as KeyType[])),
      fc.array(step, { minLength: 2, maxLength: 12 }),
      fc.array(queries, { minLength: 3, maxLength: 6 }),
      async (key, steps, asked) => {
        const of = await Case.of(key)
        try {
          for (const [i, next] of steps.entries()) {
            await of.run(next)
            const some = i === steps.length - 1 ? asked : asked.slice(0, 1)
            for (const query of some) {
              for (const table of of.handles) await check(table, query, number => of.valueOf(number))
            }
          }
        } finally {
          await of.close()
        }
      },
    ),
    { numRuns: process.env.SHEAF_SEED === undefined ? 8 : 60 },
  )
})

async function keyed(rows: number) {
  const ns = await connect('memory://', { maintenance: { compact: false } })
  const table = await ns.createTable(
    't',
    Array.from({ length: rows }, (_, id) => ({ id, text: `row ${id}` })),
  )
  await table.createIndex('id', { type: 'BTREE' })
  await table.waitForIndex(['id_idx'])
  return { ns, table }
}

test('a key in memory is read without a request, and new commits are seen', async () => {
  const { ns, table } = await keyed(5000)
  const read = directReadsOf(ns.operations)!.prepare({ id: ['t'], filter: 'id = ?' })!
  // The first request loads the index and the columns.
  expect(read.rows([7], {}, {})).toBeNull()
  await table.get(7)
  expect(read.rows([7], {}, {})).toEqual([{ id: 7, text: 'row 7' }])
  expect(read.count([7], {})).toBe(1)
  expect(read.rows([9999], {}, {})).toEqual([])
  expect(read.rows(['7'], {}, {})).toBeNull()
  await table.update({ text: 'changed' }, 'id = 7')
  await table.add([{ id: 7, text: 'again' }])
  await table.query().where('id = 7').toArray()
  expect(read.rows([7], {}, {})).toEqual([
    { id: 7, text: 'changed' },
    { id: 7, text: 'again' },
  ])
  await table.delete("id = 7 AND text = 'changed'")
  expect(await table.get(7)).toEqual({ id: 7, text: 'again' })
  await table.delete('id = 7')
  expect(await table.get(7)).toBeNull()
  await ns.close()
  await expect(table.get(8)).rejects.toThrow('closed')
})

test('reads inside of a transaction see its changes, and reads around it are refused', async () => {
  const { ns, table } = await keyed(100)
  const byId = table.prepare(query => query.where('id = ?'))
  expect(await byId.first([5])).toEqual({ id: 5, text: 'row 5' })
  await ns.transaction(async tx => {
    const inside = await tx.openTable('t')
    await inside.update({ text: 'uncommitted' }, 'id = 5')
    expect(await inside.get(5)).toEqual({ id: 5, text: 'uncommitted' })
    await expect(table.get(5)).rejects.toThrow('inside of a transaction')
    await expect(byId.first([5])).rejects.toThrow('inside of a transaction')
  })
  expect(await byId.first([5])).toEqual({ id: 5, text: 'uncommitted' })
  await ns.close()
})

test('many inline rows: each version returns its own rows, whatever versions were read before', async () => {
  const ns = await connect('memory://', { maintenance: { compact: false } })
  const table = await ns.createTable('t', [{ id: 0, n: 0 }])
  for (let id = 1; id < 60; id++) await table.add([{ id, n: 0 }])
  const before = await table.version()
  for (let id = 0; id < 60; id += 2) await table.update({ n: 1 }, 'id = ?', [id])
  const middle = await table.version()
  for (let id = 0; id < 60; id += 3) await table.delete('id = ?', [id])
  const expected = {
    [before]: (id: number) => (id < 60 ? [{ id, n: 0 }] : []),
    [middle]: (id: number) => (id < 60 ? [{ id, n: 1 - (id % 2) }] : []),
    [await table.version()]: (id: number) => (id < 60 && id % 3 > 0 ? [{ id, n: 1 - (id % 2) }] : []),
  }
  for (const version of [...Object.keys(expected), ...Object.keys(expected).reverse()].map(Number)) {
    const at = await table.checkout(version)
    for (const id of [0, 1, 2, 3, 59, 60]) {
      for (const options of [{}, { signal }]) {
        expect(await at.query().where('id = ?', [id]).toArray(options)).toEqual(expected[version]!(id))
      }
    }
  }
  await ns.close()
})
