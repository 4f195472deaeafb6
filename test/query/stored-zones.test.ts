/** A filter reads the stretches of rows that can match, and finds what looking at every row finds. */
import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { connect, type DataType, type Schema } from '../../src/index.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { CountingStore, WrappedStore } from '../support/stores.js'

const int64: DataType = { kind: 'int', bits: 64, signed: true }
const utf8: DataType = { kind: 'utf8', large: false }
const schema: Schema = {
  fields: (
    [
      ['id', int64],
      ['number', { kind: 'float', bits: 64 }],
      ['text', utf8],
      ['money', { kind: 'decimal', bits: 128, precision: 38, scale: 2 }],
      ['flag', { kind: 'bool' }],
      [
        'day',
        { kind: 'dictionary', index: { kind: 'int', bits: 32, signed: true }, value: utf8, ordered: false },
      ],
    ] as const
  ).map(([name, type]) => ({ name, type: type as DataType, nullable: true })),
}

// ---- what the columns hold: a number for each row, and the value that stands for it

type Cell = null | bigint | number | string | boolean

/** How the numbers lie in a table of `rows` rows. */
const patterns: Readonly<Record<string, (row: number, rows: number) => number>> = {
  rising: row => row,
  falling: (row, rows) => rows - row,
  steps: row => 1000 * Math.floor(row / 5000),
  saw: row => row % 10_000,
  mixed: (row, rows) => (row * 7919) % rows,
  same: () => 77,
}

const pad = (n: number) => String(n).padStart(7, '0')
const long = 'the same beginning of all the texts, '
const values: Readonly<Record<string, (n: number, row: number) => Cell>> = {
  id: n => BigInt(n) * 3_000_000_000_001n,
  number: (n, row) =>
    row % 3001 === 5 ? [Number.NaN, -0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY][row % 4]! : n / 4,
  text: (n, row) => `${row % 4 === 0 ? '' : 'a'}${pad(n)}${n % 5 === 0 ? long : ''}`,
  money: n => BigInt(n) * 10n ** 20n,
  flag: n => n > 9000,
  day: n => `day ${pad(Math.floor(n / 1000))}`,
}
const names = Object.keys(values)

const gaps: Readonly<Record<string, (row: number, rows: number) => boolean>> = {
  none: () => false,
  some: row => row % 13 === 4,
  many: (row, rows) => row > rows / 3,
}

const tables = fc.record({
  rows: fc.constantFrom(9000, 20_000, 33_000, 140_000),
  columns: fc.tuple(
    ...names.map(() =>
      fc.record({
        pattern: fc.constantFrom(...Object.keys(patterns)),
        gap: fc.constantFrom(...Object.keys(gaps)),
      }),
    ),
  ),
  dead: fc.constantFrom(null, '_rowid % 3 = 1', '_rowid < 9000', '_rowid >= 8000 AND _rowid < 17000'),
})

// ---- conditions, as SQL and as a function of a row: true, false or null

type Row = Readonly<Record<string, Cell>>
interface Condition {
  readonly sql: string
  readonly holds: (row: Row) => boolean | null
}

/** As SQL orders values: NaN above all numbers, -0 equal to 0. */
function order(a: Exclude<Cell, null>, b: Exclude<Cell, null>): number {
  if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b))
  return a < b ? -1 : a > b ? 1 : 0
}

const operations: Readonly<Record<string, (order: number) => boolean>> = {
  '=': o => o === 0,
  '<>': o => o !== 0,
  '<': o => o < 0,
  '<=': o => o <= 0,
  '>': o => o > 0,
  '>=': o => o >= 0,
}

function literal(value: Cell): string {
  if (typeof value === 'number') return `CAST('${Object.is(value, -0) ? '-0' : value}' AS double)`
  if (typeof value === 'bigint') return String(value)
  return typeof value === 'string' ? `'${value}'` : String(value)
}

function moneyLiteral(value: Cell): string {
  return `CAST('${value}.00' AS decimal(38, 2))`
}

const said = (name: string, value: Cell) => (name === 'money' ? moneyLiteral(value) : literal(value))
const anyNumber = fc.oneof(fc.integer({ min: 0, max: 34_000 }), fc.constantFrom(77, 8191, 8192, 16_384))
const anyValue = fc
  .record({ name: fc.constantFrom(...names), n: anyNumber, row: fc.constantFrom(0, 1, 5, 6007, 3006, 9008) })
  .map(({ name, n, row }) => ({ name, value: values[name]!(n, row)! }))

const simple: fc.Arbitrary<Condition> = fc.oneof(
  fc.tuple(anyValue, fc.constantFrom(...Object.keys(operations))).map(([{ name, value }, operation]) => ({
    sql: `${name} ${operation} ${said(name, value)}`,
    holds: (row: Row) => (row[name] === null ? null : operations[operation]!(order(row[name]!, value))),
  })),
  fc
    .record({ name: fc.constantFrom('id', 'text', 'money'), n: anyNumber, more: fc.nat(12_000) })
    .map(({ name, n, more }) => {
      const [low, high] = [values[name]!(n, 1)!, values[name]!(n + more, 1)!]
      return {
        sql: `${name} BETWEEN ${said(name, low)} AND ${said(name, high)}`,
        holds: (row: Row) =>
          row[name] === null ? null : order(row[name]!, low) >= 0 && order(row[name]!, high) <= 0,
      }
    }),
  fc.constantFrom(...names).map(name => ({
    sql: `${name} IS NULL`,
    holds: (row: Row) => row[name] === null,
  })),
  fc.array(anyNumber, { minLength: 1, maxLength: 3 }).map(numbers => ({
    sql: `id IN (${numbers.map(n => values.id!(n, 0))})`,
    holds: (row: Row) => (row.id === null ? null : numbers.some(n => row.id === values.id!(n, 0))),
  })),
  fc.constantFrom('a', 'a00', 'a0012', '0', 'day 000001').map(start => ({
    sql: `text LIKE '${start}%'`,
    holds: (row: Row) => (row.text === null ? null : (row.text as string).startsWith(start)),
  })),
)

/** Conditions for which most rows of some stretches pass, and no row fails. */
const wide: fc.Arbitrary<Condition> = fc
  .record({ name: fc.constantFrom('id', 'text', 'money', 'day'), n: anyNumber, isBelow: fc.boolean() })
  .map(({ name, n, isBelow }) => {
    const value = values[name]!(n, 1)!
    return {
      sql: `${name} ${isBelow ? '<' : '>='} ${said(name, value)}`,
      holds: (row: Row) => (row[name] === null ? null : order(row[name]!, value) < 0 === isBelow),
    }
  })

const conditions: fc.Arbitrary<Condition> = fc.oneof(
  { weight: 3, arbitrary: simple },
  { weight: 3, arbitrary: wide },
  simple.map(({ sql, holds }) => ({
    sql: `NOT (${sql})`,
    holds: (row: Row) => (holds(row) === null ? null : !holds(row)),
  })),
  fc.tuple(simple, simple).map(([a, b]) => ({
    sql: `${a.sql} AND ${b.sql}`,
    holds: (row: Row) => {
      const both = [a.holds(row), b.holds(row)]
      return both.includes(false) ? false : both.includes(null) ? null : true
    },
  })),
  fc.tuple(simple, simple).map(([a, b]) => ({
    sql: `${a.sql} OR ${b.sql}`,
    holds: (row: Row) => {
      const both = [a.holds(row), b.holds(row)]
      return both.includes(true) ? true : both.includes(null) ? null : false
    },
  })),
)

test('a filter finds the rows of a full scan, under any budget, cold and warm', async () => {
  await fc.assert(
    fc.asyncProperty(
      tables,
      fc.array(conditions, { minLength: 8, maxLength: 8 }),
      async ({ rows, columns, dead }, asked) => {
        const given: Row[] = Array.from({ length: rows }, (_, i) =>
          Object.fromEntries(
            names.map((name, c) => {
              const { pattern, gap } = columns[c]!
              return [name, gaps[gap]!(i, rows) ? null : values[name]!(patterns[pattern]!(i, rows), i)]
            }),
          ),
        )
        const store = new MemoryStore('zones')
        const writer = await connect('zones', { store })
        const table = await writer.createTable('t', given, { schema })
        if (dead !== null) await table.delete(dead)
        const kept = await table.query().select(['_rowid']).toArray()
        const living = kept.map(({ _rowid }) => Number(_rowid))
        await writer.close()
        const scanned = asked.map(({ sql, holds }) => ({
          sql,
          expected: living.filter(id => holds(given[id]!) === true),
        }))
        for (const cacheBytes of [0, 300_000, Number.POSITIVE_INFINITY]) {
          const ns = await connect('zones', { store, cacheBytes })
          const opened = await ns.openTable('t')
          for (const { sql, expected } of [...scanned, scanned[0]!]) {
            expect(await opened.countRows(sql), sql).toBe(expected.length)
            const found = await opened.query().where(sql).select(['_rowid']).toArray()
            expect(
              found.map(({ _rowid }) => Number(_rowid)),
              sql,
            ).toEqual(expected)
            const some = await opened.query().where(sql).select(['_rowid']).offset(7).limit(20).toArray()
            expect(
              some.map(({ _rowid }) => Number(_rowid)),
              sql,
            ).toEqual(expected.slice(7, 27))
          }
          await ns.close()
        }
      },
    ),
    { numRuns: 8 },
  )
}, 300_000)

describe('a column of 300,000 rising numbers', async () => {
  const rows = 300_000
  const stretch = 8192
  const store = new CountingStore(new MemoryStore('bytes'))
  const fields: Schema['fields'] = [
    { name: 'id', type: int64, nullable: false },
    { name: 'mixed', type: int64, nullable: false },
  ]
  const writer = await connect('bytes', { store })
  const given = Array.from({ length: rows }, (_, i) => ({
    id: BigInt(3 * i),
    mixed: BigInt((i * 7919) % rows),
  }))
  await writer.createTable('t', given, { schema: { fields } })
  await writer.close()

  /** What a cold count gives, and the bytes it reads of the data file. */
  async function cold(sql: string, cacheBytes = 1 << 28) {
    const ns = await connect('bytes', { store, cacheBytes })
    const table = await ns.openTable('t')
    await table.countRows()
    store.reset()
    const count = await table.countRows(sql)
    const { bytesRead } = store
    await ns.close()
    return { count, bytesRead }
  }

  const tail = 64 * 1024
  /** All pages with checksums of a column. */
  const checksums = 8 * 1024
  const ofStretches = (count: number) => count * (8 * stretch + 2 * 1024) + checksums

  test.each([100_000, 1 << 28])(
    'a count reads only the stretches in which some rows pass and some do not (budget %d)',
    cacheBytes =>
      fc.assert(
        fc.asyncProperty(fc.nat(rows - 1), fc.nat(100_000), async (from, more) => {
          const to = Math.min(rows - 1, from + more)
          const { count, bytesRead } = await cold(`id BETWEEN ${3 * from - 1} AND ${3 * to + 1}`, cacheBytes)
          expect(count).toBe(to - from + 1)
          expect(bytesRead).toBeLessThanOrEqual(tail + ofStretches(2))
        }),
        { numRuns: 10 },
      ),
  )

  test('no stretch is read if all its numbers are outside, or all inside', async () => {
    expect(await cold('id = -3')).toEqual({ count: 0, bytesRead: 0 })
    expect(await cold(`id < ${3 * stretch * 20} AND id <> ${3 * stretch - 1}`)).toMatchObject({
      count: stretch * 20,
    })
    const { count, bytesRead } = await cold(`id < ${3 * 131_072}`)
    expect({ count, isOfFooter: bytesRead <= tail }).toEqual({ count: 131_072, isOfFooter: true })
  })

  test.each([100_000, 3_000_000, 1 << 28])(
    'an unordered column is read once (budget %d)',
    async cacheBytes => {
      const { count, bytesRead } = await cold(`mixed < ${rows / 2}`, cacheBytes)
      expect(count).toBe(rows / 2)
      expect(bytesRead).toBe(tail + 8 * rows)
    },
  )

  test('the next part of an unordered column is read while one is evaluated', async () => {
    let [reading, most, read] = [0, 0, 0]
    class NotingStore extends WrappedStore {
      protected async around<T>(call: string, _conditional: boolean, run: () => Promise<T>): Promise<T> {
        if (call !== 'readInto') return run()
        read++
        most = Math.max(most, ++reading)
        await setImmediate()
        return run().finally(() => reading--)
      }
    }
    const ns = await connect('bytes', { store: new NotingStore(store), cacheBytes: 3_000_000 })
    expect(await (await ns.openTable('t')).countRows('mixed < 7')).toBe(7)
    expect({ most, read }).toEqual({ most: 2, read: 3 })
    await ns.close()
  })

  test('analyze reports the rows for which nothing had to be read', async () => {
    const ns = await connect('bytes', { store })
    const search = (await ns.openTable('t')).query().where(`id >= ${3 * 131_100} AND id < ${3 * 150_000}`)
    expect(await search.analyze()).toContain(`parts=1, rows_decided_by_zones=${rows - 2 * stretch}]`)
    await ns.close()
  })

  test('a filter that may fail evaluates every row', async () => {
    const { count, bytesRead } = await cold('id = 21 AND 10 / (mixed + 1) >= 0')
    expect({ count, bytesRead }).toEqual({ count: 1, bytesRead: tail + 16 * rows })
  })
})
